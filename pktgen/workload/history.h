// SPDX-License-Identifier: BSD-3-Clause
// Writes what clients did and were told as a file in the EDN form of Jepsen's Elle for list-append, for ./txnic check
// and for strangers' checkers: one operation map a line, in real-time order, written while it happens through a buffer
// of fixed size.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "txn/types.h"

namespace txnic::pktgen {

enum class HistoryType : uint8_t { kInvoke, kOk, kFail, kInfo };

// [:append key element], or [:r key list].
struct HistoryOperation {
  bool is_append = false;
  uint64_t key = 0;
  uint32_t element = 0;
  std::span<const uint32_t> list;  // reads of an :ok
};

class HistoryFile {
 public:
  // A longer history is refused: with lists it is about 20 million transactions.
  static constexpr uint64_t kBytesMax = 4ull << 30;
  static constexpr size_t kBufferBytes = 1 << 20;

  explicit HistoryFile(uint64_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

  // Begins a file, or begins it anew. Empty, or why not.
  std::string open(const std::string& path);
  bool is_open() const { return file_ != nullptr; }
  // One line. Nothing more is written after an error.
  void add(HistoryType type, uint64_t process, std::span<const HistoryOperation> operations);
  // Empty, or what kept the file from being whole.
  const std::string& error() const { return error_; }
  // Everything is in the file, or the answer says why not.
  std::string close();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void put(const char* format, ...) __attribute__((format(printf, 2, 3)));

  const uint64_t bytes_max_;
  std::vector<char> buffer_;  // before file_, which uses it until it is closed
  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
  std::string error_;
  uint64_t bytes_ = 0;
  uint64_t index_ = 0;
};

}  // namespace txnic::pktgen
