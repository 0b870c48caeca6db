// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: whatever arrives at an end of the host link, it reads nothing outside the frame, takes no record and no
// position that cannot be, and never stops answering an honest other end.
//
// The input is a row of frames: a byte for what to do with it, a u16 length, that many bytes. Frames for an end that
// talks already get magic, length and epoch set right, else nearly all would end at the first check.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "offload/link/back_end.h"
#include "offload/link/front_end.h"

namespace {

using namespace txnic;

void require(bool holds) {
  if (!holds) std::abort();
}

class Port final : public link::FramePort {
 public:
  MutableBytes room() override { return room_; }
  void send(uint32_t bytes) override {
    require(bytes <= room_.size());
    last.assign(room_.begin(), room_.begin() + bytes);
  }
  std::vector<std::byte> last;

 private:
  std::array<std::byte, limits::kLinkFrameBytesMax> room_;
};

class Back final : public link::BackEvents {
 public:
  link::Taken on_record(Bytes record) override {
    require(record.size() >= sizeof(log::RecordHeader) && record.size() <= limits::kLogRecordBytesMax);
    require(load<uint32_t>(record.data()) == record.size());
    sum += std::to_integer<uint64_t>(record.back());
    bytes += record.size();
    return sum % 7 == 0 ? bytes -= record.size(), link::Taken::kLater : link::Taken::kYes;
  }
  link::Answer on_question(const link::Question& question) override {
    require(question.local_shard < 2 && question.key_length != 0 && question.key_length <= limits::kKeyBytesMax);
    for (uint32_t i = 0; i < question.key_length; ++i) sum += std::to_integer<uint64_t>(question.key[i]);
    return {sum % 2 == 0, sum, {}};
  }
  uint32_t kept(MutableBytes room, bool from_start) override {
    if (from_start) left = 3;
    if (left == 0) return 0;
    --left;
    store(room.data(), log::RecordHeader{40, 1, 0, 0, 0, 0, 0, 0});
    return 40;
  }
  uint32_t hashes(uint32_t, uint64_t cursor, std::span<uint64_t> room, uint64_t* next) override {
    room[0] = cursor;
    *next = cursor > 10 ? link::kFillEnd : cursor + 1;
    return 1;
  }
  uint64_t sum = 1, bytes = 0;
  int left = 0;
};

class Front final : public link::FrontEvents {
 public:
  bool on_kept(Bytes record) override { return load<uint32_t>(record.data()) == record.size(); }
  void on_fetched(Lsn number, const link::Question&, const link::Answer& answer) override {
    require(number == ++fetched && answer.value.size() <= limits::kValueBytesMax);
    for (const std::byte b : answer.value) sum += std::to_integer<uint64_t>(b);
  }
  void on_fill(uint32_t, std::span<const uint64_t> hashes) override {
    for (const uint64_t hash : hashes) sum += hash;
  }
  void on_fill_done(uint32_t) override {}
  uint64_t sum = 0;
  Lsn fetched = 0;
};

struct Rig {
  Rig() {
    front_config.instance = 1;
    front_config.append_bytes = 8192;
    front_config.fetches = 16;
    back_config.shards = 2;
    front_memory.resize(link::FrontEnd::memory_bytes(front_config));
    back_memory.resize(link::BackEnd::memory_bytes());
    front.init(front_config, front_memory, &to_back, &front_events);
    back.init(back_config, back_memory, &to_front, &back_events);
    back.set_open(true);
    serve();
  }
  // Until the front serves, over a good wire.
  void serve() {
    for (int i = 0; i < 20 && front.state() != link::FrontState::kServing; ++i) {
      step();
      if (back.wants_front()) back.admit(5, 6, now);
      if (front.state() == link::FrontState::kReady) front.serve();
    }
    require(front.state() == link::FrontState::kServing);
  }
  void step() {
    now += 20'000'000;
    front.poll(now);
    if (!to_back.last.empty()) back.on_frame(to_back.last, now);
    to_back.last.clear();
    back.poll(back.taken(), false);
    if (!to_front.last.empty()) front.on_frame(to_front.last, now);
    to_front.last.clear();
  }

  link::FrontEndConfig front_config;
  link::BackEndConfig back_config;
  Port to_back, to_front;
  Back back_events;
  Front front_events;
  std::vector<std::byte> front_memory, back_memory;
  link::FrontEnd front;
  link::BackEnd back;
  TimeNs now = 1'000'000'000;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Rig fresh;  // its memory is made once
  Rig& rig = fresh;
  rig.to_back.last.clear();
  rig.to_front.last.clear();
  rig.back_events = {};
  rig.front_events = {};
  rig.front.init(rig.front_config, rig.front_memory, &rig.to_back, &rig.front_events);
  rig.back.init(rig.back_config, rig.back_memory, &rig.to_front, &rig.back_events);
  rig.back.set_open(true);
  rig.serve();
  const uint64_t key = 7;
  for (uint32_t i = 0; i < 4; ++i) rig.front.ask(i % 2, 1, reinterpret_cast<const std::byte*>(&key), 8);
  rig.front.fill();

  for (int frames = 0; size >= 3 && frames < 32; ++frames) {
    const uint8_t what = data[0];
    const auto length = static_cast<uint16_t>(std::min<size_t>(load<uint16_t>(data + 1), size - 3));
    std::vector<std::byte> frame(length);  // of its own, so that a read behind it is found
    if (length != 0) std::memcpy(frame.data(), data + 3, length);
    data += 3 + length;
    size -= 3 + length;
    const bool to_front = (what & 1) != 0;
    if ((what & 2) == 0 && length >= sizeof(link::FrameHeader)) {
      auto header = load<link::FrameHeader>(frame.data());
      header.magic = link::kMagic;
      header.version = link::kFormatVersion;
      header.sender = static_cast<uint8_t>(to_front ? link::Sender::kBack : link::Sender::kFront);
      header.worker = 0;
      header.length = static_cast<uint16_t>(length & ~7u);
      if ((what & 4) == 0) header.epoch = 5;
      store(frame.data(), header);
    }
    if (to_front) {
      rig.front.on_frame(frame, rig.now);
    } else {
      rig.back.on_frame(frame, rig.now);
    }
    rig.now += 1000;
    require(rig.back.taken() == rig.back_events.bytes);
    require(rig.front.durable() <= rig.front.taken() && rig.front.taken() <= rig.front.end());
    require(rig.front.fetched() <= rig.front.asked());
  }
  // Who has not been refused goes on.
  if (rig.front.state() == link::FrontState::kServing && rig.back.has_front()) {
    rig.back_events.sum = 2;
    rig.step();
  }
  return 0;
}
