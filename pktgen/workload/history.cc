// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/history.h"

#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstring>

namespace txnic::pktgen {

std::string HistoryFile::open(const std::string& path) {
  file_.reset(std::fopen(path.c_str(), "w"));
  if (file_ == nullptr) return "cannot write " + path + ": " + std::strerror(errno);
  buffer_.resize(kBufferBytes);
  std::setvbuf(file_.get(), buffer_.data(), _IOFBF, buffer_.size());
  path_ = path;
  error_.clear();
  bytes_ = index_ = 0;
  return {};
}

void HistoryFile::put(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = std::vfprintf(file_.get(), format, arguments);
  va_end(arguments);
  if (written >= 0) {
    bytes_ += static_cast<uint64_t>(written);
  } else if (error_.empty()) {
    error_ = "cannot write " + path_ + ": " + std::strerror(errno);
  }
}

void HistoryFile::add(HistoryType type, uint64_t process, std::span<const HistoryOperation> operations) {
  static constexpr const char* kTypes[] = {":invoke", ":ok", ":fail", ":info"};
  if (file_ == nullptr || !error_.empty()) return;
  if (bytes_ >= bytes_max_) {
    error_ = path_ + " has reached the limit of " + std::to_string(bytes_max_) +
             " bytes; make shorter runs (--transactions, --duration)";
    return;
  }
  put("{:type %s, :process %" PRIu64 ", :f :txn, :value [", kTypes[static_cast<uint8_t>(type)], process);
  for (size_t i = 0; i < operations.size(); ++i) {
    const HistoryOperation& operation = operations[i];
    const char* const space = i == 0 ? "" : " ";
    if (operation.is_append) {
      put("%s[:append %" PRIu64 " %" PRIu32 "]", space, operation.key, operation.element);
    } else if (type != HistoryType::kOk) {
      put("%s[:r %" PRIu64 " nil]", space, operation.key);
    } else {
      put("%s[:r %" PRIu64 " [", space, operation.key);
      for (size_t j = 0; j < operation.list.size(); ++j) put("%s%" PRIu32, j == 0 ? "" : " ", operation.list[j]);
      put("]]");
    }
  }
  put("], :index %" PRIu64 "}\n", index_++);
}

std::string HistoryFile::close() {
  if (file_ == nullptr) return {};
  const bool is_whole = std::fclose(file_.release()) == 0;
  if (!is_whole && error_.empty()) error_ = "cannot write " + path_ + ": " + std::strerror(errno);
  return error_;
}

}  // namespace txnic::pktgen
