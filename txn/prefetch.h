// SPDX-License-Identifier: BSD-3-Clause
// A prefetch that the compiler keeps.
#pragma once

namespace txnic {

// GCC takes a function that does nothing but prefetch for one without effects, and drops the calls to it (measured:
// bursts without their prefetch stage take three times as long). The empty assembly is an effect.
inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}

}  // namespace txnic
