// SPDX-License-Identifier: BSD-3-Clause
// IPv4 and MAC addresses as text.
#include <cstdio>

#include "host/control/config.h"

namespace txnic::control {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string address_text(uint32_t address) {
  char text[16];
  std::snprintf(text, sizeof text, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
                address & 255);
  return text;
}

std::optional<uint32_t> address_from_text(const std::string& text) {
  uint32_t address = 0;
  size_t at = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at >= text.size() || text[at++] != '.')) return std::nullopt;
    uint32_t number = 0;
    size_t digits = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && digits < 3) {
      number = number * 10 + static_cast<uint32_t>(text[at] - '0');
      ++at;
      ++digits;
    }
    if (digits == 0 || number > 255) return std::nullopt;
    address = address << 8 | number;
  }
  if (at != text.size()) return std::nullopt;
  return address;
}

std::string mac_text(const std::array<uint8_t, 6>& mac) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
  return text;
}

std::optional<std::array<uint8_t, 6>> mac_from_text(const std::string& text) {
  constexpr size_t kLength = 17;  // six pairs and five colons
  if (text.size() != kLength) return std::nullopt;
  std::array<uint8_t, 6> mac{};
  for (size_t i = 0; i < mac.size(); ++i) {
    const int high = hex_digit(text[i * 3]);
    const int low = hex_digit(text[i * 3 + 1]);
    if (high < 0 || low < 0 || (i + 1 < mac.size() && text[i * 3 + 2] != ':')) return std::nullopt;
    mac[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return mac;
}

}  // namespace txnic::control
