// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "txn/limits.h"

namespace txnic::log {
namespace {
constexpr size_t kHugePageBytes = 2u << 20;
}

AlignedBuffer::AlignedBuffer(size_t bytes) : bytes_(bytes) {
  const size_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : limits::kLogBlockBytes;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (memory_ == nullptr) throw std::bad_alloc();                                           // at start only
  if (alignment == kHugePageBytes) (void)::madvise(memory_.get(), rounded, MADV_HUGEPAGE);  // a wish, not a must
  std::memset(memory_.get(), 0, rounded);
}

}  // namespace txnic::log
