// SPDX-License-Identifier: BSD-3-Clause
// The reader: a scanner of EDN values that reads what a history needs and steps over the rest.
#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "tests/sim/check/edn.h"

namespace txnic::check {
namespace {

// Every method that returns false has called fail() first (once; the first error stays).
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  void seek(size_t at) { at_ = at; }
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool failed() const { return !what_.empty(); }
  size_t error_at() const { return error_at_; }
  const std::string& what() const { return what_; }

  bool fail(size_t at, std::string what) {
    if (!failed()) {
      error_at_ = at;
      what_ = std::move(what);
    }
    return false;
  }

  // White space, commas, comments, #_ forms. False only on a broken #_ form.
  bool skip_space(int depth = 0) {
    for (;;) {
      const char c = peek();
      if (!at_end() && (is_space(c))) {
        ++at_;
      } else if (c == ';') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '#' && text_.substr(at_, 2) == "#_") {
        at_ += 2;
        if (!skip_value(depth + 1)) return false;
      } else {
        return true;
      }
    }
  }

  // Any value, nested to kEdnDepthMax.
  bool skip_value(int depth) {
    if (depth > kEdnDepthMax) return fail(at_, "nested too deeply");
    if (!skip_space(depth) || !skip_tag(depth)) return false;
    const size_t start = at_;
    const char c = peek();
    if (at_end()) return fail(at_, "a value was expected, but the input ends");
    if (c == '"') return skip_string();
    if (c == '(' || c == '[' || c == '{') return skip_collection(depth, c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c == '\\') at_ += at_ + 1 < text_.size() ? 2 : 1;
    while (!at_end() && !is_delimiter(peek())) ++at_;
    return at_ > start || fail(start, std::string("'") + c + "' is not a value");
  }

  // "#name" in front of a value, as in #jepsen.history.Op{…}. "#{" is a set: its '#' is stepped over.
  bool skip_tag(int depth) {
    for (int tags = 0; peek() == '#'; ++tags) {
      if (tags > kEdnDepthMax) return fail(at_, "nested too deeply");
      ++at_;
      if (peek() == '{') return true;
      const size_t start = at_;
      while (!at_end() && !is_delimiter(peek())) ++at_;
      if (at_ == start) return fail(start - 1, "'#' without a tag");
      if (!skip_space(depth)) return false;
    }
    return true;
  }

  bool expect(char wanted, const char* what) {
    if (!skip_space()) return false;
    if (peek() != wanted || at_end()) return fail(at_, std::string("'") + wanted + "' was expected (" + what + ")");
    ++at_;
    return true;
  }

  // A keyword, symbol or number as it stands.
  std::string_view token() {
    const size_t start = at_;
    while (!at_end() && !is_delimiter(peek())) ++at_;
    return text_.substr(start, at_ - start);
  }

  bool integer(int64_t& value, const char* what) {
    if (!skip_space()) return false;
    const size_t start = at_;
    std::string_view digits = token();
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (digits.ends_with('N')) digits.remove_suffix(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty()) return true;
    return fail(start, std::string(what) + " must be an integer of 64 bits");
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == ',' || (c >= '\t' && c <= '\r'); }
  static bool is_delimiter(char c) {
    return is_space(c) || c == '"' || c == '(' || c == ')' || c == '[' || c == ']' || c == '{' || c == '}' || c == ';';
  }

  bool skip_string() {
    const size_t start = at_++;
    for (; !at_end(); ++at_) {
      if (peek() == '"') {
        ++at_;
        return true;
      }
      if (peek() == '\\' && at_ + 1 < text_.size()) ++at_;
    }
    return fail(start, "a string that does not end");
  }

  bool skip_collection(int depth, char closing) {
    const size_t start = at_++;
    for (;;) {
      if (!skip_space(depth)) return false;
      if (at_end()) return fail(start, std::string("no '") + closing + "' closes this");
      if (peek() == closing) {
        ++at_;
        return true;
      }
      if (!skip_value(depth + 1)) return false;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t error_at_ = 0;
  std::string what_;
};

// The interesting part of one map.
struct Event {
  size_t at = 0;  // of its '{'
  std::string_view type;
  std::string_view function;
  size_t value_at = SIZE_MAX;
  size_t process_at = SIZE_MAX;
  bool is_client = false;
  int64_t process = 0;
  int64_t time_ns = kNoTime;
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view file_name) : text_(text), file_(file_name), scanner_(text) {}

  ReadResult run() {
    while (scanner_.skip_space() && !scanner_.at_end()) {
      Event event;
      if (!read_event(event) || !take(event)) break;
      ++result_.history.next_position;
    }
    if (scanner_.failed()) result_.error = locate();
    return std::move(result_);
  }

 private:
  InputError locate() const {
    const std::string_view before = text_.substr(0, scanner_.error_at());
    const size_t newline = before.rfind('\n');
    return {file_, static_cast<uint64_t>(std::count(before.begin(), before.end(), '\n')) + 1,
            newline == std::string_view::npos ? before.size() + 1 : before.size() - newline, scanner_.what()};
  }

  bool read_event(Event& event) {
    if (!scanner_.skip_tag(0)) return false;
    event.at = scanner_.at();
    if (!scanner_.expect('{', "each line is a map")) return false;
    for (;;) {
      if (!scanner_.skip_space()) return false;
      if (scanner_.peek() == '}') break;
      if (scanner_.at_end()) return scanner_.fail(event.at, "no '}' closes this map");
      if (!read_entry(event)) return false;
    }
    scanner_.seek(scanner_.at() + 1);
    return true;
  }

  bool read_entry(Event& event) {
    const bool is_keyword = scanner_.peek() == ':';
    std::string_view key;
    if (is_keyword) {
      key = scanner_.token();
    } else if (!scanner_.skip_value(1)) {
      return false;
    }
    if (!scanner_.skip_space()) return false;
    const size_t at = scanner_.at();
    if (scanner_.peek() == '}') return scanner_.fail(at, "a key without a value");
    if (key == ":type" || key == ":f") {
      std::string_view& field = key == ":f" ? event.function : event.type;
      field = scanner_.token();
      if (!field.starts_with(':')) return scanner_.fail(at, std::string(key) + " must be a keyword");
      return true;
    }
    if (key == ":process") {
      event.process_at = at;
      event.is_client = scanner_.peek() != ':';
      return event.is_client ? scanner_.integer(event.process, ":process") : scanner_.skip_value(1);
    }
    if (key == ":time") return scanner_.integer(event.time_ns, ":time");
    if (key == ":value") event.value_at = at;  // read later: only :f and :type tell what it is
    return scanner_.skip_value(1);
  }

  bool take(const Event& event) {
    const bool is_ours = event.function.empty() || event.function == ":txn";
    if ((event.process_at != SIZE_MAX && !event.is_client) || !is_ours) {
      ++result_.skipped;
      return true;
    }
    if (event.type.empty()) return scanner_.fail(event.at, "this map has no :type");
    if (event.process_at == SIZE_MAX) return scanner_.fail(event.at, "this map has no :process");
    if (event.type == ":invoke") return take_invoke(event);
    if (event.type == ":ok") return take_completion(event, Outcome::kOk);
    if (event.type == ":fail") return take_completion(event, Outcome::kFail);
    if (event.type == ":info") return take_completion(event, Outcome::kInfo);
    return scanner_.fail(event.at, "unknown :type " + std::string(event.type));
  }

  bool take_invoke(const Event& event) {
    if (pending_.contains(event.process)) {
      return scanner_.fail(event.at, process_text(event) + " is still waiting for an answer");
    }
    std::vector<MicroOp> micro_ops;
    if (!read_value(event, micro_ops)) return false;
    for (MicroOp& micro : micro_ops) micro.list.clear();
    pending_[event.process] = result_.history.invoke(event.process, std::move(micro_ops), event.time_ns);
    --result_.history.next_position;  // run() counts
    return true;
  }

  bool take_completion(const Event& event, Outcome outcome) {
    const auto found = pending_.find(event.process);
    if (found == pending_.end()) return scanner_.fail(event.at, process_text(event) + " has not invoked anything");
    Operation& operation = result_.history.operations[found->second];
    if (outcome == Outcome::kOk) {
      std::vector<MicroOp> micro_ops;
      if (!read_value(event, micro_ops)) return false;
      const auto same = [](const MicroOp& a, const MicroOp& b) {
        return a.kind == b.kind && a.key == b.key && a.value == b.value;
      };
      if (!std::equal(micro_ops.begin(), micro_ops.end(), operation.micro_ops.begin(), operation.micro_ops.end(),
                      same)) {
        return scanner_.fail(event.value_at,
                             std::string("this :value is not what ") + process_text(event) + " invoked");
      }
      operation.micro_ops = std::move(micro_ops);
    }
    result_.history.complete(found->second, outcome, event.time_ns);
    --result_.history.next_position;
    pending_.erase(found);
    return true;
  }

  static std::string process_text(const Event& event) {
    return std::string("process ") + std::to_string(event.process);
  }

  // Reads :value at its remembered place and comes back.
  bool read_value(const Event& event, std::vector<MicroOp>& micro_ops) {
    if (event.value_at == SIZE_MAX) return scanner_.fail(event.at, "this map has no :value");
    const size_t back = scanner_.at();
    scanner_.seek(event.value_at);
    if (!scanner_.expect('[', "a list of micro-operations")) return false;
    for (;;) {
      if (!scanner_.skip_space()) return false;
      if (scanner_.peek() == ']') break;
      if (!read_micro_op(micro_ops.emplace_back())) return false;
    }
    scanner_.seek(back);
    return true;
  }

  bool read_micro_op(MicroOp& micro) {
    if (!scanner_.expect('[', "[:append key value] or [:r key list]") || !scanner_.skip_space()) return false;
    const size_t at = scanner_.at();
    const std::string_view kind = scanner_.token();
    if (kind != ":append" && kind != ":r") return scanner_.fail(at, "a micro-operation is :append or :r");
    if (!scanner_.integer(micro.key, "a key")) return false;
    if (kind == ":append") {
      micro.kind = MicroOp::Kind::kAppend;
      if (!scanner_.integer(micro.value, "an appended value")) return false;
    } else if (!read_list(micro.list)) {
      return false;
    }
    return scanner_.expect(']', "the end of the micro-operation");
  }

  // nil (nothing there yet) or [1 2 3].
  bool read_list(std::vector<Value>& list) {
    if (!scanner_.skip_space()) return false;
    const size_t at = scanner_.at();
    if (scanner_.peek() != '[') {
      return scanner_.token() == "nil" || scanner_.fail(at, "a read returns nil or a list of integers");
    }
    scanner_.seek(at + 1);
    for (;;) {
      if (!scanner_.skip_space()) return false;
      if (scanner_.peek() == ']') break;
      if (!scanner_.integer(list.emplace_back(), "an element of a list")) return false;
    }
    scanner_.seek(scanner_.at() + 1);
    return true;
  }

  std::string_view text_;
  std::string file_;
  Scanner scanner_;
  ReadResult result_;
  std::unordered_map<int64_t, size_t> pending_;  // process -> its operation without an answer
};

}  // namespace

std::string InputError::text() const {
  return file + ':' + std::to_string(line) + ':' + std::to_string(column) + ": " + what;
}

ReadResult read_edn(std::string_view text, std::string_view file_name) { return Reader(text, file_name).run(); }

}  // namespace txnic::check
