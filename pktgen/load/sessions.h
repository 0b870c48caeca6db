// SPDX-License-Identifier: BSD-3-Clause
// The generator's sessions with the node: a protocol machine each, all on one transport.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pktgen/load/counts.h"
#include "pktgen/load/transport.h"
#include "txn/client/machine.h"

namespace txnic::pktgen {

inline constexpr uint32_t kSessionsMax = 65536;  // a session's index is in its id's low 16 bits

class Sessions {
 public:
  // `window`: outstanding requests of one session. `node`: where the transport sends to; the others are learned there.
  Sessions(Transport& transport, uint32_t count, uint32_t window, Endpoint node);

  uint32_t count() const { return static_cast<uint32_t>(machines_.size()); }
  client::SessionMachine& operator[](uint32_t index) { return machines_[index]; }
  const client::SessionMachine& operator[](uint32_t index) const { return machines_[index]; }

  // The session that a message is for; count() if none.
  uint32_t index_of(const std::byte* message, uint32_t length) const {
    if (length < wire::kHeaderBytes) return count();
    const auto session = load<SessionId>(message + offsetof(wire::Header, session));
    const auto index = static_cast<uint32_t>(session & 0xffff);
    return index < count() && machines_[index].session() == session ? index : count();
  }

  void open_all(TimeNs now);
  // A session was told another shard map: all of them use it. Answers an empty string, or why not.
  std::string use_map(const client::Event& event, TimeNs now);
  bool all_open() const;
  // The smallest window; after all are open.
  uint32_t window() const;
  client::MachineStatistics statistics() const;

 private:
  struct FreeAligned {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  static void emit(void* transport, const std::byte* message, uint32_t length, uint32_t node,
                   uint32_t worker) {
    static_cast<Transport*>(transport)->send(message, length, node, worker);
  }

  Transport& transport_;
  const Endpoint node_;
  std::array<ShardMap, 2> maps_;  // one is in use, the next one is read into the other
  uint32_t next_map_ = 0;
  std::unique_ptr<std::byte[], FreeAligned> memory_;
  std::vector<client::SessionMachine> machines_;
};

}  // namespace txnic::pktgen
