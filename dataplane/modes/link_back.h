// SPDX-License-Identifier: BSD-3-Clause
// Placement NIC, the host's side: frames of the host link go to the back's end of it. Nothing else is for this process.
#pragma once

#include <concepts>

#include "dataplane/clock.h"
#include "dataplane/modes/nic.h"

namespace txnic::dataplane {

// One worker's back behind a host link.
template <class S>
concept LinkServer = requires(S server, const S constant, Bytes frame, TimeNs now) {
  {server.on_frame(frame, now)};
  { server.poll(now) } -> std::same_as<uint32_t>;
  // Nothing is in flight: a clean stop may go on.
  { constant.quiet() } -> std::same_as<bool>;
};

template <LinkServer S>
class LinkBackMode final : public Mode {
 public:
  LinkBackMode(S* server, const NicReasons& reasons, const Clock& clock, WorkerCounters* counters)
      : server_(server), reasons_(reasons), clock_(clock), counters_(counters) {}

  const char* name() const override { return "link_back"; }
  void process(std::span<Packet> burst, TimeNs) override {
    const TimeNs now = clock_.now();  // a lease begins when the question was received, not before
    for (Packet& packet : burst) {
      packet.verdict = Verdict::kDrop;
      if (packet.tag == kLinkTag) {
        server_->on_frame({packet.message, packet.length}, now);
        counters_->drop(reasons_.link_frame);
      } else {
        counters_->drop(reasons_.not_ready);
      }
    }
  }
  uint32_t poll(TimeNs now) override { return server_->poll(now); }
  uint32_t release(std::span<Packet>) override { return 0; }
  bool busy() const override { return !server_->quiet(); }

 private:
  S* const server_;
  const NicReasons reasons_;
  const Clock clock_;
  WorkerCounters* const counters_;
};

}  // namespace txnic::dataplane
