// SPDX-License-Identifier: BSD-3-Clause
// What is behind a Client: a socket, a session machine, the clock, and the callbacks of what is in flight.
#pragma once

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

  const client::SessionMachine& machine() const { return machine_; }
  // The shard of the batch, or why it cannot be sent.
  Expected<ShardId> shard_of(const Batch& batch) const;
  Error cross_shard(const Key& first, const Key& other) const;

 private:
  struct Pending {
    Client::Callback callback;
    std::vector<uint8_t> reads;  // indices of the operations that answer a value
    uint32_t operations = 0;
  };
  struct FreeAligned {
    void operator()(std::byte* memory) const;
  };

  Connection() = default;
  static void emit(void* context, const std::byte* message, uint32_t length, uint32_t node, uint32_t worker);
  uint32_t step(TimeNs now);
  uint32_t handle(const client::Event& event);
  void finish(const client::Event& event);
  Expected<Committed> outcome(const client::Event& event, const Pending& pending) const;
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
  std::optional<Error> refusal_;        // why there is no session (any more)
  bool is_open_ = false;                // was opened at least once
  bool in_callback_ = false;
};

}  // namespace txnic
