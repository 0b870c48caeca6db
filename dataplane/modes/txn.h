// SPDX-License-Identifier: BSD-3-Clause
// Forwarding mode `txn`: hands bursts to the front. A template over the back, because the dataplane does not know the
// host's store; host/apps instantiates it.
#pragma once

#include <array>

#include "dataplane/counters.h"
#include "dataplane/modes/mode.h"
#include "offload/front.h"

namespace txnic::dataplane {

// The drop reasons of this mode. Registered once, before workers start.
struct TxnReasons {
  std::array<Reason, wire::kParseErrorCount> by_error{};  // index: wire::ParseError; kNone: a stale OPEN
  Reason node_message = reason::kOther;  // messages between participants, done with
  Reason superseded = reason::kOther;    // a PREPARE that waited: a newer copy of it has come
  static TxnReasons register_all() {
    TxnReasons reasons;
    reasons.by_error.fill(reason::kOther);
    const auto add = [&](wire::ParseError error, const char* name) {
      reasons.by_error[static_cast<size_t>(error)] = register_reason(name);
    };
    add(wire::ParseError::kNone, "txn_stale_open");
    add(wire::ParseError::kShort, "txn_short");
    add(wire::ParseError::kBadMagic, "txn_bad_magic");
    add(wire::ParseError::kLength, "txn_bad_length");
    add(wire::ParseError::kType, "txn_bad_type");
    // The others are answered, unless a message between participants has them.
    const Reason bad_node_message = register_reason("txn_bad_node_message");
    for (uint32_t error = 0; error < wire::kParseErrorCount; ++error) {
      if (wire::is_answered(static_cast<wire::ParseError>(error))) reasons.by_error[error] = bad_node_message;
    }
    reasons.node_message = register_reason("txn_node_message");
    reasons.superseded = register_reason("txn_superseded");
    return reasons;
  }
};

template <offload::Back B>
class TxnMode final : public Mode {
 public:
  // All outlive the mode.
  TxnMode(offload::Front<B>* front, B* back, const TxnReasons& reasons, WorkerCounters* counters)
      : front_(front), back_(back), reasons_(reasons), counters_(counters) {}

  // For a front that comes and goes; null: nothing but this and the constructor may be called.
  void set_front(offload::Front<B>* front) { front_ = front; }

  const char* name() const override { return "txn"; }

  void process(std::span<Packet> burst, TimeNs now) override {
    const size_t count = burst.size();
    for (size_t i = 0; i < count; ++i) {
      const Packet& packet = burst[i];
      requests_[i] = {.message = packet.message, .handle = packet.mbuf, .from = packet.from, .length = packet.length,
                      .room = packet.room, .is_passed = packet.tag == kPassedTag,
                      .is_own = packet.tag == kFromWorkerTag};
    }
    front_->step({requests_.data(), count}, now);
    for (size_t i = 0; i < count; ++i) {
      const offload::Request& request = requests_[i];
      burst[i].verdict = verdict_of(request.action);
      burst[i].reply_length = static_cast<uint16_t>(request.reply_length);
      burst[i].to_worker = request.to_worker;
      burst[i].tag = request.action == offload::Action::kPass ? kPassedTag : 0;
      if (request.action == offload::Action::kDrop) [[unlikely]] {
        counters_->drop(reasons_.by_error[static_cast<size_t>(request.drop)]);
      } else if (request.action == offload::Action::kTaken) {
        counters_->drop(reasons_.node_message);
      }
    }
  }

  uint32_t poll(TimeNs now) override { return back_->poll(now) + front_->idle(now); }

  uint32_t release(std::span<Packet> out) override {
    std::array<offload::Released, limits::kBurstMax> released;
    const size_t room = std::min<size_t>(out.size(), released.size());
    const uint32_t count = front_->release({released.data(), room});
    for (uint32_t i = 0; i < count; ++i) {
      out[i] = Packet{};
      out[i].mbuf = static_cast<rte_mbuf*>(released[i].handle);
      out[i].reply_length = static_cast<uint16_t>(released[i].reply_length);
      out[i].to_worker = released[i].to_worker;
      out[i].verdict = verdict_of(released[i].action);
      out[i].tag = released[i].action == offload::Action::kPass ? kPassedTag : 0;
      if (released[i].action == offload::Action::kDrop) [[unlikely]] counters_->drop(reasons_.superseded);
    }
    return count;
  }

  bool busy() const override { return front_->held() + front_->parked() != 0 || !back_->quiet(); }

 private:
  static constexpr uint32_t kPassedTag = 1;
  static Verdict verdict_of(offload::Action action) {
    switch (action) {
      case offload::Action::kDrop:
      case offload::Action::kTaken: return Verdict::kDrop;
      case offload::Action::kReply: return Verdict::kReply;
      case offload::Action::kHold: return Verdict::kHold;
      case offload::Action::kForward: return Verdict::kForward;
      case offload::Action::kPass: return Verdict::kPass;
    }
    return Verdict::kDrop;
  }

  offload::Front<B>* front_;
  B* const back_;
  const TxnReasons reasons_;
  WorkerCounters* const counters_;
  std::array<offload::Request, limits::kBurstMax> requests_;
};

}  // namespace txnic::dataplane
