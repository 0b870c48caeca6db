// SPDX-License-Identifier: BSD-3-Clause
// Everything that happens in a run, folded into one hash (two runs of a seed must end in the same one), and printed if
// somebody wants to look.
#pragma once

#include <cstdarg>
#include <cstdio>

#include "txn/types.h"

namespace txnic::sim {

class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}

  // `what` names the event; the format and its arguments are for readers only and are not evaluated into the hash.
  [[gnu::format(printf, 7, 8)]] void note(TimeNs at, const char* what, uint64_t a, uint64_t b, uint64_t c,
                                          const char* format, ...) {
    fold(at);
    for (const char* letter = what; *letter != 0; ++letter) hash_ = (hash_ ^ static_cast<uint8_t>(*letter)) * kPrime;
    fold(a);
    fold(b);
    fold(c);
    ++events_;
    if (!print_) return;
    std::printf("%12.6f  %-12s ", static_cast<double>(at) * 1e-9, what);
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::putchar('\n');
  }
  void fold_bytes(Bytes bytes) {
    size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) fold(load<uint64_t>(bytes.data() + at));
    for (; at < bytes.size(); ++at) fold(static_cast<uint64_t>(bytes[at]));
  }

  bool prints() const { return print_; }
  uint64_t hash() const { return hash_; }
  uint64_t events() const { return events_; }

 private:
  static constexpr uint64_t kPrime = 0x100000001b3ull;
  void fold(uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15ull;
    hash_ ^= hash_ >> 29;
  }

  const bool print_;
  uint64_t hash_ = 0xcbf29ce484222325ull;
  uint64_t events_ = 0;
};

}  // namespace txnic::sim
