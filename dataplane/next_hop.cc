// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/next_hop.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstring>

namespace txnic::dataplane {
namespace {

constexpr uint64_t kKnown = uint64_t{1} << 63;
constexpr uint32_t kPortShift = 48;
static_assert(kPortsMax <= 1u << (63 - kPortShift));

std::string address_text(uint32_t address_raw) {
  const uint32_t address = byte_swap(address_raw);
  char text[16];
  std::snprintf(text, sizeof text, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
                address & 255);
  return text;
}

}  // namespace

uint64_t NextHops::pack(const Way& way) {
  uint64_t packed = 0;
  std::memcpy(&packed, way.mac.data(), way.mac.size());
  return packed | uint64_t{way.port} << kPortShift | kKnown;
}

Way NextHops::unpack(uint64_t packed) {
  Way way;
  std::memcpy(way.mac.data(), &packed, way.mac.size());
  way.port = static_cast<uint16_t>((packed & ~kKnown) >> kPortShift);
  return way;
}

uint32_t NextHops::entry_of(uint32_t address_raw) const {
  for (uint32_t entry = 0; entry < count_; ++entry) {
    if (entries_[entry].address_raw == address_raw) return entry;
  }
  return kNone;
}

uint32_t NextHops::add(uint32_t address_raw) {
  const uint32_t known = entry_of(address_raw);
  if (known != kNone) return known;
  entries_[count_].address_raw = address_raw;
  return count_++;
}

bool NextHops::init(const ShardMap& map, const NextHopOptions& options, const std::vector<uint16_t>& port_ids,
                    std::string* error) {
  assert(options.gateway == 0 || (options.prefix_length >= 1 && options.prefix_length < 32));
  const uint32_t own = map.nodes[map.self].base.address;
  const uint32_t mask = options.gateway == 0 ? 0 : ~uint32_t{0} << (32 - options.prefix_length);
  const auto has_own_entry = [&](uint32_t address) {
    return std::any_of(options.fixed.begin(), options.fixed.end(),
                       [&](const StaticNextHop& hop) { return hop.address == address; });
  };
  for (uint32_t node = 0; node < map.node_count; ++node) {
    const uint32_t address = map.nodes[node].base.address;
    const bool is_near = ((address ^ own) & mask) == 0 || has_own_entry(address);
    of_node_[node] = node == map.self ? kNone : add(byte_swap(is_near ? address : options.gateway));
  }
  for (const StaticNextHop& hop : options.fixed) {
    const uint32_t entry = entry_of(byte_swap(hop.address));
    if (entry == kNone) continue;  // a gateway that no node needs
    if (hop.port_index >= port_ids.size()) {
      *error = "next_hop " + address_text(byte_swap(hop.address)) + ": port " + std::to_string(hop.port_index) +
               ", but there are " + std::to_string(port_ids.size()) + " ports, numbered from 0";
      return false;
    }
    entries_[entry].is_static = true;
    entries_[entry].way.store(pack({hop.mac, port_ids[hop.port_index]}), std::memory_order_relaxed);
  }
  return true;
}

void NextHops::learn(uint32_t entry, const Way& way, TimeNs now) {
  Entry& e = entries_[entry];
  if (e.is_static) return;
  e.heard_ns.store(now, std::memory_order_relaxed);
  e.way.store(pack(way), std::memory_order_relaxed);
  e.missing.store(false, std::memory_order_relaxed);
}

void NextHops::forget(uint32_t entry, TimeNs asked_ns) {
  Entry& e = entries_[entry];
  if (e.is_static || heard_since(entry, asked_ns)) return;
  e.way.store(0, std::memory_order_relaxed);
  e.missing.store(true, std::memory_order_relaxed);
}

bool NextHops::heard_since(uint32_t entry, TimeNs when) const {
  return entries_[entry].heard_ns.load(std::memory_order_relaxed) >= when;
}

bool NextHops::is_fresh(uint32_t entry, TimeNs now) const {
  const Entry& e = entries_[entry];
  if (e.is_static) return true;
  if (e.way.load(std::memory_order_relaxed) == 0) return false;
  return e.heard_ns.load(std::memory_order_relaxed) + kNextHopFreshNs > now;
}

uint32_t NextHops::known() const {
  uint32_t known = 0;
  for (uint32_t entry = 0; entry < count_; ++entry) {
    known += entries_[entry].way.load(std::memory_order_relaxed) != 0 ? 1 : 0;
  }
  return known;
}

void NextHops::tell(std::vector<std::string>* notes) {
  for (uint32_t entry = 0; entry < count_; ++entry) {
    Entry& e = entries_[entry];
    const uint64_t packed = e.way.load(std::memory_order_relaxed);
    const bool missing = packed == 0 && e.missing.load(std::memory_order_relaxed);
    if (packed != 0 && packed != e.told_way) {
      const Way way = unpack(packed);
      const Mac& m = way.mac;
      char text[96];
      std::snprintf(text, sizeof text, "next hop %s is %02x:%02x:%02x:%02x:%02x:%02x on port %u%s",
                    address_text(e.address_raw).c_str(), m[0], m[1], m[2], m[3], m[4], m[5], way.port,
                    e.is_static ? " (static)" : "");
      notes->push_back(text);
      e.told_way = packed;
    }
    if (missing && !e.told_missing) {
      notes->push_back("next hop " + address_text(e.address_raw) +
                       " does not answer ARP; messages for it are lost and counted (unresolved); it is asked again");
      e.told_way = 0;
    }
    e.told_missing = missing;
  }
}

void Questions::want_all() {
  for (uint32_t entry = 0; entry < hops_->count(); ++entry) want(entry, false);
}

uint32_t Questions::look(TimeNs now, std::array<uint32_t, limits::kNodesMax>* ask, uint32_t* unanswered) {
  is_urgent_ = false;
  next_look_ns_ = now + kLookNs;
  uint32_t count = 0;
  for (uint32_t entry = 0; entry < hops_->count(); ++entry) {
    if (look_at(entry, now, unanswered)) (*ask)[count++] = entry;
  }
  return count;
}

bool Questions::look_at(uint32_t entry, TimeNs now, uint32_t* unanswered) {
  Question& q = asked_[entry];
  if (q.asked == 0) {
    if (!q.wanted || now < q.next_ns) return false;
    if (hops_->is_fresh(entry, now)) {
      q.wanted = false;
      return false;
    }
    q = {.wanted = false, .asked = 1, .began_ns = now, .next_ns = now + kAskFirstNs, .pause_ns = kAskFirstNs};
    return true;
  }
  if (hops_->heard_since(entry, q.began_ns)) {
    q = {};
    return false;
  }
  if (now < q.next_ns) return false;
  if (q.asked == kQuestionsMax) {
    hops_->forget(entry, q.began_ns);
    ++*unanswered;
    q = {.wanted = false, .asked = 0, .began_ns = 0, .next_ns = now + kAskMaxNs, .pause_ns = 0};
    return false;
  }
  ++q.asked;
  q.pause_ns = std::min(q.pause_ns * 2, kAskMaxNs);
  q.next_ns = now + q.pause_ns;
  return true;
}

}  // namespace txnic::dataplane
