// SPDX-License-Identifier: BSD-3-Clause
// What a configuration that parses must still satisfy. Internal to host/control.
#pragma once

#include "config.pb.h"
#include "host/control/config.h"
#include "host/control/place.h"

namespace txnic::control {

// Applies the overrides to `node`, then reports every problem to `problems`.
void check(config::Node* node, const Overrides& overrides, const Place::Tree* tree, Problems* problems);

// ---- parts of it ---------------------------------------------------------------------------------
void check_name(const Place& place, const std::string& name);
// The address, or nothing if it is none that a host can have.
std::optional<uint32_t> check_address(const Place& place, const char* field, const std::string& text);
// The cluster; then fills in what the node takes from there, or checks that both say the same.
void check_cluster(config::Node* node, const Place& root);
// Placement, cache and link.
void check_offload(const config::Offload& offload, const Place& place);
// Static next hops and gateway. `network`: where node.network stands.
void check_next_hops(const config::Node& node, const Place& network);

}  // namespace txnic::control
