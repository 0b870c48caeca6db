// SPDX-License-Identifier: BSD-3-Clause
// The tables of the workloads, and how clients' addresses are made.
#pragma once

#include <vector>

#include "host/store/shard.h"
#include "txn/types.h"

namespace txnic::sim {

inline constexpr TableId kCounters = 1, kAccounts = 2, kLists = 3, kTokens = 4;
inline std::vector<storage::Table> tables() {
  return {{kCounters, 1000}, {kAccounts, 1000}, {kLists, 100'000}, {kTokens, 1000}};
}

// A client's place is its address; its life is its port.
inline constexpr uint32_t kNetwork = 0x0a000000;
inline constexpr uint16_t kFirstPort = 1000;
inline Endpoint endpoint_of(uint32_t client, uint32_t life) {
  return {kNetwork + client, static_cast<uint16_t>(kFirstPort + life % 50'000)};
}
inline uint32_t client_of(Endpoint endpoint) { return endpoint.address - kNetwork; }
inline uint32_t life_of(Endpoint endpoint) { return endpoint.port - kFirstPort; }

}  // namespace txnic::sim
