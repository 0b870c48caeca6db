// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/check.h"

namespace txnic::control {
namespace {

constexpr uint32_t kCacheMibMax = 1u << 20;
constexpr uint32_t kPortIndexMax = 31;

void check_link(const config::HostLink& link, const Place& place) {
  place.range("nic_port", link.nic_port(), 0, kPortIndexMax);
  place.range("host_port", link.host_port(), 0, kPortIndexMax);
  place.range("udp_port", link.udp_port(), 1, 65535);
  const auto nic = check_address(place, "nic_address", link.nic_address());
  const auto host = check_address(place, "host_address", link.host_address());
  if (nic && nic == host) place.problem("nic_address", "both ends of the link have the address " + link.nic_address());
}

}  // namespace

void check_offload(const config::Offload& offload, const Place& place) {
  place.range("cache_mib", offload.cache_mib(), 1, kCacheMibMax);
  check_link(offload.link(), place.nested(offload.link(), "link"));
}

}  // namespace txnic::control
