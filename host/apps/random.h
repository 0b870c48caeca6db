// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that nobody can guess: cookie secrets, epochs, incarnations.
#pragma once

#include <cstdint>

namespace txnic::apps {

// Not 0.
uint64_t random_word();
// COMMIT 14: without a log the incarnation is random. Its low half goes into versions, and all ones would be the stamp
// of recovered sessions.
uint32_t random_incarnation();

}  // namespace txnic::apps
