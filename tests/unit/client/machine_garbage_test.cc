// SPDX-License-Identifier: BSD-3-Clause
// Whatever arrives: nothing is read beyond its end, nothing settles that was not answered, every sum still holds.
#include <random>

#include "tests/unit/client/harness.h"

namespace txnic::client::test {
namespace {

// Delivered from a block of exactly its size, so that a sanitizer sees a read beyond it.
Event deliver_exact(Harness& h, const Message& message) {
  const std::unique_ptr<std::byte[]> copy(new std::byte[message.size() + (message.empty() ? 1 : 0)]);
  std::copy(message.begin(), message.end(), copy.get());
  return h.machine.on_message(h.now, copy.get(), static_cast<uint32_t>(message.size()));
}

TEST(MachineGarbage, RandomBytesDoNothing) {
  Harness h;
  h.open();
  h.put("a");
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Message message(random() % 200);
    for (std::byte& b : message) b = static_cast<std::byte>(random());
    if (message.size() >= 4 && random() % 2 == 0) {
      message[0] = std::byte{0x54};
      message[1] = std::byte{0x58};
      message[2] = std::byte{1};
      message[3] = static_cast<std::byte>(random() % 10);
    }
    if (message.size() >= 6 && random() % 2 == 0) store(message.data() + 4, static_cast<uint16_t>(message.size()));
    EXPECT_EQ(deliver_exact(h, message).kind, EventKind::kNone);
  }
  EXPECT_EQ(h.machine.outstanding(), 1u);
  h.expect_sums();
}

// Answers with one or more bytes changed, cut, or lengthened.
TEST(MachineGarbage, SpoiltAnswersSettleAtMostWhatTheyName) {
  std::mt19937_64 random(2);
  for (int run = 0; run < 300; ++run) {
    Harness h;
    h.open();
    for (int i = 0; i < 8; ++i) h.get("a");
    h.put("b");
    uint32_t settled = 0;
    for (int i = 0; i < 100; ++i) {
      const Sequence sequence = 1 + random() % 9;
      Message message;
      switch (random() % 4) {
        case 0: message = challenge(kSession, random() % 4, 7); break;
        case 1: message = opened(kSession, random() % 4, {}); break;
        case 2: message = h.refused_opening(random() % 4, static_cast<Result>(random() % 32), 1); break;
        default:
          message = executed(kSession, sequence, h.machine.stamp(), static_cast<Result>(random() % 40),
                             static_cast<uint8_t>(random()), random(),
                             {{0, true, 5, "hello"}, {3, true, 6, std::string(40, 'x')}});
      }
      for (uint64_t n = random() % 4; n != 0; --n) {
        message[random() % message.size()] = static_cast<std::byte>(random());
      }
      if (random() % 4 == 0) message.resize(random() % (message.size() + 20));
      if (message.size() >= 6 && random() % 2 == 0) store(message.data() + 4, static_cast<uint16_t>(message.size()));
      const Event event = deliver_exact(h, message);
      if (event.kind == EventKind::kSettled) {
        ++settled;
        ASSERT_GE(event.slot->sequence, 1u);
        ASSERT_LE(event.slot->sequence, 9u);
        // What was settled by a message can always be parsed.
        wire::Value values[limits::kOperationsMax];
        Version version = 0;
        wire::Header header = event.header;
        ASSERT_EQ(wire::parse_values(message.data(), header, &version, values), wire::ParseError::kNone);
        h.machine.release(event.slot);
      }
      h.now += kMs;
    }
    EXPECT_LE(settled, 9u);
    h.expect_sums();
  }
}

TEST(MachineGarbage, ValuesThatLieAreMalformed) {
  Harness h;
  h.open();
  Slot* slot = h.get("a");
  const auto lie = [&](auto change) {
    Message m = executed(kSession, slot->sequence, slot->stamp, Result::kCommitted, 0, 1, {{0, true, 5, "hello"}});
    change(m);
    EXPECT_EQ(deliver_exact(h, m).kind, EventKind::kNone);
  };
  const size_t value = wire::kExecutedFixedBytes;
  lie([&](Message& m) { m[6] = std::byte{2}; });                          // one value more than there is
  lie([&](Message& m) { m[6] = std::byte{0}; });                          // bytes that nobody names
  lie([&](Message& m) { m[6] = std::byte{65}; });                         // more than a transaction has
  lie([&](Message& m) { store(m.data() + value + 8, uint16_t{6}); });     // beyond the message
  lie([&](Message& m) { store(m.data() + value + 8, uint16_t{65535}); });
  lie([&](Message& m) { m[value + 10] = std::byte{64}; });                // an operation that cannot be
  EXPECT_EQ(h.machine.statistics().malformed, 6u);
  EXPECT_EQ(h.answer(slot, Result::kCommitted).kind, EventKind::kSettled);
  h.expect_sums();
}

// PROTOCOL 16: new results may appear within a version.
TEST(MachineGarbage, UnknownResultsAreTakenByTheirClass) {
  Harness h;
  h.open();
  EXPECT_EQ(h.answer(h.put("a"), static_cast<Result>(9)).kind, EventKind::kSettled);
  EXPECT_EQ(h.machine.statistics().aborted, 1u);
  EXPECT_EQ(h.answer(h.put("a"), static_cast<Result>(200)).kind, EventKind::kSettled);
  EXPECT_EQ(h.machine.statistics().refused, 1u);
  h.expect_sums();
}

TEST(MachineGarbage, AnswersToOthersAreUnmatched) {
  Harness h;
  h.open();
  Slot* slot = h.put("a");
  EXPECT_EQ(h.deliver(executed(kSession + 1, slot->sequence, slot->stamp, Result::kCommitted)).kind, EventKind::kNone);
  EXPECT_EQ(h.deliver(executed(kSession, slot->sequence + 1, slot->stamp, Result::kCommitted)).kind, EventKind::kNone);
  EXPECT_EQ(h.deliver(executed(kSession, 0, slot->stamp, Result::kCommitted)).kind, EventKind::kNone);
  EXPECT_EQ(h.deliver(reply_message(wire::Type::kEchoed, kSession, 1, slot->stamp, Result::kCommitted, 0, 8)).kind,
            EventKind::kNone);
  EXPECT_EQ(h.machine.statistics().unmatched, 4u);
  h.expect_sums();
}

}  // namespace
}  // namespace txnic::client::test
