// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

namespace txnic::dataplane {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugepageBytes = 2u << 20;

// A figure of /proc/meminfo in its own unit (kB, or pages); 0 if it is not there.
uint64_t meminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  std::string key;
  uint64_t value = 0;
  std::string rest;
  while (file >> key >> value && std::getline(file, rest)) {
    if (key == name + ":") return value;
  }
  return 0;
}

std::string mebibytes(uint64_t bytes) { return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB"; }

// Anonymous memory, aligned to the hugepage so that the kernel can use whole ones. Populated here, so that no first
// touch happens on the data path.
std::byte* map_anonymous(size_t bytes) {
  const size_t padded = bytes + kHugepageBytes;
  void* raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (start + kHugepageBytes - 1) & ~(uintptr_t{kHugepageBytes} - 1);
  if (aligned > start) munmap(raw, aligned - start);
  const uintptr_t end = start + padded;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t used_end = (aligned + bytes + page - 1) & ~(uintptr_t{page} - 1);
  if (end > used_end) munmap(reinterpret_cast<void*>(used_end), end - used_end);
  auto* data = reinterpret_cast<std::byte*>(aligned);
  madvise(data, bytes, MADV_HUGEPAGE);  // advice: small pages work too
  if (madvise(data, used_end - aligned, MADV_POPULATE_WRITE) != 0) {
    for (size_t at = 0; at < bytes; at += page) *reinterpret_cast<volatile std::byte*>(data + at) = std::byte{0};
  }
  return data;
}

void unmap_anonymous(std::byte* data, size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  munmap(data, (bytes + page - 1) & ~(page - 1));
}

}  // namespace

HugepageFacts hugepage_facts() {
  HugepageFacts facts;
  const uint64_t page_bytes = meminfo("Hugepagesize") * 1024;
  facts.total_bytes = meminfo("HugePages_Total") * page_bytes;
  facts.free_bytes = meminfo("HugePages_Free") * page_bytes;
  std::ifstream mounts("/proc/mounts");
  std::string line;
  while (std::getline(mounts, line)) {
    std::istringstream fields(line);
    std::string device, where, type;
    fields >> device >> where >> type;
    if (type != "hugetlbfs") continue;
    facts.mounted = true;
    facts.mount = where;
    if (access(where.c_str(), W_OK | X_OK) == 0) {
      facts.permitted = true;
      break;
    }
  }
  return facts;
}

uint64_t available_memory_bytes() { return meminfo("MemAvailable") * 1024; }

bool eal_has_hugepages() { return rte_eal_has_hugepages() != 0; }

uint64_t eal_free_bytes() {
  uint64_t sum = 0;
  for (unsigned i = 0; i < rte_socket_count(); ++i) {
    rte_malloc_socket_stats stats{};
    if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0) sum += stats.heap_freesz_bytes;
  }
  // Hugepages that are free in the kernel are taken when needed (unless the EAL was told to preallocate all).
  return sum + (eal_has_hugepages() ? hugepage_facts().free_bytes : 0);
}

Region Region::allocate(size_t bytes, int numa_node, std::string* error) {
  Region region;
  if (bytes == 0) bytes = kAlignment;
  if (eal_has_hugepages()) {
    void* data = rte_zmalloc_socket("region", bytes, kAlignment, numa_node < 0 ? SOCKET_ID_ANY : numa_node);
    if (data == nullptr) data = rte_zmalloc_socket("region", bytes, kAlignment, SOCKET_ID_ANY);
    if (data == nullptr) {
      *error = "not enough hugepages: need " + mebibytes(bytes) + ", have " + mebibytes(eal_free_bytes()) +
               ". Reserve more (/proc/sys/vm/nr_hugepages, 2 MiB each), configure smaller tables, or run with "
               "--no-huge -m 1024";
      return region;
    }
    region.data_ = static_cast<std::byte*>(data);
    region.from_hugepages_ = true;
  } else {
    const uint64_t have = available_memory_bytes();
    std::byte* data = bytes < have ? map_anonymous(bytes) : nullptr;
    if (data == nullptr) {
      *error = "not enough memory: need " + mebibytes(bytes) + ", have " + mebibytes(have) +
               ". Configure smaller tables, or free memory";
      return region;
    }
    region.data_ = data;
  }
  region.size_ = bytes;
  return region;
}

Region::~Region() { release(); }

Region::Region(Region&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      from_hugepages_(other.from_hugepages_) {}

Region& Region::operator=(Region&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    from_hugepages_ = other.from_hugepages_;
  }
  return *this;
}

void Region::release() {
  if (data_ == nullptr) return;
  if (from_hugepages_) {
    rte_free(data_);
  } else {
    unmap_anonymous(data_, size_);
  }
  data_ = nullptr;
}

}  // namespace txnic::dataplane
