// SPDX-License-Identifier: BSD-3-Clause
// Placement NIC, the front's side: what comes over the host link goes to the front's end of it, everything else to the
// front, as in mode `txn`. The front comes and goes with the link: it exists only while the back has let it serve.
#pragma once

#include <algorithm>
#include <concepts>

#include "dataplane/clock.h"
#include "dataplane/modes/txn.h"

namespace txnic::dataplane {

// One worker's front before a host link, as host/apps wires it.
template <class N>
concept NicWorker = requires(N nic, Bytes frame, TimeNs now, std::span<void*> handles) {
  typename N::NicBack;
  // Null: it does not serve. Changes in poll() and on_frame() only.
  { nic.front() } -> std::same_as<offload::Front<typename N::NicBack>*>;
  { nic.back() } -> std::same_as<typename N::NicBack*>;
  {nic.on_frame(frame, now)};
  // One bounded step of the link's end, after everything that appends and asks.
  { nic.poll(now) } -> std::same_as<uint32_t>;
  // Handles of messages that a front that is gone had kept: nobody will answer them.
  { nic.take_abandoned(handles) } -> std::same_as<uint32_t>;
};

struct NicReasons {
  Reason link_frame = reason::kOther;  // a frame of the host link, done with
  Reason not_ready = reason::kOther;   // no front: the back has not let it serve yet
  Reason front_lost = reason::kOther;  // waited in a front that has lost its back or its lease
  static NicReasons register_all() {
    return {register_reason("link_frame"), register_reason("txn_front_not_ready"), register_reason("txn_front_lost")};
  }
};

template <NicWorker N>
class NicMode final : public Mode {
 public:
  // All outlive the mode.
  NicMode(N* nic, const TxnReasons& txn_reasons, const NicReasons& reasons, const Clock& clock,
          WorkerCounters* counters)
      : nic_(nic), txn_(nullptr, nic->back(), txn_reasons, counters), reasons_(reasons), clock_(clock),
        counters_(counters) {}

  const char* name() const override { return "nic"; }

  void process(std::span<Packet> burst, TimeNs) override {
    // COMMIT 21: whether the lease holds is asked of a time after the requests have come.
    const TimeNs now = clock_.now();
    const auto is_frame = [](const Packet& packet) { return packet.tag == kLinkTag; };
    if (!std::any_of(burst.begin(), burst.end(), is_frame)) [[likely]]
      return serve(burst, now);
    // Frames first, then the rest, in order: the burst of another worker's ring may hold both.
    const auto rest = std::stable_partition(burst.begin(), burst.end(), is_frame);
    for (auto at = burst.begin(); at != rest; ++at) {
      nic_->on_frame({at->message, at->length}, now);
      at->verdict = Verdict::kDrop;
      counters_->drop(reasons_.link_frame);
    }
    if (rest != burst.end()) serve({rest, burst.end()}, now);
  }

  uint32_t poll(TimeNs now) override {
    txn_.set_front(nic_->front());
    const uint32_t work = nic_->front() == nullptr ? nic_->back()->poll(now) : txn_.poll(now);
    return work + nic_->poll(now);
  }

  uint32_t release(std::span<Packet> out) override {
    std::array<void*, limits::kBurstMax> handles;
    const uint32_t lost = nic_->take_abandoned({handles.data(), std::min(out.size(), handles.size())});
    for (uint32_t i = 0; i < lost; ++i) {
      out[i] = Packet{};
      out[i].mbuf = static_cast<rte_mbuf*>(handles[i]);
      counters_->drop(reasons_.front_lost);
    }
    if (lost != 0 || nic_->front() == nullptr) return lost;
    txn_.set_front(nic_->front());
    return txn_.release(out);
  }

  bool busy() const override { return nic_->front() != nullptr && txn_.busy(); }

 private:
  void serve(std::span<Packet> burst, TimeNs now) {
    txn_.set_front(nic_->front());
    if (nic_->front() != nullptr) [[likely]]
      return txn_.process(burst, now);
    for (Packet& packet : burst) {
      packet.verdict = Verdict::kDrop;
      counters_->drop(reasons_.not_ready);
    }
  }

  N* const nic_;
  TxnMode<typename N::NicBack> txn_;
  const NicReasons reasons_;
  const Clock clock_;
  WorkerCounters* const counters_;
};

}  // namespace txnic::dataplane
