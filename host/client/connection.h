// SPDX-License-Identifier: BSD-3-Clause
// What is behind a Client: a socket, a session machine, the clock, and the callbacks of what is in flight.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "host/client/client.h"
#include "host/client/udp_socket.h"

namespace txnic {

class Connection {
 public:
  static Expected<std::unique_ptr<Connection>> open(const std::string& address, const ClientOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status submit(const Batch& batch, Client::Callback callback);
  Expected<Committed> execute(const Batch& batch);  // submits and waits
  uint32_t poll(TimeNs wait_ns);
  // Sleeps (receiving meanwhile) a random time up to `microseconds`.
  void pause(uint32_t microseconds);

  // Open at a node, and knows the shard map.
  bool is_ready() const { return machine_.state() == client::MachineState::kOpen && !machine_.awaits_map(); }
  const client::SessionMachine& machine() const { return machine_; }
  // Each batch on its own, all at once; waits for all of them.
  std::vector<Expected<Committed>> execute_all(const std::vector<Batch>& batches);
  // Asks on for a transaction whose outcome was unknown.
  Expected<Committed> outcome(const TransactionId& id);
  // Time for one request from now on.
  TimeNs limit() const;

 private:
  struct Pending {
    Client::Callback callback;
    std::vector<uint8_t> reads;  // indices of the operations that answer a value
    uint32_t operations = 0;
  };
  struct Held {  // settled as unknown; its slot is kept, so that the node keeps the outcome
    client::Slot* slot;
    Pending pending;
  };
  struct FreeAligned {
    void operator()(std::byte* memory) const;
  };

  Connection() = default;
  static void emit(void* context, const std::byte* message, uint32_t length, uint32_t node, uint32_t worker);
  uint32_t step(TimeNs now);
  uint32_t handle(const client::Event& event);
  void finish(const client::Event& event);
  void learn(const client::Event& event);
  client::Slot* acquire();
  Status try_submit(const Batch& batch, Client::Callback callback);
  bool is_worth_a_retry(const Error& error) const;
  Expected<Committed> told(const client::Event& event, const Pending& pending) const;
  Error failure(const client::Event& event) const;
  Error no_session() const;
  std::string silence(const char* what) const;
  std::string network_hint() const;

  ClientOptions options_;
  Endpoint node_;
  UdpSocket socket_;
  std::unique_ptr<std::byte, FreeAligned> memory_;
  client::SessionMachine machine_;
  std::vector<Pending> pending_;        // Slot::user is the index
  std::vector<uint32_t> free_pending_;
  std::vector<Held> held_;              // oldest first
  std::array<ShardMap, 2> maps_;        // the machine uses one of them, the next one is read into the other
  uint32_t next_map_ = 0;
  std::vector<uint32_t> addresses_;     // of all nodes
  std::optional<Error> refusal_;        // why there is no session (any more)
  bool is_open_ = false;                // was opened at least once
  bool in_callback_ = false;
};

}  // namespace txnic
