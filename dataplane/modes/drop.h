// SPDX-License-Identifier: BSD-3-Clause
// Receives and drops: what the receive side alone can do.
#pragma once

#include "dataplane/counters.h"
#include "dataplane/modes/mode.h"

namespace txnic::dataplane {

class DropMode final : public Mode {
 public:
  explicit DropMode(WorkerCounters* counters) : counters_(counters), dropped_(register_reason("drop_mode")) {}
  const char* name() const override { return "drop"; }
  void process(std::span<Packet> burst, TimeNs) override {
    for (Packet& packet : burst) {
      packet.verdict = Verdict::kDrop;
      counters_->drop(dropped_);
    }
  }
  uint32_t poll(TimeNs) override { return 0; }
  uint32_t release(std::span<Packet>) override { return 0; }
  bool busy() const override { return false; }

 private:
  WorkerCounters* counters_;
  const Reason dropped_;
};

}  // namespace txnic::dataplane
