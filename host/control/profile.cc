// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/profile.h"

#include "config.pb.h"
#include "host/control/check.h"
#include "host/control/text.h"

namespace txnic::control {
namespace {

constexpr uint32_t kSlowdownMilliMax = 100'000;
constexpr uint32_t kLatencyNsMax = 1'000'000'000;
constexpr uint32_t kMegabitsMax = 10'000'000;
constexpr uint32_t kMessageCostNsMax = 1'000'000;

}  // namespace

ProfileResult profile_from_text(const std::string& text, const std::string& file) {
  ProfileResult result;
  Problems problems(file);
  google::protobuf::TextFormat::ParseInfoTree tree;
  config::Profile from;
  if (parse_text(text, "configs/config.proto, message Profile", &from, &tree, &problems)) {
    const Place place(from, &tree, 0, 0, &problems);
    place.require("name");
    if (from.has_name()) check_name(place, from.name());
    place.range("soc_slowdown_milli", from.soc_slowdown_milli(), 1000, kSlowdownMilliMax);
    place.range("link_latency_ns", from.link_latency_ns(), 0, kLatencyNsMax);
    place.range("link_megabits_per_second", from.link_megabits_per_second(), 0, kMegabitsMax);
    place.range("link_message_cost_ns", from.link_message_cost_ns(), 0, kMessageCostNsMax);
  }
  result.error = problems.text();
  if (!result.ok()) return result;
  result.profile = {from.name(), from.soc_slowdown_milli(), from.link_latency_ns(),
                    from.link_megabits_per_second() * 1'000'000ull, from.link_message_cost_ns()};
  return result;
}

ProfileResult load_profile(const std::string& path) {
  std::string text;
  ProfileResult result;
  if (!read_text_file(path, "configs/profiles/", &text, &result.error)) return result;
  return profile_from_text(text, path);
}

}  // namespace txnic::control
