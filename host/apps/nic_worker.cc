// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/nic_worker.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "host/apps/link_identity.h"
#include "host/apps/options.h"
#include "host/apps/random.h"

namespace txnic::apps {
namespace {

std::vector<TableId> table_ids(const control::NodeConfig& config) {
  std::vector<TableId> ids;
  for (const control::TableConfig& table : config.tables) ids.push_back(table.id);
  return ids;
}

uint64_t records(const control::NodeConfig& config) {
  uint64_t sum = 0;
  for (const control::TableConfig& table : config.tables) sum += table.capacity;
  return sum;
}

}  // namespace

NicWorker::NicWorker(const control::NodeConfig& config, uint32_t worker, uint32_t workers)
    : config_(config),
      worker_(worker),
      workers_(workers),
      map_(control::shard_map(config, workers)),
      secret_{random_word(), random_word()} {}

NicWorker::~NicWorker() = default;

SessionLimits NicWorker::session_limits() const {
  return {.sessions = config_.sessions.count,
          .window = config_.sessions.window,
          .shards = (config_.shards - worker_ + workers_ - 1) / workers_,
          .idle_expiry_ns = config_.sessions.idle_expiry_seconds * 1'000'000'000ull};
}

uint64_t NicWorker::cache_bytes() const {
  return std::max(config_.offload.cache_bytes / workers_ & ~uint64_t{63}, offload::Cache::kMinimumBytes);
}

offload::NicBackConfig NicWorker::back_config() const {
  offload::NicBackConfig back;
  back.worker = worker_;
  back.worker_count = workers_;
  back.shards = session_limits().shards;
  back.durability = config_.log.durability;
  back.use_filter = config_.offload.absence_filter;
  back.session_window = config_.sessions.window;
  back.filter_keys = std::max<uint64_t>(records(config_) / workers_, back.shards);
  back.cache.is_on = config_.offload.hot_cache;
  uint32_t bytes = 0;
  for (const control::TableConfig& table : config_.tables) bytes = std::max(bytes, table.key_bytes + table.value_bytes);
  back.cache.entry_bytes = static_cast<uint32_t>(sizeof(offload::CacheEntry)) + bytes;
  return back;
}

link::FrontEndConfig NicWorker::link_config() const {
  link::FrontEndConfig link;
  link.worker = static_cast<uint16_t>(worker_);
  link.shards = session_limits().shards;
  link.instance = random_word();
  link.configuration_hash = link_configuration_hash(config_, workers_);
  link.build = link_build();
  link.frame_bytes = frame_bytes_;
  return link;
}

offload::FrontConfig NicWorker::front_config() const {
  offload::FrontConfig front;
  front.worker = worker_;
  front.map = map_;
  front.incarnation = link_.incarnation();
  front.durability = config_.log.durability;
  front.cookie_secret = secret_;
  return front;
}

uint64_t NicWorker::region_bytes() const {
  return SessionTable::memory_bytes(session_limits()) + cache_bytes() + NicBack::filter_bytes(back_config()) +
         link::FrontEnd::memory_bytes(link_config());
}

StartError NicWorker::allocate() {
  std::string error;
  const auto allocate = [&error](size_t bytes, dataplane::Region* region) {
    if (error.empty()) *region = dataplane::Region::allocate(bytes, -1, &error);
  };
  allocate(SessionTable::memory_bytes(session_limits()), &session_memory_);
  allocate(cache_bytes(), &cache_memory_);
  allocate(NicBack::filter_bytes(back_config()), &filter_memory_);
  allocate(link::FrontEnd::memory_bytes(link_config()), &link_memory_);
  if (!error.empty()) return {"front on the NIC: " + error, kExitPreflight};
  abandoned_.reserve(limits::kHeldRepliesMax + limits::kWaitingCopiesMax + 2 * limits::kParkedMax);
  return {};
}

void NicWorker::attach(link::FramePort* port, uint32_t frame_bytes, offload::Outbox* outbox) {
  port_ = port;
  frame_bytes_ = frame_bytes;
  outbox_ = outbox;
  greet();
}

// A new life: nothing of the one before is left.
void NicWorker::greet() {
  link_.init(link_config(), link_memory_.bytes(), port_, &back_);
  const bool fits = back_.init(back_config(), table_ids(config_), cache_memory_.bytes(), filter_memory_.bytes(), &link_,
                               this);
  assert(fits);
  static_cast<void>(fits);
  std::vector<storage::Shard*> no_store(config_.shards, nullptr);
  kept_ = std::make_unique<back::RecoveredState>(std::move(no_store), config_.sessions.window);
}

bool NicWorker::on_kept(Bytes record) {
  return kept_ != nullptr && back::replay_kept(record, worker_, workers_, config_.shards, kept_.get());
}

uint32_t NicWorker::poll(TimeNs now) {
  refusal_.store(link_.why(), std::memory_order_relaxed);
  const link::FrontState state = link_.state();
  if (state != link::FrontState::kReady && state != link::FrontState::kLost) [[likely]]
    return 0;
  const std::lock_guard lock(change_);
  if (!kept_error_.empty()) return 0;  // the main thread ends the process
  if (state == link::FrontState::kReady) {
    install(now);
  } else {
    lose();
    greet();
  }
  return 1;
}

void NicWorker::install(TimeNs now) {
  std::memset(session_memory_.data(), 0, session_memory_.size());
  sessions_.init(session_limits(), session_memory_.bytes());
  if (!make_front(now)) {
    front_.reset();
    return;
  }
  kept_.reset();
  back_.serve(link_.incarnation());
  link_.serve();
  if (config_.offload.absence_filter) link_.fill();
  incarnation_.store(link_.incarnation(), std::memory_order_relaxed);
  ++fronts_;
  is_serving_.store(true, std::memory_order_release);
}

bool NicWorker::make_front(TimeNs now) {
  kept_error_ = kept_->fill(worker_, workers_, now, &sessions_);
  if (!kept_error_.empty()) return false;
  for (const control::StaticSessionConfig& session : config_.sessions.static_sessions) {
    Session* entry = sessions_.find(session.id);
    if (entry == nullptr) entry = sessions_.insert(session.id);
    if (entry == nullptr) {
      kept_error_ = "sessions.count has no room for the static sessions: raise it";
      return false;
    }
    entry->is_static = true;
    entry->is_static_replay = session.execute;
  }
  offload::FrontConfig config = front_config();
  const back::RecoveredState::Room room = kept_->room_to_restore(worker_, workers_);
  config.commit.transactions += room.transactions;
  config.commit.locks += room.locks;
  commit_memory_.assign(Front::commit_memory_bytes(config) + 64, std::byte{0});
  auto* const memory = reinterpret_cast<std::byte*>(align64(reinterpret_cast<uintptr_t>(commit_memory_.data())));
  front_ = std::make_unique<Front>(config, &back_, &sessions_,
                                   MutableBytes{memory, Front::commit_memory_bytes(config)}, outbox_);
  kept_error_ = kept_->restore(worker_, workers_, now, &back_, &front_->machine());
  return kept_error_.empty();
}

NicWorker::Counters NicWorker::counters() const {
  Counters sum = past_;
  add_counters(back_.counters(), &sum.cache);
  add_counters(link_.front_counters(), &sum.link);
  add_counters(link_.counters(), &sum.frames);
  if (!is_serving()) return sum;
  add_counters(front_->counters(), &sum.front);
  add_counters(front_->machine().counters(), &sum.commit);
  return sum;
}

void NicWorker::add_to(EngineStatistics* sum, NicStatistics* nic, TimeNs now) const {
  const std::lock_guard lock(change_);
  const Counters all = counters();
  nic->fronts += fronts_;
  add_counters(all.cache, &nic->cache);
  add_counters(all.link, &nic->link);
  add_counters(all.frames, &nic->frames);
  add_counters(all.front, &sum->front);
  add_counters(all.commit, &sum->commit);
  if (!is_serving()) return;
  ++nic->serving_now;
  add_held(*front_, now, sum);
  sum->sessions = std::max<uint64_t>(sum->sessions, sessions_.size());
}

std::string NicWorker::failure() const {
  const std::lock_guard lock(change_);
  return kept_error_.empty() ? "" : "front on the NIC: what the back has kept cannot be installed: " + kept_error_;
}

void NicWorker::lose() {
  past_ = counters();
  past_.cache.entries = past_.cache.cache_bytes = past_.cache.cache_used_bytes = 0;  // these are no counts
  is_serving_.store(false, std::memory_order_release);
  if (front_ == nullptr) return;
  front_->abandon([this](void* handle) { abandoned_.push_back(handle); });
  front_.reset();
}

uint32_t NicWorker::take_abandoned(std::span<void*> handles) {
  uint32_t count = 0;
  while (count < handles.size() && !abandoned_.empty()) {
    handles[count++] = abandoned_.back();
    abandoned_.pop_back();
  }
  return count;
}

std::string NicWorker::refusal() const {
  switch (refusal_.load(std::memory_order_relaxed)) {
    case link::Refusal::kNone: return {};
    case link::Refusal::kVersion: return "the other end speaks another version of the link: start one build on both";
    case link::Refusal::kBuild: return "the other end is another build: start one build on both";
    case link::Refusal::kConfiguration:
      return "the other end has another configuration: start both with the same file, overrides and workers";
    case link::Refusal::kFrameBytes: return "the link's MTU has no room for the largest value: raise it";
    case link::Refusal::kOccupied: return "another front serves; waiting for its lease to end";
    case link::Refusal::kNotReady: return "the back is starting, or takes its shards over; waiting for it";
    case link::Refusal::kEpoch: return "the back has started again, or has given the shards to another front";
    case link::Refusal::kMalformed: return "the back took a frame for damaged: report this";
  }
  return {};
}

}  // namespace txnic::apps
