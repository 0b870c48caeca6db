// SPDX-License-Identifier: BSD-3-Clause
// Packet templates: a pcap file of valid requests of a static session (configuration: replay EXECUTE), for generators
// that can only replay: stock testpmd with net_pcap (infinite_rx=1), Pktgen-DPDK.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dataplane/frame.h"
#include "txn/types.h"

namespace txnic::pktgen {

inline constexpr uint64_t kTemplateCountMax = 10'000'000;

struct TemplateSettings {
  std::string workload = "get";  // get, putK, rmwK: what needs no earlier reply
  uint64_t count = 10'000;
  uint64_t records = 1'000'000;
  uint32_t value_bytes = 40;
  TableId table = 1;
  SessionId session = 1;
  uint64_t seed = 1;
  Endpoint node, local;
  dataplane::Mac node_mac{}, local_mac{};
  uint32_t shards = 1, workers = 1;  // of the node: they decide the UDP port
};

// Calls `take` with each frame. Empty, or why not.
std::string make_frames(const TemplateSettings& settings, const std::function<void(Bytes frame)>& take);
// False with *error set.
bool write_pcap(const std::string& path, const TemplateSettings& settings, std::string* error);

}  // namespace txnic::pktgen
