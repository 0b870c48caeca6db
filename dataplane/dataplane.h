// SPDX-License-Identifier: BSD-3-Clause
// All ports of the process, and one worker for each worker lcore. Life:
//
//   EalStart eal = start_eal(split_command_line(argc, argv));
//   auto plane = Dataplane::open(options, &error);              // ports examined and configured, pools made
//   for w in 0 … plane->worker_count() - 1:
//     modes[w] = make_mode("echo", {w, plane->worker_count(), &plane->counters(w)}, &error);
//     plane->set_mode(w, modes[w].get());
//   plane->start(&error);                                       // workers poll from here on
//   while (!asked_to_stop) { for (note : plane->housekeep()) print(note);  sleep 10 ms; }
//   plane->stop(&error);                                        // drains, bounded; then the figures are final
//
// Everything here is for the main thread, except what workers touch by themselves.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/clock.h"
#include "dataplane/counters.h"
#include "dataplane/modes/mode.h"
#include "dataplane/options.h"
#include "dataplane/port.h"
#include "dataplane/steering/steering.h"
#include "offload/outbox.h"

namespace txnic::dataplane {

class Exchange;
class LinkPort;
class NextHops;
class Peers;
class Watchdog;
class Worker;

class Dataplane {
 public:
  // Null on failure, with the cause and the next step in *error.
  static std::unique_ptr<Dataplane> open(const DataplaneOptions& options, std::string* error);
  // What open() will take from the EAL's memory for packets (for preflight.h).
  static uint64_t packet_bytes(const DataplaneOptions& options);
  ~Dataplane();
  Dataplane(const Dataplane&) = delete;
  Dataplane& operator=(const Dataplane&) = delete;

  uint32_t worker_count() const;
  const std::vector<Port>& ports() const { return ports_; }  // each with its one-line summary
  WorkerCounters& counters(uint32_t worker);
  const std::deque<QueueCounters>& queues(uint32_t worker) const;  // those that the worker polls
  // Which rules the ports execute, and which software does.
  std::vector<steering::RuleState> steering_rules() const { return steering_.rules(); }
  const Clock& clock() const { return clock_; }
  int worker_node(uint32_t worker) const;                    // NUMA node, for Region::allocate
  // Where worker's front puts messages for other workers and nodes; null if the options have no map. Called by that
  // worker only, from its mode.
  offload::Outbox* outbox(uint32_t worker);
  // The worker's end of the host link; null if the options have none. Used by that worker only, from its mode.
  LinkPort* link_port(uint32_t worker);
  uint32_t next_hops() const;        // that the other nodes of the map are reached by
  uint32_t next_hops_known() const;  // of them, now

  // Each worker needs one before start(). Stays the caller's, and lives until after stop().
  void set_mode(uint32_t worker, Mode* mode);
  bool start(std::string* error);

  // Links, reconnects, the watchdog. Call about every 10 ms; answers what there is to tell.
  std::vector<std::string> housekeep();
  bool all_links_up() const;
  uint64_t stalls() const;
  std::array<uint64_t, kStages> stage_samples() const;  // of all workers, one each housekeep()

  // False: a worker did not come out of its loop; *error names it and its stage. Leave with _exit() then.
  bool stop(std::string* error);

 private:
  Dataplane();
  bool create_workers(std::string* error);
  void drain();
  bool plan_steering(std::string* error);
  void steer();

  DataplaneOptions options_;
  Clock clock_;
  std::vector<Port> ports_;
  std::vector<rte_mempool*> pools_;
  std::unique_ptr<NextHops> hops_;
  std::unique_ptr<Exchange> exchange_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<steering::FlowPort> flow_port_;
  steering::Steering steering_;
  std::vector<uint32_t> steered_starts_;  // by port: which start of it the rules are of
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<Watchdog> watchdog_;
  std::vector<std::string> notes_;
  bool running_ = false;
};

}  // namespace txnic::dataplane
