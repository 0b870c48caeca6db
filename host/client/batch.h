// SPDX-License-Identifier: BSD-3-Clause
// Keys, values, and one-shot transactions: all operations in one message, one round trip.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <vector>

#include "host/client/expected.h"
#include "txn/wire/operation.h"

namespace txnic {

// 1–64 bytes: text, or a number (its eight bytes in little-endian order, the fastest kind of key).
class Key {
 public:
  Key(std::string_view text);
  Key(const char* text) : Key(std::string_view(text)) {}
  Key(const std::string& text) : Key(std::string_view(text)) {}
  template <std::integral Number>
  Key(Number number) : length_(sizeof(uint64_t)) {
    store(bytes_.data(), static_cast<uint64_t>(number));
  }

  // False for a key that no node accepts: empty, or longer than 64 bytes.
  bool is_valid() const { return length_ != 0; }
  Bytes bytes() const { return {bytes_.data(), length_}; }
  uint64_t hash() const;
  std::string text() const;  // for error messages
  friend bool operator==(const Key& a, const Key& b) {
    return a.length_ == b.length_ && std::memcmp(a.bytes_.data(), b.bytes_.data(), a.length_) == 0;
  }

 private:
  std::array<std::byte, limits::kKeyBytesMax> bytes_{};
  uint32_t length_ = 0;
};

// Numbers that ADD understands: eight bytes, little-endian, signed.
std::string number_value(int64_t number);
std::optional<int64_t> as_number(std::string_view value);

// What a GET or ADD answered.
struct Value {
  bool present = false;
  std::string bytes;
  Version version = 0;  // also of an absent key: it tells whether the absence is still the same

  std::optional<int64_t> number() const { return present ? as_number(bytes) : std::nullopt; }
};

// A list of operations that happen as one atomic step, or not at all, in the order in which they stand. Keys of one
// shard are fastest: one message; up to 16 shards, of any nodes, take part with a message each. A call
// that does not fit (a key or value too long, more than 64 operations) is remembered, and the batch is then refused as
// a whole, before anything is sent.
class Batch {
 public:
  Batch& get(TableId table, const Key& key);
  Batch& put(TableId table, const Key& key, std::string_view value);
  Batch& insert(TableId table, const Key& key, std::string_view value);  // EXISTS if present
  Batch& remove(TableId table, const Key& key);                          // NOT_FOUND if absent
  Batch& add(TableId table, const Key& key, int64_t delta);              // NOT_FOUND if absent
  Batch& add(TableId table, const Key& key, int64_t delta, int64_t floor);  // BELOW_FLOOR
  // Fails with CHECK_FAILED unless the key is as it was read: present or absent, and of that version.
  Batch& check(TableId table, const Key& key, const Value& as_read);

  size_t size() const { return operations_.size(); }
  void clear();

  // ---- for the library
  struct Operation {
    wire::Code code;
    TableId table;
    uint16_t flags;
    Version expected;
    Key key;
    std::string value;
  };
  const std::vector<Operation>& operations() const { return operations_; }
  const std::optional<Error>& error() const { return error_; }
  Batch& append(wire::Code code, TableId table, const Key& key, std::string_view value, uint16_t flags,
                Version expected);

 private:
  std::vector<Operation> operations_;
  size_t message_bytes_ = wire::kHeaderBytes;
  std::optional<Error> error_;
};

struct Committed {
  Version version = 0;  // of everything that was written in the first shard with writes; 0 if nothing was
  // What each shard calls it: the version of what was written there (0: nothing). Several shards only.
  std::vector<std::pair<ShardId, Version>> versions;
  // Values of the GETs and ADDs, by index of the operation in the batch; other places stay empty. Where the first
  // answer was lost and the node repeated the outcome, it does not repeat values: `values_known` is false then, and
  // all places are empty. (Transactions that only read always have their values.)
  std::vector<std::optional<Value>> values;
  bool values_known = true;
};

}  // namespace txnic
