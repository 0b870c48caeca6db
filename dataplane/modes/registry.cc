// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/modes/registry.h"

#include <map>

#include "dataplane/modes/drop.h"
#include "dataplane/modes/echo.h"

namespace txnic::dataplane {
namespace {

std::map<std::string, ModeFactory>& factories() {
  static std::map<std::string, ModeFactory> map = {
      {"echo", [](const ModeContext& context) { return std::make_unique<EchoMode>(context.counters); }},
      {"drop", [](const ModeContext& context) { return std::make_unique<DropMode>(context.counters); }},
  };
  return map;
}

}  // namespace

void register_mode(const std::string& name, ModeFactory factory) { factories()[name] = std::move(factory); }

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories()) names.push_back(name);
  return names;
}

std::unique_ptr<Mode> make_mode(const std::string& name, const ModeContext& context, std::string* error) {
  const auto found = factories().find(name);
  if (found != factories().end()) return found->second(context);
  *error = "no mode \"" + name + "\"; there are:";
  for (const std::string& known : mode_names()) *error += " " + known;
  return nullptr;
}

}  // namespace txnic::dataplane
