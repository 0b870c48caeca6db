// SPDX-License-Identifier: BSD-3-Clause
// `txnode --check-log DIR`: verifies a log without starting, and says what is in it.
#pragma once

#include <string>

#include "host/log/disk.h"

namespace txnic::log {

// Reads everything as recovery would, and keeps nothing. True if a node could start from it; `text` is the summary,
// in either case. The directory must exist and must not be in use.
bool check_log(const std::string& directory, std::string* text);
bool check_log(Disk& disk, std::string* text);

}  // namespace txnic::log
