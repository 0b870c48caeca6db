// SPDX-License-Identifier: BSD-3-Clause
// Readers of single option values. Each answers false for anything that is not wholly a value in its range.
#pragma once

#include <string>

#include "dataplane/frame.h"
#include "txn/types.h"

namespace txnic::pktgen {

bool read_number(const std::string& text, uint64_t least, uint64_t most, uint64_t* value);  // decimal, or 0x…
bool read_signed(const std::string& text, int64_t* value);
bool read_real(const std::string& text, double least, double most, double* value);
bool read_address(const std::string& text, uint32_t* address);          // "10.99.0.1"
bool read_endpoint(const std::string& text, Endpoint* endpoint);        // with or without ":port"
bool read_mac(const std::string& text, dataplane::Mac* mac);            // "02:00:00:00:00:01"
// How many letters have to change to make one of the other (for "did you mean").
size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace txnic::pktgen
