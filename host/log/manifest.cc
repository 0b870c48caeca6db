// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/manifest.h"

#include <cinttypes>
#include <cstdio>

#include "host/log/format.h"

namespace txnic::log {
namespace {

constexpr size_t kManifestBytesMax = 4u << 20;
constexpr std::string_view kTitle = "txnic-log-manifest";

void append_position(std::string* text, const LogPosition& position) {
  char line[128];
  std::snprintf(line, sizeof line, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, position.segment, position.offset,
                position.group, position.lsn);
  *text += line;
}

// Splits a line into words and takes them one by one; every failure sticks.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view word() {
    if (rest_.empty()) {
      failed_ = true;
      return {};
    }
    const size_t end = rest_.find(' ');
    const std::string_view taken = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    if (taken.empty()) failed_ = true;
    return taken;
  }
  template <class T>
  void number(T* value) {
    uint64_t result = 0;
    const std::string_view digits = word();
    if (digits.size() > 19) failed_ = true;
    for (const char digit : digits) {
      if (digit < '0' || digit > '9') {
        failed_ = true;
        return;
      }
      result = result * 10 + static_cast<uint64_t>(digit - '0');
    }
    *value = static_cast<T>(result);
    if (*value != result) failed_ = true;
  }
  void position(LogPosition* value) {
    number(&value->segment);
    number(&value->offset);
    number(&value->group);
    number(&value->lsn);
    if (value->segment == 0 || value->group == 0 || value->lsn < kFirstLsn || value->lsn % 8 != 0 ||
        value->offset < kBlockBytes || !is_block_multiple(value->offset)) {
      failed_ = true;
    }
  }
  bool more() const { return !rest_.empty(); }
  bool whole() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

bool parse_part(Words* words, Manifest* manifest) {
  PartEntry part;
  words->number(&part.incarnation);
  words->number(&part.worker);
  words->number(&part.workers);
  words->position(&part.end);
  if (!words->whole() || part.worker >= part.workers || part.workers > limits::kWorkersMax) return false;
  if (part.end.segment != 1 || part.incarnation > manifest->incarnation) return false;
  manifest->parts.push_back(part);
  return manifest->parts.size() <= limits::kWorkersMax;
}

bool parse_log(Words* words, Manifest* manifest) {
  LogEntry log;
  words->number(&log.incarnation);
  words->number(&log.worker);
  words->number(&log.workers);
  words->position(&log.start);
  words->number(&log.redo);
  words->number(&log.prepared);
  if (words->more()) {
    if (words->word() != "end") return false;
    log.end.emplace();
    words->position(&*log.end);
  }
  if (!words->whole() || log.worker >= log.workers || log.workers > limits::kWorkersMax) return false;
  if (log.incarnation == 0 || log.incarnation > manifest->incarnation || log.redo < log.start.lsn) return false;
  if (log.prepared + 1 < log.start.segment) return false;
  if (log.end.has_value() && (log.end->segment < log.start.segment || log.end->group < log.start.group ||
                              log.end->lsn < log.redo || log.end->segment > log.prepared)) {
    return false;
  }
  if (!manifest->logs.empty()) {
    const LogEntry& before = manifest->logs.back();
    if (log.incarnation < before.incarnation) return false;
    if (log.incarnation == before.incarnation && (log.worker <= before.worker || log.workers != before.workers)) {
      return false;
    }
  }
  manifest->logs.push_back(log);
  return true;
}

bool parse_line(std::string_view line, size_t line_number, Manifest* manifest) {
  Words words(line);
  const std::string_view keyword = words.word();
  if (line_number == 1) {
    uint32_t version = 0;
    words.number(&version);
    return keyword == kTitle && words.whole() && version == kFormatVersion;
  }
  if (keyword == "shards") {
    words.number(&manifest->shard_count);
    return words.whole() && manifest->shard_count > 0 && manifest->shard_count <= limits::kShardsMax;
  }
  if (keyword == "incarnation") {
    words.number(&manifest->incarnation);
    return words.whole();
  }
  if (keyword == "generation") {
    words.number(&manifest->generation);
    return words.whole();
  }
  if (keyword == "part") return parse_part(&words, manifest);
  if (keyword == "log") return parse_log(&words, manifest);
  return false;
}

}  // namespace

std::string format_manifest(const Manifest& manifest) {
  char line[128];
  std::snprintf(line, sizeof line, "%s %u\nshards %u\nincarnation %u\ngeneration %" PRIu64 "\n", kTitle.data(),
                kFormatVersion, manifest.shard_count, manifest.incarnation, manifest.generation);
  std::string text = line;
  for (const PartEntry& part : manifest.parts) {
    std::snprintf(line, sizeof line, "part %u %u %u", part.incarnation, part.worker, part.workers);
    text += line;
    append_position(&text, part.end);
    text += '\n';
  }
  for (const LogEntry& log : manifest.logs) {
    std::snprintf(line, sizeof line, "log %u %u %u", log.incarnation, log.worker, log.workers);
    text += line;
    append_position(&text, log.start);
    std::snprintf(line, sizeof line, " %" PRIu64 " %" PRIu64, log.redo, log.prepared);
    text += line;
    if (log.end.has_value()) {
      text += " end";
      append_position(&text, *log.end);
    }
    text += '\n';
  }
  const uint32_t crc = crc32c(0, reinterpret_cast<const std::byte*>(text.data()), text.size());
  std::snprintf(line, sizeof line, "crc %08x\n", crc);
  return text + line;
}

bool parse_manifest(std::string_view text, Manifest* manifest, std::string* error) {
  *manifest = Manifest{};
  constexpr size_t kCrcLineBytes = 13;  // "crc 01234567\n"
  if (text.size() < kCrcLineBytes) {
    *error = "it is too short";
    return false;
  }
  const std::string_view body = text.substr(0, text.size() - kCrcLineBytes);
  char expected[16];
  std::snprintf(expected, sizeof expected, "crc %08x\n",
                crc32c(0, reinterpret_cast<const std::byte*>(body.data()), body.size()));
  if (text.substr(body.size()) != expected) {
    *error = "its checksum (the last line) does not match";
    return false;
  }
  size_t line_number = 0;
  std::string_view rest = body;
  while (!rest.empty()) {
    ++line_number;
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos || !parse_line(rest.substr(0, end), line_number, manifest)) {
      *error = "line " + std::to_string(line_number) + " is not one that this version writes";
      return false;
    }
    rest.remove_prefix(end + 1);
  }
  if (manifest->shard_count == 0 || (manifest->generation == 0) != manifest->parts.empty()) {
    *error = "it is not complete";
    return false;
  }
  return true;
}

ManifestState read_manifest(Disk& disk, Manifest* manifest, std::string* error) {
  std::vector<FileInfo> files;
  if (const Errno code = disk.list(&files); code != 0) {
    *error =
        "the log directory cannot be listed (" + std::string(errno_text(code)) + "): check its path and permissions";
    return ManifestState::kBad;
  }
  uint64_t bytes = 0;
  bool present = false;
  std::string log_file;
  for (const FileInfo& file : files) {
    if (file.name == kManifestName) {
      present = true;
      bytes = file.bytes;
    } else if (parse_file_name(file.name).has_value()) {
      log_file = file.name;
    }
  }
  if (!present) {
    if (log_file.empty()) return ManifestState::kNone;
    *error = "MANIFEST is missing but there are log files (" + log_file +
             "): put MANIFEST back from a copy, or give the node an empty directory";
    return ManifestState::kBad;
  }
  if (bytes > kManifestBytesMax) {
    *error = "MANIFEST is too large to be one: restore it from a copy";
    return ManifestState::kBad;
  }
  std::string text(bytes, '\0');
  size_t got = 0;
  const Errno code = disk.read(kManifestName, 0, std::as_writable_bytes(std::span(text)), &got);
  if (code != 0 || got != bytes) {
    *error = "MANIFEST cannot be read (" + std::string(errno_text(code)) + "): check the disk";
    return ManifestState::kBad;
  }
  std::string reason;
  if (!parse_manifest(text, manifest, &reason)) {
    *error = "MANIFEST is damaged: " + reason + "; restore it from a copy";
    return ManifestState::kBad;
  }
  return ManifestState::kRead;
}

Errno write_manifest(Disk& disk, const Manifest& manifest) {
  const std::string text = format_manifest(manifest);
  return disk.replace(kManifestName, std::as_bytes(std::span(text)));
}

}  // namespace txnic::log
