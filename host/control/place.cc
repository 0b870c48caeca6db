// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/place.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cassert>

namespace txnic::control {

void Problems::add(int line, int column, const std::string& text) {
  if (line < 0) return add(text);
  if (!text_.empty()) text_ += '\n';
  text_ += file_ + ':' + std::to_string(line + 1) + ':' + std::to_string(column + 1) + ": " + text;
}

void Problems::add(const std::string& text) {
  if (!text_.empty()) text_ += '\n';
  text_ += file_ + ": " + text;
}

const google::protobuf::FieldDescriptor* Place::descriptor(const char* field) const {
  const auto* found = message_.GetDescriptor()->FindFieldByName(field);
  assert(found != nullptr);
  return found;
}

bool Place::locate(const char* field, int index, int* line, int* column) const {
  if (tree_ == nullptr || descriptor(field)->is_repeated() != (index >= 0)) return false;
  const auto location = tree_->GetLocation(descriptor(field), index);
  if (location.line < 0) return false;
  *line = location.line;
  *column = location.column;
  return true;
}

Place Place::nested(const google::protobuf::Message& message, const char* field, int index) const {
  int line = line_;
  int column = column_;
  const Tree* tree = nullptr;
  if (locate(field, index, &line, &column)) tree = tree_->GetTreeForNested(descriptor(field), index);
  return Place(message, tree, line, column, problems_);
}

void Place::problem(const char* field, const std::string& text, int index) const {
  int line = line_;
  int column = column_;
  locate(field, index, &line, &column);
  problems_->add(line, column, std::string(field) + ": " + text);
}

void Place::require(const char* field) const {
  if (!message_.GetReflection()->HasField(message_, descriptor(field))) {
    problem(field, "missing; this field has no default");
  }
}

void Place::range(const char* field, uint64_t value, uint64_t low, uint64_t high) const {
  if (value >= low && value <= high) return;
  problem(field, std::to_string(value) + " is out of range; from " + std::to_string(low) + " to " +
                     std::to_string(high) + " is allowed");
}

}  // namespace txnic::control
