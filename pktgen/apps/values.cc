// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/apps/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace txnic::pktgen {

namespace {

template <class T>
bool read_all(const char* from, const char* to, int base, T* value) {
  const auto [stop, error] = std::from_chars(from, to, *value, base);
  return error == std::errc() && stop == to && from != to;
}

}  // namespace

bool read_number(const std::string& text, uint64_t least, uint64_t most, uint64_t* value) {
  const bool is_hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  uint64_t number = 0;
  if (!read_all(text.data() + (is_hex ? 2 : 0), text.data() + text.size(), is_hex ? 16 : 10, &number)) return false;
  if (number < least || number > most) return false;
  *value = number;
  return true;
}

bool read_signed(const std::string& text, int64_t* value) {
  return read_all(text.data(), text.data() + text.size(), 10, value);
}

bool read_real(const std::string& text, double least, double most, double* value) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || text.empty()) return false;
  if (!std::isfinite(number) || number < least || number > most) return false;
  *value = number;
  return true;
}

bool read_address(const std::string& text, uint32_t* address) {
  uint32_t result = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at == end || *at++ != '.')) return false;
    const char* const stop = std::find(at, end, '.');
    uint8_t byte = 0;
    if (stop - at > 3 || !read_all(at, stop, 10, &byte)) return false;
    result = result << 8 | byte;
    at = stop;
  }
  if (at != end) return false;
  *address = result;
  return true;
}

bool read_endpoint(const std::string& text, Endpoint* endpoint) {
  const size_t colon = text.find(':');
  Endpoint result = *endpoint;
  if (!read_address(text.substr(0, colon), &result.address)) return false;
  if (colon != std::string::npos) {
    uint64_t port = 0;
    if (!read_number(text.substr(colon + 1), 1, 65535, &port)) return false;
    result.port = static_cast<uint16_t>(port);
  }
  *endpoint = result;
  return true;
}

bool read_mac(const std::string& text, dataplane::Mac* mac) {
  if (text.size() != 17) return false;
  dataplane::Mac result{};
  for (size_t i = 0; i < 6; ++i) {
    const char* const at = text.data() + 3 * i;
    if (i > 0 && at[-1] != ':') return false;
    if (!read_all(at, at + 2, 16, &result[i])) return false;
  }
  *mac = result;
  return true;
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace txnic::pktgen
