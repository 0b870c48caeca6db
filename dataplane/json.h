// SPDX-License-Identifier: BSD-3-Clause
// Text as a JSON string.
#pragma once

#include <string>

namespace txnic::dataplane {

// With its quotes; what JSON does not allow as it is is escaped.
std::string json_string(const std::string& text);

}  // namespace txnic::dataplane
