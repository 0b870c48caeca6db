// SPDX-License-Identifier: BSD-3-Clause
// Memory for disk transfers: aligned for O_DIRECT, in huge pages where the kernel has them (a write pins its pages
// one by one, and pinning 1,024 small ones is most of what submitting 4 MiB costs), faulted in at once.
#pragma once

#include <cstdlib>
#include <memory>

#include "txn/types.h"

namespace txnic::log {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes);

  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t bytes_ = 0;
};

}  // namespace txnic::log
