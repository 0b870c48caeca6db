// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/text.h"

#include <google/protobuf/io/tokenizer.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace txnic::control {
namespace {

constexpr uint64_t kMebibyte = 1ull << 20;
constexpr uint64_t kFileBytesMax = 16 * kMebibyte;

class Collector : public google::protobuf::io::ErrorCollector {
 public:
  explicit Collector(Problems* problems) : problems_(problems) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    problems_->add(line, column, message);
  }
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    problems_->add(line, column, message);
  }

 private:
  Problems* problems_;
};

}  // namespace

bool read_text_file(const std::string& path, const std::string& examples, std::string* text, std::string* error) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    *error = path + ": cannot be opened: " + std::strerror(errno) + "; examples are in " + examples;
    return false;
  }
  char piece[4096];
  while (file.read(piece, sizeof piece) || file.gcount() > 0) {
    text->append(piece, static_cast<size_t>(file.gcount()));
    if (text->size() <= kFileBytesMax) continue;
    *error = path + ": larger than " + std::to_string(kFileBytesMax / kMebibyte) +
             " MiB; this is no configuration file";
    return false;
  }
  if (!file.bad()) return true;
  *error = path + ": cannot be read: " + std::strerror(errno);
  return false;
}

bool parse_text(const std::string& text, const std::string& schema, google::protobuf::Message* message,
                google::protobuf::TextFormat::ParseInfoTree* tree, Problems* problems) {
  Collector collector(problems);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.WriteLocationsTo(tree);
  parser.AllowPartialMessage(true);
  if (parser.ParseFromString(text, message)) return true;
  if (problems->empty()) problems->add("not in Protobuf text format; see " + schema);
  return false;
}

}  // namespace txnic::control
