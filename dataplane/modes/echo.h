// SPDX-License-Identifier: BSD-3-Clause
// Answers ECHO with ECHOED and the same body, without the engine: the floor for rate and latency.
#pragma once

#include "dataplane/counters.h"
#include "dataplane/modes/mode.h"

namespace txnic::dataplane {

class EchoMode final : public Mode {
 public:
  explicit EchoMode(WorkerCounters* counters);
  const char* name() const override { return "echo"; }
  void process(std::span<Packet> burst, TimeNs now) override;
  uint32_t poll(TimeNs) override { return 0; }
  uint32_t release(std::span<Packet>) override { return 0; }
  bool busy() const override { return false; }

 private:
  WorkerCounters* counters_;
  const Reason short_;
  const Reason bad_header_;
  const Reason other_type_;
};

// Turns an ECHO into its answer in place. False, with nothing changed: it is not a whole ECHO of our version.
bool answer_echo(std::byte* message, uint32_t length);

}  // namespace txnic::dataplane
