// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/counters.h"

#include <cassert>
#include <cstring>
#include <mutex>
#include <string>

namespace txnic::dataplane {
namespace {

constexpr std::array<const char*, reason::kFirstOfModes> kBuiltInNames = {
    "replied",    "arp_answered",    "arp_learned", "icmp_answered",  "truncated",     "vlan",    "ipv6",
    "arp_other",  "other_ethertype", "ip_version",  "ip_options",     "ip_fragment",   "ip_length",
    "ip_checksum", "other_address",  "own_source",  "icmp_other",     "not_udp",       "udp_length", "udp_checksum",
    "other_port", "multi_segment",   "reply_too_long", "ring_full",   "bridged",       "stopped",
    "other",
};

struct Registry {
  std::mutex mutex;
  std::array<std::string, kReasonsMax> names;
  std::atomic<uint32_t> count{reason::kFirstOfModes};
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

Reason register_reason(const char* name) {
  for (uint32_t i = 0; i < kBuiltInNames.size(); ++i) {
    if (std::strcmp(kBuiltInNames[i], name) == 0) return static_cast<Reason>(i);
  }
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const uint32_t count = r.count.load();
  for (uint32_t i = reason::kFirstOfModes; i < count; ++i) {
    if (r.names[i] == name) return static_cast<Reason>(i);
  }
  assert(count < kReasonsMax && "raise kReasonsMax");
  if (count == kReasonsMax) return reason::kOther;
  r.names[count] = name;
  r.count.store(count + 1);
  return static_cast<Reason>(count);
}

const char* reason_name(Reason reason) {
  if (reason < reason::kFirstOfModes) return kBuiltInNames[reason];
  return reason < reason_count() ? registry().names[reason].c_str() : "?";
}

uint32_t reason_count() { return registry().count.load(); }

const char* lost_name(Lost why) {
  switch (why) {
    case Lost::kNoPacket: return "no_packet";
    case Lost::kRingFull: return "ring_full";
    case Lost::kUnresolved: return "unresolved";
    case Lost::kNoShard: return "no_shard";
  }
  return "?";
}

const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::kNotStarted: return "not started";
    case Stage::kReceive: return "receive";
    case Stage::kParse: return "parse";
    case Stage::kProcess: return "process";
    case Stage::kPoll: return "poll";
    case Stage::kTransmit: return "transmit";
    case Stage::kIdle: return "idle";
    case Stage::kStopped: return "stopped";
  }
  return "?";
}

}  // namespace txnic::dataplane
