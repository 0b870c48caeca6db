// SPDX-License-Identifier: BSD-3-Clause
// The host's side of a node with placement NIC, one worker, over the disk that forgets: recovery, store, log, keeper,
// mirror and link server. It dies and starts again like a process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/back/link_server.h"
#include "host/back/recovered_state.h"
#include "tests/support/test_disk.h"
#include "tests/unit/link/link_rig.h"

namespace txnic::test {

struct alignas(64) Line64 {
  std::byte bytes[64];
};
class Memory64 {
 public:
  MutableBytes make(size_t bytes) {
    lines_.assign(bytes / sizeof(Line64) + 1, Line64{});
    return {lines_[0].bytes, lines_.size() * sizeof(Line64)};
  }

 private:
  std::vector<Line64> lines_;
};

struct HostSideConfig {
  uint32_t shards = 2;
  Durability durability = Durability::kSync;
  SessionLimits sessions{.sessions = 8, .window = 16, .shards = 2};
  uint32_t transactions = 64;
  uint64_t shard_bytes = 8u << 20;
  uint64_t reserve_bytes = 256u << 10;
  std::vector<storage::Table> tables = {{1, 1000}};
  link::BackEndConfig link;
};

class HostSide {
 public:
  HostSide(const HostSideConfig& config, TestDisk* disk, Wire* to_front)
      : config_(config), disk_(disk), to_front_(to_front) {}
  ~HostSide() { die(); }

  // False: `error` says why.
  bool start();
  void die();
  bool running() const { return server_ != nullptr; }
  // One round of the worker's loop and of the keeper, without the frames that came.
  void poll(TimeNs now);
  // Admits who waits, once nobody else can serve.
  void admit(TimeNs now);
  bool begin_checkpoint() { return keeper_ != nullptr && keeper_->begin_checkpoint(); }
  uint64_t checkpoints() const { return keeper_ == nullptr ? 0 : keeper_->statistics().checkpoints; }

  back::LinkServer& server() { return *server_; }
  back::HostBack& back() { return *back_; }
  back::Mirror& mirror() { return *mirror_; }
  storage::Shard& shard(uint32_t local) { return *shards_[local]; }
  const log::WorkerLog* log() const { return log_.get(); }
  // What the mirror tells, read as a front that starts reads it.
  std::unique_ptr<back::RecoveredState> told();
  // What recovery would read from the disk as it is now.
  static std::unique_ptr<back::RecoveredState> recovered(const HostSideConfig& config, TestDisk* disk,
                                                         std::string* error);

  std::string error;
  uint32_t incarnation = 0;
  uint64_t epoch = 0;

 private:
  const HostSideConfig config_;
  TestDisk* const disk_;
  Wire* const to_front_;
  std::vector<Memory64> shard_memory_;
  Memory64 server_memory_;
  std::vector<std::unique_ptr<storage::Shard>> shards_;
  std::unique_ptr<log::Keeper> keeper_;
  std::unique_ptr<log::WorkerLog> log_;
  std::unique_ptr<back::Mirror> mirror_;
  std::unique_ptr<back::HostBack> back_;
  std::unique_ptr<back::LinkServer> server_;
};

}  // namespace txnic::test
