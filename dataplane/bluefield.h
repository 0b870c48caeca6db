// SPDX-License-Identifier: BSD-3-Clause
// What a machine lacks to be the ARM side of a BlueField, found in the kernel's files before the EAL starts. Nothing of
// it has run on a card: what it looks for is from vendor documentation (docs/OPERATING.md).
#pragma once

#include <string>
#include <vector>

#include "dataplane/preflight.h"

namespace txnic::dataplane {

// `root`: "" for the machine itself, another folder in tests. Reads below sys/ only.
std::vector<Problem> preflight_bluefield(const std::string& root);

}  // namespace txnic::dataplane
