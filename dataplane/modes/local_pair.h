// SPDX-License-Identifier: BSD-3-Clause
// Placement NIC with front and back in one worker: they take turns, joined by a LocalLink, and the time of each is
// counted apart. A hardware profile makes the front's turn as long as on the SmartNIC's core, and the link as slow.
#pragma once

#include "dataplane/local_link.h"
#include "dataplane/lost_time.h"
#include "dataplane/modes/link_back.h"

namespace txnic::dataplane {

template <NicWorker N, LinkServer S>
class LocalPairMode final : public Mode {
 public:
  LocalPairMode(N* nic, S* server, LocalLink* link, const offload::HardwareProfile& profile,
                const TxnReasons& txn_reasons, const NicReasons& reasons, const Clock& clock, WorkerCounters* counters)
      : nic_(nic),
        server_(server),
        link_(link),
        front_(nic, txn_reasons, reasons, clock, counters),
        clock_(clock),
        lost_time_(profile.soc_slowdown_milli),
        emulates_(!profile.is_empty()),
        counters_(counters) {}

  const char* name() const override { return "local_pair"; }

  void process(std::span<Packet> burst, TimeNs now) override {
    front_.process(burst, now);
    has_worked_ = true;
  }

  // The front's turn began with the step at `now`: receiving and parsing are its work, too.
  uint32_t poll(TimeNs now) override {
    TimeNs at = clock_.now();
    uint32_t work = link_->to_front.deliver(at, [&](Bytes frame) { nic_->on_frame(frame, at); });
    work += front_.poll(at);
    const bool is_busy = work != 0 || has_worked_;
    if (emulates_ && is_busy) at = lose_time(now);
    has_worked_ = false;
    link_->to_back.send_off(at);
    work += back_turn();
    if (emulates_) turn_ended_ns_ = is_busy ? clock_.now() : 0;
    return work;
  }

  uint32_t release(std::span<Packet> out) override { return front_.release(out); }
  bool busy() const override {
    return front_.busy() || !server_->quiet() || !link_->to_back.is_empty() || !link_->to_front.is_empty();
  }

 private:
  TimeNs lose_time(TimeNs began) {
    TimeNs lost = 0;
    // With what followed the turn before: giving back and sending answers.
    const TimeNs sending_ns = turn_ended_ns_ == 0 ? 0 : began - turn_ended_ns_;
    lost_time_.worked(clock_.now() - began + sending_ns, link_->to_back.take_owed_ns());
    const TimeNs at = lost_time_.lose(clock_, &lost);
    counters_->emulated_ns.add(lost);
    return at;
  }

  uint32_t back_turn() {
    const TimeNs began = clock_.now();
    uint32_t work = link_->to_back.deliver(began, [&](Bytes frame) { server_->on_frame(frame, began); });
    work += server_->poll(began);
    TimeNs ended = clock_.now();
    if (work == 0) {
      counters_->back_idle_ns.add(ended - began);
      return 0;
    }
    if (emulates_) {
      TimeNs lost = 0;
      back_lost_time_.worked(0, link_->to_front.take_owed_ns());
      ended = back_lost_time_.lose(clock_, &lost);
    }
    link_->to_front.send_off(ended);
    counters_->back_busy_ns.add(ended - began);
    counters_->back_busy_turns.add();
    return work;
  }

  N* const nic_;
  S* const server_;
  LocalLink* const link_;
  NicMode<N> front_;
  const Clock clock_;
  LostTime lost_time_;
  LostTime back_lost_time_;
  const bool emulates_;
  bool has_worked_ = false;
  TimeNs turn_ended_ns_ = 0;  // the step before, if the front had work in it
  WorkerCounters* const counters_;
};

}  // namespace txnic::dataplane
