// SPDX-License-Identifier: BSD-3-Clause
// The engine of one node, apart from packets: memory, shards, sessions, log, and for each worker the back and the
// front that its loop drives. Started once, before the workers; stopped after them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/memory.h"
#include "host/apps/core.h"
#include "host/apps/link_worker.h"
#include "host/apps/options.h"
#include "host/apps/statistics.h"
#include "host/back/host_back.h"
#include "host/back/recovered_state.h"
#include "host/control/config.h"
#include "host/log/keeper.h"
#include "host/log/recovery.h"
#include "offload/front.h"

namespace txnic::apps {

using Front = offload::Front<back::HostBack>;

class Engine {
 public:
  enum class Fronts : uint8_t { kHere, kElsewhere };  // elsewhere: behind a host link (placement NIC)

  Engine(const control::NodeConfig& config, uint32_t workers, Fronts fronts = Fronts::kHere);
  ~Engine();

  // Bytes of dataplane::Region that start() will take, for the preflight.
  uint64_t region_bytes() const;
  // Allocates, recovers, opens the logs. `say` gets lines for people (recovery's result, the disk in use).
  StartError start(TimeNs now, const Say& say);

  // The operator's decisions, after start() and before the workers run.
  StartError resolve(std::span<const Resolution> resolutions, TimeNs now, const Say& say);

  uint32_t worker_count() const { return static_cast<uint32_t>(workers_.size()); }
  // Fronts::kElsewhere, after start(), once for each worker. `port` and the engine outlive it; null: *error says why.
  LinkWorker* make_link_worker(uint32_t worker, link::FramePort* port, uint32_t frame_bytes, std::string* error);
  // Fronts::kHere.
  Front* front(uint32_t worker) { return workers_[worker].front.get(); }
  back::HostBack* back(uint32_t worker) { return workers_[worker].back.get(); }
  uint32_t incarnation() const { return incarnation_; }

  // A write or sync failed: the node must stop now, answering nothing more (DESIGN 4.4, trap 11). The reason, or empty.
  std::string failure() const;
  // After the workers have stopped: ends the log cleanly, in a bounded time. False: it could not.
  bool close_log();
  // What an operator must hear at once and has not been told yet; else empty. From the main thread.
  std::string alarm();
  // What is in doubt is looked at while the workers change it: each line alone may be out of date, as all figures are.
  EngineStatistics statistics(TimeNs now) const;

 private:
  struct Worker {
    dataplane::Region session_memory;
    dataplane::Region commit_memory;
    std::vector<storage::Shard*> shards;
    SessionTable sessions;
    std::unique_ptr<log::WorkerLog> log;
    std::unique_ptr<back::HostBack> back;
    std::unique_ptr<Front> front;
    // Fronts::kElsewhere.
    std::unique_ptr<back::Mirror> mirror;
    dataplane::Region link_memory;
    std::unique_ptr<LinkWorker> link;
  };

  uint64_t shard_capacity(uint64_t table_capacity) const;
  uint64_t bytes_per_shard() const;
  SessionLimits session_limits(uint32_t worker) const;
  StartError allocate();
  StartError open_disk(const Say& say);
  StartError recover(TimeNs now, const Say& say);
  StartError take_recovered(const back::RecoveredState& state, TimeNs now);
  StartError restore_transactions(TimeNs now, const Say& say);
  StartError add_static_sessions();
  StartError build_workers();
  StartError build_front(uint32_t worker, CookieSecret secret);
  uint32_t take_front_incarnation();
  bool has_fronts() const { return fronts_ == Fronts::kHere; }

  const control::NodeConfig config_;
  const Fronts fronts_;
  const ShardMap map_;
  std::vector<storage::Table> tables_;  // with each shard's capacity
  std::vector<dataplane::Region> shard_memory_;
  std::vector<std::unique_ptr<storage::Shard>> shards_;  // by global number
  std::unique_ptr<log::Disk> disk_;
  std::unique_ptr<log::Keeper> keeper_;
  std::vector<Worker> workers_;
  std::unique_ptr<back::RecoveredState> recovered_;  // until every worker has its part
  uint32_t link_workers_ = 0;
  std::atomic<uint32_t> front_incarnation_{0};  // the newest that a front was given, where there is no log
  uint32_t incarnation_ = 0;
  uint64_t contradictions_told_ = 0;
};

}  // namespace txnic::apps
