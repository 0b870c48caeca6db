// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/dataplane.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <ctime>
#include <utility>

#include <rte_mempool.h>

#include "dataplane/exchange.h"
#include "dataplane/lcores.h"
#include "dataplane/loop.h"
#include "dataplane/next_hop.h"
#include "dataplane/peers.h"
#include "dataplane/steering/rte_flow.h"
#include "dataplane/watchdog.h"

namespace txnic::dataplane {
namespace {

constexpr uint32_t kPacketsPerWorker = 2048 + kTransmitBacklogMax;  // bursts on their way, the pool's per-lcore cache
constexpr uint32_t kQuietStepsToStop = 16;    // loop steps without work before a draining worker counts as done
constexpr uint32_t kExitMilliseconds = 5000;  // for a worker to come out of its loop

uint32_t workers_of(const DataplaneOptions& options) {
  return options.workers == 0 ? std::min(worker_lcore_count(), limits::kWorkersMax) : options.workers;
}

std::vector<uint16_t> ports_of(const DataplaneOptions& options) {
  return options.port_ids.empty() ? available_ports() : options.port_ids;
}

PortOptions port_options(const DataplaneOptions& options) {
  PortOptions result;
  result.workers = workers_of(options);
  result.queues = options.queues;
  result.rx_descriptors = options.rx_descriptors;
  result.tx_descriptors = options.tx_descriptors;
  result.checksum = options.checksum;
  return result;
}

uint32_t packets_for(const Port& port, const DataplaneOptions& options) {
  const uint32_t workers = workers_of(options);
  const uint32_t rings = workers > 1 ? workers * kWorkerRingPackets : 0;
  const uint32_t outbox = options.map ? outbox_frames_max(*options.map) : 0;
  const uint32_t packets =
      port_packet_count(port) + workers * (options.held_packets_max + kPacketsPerWorker + outbox) + rings;
  return std::bit_ceil(packets) - 1 >= packets ? std::bit_ceil(packets) - 1 : packets;
}

void nap_milliseconds(long milliseconds) {
  const timespec time{0, milliseconds * 1'000'000};
  nanosleep(&time, nullptr);
}

}  // namespace

Dataplane::Dataplane() = default;

std::unique_ptr<Dataplane> Dataplane::open(const DataplaneOptions& options, std::string* error) {
  std::unique_ptr<Dataplane> plane(new Dataplane);
  plane->options_ = options;
  plane->clock_ = Clock::calibrated();
  const uint32_t workers = workers_of(options);
  if (workers > worker_lcore_count() || workers > limits::kWorkersMax) {
    *error = "need " + std::to_string(workers) + " workers, have " + std::to_string(worker_lcore_count()) +
             ". Give the EAL more lcores (-l)";
    return nullptr;
  }
  if (options.map && options.map->nodes[options.map->self].workers != workers) {
    *error = "the shard map has " + std::to_string(options.map->nodes[options.map->self].workers) +
             " workers for this node, but it has " + std::to_string(workers);
    return nullptr;
  }
  if (options.link && options.link->port_index >= ports_of(options).size()) {
    *error = "the host link is port " + std::to_string(options.link->port_index) + ", but there are only " +
             std::to_string(ports_of(options).size()) + " ports: give one more with --vdev=… or -a … before \"--\"";
    return nullptr;
  }
  if (!register_note(error)) return nullptr;
  const PortOptions wanted = port_options(options);
  for (const uint16_t id : ports_of(options)) {
    Port port;
    if (!examine_port(id, wanted, &port, error)) return nullptr;
    rte_mempool* pool = create_packet_pool("packets" + std::to_string(id), packets_for(port, options),
                                           port.numa_node, error);
    if (pool == nullptr) return nullptr;
    plane->pools_.push_back(pool);
    if (!configure_port(wanted, pool, &port, error)) return nullptr;
    plane->ports_.push_back(std::move(port));
  }
  if (plane->ports_.empty()) {
    *error = "no port: give one with --vdev=… or -a … in front of \"--\"";
    return nullptr;
  }
  if (!plane->plan_steering(error) || !plane->create_workers(error)) return nullptr;
  return plane;
}

uint64_t Dataplane::packet_bytes(const DataplaneOptions& options) {
  uint64_t bytes = 0;
  for (const uint16_t id : ports_of(options)) {
    Port port;
    std::string error;
    if (examine_port(id, port_options(options), &port, &error)) bytes += packet_pool_bytes(packets_for(port, options));
  }
  return bytes;
}

bool Dataplane::plan_steering(std::string* error) {
  const uint32_t workers = workers_of(options_);
  const steering::TableInput input{static_cast<uint32_t>(ports_.size()), workers, options_.base_port,
                                   options_.steering};
  *error = steering::check_input(input);
  if (!error->empty()) return false;
  std::vector<steering::PortFacts> facts;
  for (uint32_t i = 0; i < ports_.size(); ++i) {
    facts.push_back(steering::port_facts(ports_[i], i, workers, options_.steering));
  }
  flow_port_ = std::make_unique<steering::RteFlowPort>();
  steering_ = steering::Steering(steering::make_table(input), std::move(facts), flow_port_.get());
  steered_starts_.assign(ports_.size(), 0);
  return true;
}

// Rules do not outlive a restart of their port.
void Dataplane::steer() {
  for (uint32_t i = 0; i < ports_.size(); ++i) {
    if (!ports_[i].started || steered_starts_[i] == ports_[i].starts) continue;
    steered_starts_[i] = ports_[i].starts;
    steering_.install(i, &notes_);
  }
}

bool Dataplane::create_workers(std::string* error) {
  const uint32_t workers = workers_of(options_);
  hops_ = std::make_unique<NextHops>();
  if (options_.map) {
    std::vector<uint16_t> port_ids;
    for (const Port& port : ports_) port_ids.push_back(port.id);
    if (!hops_->init(*options_.map, options_.next_hops, port_ids, error)) return false;
  }
  exchange_ = std::make_unique<Exchange>();
  if (!exchange_->create(workers, error)) return false;
  std::vector<PollGate*> gates;
  std::vector<const Progress*> progress;
  for (uint32_t w = 0; w < workers; ++w) {
    workers_.push_back(std::make_unique<Worker>(w, options_, ports_, hops_.get(), exchange_.get(), clock_));
    gates.push_back(&workers_.back()->gate());
    progress.push_back(&workers_.back()->progress());
  }
  peers_ = std::make_unique<Peers>(&ports_, gates);
  peers_->set_before_stop([this](size_t port) { steering_.remove(static_cast<uint32_t>(port)); });
  watchdog_ = std::make_unique<Watchdog>(progress);
  return true;
}

Dataplane::~Dataplane() {
  assert(!running_ && "stop() first");
  for (uint32_t i = 0; i < steered_starts_.size(); ++i) steering_.remove(i);
  for (Port& port : ports_) close_port(&port);
  workers_.clear();
  exchange_.reset();
  for (rte_mempool* pool : pools_) rte_mempool_free(pool);
}

uint32_t Dataplane::worker_count() const { return static_cast<uint32_t>(workers_.size()); }
WorkerCounters& Dataplane::counters(uint32_t worker) { return workers_[worker]->counters(); }
int Dataplane::worker_node(uint32_t worker) const { return worker_numa_node(worker); }
const std::deque<QueueCounters>& Dataplane::queues(uint32_t worker) const { return workers_[worker]->queues(); }
void Dataplane::set_mode(uint32_t worker, Mode* mode) { workers_[worker]->set_mode(mode); }
offload::Outbox* Dataplane::outbox(uint32_t worker) { return workers_[worker]->outbox(); }
LinkPort* Dataplane::link_port(uint32_t worker) { return workers_[worker]->link_port(); }
uint32_t Dataplane::next_hops() const { return hops_->count(); }
uint32_t Dataplane::next_hops_known() const { return hops_->known(); }
bool Dataplane::all_links_up() const { return peers_->all_up(); }
uint64_t Dataplane::stalls() const { return watchdog_->stalls(); }
std::array<uint64_t, kStages> Dataplane::stage_samples() const { return watchdog_->samples(); }

bool Dataplane::start(std::string* error) {
  if (!peers_->start(clock_.now(), &notes_, error)) return false;
  steer();
  for (uint32_t w = 0; w < worker_count(); ++w) {
    Worker* worker = workers_[w].get();
    worker->set_phase(Phase::kRun);
    if (!launch_worker(w, [worker] { worker->run(); }, error)) {
      for (uint32_t started = 0; started < w; ++started) {
        workers_[started]->set_phase(Phase::kExit);
        join_worker(started);
      }
      return false;
    }
  }
  running_ = true;
  return true;
}

std::vector<std::string> Dataplane::housekeep() {
  const TimeNs now = clock_.now();
  peers_->tick(now, &notes_);
  steer();
  watchdog_->tick(now, &notes_);
  hops_->tell(&notes_);
  return std::exchange(notes_, {});
}

// Every worker has found nothing to do for a while, and no packet is on its way between two of them.
void Dataplane::drain() {
  for (auto& worker : workers_) worker->set_phase(Phase::kDrain);
  const TimeNs deadline = clock_.now() + TimeNs{options_.drain_milliseconds} * 1'000'000;
  while (clock_.now() < deadline) {
    const bool quiet = std::all_of(workers_.begin(), workers_.end(),
                                   [](const auto& worker) { return worker->quiet_steps() >= kQuietStepsToStop; });
    if (quiet && exchange_->is_empty()) return;
    nap_milliseconds(1);
  }
}

bool Dataplane::stop(std::string* error) {
  if (!running_) return true;
  drain();
  for (auto& worker : workers_) worker->set_phase(Phase::kExit);
  const TimeNs deadline = clock_.now() + TimeNs{kExitMilliseconds} * 1'000'000;
  for (uint32_t w = 0; w < worker_count(); ++w) {
    while (worker_is_running(w)) {
      if (clock_.now() > deadline) {
        *error = "worker " + std::to_string(w) + " does not stop; it is in stage \"" +
                 stage_name(workers_[w]->progress().stage.load()) + "\"";
        return false;
      }
      nap_milliseconds(1);
    }
    join_worker(w);
  }
  running_ = false;
  for (auto& worker : workers_) worker->abandon();
  return true;
}

}  // namespace txnic::dataplane
