// SPDX-License-Identifier: BSD-3-Clause
// Where in the text a message's fields stand, and the list of problems found there. Internal to host/control.
#pragma once

#include <google/protobuf/text_format.h>

#include <string>

namespace txnic::control {

// Collects "file:line:column: text" lines. Lines and columns are counted from 1, as editors do.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  void add(int line, int column, const std::string& text);
  void add(const std::string& text);  // of the whole file
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string file_;
  std::string text_;
};

// A message together with the place where it was written; fields are named as in the schema.
class Place {
 public:
  using Tree = google::protobuf::TextFormat::ParseInfoTree;
  Place(const google::protobuf::Message& message, const Tree* tree, int line, int column,
        Problems* problems)
      : message_(message), tree_(tree), line_(line), column_(column), problems_(problems) {}

  // The place of a sub-message; `index` is -1 for a singular field.
  Place nested(const google::protobuf::Message& message, const char* field, int index = -1) const;
  // Reports a problem of a field: where the field stands, or where its message does if it is not written.
  void problem(const char* field, const std::string& text, int index = -1) const;
  void require(const char* field) const;  // a problem if it is not set
  void range(const char* field, uint64_t value, uint64_t low, uint64_t high) const;

 private:
  const google::protobuf::FieldDescriptor* descriptor(const char* field) const;
  bool locate(const char* field, int index, int* line, int* column) const;

  const google::protobuf::Message& message_;
  const Tree* tree_;
  int line_;
  int column_;
  Problems* problems_;
};

}  // namespace txnic::control
