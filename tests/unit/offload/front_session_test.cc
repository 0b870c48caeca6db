// SPDX-License-Identifier: BSD-3-Clause
// Sessions, windows, duplicates, answers that wait for the disk.
#include "tests/unit/offload/front_fixture.h"

namespace txnic::test {
namespace {

using FrontSession = FrontFixture;

TEST_F(FrontSession, AnswersToUnprovenAddressesAreNeverLonger) {
  std::vector<std::byte> message(wire::kOpenBytes);
  sent_length_ = wire::build_open(message.data(), 7, 1, nullptr);
  const Reply challenge = send(message);
  EXPECT_LE(challenge.message.size(), wire::kOpenBytes);
  auto b = builder();
  b.get(1, bytes("k"));
  const Reply refusal = execute(b, 99, 1, 5);
  EXPECT_EQ(refusal.result(), Result::kBadSession);
  EXPECT_EQ(refusal.message.size(), wire::kHeaderBytes);
}

TEST_F(FrontSession, CookieIsBoundToAddressAndTime) {
  std::vector<std::byte> message(wire::kOpenBytes);
  sent_length_ = wire::build_open(message.data(), 7, 1, nullptr);
  const Reply challenge = send(message);
  uint8_t cookie[wire::kCookieBytes];
  std::memcpy(cookie, challenge.message.data() + wire::kHeaderBytes, sizeof cookie);
  wire::build_open(message.data(), 7, 1, cookie);
  EXPECT_EQ(send(message, {1, 1}).header.type, static_cast<uint8_t>(wire::Type::kChallenge));
  now_ += 3 * limits::kCookieLifetimeSeconds * 1'000'000'000;
  EXPECT_EQ(send(message).header.type, static_cast<uint8_t>(wire::Type::kChallenge));
  EXPECT_EQ(sessions_.size(), 0u);
}

TEST_F(FrontSession, DuplicateGetsTheSameOutcomeOnce) {
  const Stamp stamp = open(7);
  auto b = builder();
  b.put(1, bytes("k"), bytes("v"));
  const Reply first = execute(b, 7, 1, stamp);
  const Reply second = resend();
  EXPECT_EQ(second.result(), Result::kCommitted);
  EXPECT_EQ(second.commit_version, first.commit_version);
  EXPECT_TRUE(second.header.flags & wire::kReplyFlagDuplicate);
  EXPECT_EQ(back_.commits, 1u);
}

TEST_F(FrontSession, AToldAbortStaysAnAbort) {
  const Stamp stamp = open(7);
  auto b = builder();
  b.remove(1, bytes("k"));
  EXPECT_EQ(execute(b, 7, 1, stamp).result(), Result::kNotFound);
  const std::vector<std::byte> old = request_;
  const uint32_t old_length = sent_length_;
  b = builder();
  b.put(1, bytes("k"), bytes("v"));
  EXPECT_EQ(execute(b, 7, 2, stamp, 1).result(), Result::kCommitted);
  sent_length_ = old_length;
  EXPECT_EQ(send(old).result(), Result::kNotFound) << "now it would succeed, but it was told otherwise";
  EXPECT_EQ(back_.commits, 1u);
}

TEST_F(FrontSession, WindowAndWatermark) {
  const Stamp stamp = open(7);
  const auto put = [&](Sequence sequence, uint32_t lag) {
    auto b = builder();
    b.put(1, bytes("k"), bytes("v"));
    return execute(b, 7, sequence, stamp, lag);
  };
  EXPECT_EQ(put(1, 0).result(), Result::kCommitted);
  EXPECT_EQ(put(kWindow, kWindow - 1).result(), Result::kCommitted);
  const Reply beyond = put(kWindow + 1, kWindow);
  EXPECT_EQ(beyond.result(), Result::kBusy);
  EXPECT_EQ(beyond.header.detail, static_cast<uint8_t>(BusyReason::kWindow));
  EXPECT_EQ(put(kWindow + 1, kWindow - 1).result(), Result::kCommitted) << "the watermark has passed 1";
  EXPECT_EQ(put(1, 0).result(), Result::kOldSequence);
  EXPECT_EQ(put(2, 0).result(), Result::kCommitted) << "not executed before, and still wanted";
  EXPECT_EQ(put(kSequenceMax + 1, 0).result(), Result::kBusy);
}

TEST_F(FrontSession, OldStampAndWrongAddressAreRefused) {
  const Stamp first = open(7);
  const Stamp second = open(7, 2, first);
  EXPECT_NE(first, second);
  auto b = builder();
  b.put(1, bytes("k"), bytes("v"));
  Reply reply = execute(b, 7, 1, first);
  EXPECT_EQ(reply.result(), Result::kBadSession);
  EXPECT_EQ(reply.header.detail, static_cast<uint8_t>(BadSessionReason::kOldStamp));
  b = builder();
  b.put(1, bytes("k"), bytes("v"));
  sent_length_ = b.finish(7, 1, second, 0, 0);
  reply = resend({0x0a630003, 4242});
  EXPECT_EQ(reply.header.detail, static_cast<uint8_t>(BadSessionReason::kWrongAddress));
  EXPECT_EQ(back_.commits, 0u);
}

TEST_F(FrontSession, ReopeningKeepsTheWindowOnlyForItsHolder) {
  const Stamp stamp = open(7);
  auto b = builder();
  b.put(1, bytes("k"), bytes("v"));
  execute(b, 7, 1, stamp);
  const std::vector<std::byte> old = request_;
  const Stamp again = open(7, 2, stamp);
  EXPECT_EQ(load<wire::OpenedBody>(opened_.message.data() + wire::kHeaderBytes).window_survived, 1);
  wire::Header header = wire::read_header(old.data());
  request_ = old;
  header.stamp = again;
  wire::write_header(request_.data(), header);
  sent_length_ = header.length;
  EXPECT_TRUE(resend().header.flags & wire::kReplyFlagDuplicate);
  // Without a stamp: a new life, and the same sequence is a new request.
  header.stamp = open(7, 3, 0);
  request_ = old;
  wire::write_header(request_.data(), header);
  sent_length_ = header.length;
  EXPECT_FALSE(resend().header.flags & wire::kReplyFlagDuplicate);
  EXPECT_EQ(back_.commits, 2u);
}

TEST_F(FrontSession, ResumingALostWindowIsRefusedAndCreatesNothing) {
  std::vector<std::byte> message(wire::kOpenBytes);
  open(8, 1, make_stamp(1, 77));
  EXPECT_EQ(opened_.result(), Result::kBadSession);
  EXPECT_EQ(sessions_.size(), 0u);
}

TEST_F(FrontSession, TableFullIsBusy) {
  for (SessionId id = 1; id <= limits_.sessions; ++id) open(id);
  open(100);
  EXPECT_EQ(opened_.result(), Result::kBusy);
  EXPECT_EQ(opened_.header.detail, static_cast<uint8_t>(BusyReason::kSessions));
}

TEST_F(FrontSession, IdleSessionsExpire) {
  open(7);
  now_ += limits_.idle_expiry_ns + 1;
  for (uint32_t i = 0; i < 100 && sessions_.size() != 0; ++i, now_ += 2'000'000) front_->idle(now_);
  EXPECT_EQ(sessions_.size(), 0u);
  EXPECT_EQ(front_->counters().expired, 1u);
}

TEST_F(FrontSession, CloseForgets) {
  const Stamp stamp = open(7);
  std::vector<std::byte> message(wire::kHeaderBytes);
  sent_length_ = wire::build_close(message.data(), 7, 9, stamp);
  EXPECT_EQ(send(message).header.type, static_cast<uint8_t>(wire::Type::kClosed));
  EXPECT_EQ(sessions_.size(), 0u);
  EXPECT_EQ(send(message).result(), Result::kBadSession);
}

TEST_F(FrontSession, OpenMakesARoundThroughTheWorkers) {
  start(2, 0, 2);
  std::vector<std::byte> message(wire::kOpenBytes);
  sent_length_ = wire::build_open(message.data(), 7, 1, nullptr);
  const Reply challenge = send(message);
  uint8_t cookie[wire::kCookieBytes];
  std::memcpy(cookie, challenge.message.data() + wire::kHeaderBytes, sizeof cookie);
  wire::build_open(message.data(), 7, 1, cookie);
  // The first worker passes it on with its stamp …
  std::vector<std::byte> travelling = message;
  travelling.resize(limits::kMessageBytesMax);
  offload::Request request{
      .message = travelling.data(), .from = kClient, .length = wire::kOpenBytes, .room = limits::kMessageBytesMax};
  front_->step({&request, 1}, now_);
  EXPECT_EQ(request.action, offload::Action::kPass);
  EXPECT_EQ(request.to_worker, 1);
  const Stamp stamp = wire::read_header(travelling.data()).stamp;
  EXPECT_NE(stamp, 0u);
  // … and the last one answers with it.
  start(2, 1, 2);
  sent_length_ = wire::kOpenBytes;
  const Reply opened = send(travelling, kClient, true);
  EXPECT_EQ(opened.header.type, static_cast<uint8_t>(wire::Type::kOpened));
  EXPECT_EQ(opened.header.stamp, stamp);
  EXPECT_EQ(sessions_.size(), 1u);
}

TEST_F(FrontSession, AnswersWaitForTheDisk) {
  back_.sync = true;
  std::vector<std::byte> message(wire::kOpenBytes);
  sent_length_ = wire::build_open(message.data(), 7, 1, nullptr);
  const Reply challenge = send(message);
  uint8_t cookie[wire::kCookieBytes];
  std::memcpy(cookie, challenge.message.data() + wire::kHeaderBytes, sizeof cookie);
  wire::build_open(message.data(), 7, 1, cookie);
  EXPECT_EQ(send(message).action, offload::Action::kHold);
  std::array<offload::Released, 8> released;
  EXPECT_EQ(front_->release(released), 0u);
  back_.sync_all();
  EXPECT_EQ(front_->release(released), 1u);
  const Stamp stamp = sessions_.find(7)->stamp;

  auto b = builder();
  b.put(1, bytes("k"), bytes("v"));
  EXPECT_EQ(execute(b, 7, 1, stamp).action, offload::Action::kHold);
  EXPECT_EQ(resend().action, offload::Action::kHold) << "a duplicate of what is not durable waits too";
  b = builder();
  b.get(1, bytes("k"));
  EXPECT_EQ(execute(b, 7, 2, stamp).action, offload::Action::kHold) << "so does a read of it (trap 5)";
  b = builder();
  b.insert(1, bytes("k"), bytes("v"));
  EXPECT_EQ(execute(b, 7, 3, stamp).action, offload::Action::kHold) << "and an abort because of it (COMMIT 6)";
  EXPECT_EQ(front_->held(), 4u);
  back_.sync_all();
  EXPECT_EQ(front_->release(released), 4u);
  b = builder();
  b.get(1, bytes("k"));
  EXPECT_EQ(execute(b, 7, 4, stamp).action, offload::Action::kReply);
}

TEST_F(FrontSession, StaticReplaySessionExecutesEveryCopy) {
  Session* const session = sessions_.insert(55);
  session->is_static = session->is_static_replay = true;
  auto b = builder();
  b.put(1, bytes("k"), bytes("v"));
  EXPECT_EQ(execute(b, 55, 1, 0xdead).result(), Result::kCommitted);
  const Reply again = resend({9, 9});
  EXPECT_EQ(again.result(), Result::kCommitted);
  EXPECT_TRUE(again.header.flags & wire::kReplyFlagReplay);
  EXPECT_EQ(back_.commits, 2u);
  EXPECT_EQ(front_->counters().replays, 2u);
}

}  // namespace
}  // namespace txnic::test
