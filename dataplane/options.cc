// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/options.h"

#include <cstring>

namespace txnic::dataplane {

bool parse_idle(const char* text, Idle* idle) {
  constexpr const char* kNames[] = {"poll", "yield", "sleep"};
  for (uint8_t i = 0; i < 3; ++i) {
    if (std::strcmp(text, kNames[i]) != 0) continue;
    *idle = static_cast<Idle>(i);
    return true;
  }
  return false;
}

}  // namespace txnic::dataplane
