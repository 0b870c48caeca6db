// SPDX-License-Identifier: BSD-3-Clause
// One run: nodes, clients, network, faults and workloads under one clock. Setup without faults, load with them, quiet
// until every request has an outcome, then every node loses power, recovers twice, and the end is checked.
#pragma once

#include <deque>
#include <memory>

#include "tests/sim/append.h"
#include "tests/sim/faults.h"

namespace txnic::sim {

class World {
 public:
  explicit World(const Options& options);

  // To the end, or to the first violation.
  void run();

  const std::string& violation() const { return context_.violation; }
  const Statistics& statistics() const { return context_.statistics; }
  const FaultRates& rates() const { return drawn_; }
  const History& history() const { return append_->history(); }

 private:
  enum class Phase : uint8_t { kSetup, kLoad, kQuiet, kClosing, kOver };
  void handle(const Event& event);
  void deliver(const Event& event);
  std::unique_ptr<Task> next_task(uint32_t client, uint64_t process);
  // Goes on to the next phase where this one has come to its end.
  void look_at_phase();
  void begin_load();
  void begin_quiet();
  void begin_closing();
  bool clients_idle() const;
  bool nodes_quiet() const;
  void check();
  void give_up();

  Context context_;
  const Routing routing_;
  FaultRates drawn_;
  Network network_;
  std::deque<Node> nodes_;
  std::deque<Client> clients_;
  Faults faults_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  Append* append_ = nullptr;
  Phase phase_ = Phase::kSetup;
  std::deque<std::unique_ptr<Task>> tasks_;  // of setup and closing
  uint64_t processes_ = 0;
};

}  // namespace txnic::sim
