// SPDX-License-Identifier: BSD-3-Clause
// Both real ends of a host link with a bad wire between them (tests/unit/link/link_rig.h), and the model host behind.
#pragma once

#include "tests/unit/link/link_rig.h"
#include "tests/unit/nic/model_link.h"

namespace txnic::test {

class FramesLink final : public link::FrontEnd, public link::BackEvents {
 public:
  // Until the front serves. `now` is moved on.
  void begin(uint32_t seed, link::FrontEvents* events, const LinkPlace& place, TimeNs* now) {
    place_ = place;
    to_back.random.seed(seed + 1);
    to_front.random.seed(seed + 1001);
    to_back.faults = to_front.faults = {.loss = 0.02, .doubling = 0.02, .delay_max_ns = 30'000};
    back_memory_.resize(link::BackEnd::memory_bytes());
    link::BackEndConfig back;
    back.shards = place.shards;
    back.build = name_of("build 1");
    back_.init(back, back_memory_, &to_front, this);
    back_.set_open(true);
    link::FrontEndConfig front;
    front.shards = place.shards;
    front.build = name_of("build 1");
    front.instance = seed + 1;
    front.append_bytes = 16384;
    front.fetches = 64;
    front_memory_.resize(link::FrontEnd::memory_bytes(front));
    init(front, front_memory_, &to_back, events);
    for (int i = 0; i < 100'000 && !(state() == link::FrontState::kServing && has_lease(*now)); ++i) {
      *now += 5'000;
      settle(*now);
      if (state() == link::FrontState::kReady) serve();
      poll(*now);
    }
    ASSERT_TRUE(has_lease(*now)) << "never served";
  }
  // Frames that have come; the host's disk and log as the dice say.
  void shake(std::mt19937_64& random, TimeNs now) {
    if (random() % 4 == 0) synced_ = back_.taken();
    is_full_ = random() % 100 == 0;
    puts_off_ = random() % 50 == 0;
    turn(now);
  }
  void calm() {
    is_full_ = puts_off_ = false;
    to_back.faults = to_front.faults = {};
  }
  void settle(TimeNs now) {
    synced_ = back_.taken();
    turn(now);
  }

  // ---- link::BackEvents
  link::Taken on_record(Bytes record) override {
    if (puts_off_) return link::Taken::kLater;
    host.take(record);
    return link::Taken::kYes;
  }
  link::Answer on_question(const link::Question& q) override {
    const auto row = host.rows.find({q.table, {reinterpret_cast<const char*>(q.key), q.key_length}});
    if (row == host.rows.end()) return {false, 1, {}};
    return {true, row->second.version, std::as_bytes(std::span(row->second.value.data(), row->second.value.size()))};
  }
  uint32_t kept(MutableBytes, bool) override { return 0; }
  uint32_t hashes(uint32_t local_shard, uint64_t cursor, std::span<uint64_t> room, uint64_t* next) override {
    const std::vector<uint64_t> some = hashes_of(host, place_, local_shard, cursor);
    EXPECT_LE(some.size(), room.size());
    std::copy(some.begin(), some.end(), room.begin());
    *next = cursor + 1 == kHashParts ? link::kFillEnd : cursor + 1;
    return static_cast<uint32_t>(some.size());
  }

  ModelHost host;
  Wire to_back, to_front;

 private:
  void turn(TimeNs now) {
    to_back.deliver(now, [&](const Frame& frame) { back_.on_frame(frame, now); });
    if (back_.wants_front()) back_.admit(100, 5, now);
    back_.poll(place_.syncs ? synced_ : back_.taken(), is_full_);
    to_front.deliver(now, [&](const Frame& frame) { on_frame(frame, now); });
  }
  LinkPlace place_;
  link::BackEnd back_;
  std::vector<std::byte> back_memory_, front_memory_;
  Lsn synced_ = 0;
  bool is_full_ = false, puts_off_ = false;
};

}  // namespace txnic::test
