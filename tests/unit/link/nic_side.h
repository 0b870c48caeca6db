// SPDX-License-Identifier: BSD-3-Clause
// The NIC's side of a node, one worker: link, cache, sessions, front. It dies and starts again like a process, and
// starts over by itself when its link is lost.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "host/back/recovered_state.h"
#include "offload/front.h"
#include "offload/link/nic_back.h"
#include "tests/unit/link/host_side.h"

namespace txnic::test {

struct NicSideConfig {
  uint32_t shards = 4;
  Durability durability = Durability::kSync;
  SessionLimits sessions;
  uint64_t cache_bytes = offload::Cache::kMinimumBytes;
  std::vector<TableId> tables = {1};
  link::FrontEndConfig link;
  uint32_t transactions = 64, locks = 1024;
};

class NicSide final : offload::KeptReader {
 public:
  using Reply = std::function<void(Endpoint to, std::vector<std::byte> message)>;

  NicSide(const NicSideConfig& config, Wire* to_back, Reply reply)
      : config_(config), to_back_(to_back), reply_(std::move(reply)) {}
  ~NicSide() { die(); }

  void start();
  void die();
  bool running() const { return end_ != nullptr; }
  void on_frame(const Frame& frame, TimeNs now) { end_->on_frame(frame, now); }
  void deliver(Endpoint from, std::vector<std::byte> message);
  // One round of the loop.
  void step(TimeNs now);

  bool serves() const { return front_ != nullptr; }
  link::FrontEnd& end() { return *end_; }
  offload::NicBack& back() { return *back_; }
  uint32_t transactions() const { return front_ == nullptr ? 0 : front_->machine().size(); }
  uint64_t starts = 0, restored = 0, misses = 0, duplicates = 0;
  std::string error;

 private:
  using Front = offload::Front<offload::NicBack>;
  struct Message {
    std::vector<std::byte> bytes;
    Endpoint from;
    uint32_t length = 0;
  };
  bool on_kept(Bytes record) override { return back::replay_kept(record, 0, 1, config_.shards, kept_.get()); }
  void install(TimeNs now);
  void settle(offload::Action action, uint32_t reply_length, Message* message);

  const NicSideConfig config_;
  Wire* const to_back_;
  const Reply reply_;
  uint64_t instance_ = 0;
  Memory64 link_memory_, cache_memory_, filter_memory_, session_memory_, commit_memory_;
  std::unique_ptr<back::RecoveredState> kept_;
  std::unique_ptr<link::FrontEnd> end_;
  std::unique_ptr<offload::NicBack> back_;
  SessionTable sessions_;
  std::unique_ptr<Front> front_;
  std::deque<std::unique_ptr<Message>> inbox_;
  std::map<Message*, std::unique_ptr<Message>> held_;
};

}  // namespace txnic::test
