// SPDX-License-Identifier: BSD-3-Clause
// What a configuration that parses must still satisfy. Internal to host/control.
#pragma once

#include "config.pb.h"
#include "host/control/config.h"
#include "host/control/place.h"

namespace txnic::control {

// Applies the overrides to `node`, then reports every problem to `problems`.
void check(config::Node* node, const Overrides& overrides, const Place::Tree* tree, Problems* problems);

}  // namespace txnic::control
