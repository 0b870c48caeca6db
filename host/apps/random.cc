// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/random.h"

#include <sys/random.h>

namespace txnic::apps {

uint64_t random_word() {
  uint64_t word = 0;
  // Reads of up to 256 bytes are never short and never fail once the pool is ready.
  while (getrandom(&word, sizeof word, 0) != sizeof word || word == 0) {
  }
  return word;
}

uint32_t random_incarnation() {
  for (;;) {
    const auto incarnation = static_cast<uint32_t>(random_word());
    if ((incarnation & 0xffff) != 0 && incarnation != 0xffffffff) return incarnation;
  }
}

}  // namespace txnic::apps
