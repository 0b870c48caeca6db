// SPDX-License-Identifier: BSD-3-Clause
// ARP and ICMP echo, so that a kernel host can reach and ping a node. Answers are built in place.
#pragma once

#include <cstdint>

#include "dataplane/frame.h"

namespace txnic::dataplane {

inline constexpr uint32_t kArpFrameBytes = 42;

// An ARP frame of at least kArpFrameBytes. True: it asked for our address and is now the answer (kArpFrameBytes long).
bool answer_arp(uint8_t* frame, uint32_t address_raw, const Mac& own);

// A frame that parse_frame() called kIcmp, with `icmp_length` bytes behind the IPv4 header. True: it was a good echo
// request and is now the answer, of unchanged length.
bool answer_icmp(uint8_t* frame, uint32_t icmp_length, const Mac& own);

// ---- for those who ask ----------------------------------------------------------------------------
void build_arp_request(uint8_t* frame, const Mac& own, uint32_t own_address_raw, uint32_t wanted_address_raw);
// True: the frame tells the MAC of `address_raw` (an answer, or a request that its owner sent).
bool read_arp(const uint8_t* frame, uint32_t length, uint32_t address_raw, Mac* mac);
// Of an ARP frame of at least kArpFrameBytes: who sent it. False: it does not say so.
bool read_arp_sender(const uint8_t* frame, uint32_t* address_raw, Mac* mac);

}  // namespace txnic::dataplane
