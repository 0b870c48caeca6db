// SPDX-License-Identifier: BSD-3-Clause
// Who the two ends of a host link are: what HELLO compares.
#pragma once

#include "host/control/config.h"
#include "offload/link/messages.h"

namespace txnic::apps {

// What both ends have to agree about, from the configuration.
uint64_t link_configuration_hash(const control::NodeConfig& config, uint32_t workers);
// Version and commit.
link::Name link_build();

}  // namespace txnic::apps
