// SPDX-License-Identifier: BSD-3-Clause
// The definition of strict serializability, tried out: is there an order of all acknowledged transactions and some of
// the unknown ones that keeps real time and gives every read its result? Exponential: for at most about six of them.
// Shares no code with the checker but History.
#pragma once

#include "tests/sim/check/history.h"

namespace txnic::check {

bool is_strictly_serializable_by_force(const History& history);

}  // namespace txnic::check
