// SPDX-License-Identifier: BSD-3-Clause
// A client of the simulation: one production protocol machine (txn/client) for all nodes, and a few processes that run
// tasks through it, each with one transaction under way.
#pragma once

#include <functional>

#include "tests/sim/network.h"
#include "tests/sim/routing.h"
#include "tests/sim/task.h"
#include "txn/client/machine.h"

namespace txnic::sim {

class Client {
 public:
  // What a process does when it is free; null: it waits to be asked again.
  using NextTask = std::function<std::unique_ptr<Task>(uint64_t process)>;

  Client(Context* context, Network* network, const Routing* routing, uint32_t place, NextTask next_task);

  // A new client takes this place: new address, new sessions, new processes.
  void be_born(uint64_t first_process);
  // Nothing of it remains; its sessions stay open at the nodes.
  void die();
  bool alive() const { return alive_; }
  uint32_t life() const { return life_; }

  void on_message(const Message& message);
  void wake();
  bool is_awaited(TimeNs at) const { return at == wake_at_; }
  // Closes the session, whatever is under way; another one is opened when that is over.
  void close_session();
  void jump_clock(TimeNs forward) { clock_offset_ += forward; }
  // Processes without a task ask for one soon.
  void stir();

  // No process has a transaction under way.
  bool is_idle() const;
  std::string describe() const;  // what is waited for, for the report of a violation
  uint32_t process_count() const { return static_cast<uint32_t>(processes_.size()); }

 private:
  static constexpr TimeNs kNever = ~TimeNs{0};
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Process {
    uint64_t number = 0;
    std::unique_ptr<Task> task;
    Transaction transaction;  // wanted, or under way
    bool under_way = false;
    bool is_wanted = false;  // waits for a free slot
    TimeNs act_at = kNever;  // simulated time
  };

  void open();
  void drain();
  void handle(const client::Event& event);
  void act(uint32_t index);
  void advance(Process& process, const Outcome* outcome);
  bool submit(uint32_t index);
  void count(const Outcome& outcome);
  Outcome outcome_of(const client::Event& event);
  static void emit(void* client, const std::byte* message, uint32_t length, uint32_t node, uint32_t worker);
  void plan_next_wake();
  TimeNs clock() const { return context_.now() + clock_offset_; }
  TimeNs think();

  Context& context_;
  Network& network_;
  const Routing& routing_;
  const uint32_t place_;
  const NextTask next_task_;
  bool alive_ = false;
  uint32_t life_ = 0;
  TimeNs clock_offset_ = 0;
  TimeNs wake_at_ = kNever;
  client::SessionMachine machine_;
  std::vector<Line> memory_;
  Sequence newest_sequence_ = 0;  // sent so far; for ClientSwitches
  std::vector<Process> processes_;
};

}  // namespace txnic::sim
