// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a host link with a bad wire between them: frames are lost, doubled and delayed, by a seed. The ends'
// surroundings are models: a log that is a row of records, a store that is a function of the key.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "offload/link/back_end.h"
#include "offload/link/front_end.h"
#include "txn/record/record.h"

namespace txnic::test {

using Frame = std::vector<std::byte>;

struct Faults {
  double loss = 0, doubling = 0;
  TimeNs delay_max_ns = 0;  // each frame is delayed by up to so much: they overtake each other
};

// One direction.
class Wire final : public link::FramePort {
 public:
  MutableBytes room() override { return has_room ? MutableBytes(room_) : MutableBytes(); }
  void send(uint32_t bytes) override {
    ++sent;
    if (keep) history.emplace_back(room_.begin(), room_.begin() + bytes);
    const uint32_t copies = chance(faults.loss) ? 0 : chance(faults.doubling) ? 2 : 1;
    for (uint32_t i = 0; i < copies; ++i) {
      const TimeNs delay = faults.delay_max_ns == 0 ? 0 : random() % faults.delay_max_ns;
      on_way.emplace(now + kFlightNs + delay, Frame(room_.begin(), room_.begin() + bytes));
    }
  }
  // Frames that have come by now, in the order of their coming.
  template <class Take>
  void deliver(TimeNs until, Take&& take) {
    now = until;
    while (!on_way.empty() && on_way.begin()->first <= now) {
      const Frame frame = std::move(on_way.begin()->second);
      on_way.erase(on_way.begin());
      take(frame);
    }
  }
  bool chance(double p) { return p > 0 && std::uniform_real_distribution<>(0, 1)(random) < p; }

  static constexpr TimeNs kFlightNs = 3000;
  Faults faults;
  std::mt19937_64 random;
  std::multimap<TimeNs, Frame> on_way;
  std::vector<Frame> history;  // if `keep`
  TimeNs now = 0;
  uint64_t sent = 0;
  bool keep = false, has_room = true;

 private:
  std::vector<std::byte> room_ = std::vector<std::byte>(limits::kLinkFrameBytesMax);
};

// A record of `bytes` whose content is `number`.
inline Frame make_record(uint32_t bytes, uint64_t number) {
  Frame record(bytes);
  for (uint32_t i = 0; i < bytes; ++i) record[i] = static_cast<std::byte>(number + i);
  store(record.data(), log::RecordHeader{bytes, static_cast<uint8_t>(log::RecordType::kCommit), 0, 0, number, 0, 0, 0});
  return record;
}

inline std::string value_of(uint64_t key) { return std::string(key * 37 % (limits::kValueBytesMax + 1), 'a'); }

class ModelBack final : public link::BackEvents {
 public:
  link::Taken on_record(Bytes record) override {
    if (load<log::RecordHeader>(record.data()).type != static_cast<uint8_t>(log::RecordType::kCommit)) {
      return link::Taken::kMalformed;
    }
    if (is_full) return link::Taken::kLater;
    records.emplace_back(record.begin(), record.end());
    return link::Taken::kYes;
  }
  link::Answer on_question(const link::Question& question) override {
    const auto key = load<uint64_t>(question.key);
    if (key % 5 == 0) return {false, key, {}};
    value = value_of(key);
    return {true, key + 1, std::as_bytes(std::span(value))};
  }
  uint32_t kept(MutableBytes room, bool from_start) override {
    if (from_start) next_kept = 0;
    uint32_t used = 0;
    for (; next_kept < what_is_kept.size(); ++next_kept) {
      const Frame& record = what_is_kept[next_kept];
      if (used + record.size() > room.size()) break;
      std::memcpy(room.data() + used, record.data(), record.size());
      used += static_cast<uint32_t>(record.size());
    }
    return used;
  }
  uint32_t hashes(uint32_t, uint64_t cursor, std::span<uint64_t> room, uint64_t* next) override {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(keys - cursor, room.size()));
    for (uint32_t i = 0; i < count; ++i) room[i] = cursor + i;
    *next = cursor + count == keys ? link::kFillEnd : cursor + count;
    return count;
  }

  std::vector<Frame> records, what_is_kept;
  size_t next_kept = 0;
  uint64_t keys = 0;
  bool is_full = false;
  std::string value;
};

class ModelFront final : public link::FrontEvents {
 public:
  bool on_kept(Bytes record) override {
    kept.emplace_back(record.begin(), record.end());
    return true;
  }
  void on_fetched(Lsn number, const link::Question& question, const link::Answer& answer) override {
    EXPECT_EQ(number, ++answers) << "answers come in the order of the questions";
    const auto key = load<uint64_t>(question.key);
    EXPECT_EQ(answer.is_present, key % 5 != 0);
    EXPECT_EQ(answer.version, key % 5 != 0 ? key + 1 : key);
    const std::string expected = key % 5 != 0 ? value_of(key) : "";
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(answer.value.data()), answer.value.size()), expected);
  }
  void on_fill(uint32_t local_shard, std::span<const uint64_t> hashes) override {
    for (const uint64_t hash : hashes) ++filled[{local_shard, hash}];
  }
  void on_fill_done(uint32_t local_shard) override { done.push_back(local_shard); }

  std::vector<Frame> kept;
  uint64_t answers = 0;
  std::map<std::pair<uint32_t, uint64_t>, int> filled;
  std::vector<uint32_t> done;
};

inline link::Name name_of(const char* text) {
  link::Name name{};
  std::memcpy(name.data(), text, std::min<size_t>(std::strlen(text), name.size()));
  return name;
}

// A front of a rig, with its memory.
struct FrontSide {
  explicit FrontSide(link::FrontEndConfig config, Wire* wire)
      : memory(link::FrontEnd::memory_bytes(config)), front_config(config) {
    end.init(config, memory, wire, &model);
  }
  std::vector<std::byte> memory;
  link::FrontEndConfig front_config;
  ModelFront model;
  link::FrontEnd end;
};

class LinkRig {
 public:
  explicit LinkRig(uint64_t seed = 1, Faults faults = {}) {
    front_config.configuration_hash = back_config.configuration_hash = 77;
    front_config.build = back_config.build = name_of("build 1");
    front_config.instance = 1;
    front_config.frame_bytes = back_config.frame_bytes = 1504;
    front_config.shards = back_config.shards = 2;
    to_back.random.seed(seed);
    to_front.random.seed(seed + 1'000'000);
    to_back.faults = to_front.faults = faults;
  }
  void start() {
    back_memory.resize(link::BackEnd::memory_bytes());
    back.init(back_config, back_memory, &to_front, &model);
    back.set_open(true);
    new_front();
  }
  void new_front() { side = std::make_unique<FrontSide>(front_config, &to_back); }
  link::FrontEnd& front() { return side->end; }

  // One round of both loops, `step` later.
  void round(TimeNs step = 1000) {
    now += step;
    to_back.deliver(now, [&](const Frame& frame) { back.on_frame(frame, now); });
    if (back.wants_front() && (!back.has_front() || back.front_is_dead(now))) back.admit(++epoch, ++incarnation, now);
    back.poll(durable == kFollows ? back.taken() : std::min(durable, back.taken()), store_is_full);
    to_front.deliver(now, [&](const Frame& frame) { front().on_frame(frame, now); });
    if (front().state() == link::FrontState::kReady) front().serve();
    front().poll(now);
  }
  // Rounds until `done()`. False: it did not come to that.
  template <class Done>
  bool run(Done&& done, uint32_t rounds = 400'000) {
    for (uint32_t i = 0; i < rounds; ++i) {
      if (done()) return true;
      round();
    }
    return done();
  }
  bool serve() {
    return run([&] { return front().state() == link::FrontState::kServing && front().has_lease(now); });
  }
  // Appends a record; what was appended is remembered. False: no room.
  bool append(uint32_t bytes) {
    std::byte* const at = front().reserve(bytes);
    if (at == nullptr) return false;
    appended.push_back(make_record(bytes, appended.size() + 1));
    std::memcpy(at, appended.back().data(), bytes);
    front().append(bytes);
    return true;
  }

  static constexpr Lsn kFollows = ~0ull;  // durable is what is taken
  link::FrontEndConfig front_config;
  link::BackEndConfig back_config;
  Wire to_back, to_front;
  ModelBack model;
  std::vector<std::byte> back_memory;
  link::BackEnd back;
  std::unique_ptr<FrontSide> side;
  std::vector<Frame> appended;
  TimeNs now = 1'000'000'000;
  Lsn durable = kFollows;
  bool store_is_full = false;
  uint64_t epoch = 100;
  uint32_t incarnation = 7;
};

}  // namespace txnic::test
