// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/append.h"

#include <algorithm>

namespace txnic::pktgen {

// The number of this run: one transaction after the other until one gives it.
class Append::BeginRun final : public Workload {
 public:
  explicit BeginRun(Append* append) : append_(*append) {}
  const char* name() const override { return "load"; }
  std::span<const char* const> kinds() const override { return append_.kinds(); }
  std::string prepare(const Facts&) override { return {}; }
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override {
    if (flow != 0 || append_.run_ != 0) return wire::kNoShard;
    const Key key(kRunCounter);
    const std::byte one[8] = {std::byte{1}};
    if (is_absent_) {
      request.insert(append_.settings_.table, key, one);
    } else {
      request.add(append_.settings_.table, key, 1);
    }
    return shard_of(hash_key8(kRunCounter), append_.shards_);
  }
  Progress settled(uint32_t, const Reply& reply) override {
    if (reply.result == Result::kUnknownTable) {
      fail("the node does not know table " + std::to_string(append_.settings_.table));
    }
    if (reply.result == Result::kCommitted && is_absent_) append_.run_ = 1;
    if (reply.result == Result::kCommitted && !is_absent_ && reply.has_values && reply.values.size() == 1) {
      append_.run_ = load<uint64_t>(reply.values[0].data);
      if (append_.run_ >> kRunBits != 0) fail("append: the table has had too many runs; start with an empty one");
    }
    is_absent_ = reply.result == Result::kNotFound;
    return finished(reply, 0, true);
  }

 private:
  Append& append_;
  bool is_absent_ = false;
};

// Reads all lists of the run, each in a transaction and by a process of its own.
class Append::ReadLists final : public Workload {
 public:
  explicit ReadLists(Append* append) : append_(*append) {}
  const char* name() const override { return "survey"; }
  std::span<const char* const> kinds() const override { return append_.kinds(); }
  std::string prepare(const Facts& facts) override {
    at_.assign(facts.flows, kNone);
    return {};
  }
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override {
    if (at_[flow] == kNone) {
      if (next_ == append_.next_list_) return wire::kNoShard;
      at_[flow] = next_++;
      note(HistoryType::kInvoke, at_[flow], {});
    }
    request.get(append_.settings_.table, Key(append_.key_of(at_[flow])));
    return append_.shard_of_list(at_[flow]);
  }
  Progress settled(uint32_t flow, const Reply& reply) override {
    if (reply.result != Result::kCommitted || !reply.has_values || reply.values.size() != 1) {
      return finished(reply, 0, false);  // again
    }
    const wire::Value& value = reply.values[0];
    std::array<uint32_t, kListElementsMax> elements;
    const uint32_t length = value.present ? value.length / 4 : 0;
    if (length != 0) std::memcpy(elements.data(), value.data, size_t{4} * length);
    note(HistoryType::kOk, at_[flow], {elements.data(), length});
    append_.look_at_final(at_[flow], {elements.data(), length});
    at_[flow] = kNone;
    ++done_;
    return finished(reply, 0, true);
  }
  uint64_t units_total() const override { return append_.next_list_; }
  uint64_t units_done() const override { return done_; }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  void note(HistoryType type, uint64_t list, std::span<const uint32_t> elements) {
    const HistoryOperation read{.key = list, .list = elements};
    append_.history_.add(type, append_.next_process_ + list, {&read, 1});
  }

  Append& append_;
  std::vector<uint64_t> at_;  // by flow: the list that it reads
  uint64_t next_ = 0, done_ = 0;
};

std::span<const char* const> Append::kinds() const {
  static const char* const kinds[kKinds] = {"read", "append"};
  return kinds;
}

std::string Append::prepare(const Facts& facts) {
  if (facts.reflected) return "append needs a node that executes";
  shards_ = facts.shards;
  if (settings_.value_bytes != 0) list_bytes_ = settings_.value_bytes;
  // A message has to hold all lists of a transaction, written with a check of the version.
  const uint32_t row = static_cast<uint32_t>(sizeof(wire::OperationHeader)) + 16 + list_bytes_;
  while (operations_max_ > 1 && wire::prepared_fixed_bytes(operations_max_) + operations_max_ * row >
                                    limits::kMessageBytesMax) {
    --operations_max_;
  }
  flows_.assign(facts.flows, {});
  next_process_ = facts.flows;
  for (uint32_t flow = 0; flow < facts.flows; ++flow) {
    flows_[flow].process = flow;
    random_.emplace_back(facts.seed, flow);
  }
  fates_.assign(kElementsMax, Fate::kNone);
  slots_.resize(settings_.keys);
  for (uint64_t& slot : slots_) slot = next_list_++;
  return settings_.history_path.empty() ? std::string() : history_.open(settings_.history_path);
}

std::unique_ptr<Workload> Append::loader() { return std::make_unique<BeginRun>(this); }

std::unique_ptr<Workload> Append::survey(Survey when) {
  if (when == Survey::kBefore) return loader();
  is_surveyed_ = true;
  is_there_.assign(next_element_, false);
  return std::make_unique<ReadLists>(this);
}

void Append::draw(uint32_t flow) {
  FlowState& state = flows_[flow];
  Random& random = random_[flow];
  state.operations = static_cast<uint8_t>(1 + random.below(operations_max_));
  state.lists = 0;
  state.is_at_once = random.below(2) == 0;
  for (uint8_t i = 0; i < state.operations; ++i) {
    Wanted& wanted = state.wanted[i];
    const uint64_t number = slots_[random.below(slots_.size())];
    wanted = {};
    wanted.is_append = random.below(2) == 0;
    if (wanted.is_append) wanted.element = next_element_++;
    while (wanted.list < state.lists && state.list[wanted.list].number != number) ++wanted.list;
    if (wanted.list == state.lists) {
      List& list = state.list[state.lists++];
      list.number = number;
      list.shard = shard_of_list(number);
      list.length = list.read = 0;
    }
  }
  state.from = state.to = 0;
  state.step = Step::kRead;
  advance(state, state.is_at_once);
  note(HistoryType::kInvoke, state);
}

// The next request is about the lists of the next one's shard that stand beside it, or about all.
void Append::advance(FlowState& state, bool together) {
  state.from = state.to;
  const ShardId shard = state.list[state.from].shard;
  while (state.to < state.lists && (together || state.list[state.to].shard == shard)) ++state.to;
}

void Append::fill_write(const FlowState& state, wire::ExecuteBuilder& request) const {
  for (uint8_t i = state.from; i < state.to; ++i) {
    const List& list = state.list[i];
    const Key key(key_of(list.number));
    const uint16_t absent = list.is_present ? uint16_t{0} : wire::kExpectAbsent;
    if (list.length == list.read) {
      request.check(settings_.table, key, list.version, static_cast<uint16_t>(wire::kReadSet | absent));
    } else {
      const Bytes value = std::as_bytes(std::span(list.elements.data(), list.length));
      request.add_operation(wire::Code::kPut, settings_.table, key, value,
                            static_cast<uint16_t>(wire::kExpectVersion | absent), list.version);
    }
  }
}

ShardId Append::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  FlowState& state = flows_[flow];
  if (state.step == Step::kDraw) {
    if (run_ == 0) fail("append: this run has no number");
    if (next_element_ + kOperationsMax > kElementsMax) {
      fail("append: " + std::to_string(kElementsMax) + " appends are the most of one run");
    }
    if (!failure().empty()) return wire::kNoShard;
    draw(flow);
  }
  if (state.step == Step::kRead) {
    for (uint8_t i = state.from; i < state.to; ++i) {
      request.get(settings_.table, Key(key_of(state.list[i].number)));
    }
  } else {
    fill_write(state, request);
  }
  const ShardId shard = state.list[state.from].shard;
  for (uint8_t i = state.from; i < state.to; ++i) {
    if (state.list[i].shard != shard) return kSeveralShards;
  }
  return shard;
}

// False: to be read again.
bool Append::take(FlowState& state, const Reply& reply) {
  if (!reply.has_values || reply.values.size() != size_t{state.to} - state.from) return false;
  for (uint8_t i = state.from; i < state.to; ++i) {
    const wire::Value& value = reply.values[size_t{i} - state.from];
    List& list = state.list[i];
    list.is_present = value.present;
    list.version = value.version;
    list.length = list.read = value.present ? value.length / 4 : 0;
    if (value.length % 4 != 0) fail("append: a list is not one of ours; does another workload use its table?");
    if (list.length != 0) std::memcpy(list.elements.data(), value.data, size_t{4} * list.length);
  }
  return true;
}

// What each operation sees, one after the other. False: a list is full.
bool Append::see(FlowState& state) {
  for (uint8_t i = 0; i < state.operations; ++i) {
    Wanted& wanted = state.wanted[i];
    List& list = state.list[wanted.list];
    if (wanted.is_append && list.length == elements_max()) return false;
    if (wanted.is_append) list.elements[list.length++] = wanted.element;
    wanted.seen = list.length;
  }
  return true;
}

Progress Append::settled(uint32_t flow, const Reply& reply) {
  FlowState& state = flows_[flow];
  const auto kind = [&state] {
    for (uint8_t i = 0; i < state.operations; ++i) {
      if (state.wanted[i].is_append) return kAppends;
    }
    return kReads;
  }();
  // Before the last request nothing can have been written.
  if (state.step != Step::kWrite && reply.result == Result::kUnknownOutcome) {
    end(state, Result::kConflict);
    return {.done = true, .good = false, .kind = kind, .result = Result::kUnknownOutcome};
  }
  if (reply.result != Result::kCommitted || state.step == Step::kWrite) {
    end(state, reply.result);
    return finished(reply, kind, true);
  }
  if (state.step == Step::kRead && !take(state, reply)) return {.done = false, .kind = kind};
  if (state.to < state.lists) {
    advance(state, false);
    return {.done = false, .kind = kind};
  }
  if (state.step == Step::kRead) {
    const bool is_one_transaction = state.from == 0;
    if (!see(state)) {
      // Others filled it meanwhile.
      end(state, Result::kConflict);
      return {.done = true, .good = false, .kind = kind, .result = Result::kConflict};
    }
    if (kind == kAppends || !is_one_transaction) {
      state.step = kind == kAppends ? Step::kWrite : Step::kCheck;
      state.to = 0;
      advance(state, kind == kAppends);
      return {.done = false, .kind = kind};
    }
  }
  end(state, Result::kCommitted);
  return finished(reply, kind, true);
}

// The transaction is over. A list that was seen nearly full is used no more.
void Append::end(FlowState& state, Result result) {
  const bool committed = result == Result::kCommitted, unknown = result == Result::kUnknownOutcome;
  for (uint8_t i = 0; i < state.operations; ++i) {
    const Wanted& wanted = state.wanted[i];
    if (!wanted.is_append) continue;
    acknowledged_ += committed;
    fates_[wanted.element] = committed ? Fate::kAcknowledged : unknown ? Fate::kNone : Fate::kFailed;
  }
  for (uint8_t i = 0; i < state.lists; ++i) {
    const List& list = state.list[i];
    if (list.length + kOperationsMax <= elements_max()) continue;
    const auto slot = std::find(slots_.begin(), slots_.end(), list.number);
    if (slot != slots_.end()) *slot = next_list_++;
  }
  note(committed ? HistoryType::kOk : unknown ? HistoryType::kInfo : HistoryType::kFail, state);
  if (!history_.error().empty()) fail("--history: " + history_.error());
  if (unknown) state.process = next_process_++;
  state.step = Step::kDraw;
}

void Append::note(HistoryType type, const FlowState& state) {
  if (!history_.is_open()) return;
  std::array<HistoryOperation, kOperationsMax> operations;
  for (uint8_t i = 0; i < state.operations; ++i) {
    const Wanted& wanted = state.wanted[i];
    const List& list = state.list[wanted.list];
    operations[i] = {wanted.is_append, list.number, wanted.element, {list.elements.data(), wanted.seen}};
  }
  history_.add(type, state.process, {operations.data(), state.operations});
}

void Append::look_at_final(uint64_t list, std::span<const uint32_t> elements) {
  for (const uint32_t element : elements) {
    const bool is_known = element < next_element_;
    const bool is_right = is_known && fates_[element] != Fate::kFailed && !is_there_[element];
    if (is_known) is_there_[element] = true;
    if (is_right || wrong_++ != 0) continue;
    first_wrong_ = std::to_string(element) + " in list " + std::to_string(list) +
                   (!is_known                           ? " was never appended"
                    : fates_[element] == Fate::kFailed ? " belongs to a transaction that failed"
                                                       : " is there twice");
  }
}

Check Append::check() const {
  if (!is_surveyed_) return {};
  uint64_t lost = 0, present = 0;
  for (uint32_t element = 1; element < is_there_.size(); ++element) {
    present += is_there_[element];
    lost += fates_[element] == Fate::kAcknowledged && !is_there_[element];
  }
  Check check{.made = true, .passed = wrong_ == 0 && lost == 0, .text = {}};
  check.text = std::string("appends ") + (check.passed ? "hold: " : "FAILED: ");
  if (lost != 0) check.text += std::to_string(lost) + " acknowledged ones are lost; ";
  if (wrong_ != 0) check.text += std::to_string(wrong_) + " elements are wrong; the first: " + first_wrong_ + "; ";
  check.text += std::to_string(next_list_) + " lists, " + std::to_string(acknowledged_) + " acknowledged, " +
                std::to_string(present) + " there";
  return check;
}

}  // namespace txnic::pktgen
