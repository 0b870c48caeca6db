// SPDX-License-Identifier: BSD-3-Clause
// Result and ledger files: JSON by result.proto.
#pragma once

#include <string>

#include "pktgen/report/row.h"
#include "pktgen/workload/ledger.h"

namespace txnic::pktgen {

// One JSON object.
std::string to_json(const RunRow& row);
// The same on one line.
std::string to_json_line(const RunRow& row);

std::string to_json(const LedgerRecord& record);
// False with *error naming the place.
bool ledger_from_json(const std::string& text, LedgerRecord* record, std::string* error);

// Whole files; "-" is standard output. False with *error naming file and cause.
bool write_file(const std::string& path, const std::string& text, std::string* error);
bool read_file(const std::string& path, std::string* text, std::string* error);

}  // namespace txnic::pktgen
