// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/verdict.h"

#include <cstdio>

namespace txnic::check {

std::string summary(const Verdict& verdict) {
  std::string text;
  for (const auto& [name, count] : verdict.counts) {
    if (!text.empty()) text += ", ";
    text += name + " ×" + std::to_string(count);
  }
  return text.empty() ? "none" : text;
}

std::string report(const Verdict& verdict) {
  std::string text;
  for (const Anomaly& anomaly : verdict.anomalies) text += anomaly.name + '\n' + anomaly.text;
  return text;
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_anomalies(const Verdict& verdict) {
  std::string out = "[";
  for (const Anomaly& anomaly : verdict.anomalies) {
    if (out.size() > 1) out += ',';
    out += "{\"name\":" + json_string(anomaly.name) + ",\"operations\":[";
    for (size_t i = 0; i < anomaly.operations.size(); ++i) {
      if (i > 0) out += ',';
      out += std::to_string(anomaly.operations[i]);
    }
    out += "],\"text\":" + json_string(anomaly.text) + '}';
  }
  return out + ']';
}

}  // namespace txnic::check
