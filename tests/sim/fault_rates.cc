// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/fault_rates.h"

#include <cstdio>

namespace txnic::sim {
namespace {

struct Field {
  const char* name;
  double FaultRates::*rate;
  double most;
};

constexpr Field kFields[] = {
    {"drop", &FaultRates::drop, 0.10},
    {"duplicate", &FaultRates::duplicate, 0.10},
    {"late", &FaultRates::late, 0.02},
    {"reorder", &FaultRates::reorder, 0.20},
    {"corrupt", &FaultRates::corrupt, 0.02},
    {"at_restart", &FaultRates::at_restart, 0.05},
    {"hold", &FaultRates::hold, 0.05},
    {"die_after", &FaultRates::die_after, 0.01},
    {"power_loss", &FaultRates::power_loss, 8},
    {"kill", &FaultRates::kill, 4},
    {"die_at_disk", &FaultRates::die_at_disk, 6},
    {"slow_disk", &FaultRates::slow_disk, 4},
    {"sync_error", &FaultRates::sync_error, 2},
    {"full_disk", &FaultRates::full_disk, 2},
    {"clock_jump", &FaultRates::clock_jump, 2},
    {"partition", &FaultRates::partition, 2},
    {"client_death", &FaultRates::client_death, 2},
    {"session_close", &FaultRates::session_close, 6},
    {"checkpoint", &FaultRates::checkpoint, 20},
};

}  // namespace

FaultRates FaultRates::draw(Random& random) {
  FaultRates rates;
  for (const Field& field : kFields) {
    if (random.below(4) == 0) continue;  // one kind in four never happens
    rates.*field.rate = field.most * static_cast<double>(1 + random.below(1000)) / 1000;
  }
  for (uint32_t word = 0; word < kWords; ++word) rates.words |= uint32_t{random.below(3) == 0} << word;
  return rates;
}

std::string FaultRates::describe() const {
  std::string text;
  for (const Field& field : kFields) {
    char part[64];
    std::snprintf(part, sizeof part, "%s%s %.4g", text.empty() ? "" : ", ", field.name, this->*field.rate);
    text += part;
  }
  for (uint32_t word = 0; word < kWords; ++word) {
    if ((words >> word & 1) == 0) continue;
    text += std::string(text.back() == '"' ? " \"" : " after \"") + kWordNames[word] + '"';
  }
  return text;
}

}  // namespace txnic::sim
