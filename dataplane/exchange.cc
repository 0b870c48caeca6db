// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/exchange.h"

#include <atomic>

#include <rte_errno.h>

namespace txnic::dataplane {

int g_note_offset = -1;

bool register_note(std::string* error) {
  static const rte_mbuf_dynfield kField = {"txnic_note", sizeof(Note), alignof(Note), 0};
  g_note_offset = rte_mbuf_dynfield_register(&kField);
  if (g_note_offset >= 0) return true;
  *error = std::string("no room in the packet header for our note: ") + rte_strerror(rte_errno) +
           ". Switch off other libraries that register packet fields";
  return false;
}

bool Exchange::create(uint32_t workers, std::string* error) {
  static std::atomic<uint32_t> instances{0};
  const uint32_t instance = instances.fetch_add(1);
  workers_ = workers;
  rings_.assign(size_t{workers} * workers, nullptr);
  for (uint32_t from = 0; from < workers; ++from) {
    for (uint32_t to = 0; to < workers; ++to) {
      if (from == to) continue;
      const std::string name =
          "tx" + std::to_string(instance) + "_" + std::to_string(from) + "_" + std::to_string(to);
      rte_ring* ring = rte_ring_create(name.c_str(), kWorkerRingPackets, SOCKET_ID_ANY,
                                       RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
      if (ring == nullptr) {
        *error = std::string("cannot create the rings between workers: ") + rte_strerror(rte_errno) +
                 ". Give the EAL more memory, or use fewer lcores";
        return false;
      }
      rings_[from * workers + to] = ring;
    }
  }
  return true;
}

Exchange::~Exchange() {
  for (rte_ring* ring : rings_) rte_ring_free(ring);
}

bool Exchange::is_empty() const {
  for (const rte_ring* ring : rings_) {
    if (ring != nullptr && rte_ring_empty(ring) == 0) return false;
  }
  return true;
}

}  // namespace txnic::dataplane
