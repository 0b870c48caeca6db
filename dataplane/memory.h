// SPDX-License-Identifier: BSD-3-Clause
// Big zeroed regions for stores and sessions, reserved at start and kept to the end: from the EAL's hugepages, or with
// --no-huge from anonymous memory that the kernel is asked to back with transparent hugepages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "txn/types.h"

namespace txnic::dataplane {

// ---- facts, also before the EAL has started ------------------------------------------------------
struct HugepageFacts {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  bool mounted = false;
  bool permitted = false;  // this user may create files in the mount
  std::string mount;
};
HugepageFacts hugepage_facts();
uint64_t available_memory_bytes();  // what the kernel could give without swapping (MemAvailable)

// ---- regions, after the EAL has started ----------------------------------------------------------
class Region {
 public:
  Region() = default;
  ~Region();
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  MutableBytes bytes() const { return {data_, size_}; }
  bool from_hugepages() const { return from_hugepages_; }

  // `bytes` zeroed bytes at an address that is a multiple of 64, touched, on this NUMA node if it has enough (-1:
  // any). On failure data() is null and *error says "need N MiB, have M MiB" and what to do.
  static Region allocate(size_t bytes, int numa_node, std::string* error);

 private:
  void release();
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool from_hugepages_ = false;
};

// Free bytes that the EAL could still give out, over all nodes.
uint64_t eal_free_bytes();
bool eal_has_hugepages();

}  // namespace txnic::dataplane
