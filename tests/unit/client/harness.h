// SPDX-License-Identifier: BSD-3-Clause
// A session machine with its memory, its clock and the list of what it sent: for tests that play the node by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/unit/client/messages.h"
#include "txn/client/machine.h"

namespace txnic::client::test {

inline constexpr SessionId kSession = 0x1234567890abcdefull;
inline constexpr TimeNs kMs = 1'000'000;

struct Sent {
  wire::Header header;
  Message bytes;
  uint32_t worker;
  uint32_t node;
};

class Harness {
 public:
  explicit Harness(MachineLimits limits = {}) {
    const size_t bytes = SessionMachine::memory_bytes(limits);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
    machine.init(limits, {memory_.get(), bytes}, kSession, &Harness::emit, this);
  }

  Event deliver(const Message& message) {
    return machine.on_message(now, message.data(), static_cast<uint32_t>(message.size()));
  }
  // Opens the session at once (without a challenge).
  void open(const Opening& opening = {}) {
    machine.open(now);
    ASSERT_EQ(deliver(opened(kSession, last().sequence, opening)).kind, EventKind::kOpened);
    sent.clear();
  }
  Slot* put(const std::string& key, TimeNs deadline = 0, ShardId shard = 0) {
    return request(key, false, deadline, shard);
  }
  Slot* get(const std::string& key, TimeNs deadline = 0, ShardId shard = 0) {
    return request(key, true, deadline, shard);
  }
  Event answer(const Slot* slot, Result result, uint8_t detail = 0) {
    return deliver(executed(kSession, slot->sequence, slot->stamp, result, detail));
  }
  // What a node of that incarnation says to a stamp that it does not accept. The last opening was a while ago.
  Event refuse_stamp(const Slot* slot, BadSessionReason reason, uint32_t incarnation) {
    now += 1000 * kMs;
    return deliver(executed(kSession, slot->sequence, make_stamp(incarnation, 0), Result::kBadSession,
                            static_cast<uint8_t>(reason)));
  }
  Message refused_opening(Sequence attempt, Result result, uint8_t detail) {
    return reply_message(wire::Type::kOpened, kSession, attempt, 0, result, detail, 0);
  }
  // Polls at `now` until nothing is left to do; answers the events.
  std::vector<Event> poll() {
    std::vector<Event> events;
    for (int i = 0; i < 10000; ++i) {
      const Event event = machine.poll(now);
      if (event.kind == EventKind::kNone && machine.next_poll() > now) return events;
      if (event.kind != EventKind::kNone) events.push_back(event);
    }
    ADD_FAILURE() << "poll() does not come to an end";
    return events;
  }
  std::vector<Event> poll_at(TimeNs when) {
    now = when;
    return poll();
  }
  const wire::Header& last() const { return sent.back().header; }
  std::vector<Sent> take(wire::Type type) {
    std::vector<Sent> some;
    for (const Sent& s : sent) {
      if (s.header.type == static_cast<uint8_t>(type)) some.push_back(s);
    }
    sent.clear();
    return some;
  }
  uint32_t count(wire::Type type) const {
    uint32_t n = 0;
    for (const Sent& s : sent) n += s.header.type == static_cast<uint8_t>(type);
    return n;
  }
  void expect_sums() const {
    const MachineStatistics& s = machine.statistics();
    EXPECT_EQ(s.submitted, s.settled + machine.outstanding());
    EXPECT_EQ(s.settled, s.committed + s.aborted + s.unknown + s.refused + s.timed_out);
    EXPECT_EQ(s.received_messages, s.answers + s.session_messages + s.retryable + s.duplicates + s.stale +
                                       s.unmatched + s.malformed);
  }

  SessionMachine machine;
  std::vector<Sent> sent;
  TimeNs now = 1'000'000'000;

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  Slot* request(const std::string& key, bool is_get, TimeNs deadline, ShardId shard) {
    Slot* slot = machine.acquire();
    if (slot == nullptr) return nullptr;
    wire::ExecuteBuilder builder(slot->buffer());
    EXPECT_TRUE(is_get ? builder.get(1, bytes_of(key)) : builder.put(1, bytes_of(key), bytes_of("v")));
    machine.submit(slot, builder, shard, deadline, now);
    return slot;
  }
  static void emit(void* context, const std::byte* message, uint32_t length, uint32_t node,
                   uint32_t worker) {
    auto* self = static_cast<Harness*>(context);
    Sent s{};
    ASSERT_EQ(wire::parse_request_header(message, length, &s.header), wire::ParseError::kNone);
    s.bytes.assign(message, message + length);
    s.worker = worker;
    s.node = node;
    self->sent.push_back(std::move(s));
  }

  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace txnic::client::test
