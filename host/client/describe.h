// SPDX-License-Identifier: BSD-3-Clause
// Results in words: the cause and the next step.
#pragma once

#include <string>

#include "txn/result.h"

namespace txnic {

std::string abort_text(Result result);
std::string refusal_text(Result result, uint8_t detail);

}  // namespace txnic
