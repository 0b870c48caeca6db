// SPDX-License-Identifier: BSD-3-Clause
// One worker's front before a host link (placement NIC): the link's end, the cache, the front, and how they come and go
// together. A front lives as long as its link's epoch. When that is over (the back has died, or has given the shards to
// somebody else), everything that it held is thrown away and it greets the back anew (COMMIT 23).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dataplane/memory.h"
#include "host/apps/core.h"
#include "host/apps/statistics.h"
#include "host/back/recovered_state.h"
#include "host/control/config.h"
#include "offload/front.h"
#include "offload/link/nic_back.h"

namespace txnic::apps {

class NicWorker final : private offload::KeptReader {
 public:
  using NicBack = offload::NicBack;
  using Front = offload::Front<NicBack>;

  NicWorker(const control::NodeConfig& config, uint32_t worker, uint32_t workers);
  ~NicWorker();

  uint64_t region_bytes() const;
  StartError allocate();
  // Then the front greets the back. All outlive this; `outbox` may be null.
  void attach(link::FramePort* port, uint32_t frame_bytes, offload::Outbox* outbox);

  // ---- dataplane::NicWorker: the worker's lcore
  Front* front() { return front_.get(); }
  NicBack* back() { return &back_; }
  void on_frame(Bytes frame, TimeNs now) { link_.on_frame(frame, now); }
  uint32_t poll(TimeNs now);
  uint32_t take_abandoned(std::span<void*> handles);

  // ---- any thread, as plain statistics
  bool is_serving() const { return is_serving_.load(std::memory_order_acquire); }
  // Adds what its fronts have done, one after the other, and what the present one holds.
  void add_to(EngineStatistics* sum, NicStatistics* nic, TimeNs now) const;
  uint32_t incarnation() const { return incarnation_.load(std::memory_order_relaxed); }
  // Why the back does not let it serve, for people; empty if it does, or nobody has answered yet.
  std::string refusal() const;
  // What the back has kept cannot be installed here, and trying again would not help; or empty.
  std::string failure() const;

 private:
  struct Counters {
    offload::FrontCounters front;
    commit::MachineCounters commit;
    offload::NicBackCounters cache;
    link::FrontEndCounters link;
    link::ChannelCounters frames;
  };
  Counters counters() const;
  bool on_kept(Bytes record) override;
  void greet();
  void install(TimeNs now);
  void lose();
  bool make_front(TimeNs now);
  offload::FrontConfig front_config() const;
  offload::NicBackConfig back_config() const;
  SessionLimits session_limits() const;
  link::FrontEndConfig link_config() const;
  uint64_t cache_bytes() const;

  const control::NodeConfig config_;
  const uint32_t worker_;
  const uint32_t workers_;
  const ShardMap map_;
  const CookieSecret secret_;
  link::FramePort* port_ = nullptr;
  uint32_t frame_bytes_ = 0;
  offload::Outbox* outbox_ = nullptr;

  dataplane::Region session_memory_, cache_memory_, filter_memory_, link_memory_;
  std::vector<std::byte> commit_memory_;  // as much as what was kept needs besides
  SessionTable sessions_;
  link::FrontEnd link_;
  NicBack back_;
  // Whoever replaces the front holds it, and who reads of it in another thread. Never taken while a front serves on.
  mutable std::mutex change_;
  std::unique_ptr<Front> front_;
  std::unique_ptr<back::RecoveredState> kept_;  // while it is read
  std::vector<void*> abandoned_;
  uint64_t fronts_ = 0;
  Counters past_;  // of fronts that are over
  std::atomic<bool> is_serving_{false};
  std::atomic<uint32_t> incarnation_{0};
  std::atomic<link::Refusal> refusal_{link::Refusal::kNone};
  std::string kept_error_;  // see failure()
};

}  // namespace txnic::apps
