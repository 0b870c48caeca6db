// SPDX-License-Identifier: BSD-3-Clause
#include "host/client/batch.h"

#include <algorithm>

#include "txn/hash.h"

namespace txnic {

Key::Key(std::string_view text) {
  if (text.empty() || text.size() > limits::kKeyBytesMax) return;
  std::memcpy(bytes_.data(), text.data(), text.size());
  length_ = static_cast<uint32_t>(text.size());
}

uint64_t Key::hash() const { return hash_key(bytes_.data(), length_); }

std::string Key::text() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  const bool printable = std::all_of(bytes_.data(), bytes_.data() + length_, [](std::byte b) {
    return b >= std::byte{0x20} && b < std::byte{0x7f};
  });
  if (printable) {
    std::string quoted(1, '"');
    quoted.append(reinterpret_cast<const char*>(bytes_.data()), length_);
    quoted.push_back('"');
    return quoted;
  }
  if (length_ == 8) return std::to_string(load<uint64_t>(bytes_.data()));
  std::string text = "0x";
  for (uint32_t i = 0; i < length_; ++i) {
    text += kDigits[static_cast<unsigned>(bytes_[i]) >> 4];
    text += kDigits[static_cast<unsigned>(bytes_[i]) & 15];
  }
  return text;
}

std::string number_value(int64_t number) {
  std::string bytes(sizeof number, '\0');
  store(bytes.data(), number);
  return bytes;
}

std::optional<int64_t> as_number(std::string_view value) {
  if (value.size() != sizeof(int64_t)) return std::nullopt;
  return load<int64_t>(value.data());
}

Batch& Batch::append(wire::Code code, TableId table, const Key& key, std::string_view value, uint16_t flags,
                     Version expected) {
  if (error_) return *this;
  const auto refuse = [this](Result result, std::string text) {
    error_ = Error{ErrorKind::kInvalid, result, static_cast<uint8_t>(std::min<size_t>(operations_.size(), 255)),
                   "operation " + std::to_string(operations_.size()) + ": " + std::move(text)};
  };
  const wire::OperationHeader header{static_cast<uint8_t>(code), 0, table, 0, flags};
  const size_t need = sizeof header + (wire::carries_version(header) ? sizeof expected : 0) + key.bytes().size() +
                      value.size();
  if (!key.is_valid()) {
    refuse(Result::kBadRequest, "a key has 1 to " + std::to_string(limits::kKeyBytesMax) + " bytes");
  } else if (value.size() > limits::kValueBytesMax) {
    refuse(Result::kTooLarge, "a value has at most " + std::to_string(limits::kValueBytesMax) + " bytes, this one " +
                                  std::to_string(value.size()) + "; split it over several keys");
  } else if (operations_.size() == limits::kOperationsMax) {
    refuse(Result::kTooLarge, "a transaction has at most " + std::to_string(limits::kOperationsMax) +
                                  " operations; make several");
  } else if (message_bytes_ + need > limits::kMessageBytesMax) {
    refuse(Result::kTooLarge, "a transaction's keys and values must fit one message of " +
                                  std::to_string(limits::kMessageBytesMax) + " bytes; make several");
  } else {
    message_bytes_ += need;
    operations_.push_back({code, table, flags, expected, key, std::string(value)});
  }
  return *this;
}

Batch& Batch::get(TableId table, const Key& key) { return append(wire::Code::kGet, table, key, {}, 0, 0); }

Batch& Batch::put(TableId table, const Key& key, std::string_view value) {
  return append(wire::Code::kPut, table, key, value, 0, 0);
}

Batch& Batch::insert(TableId table, const Key& key, std::string_view value) {
  return append(wire::Code::kInsert, table, key, value, 0, 0);
}

Batch& Batch::remove(TableId table, const Key& key) { return append(wire::Code::kDelete, table, key, {}, 0, 0); }

Batch& Batch::add(TableId table, const Key& key, int64_t delta) {
  return append(wire::Code::kAdd, table, key, number_value(delta), 0, 0);
}

Batch& Batch::add(TableId table, const Key& key, int64_t delta, int64_t floor) {
  return append(wire::Code::kAdd, table, key, number_value(delta) + number_value(floor), wire::kHasFloor, 0);
}

Batch& Batch::check(TableId table, const Key& key, const Value& as_read) {
  return append(wire::Code::kCheck, table, key, {}, as_read.present ? uint16_t{0} : wire::kExpectAbsent,
                as_read.version);
}

void Batch::clear() {
  operations_.clear();
  message_bytes_ = wire::kHeaderBytes;
  error_.reset();
}

}  // namespace txnic
