// SPDX-License-Identifier: BSD-3-Clause
// Forwarding modes by name. `echo` and `drop` are built in; others (`txn`) are registered by whoever wires the node.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/counters.h"
#include "dataplane/modes/mode.h"

namespace txnic::dataplane {

struct ModeContext {
  uint32_t worker = 0;
  uint32_t worker_count = 1;
  WorkerCounters* counters = nullptr;
};

using ModeFactory = std::function<std::unique_ptr<Mode>(const ModeContext&)>;

void register_mode(const std::string& name, ModeFactory factory);
std::vector<std::string> mode_names();
// Null if there is no such mode; *error names those there are.
std::unique_ptr<Mode> make_mode(const std::string& name, const ModeContext& context, std::string* error);

}  // namespace txnic::dataplane
