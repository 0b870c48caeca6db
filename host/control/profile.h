// SPDX-License-Identifier: BSD-3-Clause
// Hardware profiles (configs/profiles): files in Protobuf text format, errors as of a configuration.
#pragma once

#include <cstdint>
#include <string>

#include "txn/types.h"

namespace txnic::control {

// As offload::HardwareProfile, with its name.
struct ProfileConfig {
  std::string name;
  uint32_t soc_slowdown_milli = 1000;
  TimeNs link_latency_ns = 0;
  uint64_t link_bits_per_second = 0;
  uint32_t link_message_cost_ns = 0;
};

struct ProfileResult {
  ProfileConfig profile;
  std::string error;  // as LoadResult's; empty: good
  bool ok() const { return error.empty(); }
};

ProfileResult load_profile(const std::string& path);
// `file` stands for the file in errors.
ProfileResult profile_from_text(const std::string& text, const std::string& file);

}  // namespace txnic::control
