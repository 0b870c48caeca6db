// SPDX-License-Identifier: BSD-3-Clause
// Small things about clusters that reading, checking and describing share. Internal to host/control.
#pragma once

#include <string>
#include <vector>

#include "host/control/config.h"

namespace txnic::control {

// "0-3,8" as the shards that it means, ascending; each is below `shard_count` and named once. Anything else is empty,
// with what is wrong in *error. What the text claims is checked before it is expanded.
std::vector<ShardId> shards_from_text(const std::string& text, uint32_t shard_count, std::string* error);
// The reverse, in its shortest form.
std::string shards_text(const std::vector<ShardId>& shards);

}  // namespace txnic::control
