// SPDX-License-Identifier: BSD-3-Clause
// Keeps a polling thread out of a driver while somebody changes what the driver stands on.
//
// Two things need it:
// - A port is stopped and started again because its peer came back: no thread may be inside rx or tx meanwhile.
// - A shared-memory driver unmaps its rings from the EAL's interrupt thread when the peer dies (net_memif does: it
//   clears its "connected" flag, then calls munmap). A worker that is inside rx or tx at that moment would touch
//   unmapped memory; stock testpmd dies of this. unmap_guard.cc waits here until every poller has left the driver.
//
// The polling side costs two plain stores a driver call. The other side pays for the ordering (membarrier).
#pragma once

#include <atomic>
#include <cstdint>

namespace txnic::dataplane {

class PollGate {
 public:
  PollGate();   // known to wait_until_outside_all() as long as it lives
  ~PollGate();
  PollGate(const PollGate&) = delete;
  PollGate& operator=(const PollGate&) = delete;

  // ---- the polling thread -----------------------------------------------------------------------
  // False: the port is closed, do not call its driver. True: call the driver, then leave().
  bool enter(uint16_t port) {
    const uint64_t turn = turn_.load(std::memory_order_relaxed) + 1;
    turn_.store(turn, std::memory_order_relaxed);
    order_stores();
    if ((closed_.load(std::memory_order_relaxed) >> port & 1) == 0) [[likely]] return true;
    leave();
    return false;
  }
  void leave() { turn_.store(turn_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  // ---- the housekeeping thread ------------------------------------------------------------------
  void open(uint16_t port);
  // Closes the port and waits, at most `timeout_ms`, until the poller is outside. False: it stayed inside; the port
  // stays closed, ask again with wait_until_outside().
  bool close(uint16_t port, uint32_t timeout_ms);
  bool wait_until_outside(uint32_t timeout_ms) const;

  // All living gates. Never called by a polling thread.
  static bool wait_until_outside_all(uint32_t timeout_ms);

 private:
  static bool membarrier_works();  // registers the process for it once
  static void order_all_threads();
  void order_stores() const {
    if (asymmetric_) [[likely]] {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }

  alignas(64) std::atomic<uint64_t> turn_{0};    // odd: inside a driver call; written by the poller
  const bool asymmetric_;
  alignas(64) std::atomic<uint64_t> closed_{0};  // bit p: port p is closed; written by housekeeping
};

}  // namespace txnic::dataplane
