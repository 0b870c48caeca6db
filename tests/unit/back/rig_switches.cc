// SPDX-License-Identifier: BSD-3-Clause
// What the switches do to a node's messages and state (RigSwitches; those of back and recovery are in rig_back.h).
#include <algorithm>

#include "tests/unit/back/node_rig.h"

namespace txnic::test {

// ---- switches -------------------------------------------------------------------------------------------------------

namespace {

// A writable view of what the machine holds; the rig's alone.
commit::Transaction* known(commit::Machine& machine, const TransactionId& id, ShardId shard) {
  commit::Transaction* found = nullptr;
  machine.for_each([&](const commit::Transaction& t) {
    if (t.id == id && t.shard == shard) found = const_cast<commit::Transaction*>(&t);
  });
  return found;
}

// The second of two ADDs of one key adds nothing: the sum that is written is the first one's.
void forget_own_writes(std::span<const wire::Operation> operations) {
  for (size_t i = 1; i < operations.size(); ++i) {
    const wire::Operation& second = operations[i];
    if (second.code != static_cast<uint8_t>(wire::Code::kAdd)) continue;
    const bool is_again = std::any_of(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const wire::Operation& first) {
                                        return first.code == second.code && first.table == second.table &&
                                               first.key_hash == second.key_hash;
                                      });
    if (is_again) store(const_cast<std::byte*>(second.value), int64_t{0});
  }
}

}  // namespace

void NodeRig::break_window(Worker& worker) const {
  const RigSwitches& switches = config_.switches;
  if (!switches.executes_duplicates && !switches.forgets_aborts && !switches.slides_by_newest) return;
  constexpr Sequence kKept = 4;
  const SessionLimits& limits = worker.sessions.configured();
  for (uint32_t slot = 0; slot < worker.sessions.capacity(); ++slot) {
    const Session* const session = worker.sessions.at(slot);
    if (session == nullptr) continue;
    const uint32_t entries = limits.shards * limits.window;
    const auto entry = [&](uint32_t i) -> Outcome& {
      return worker.sessions.entry(session, i / limits.window, i % limits.window);
    };
    Sequence newest = 0;
    for (uint32_t i = 0; i < entries; ++i) newest = std::max(newest, entry(i).sequence());
    for (uint32_t i = 0; i < entries; ++i) {
      const bool is_lost = switches.executes_duplicates ||
                           (switches.forgets_aborts && entry(i).result() != Result::kCommitted) ||
                           (switches.slides_by_newest && entry(i).sequence() + kKept <= newest);
      if (is_lost) entry(i) = Outcome{};
    }
  }
}

// A message on its way into a worker. False: it is lost.
bool NodeRig::break_request(Worker& worker, Message* message) {
  const RigSwitches& switches = config_.switches;
  if (message->length < wire::kHeaderBytes || message->is_passed) return true;
  if (switches.ignores_stamps) freshen_stamp(worker, *message);
  const bool looks = switches.forgets_own_writes || switches.windows_of_nodes || switches.rebinds_ids ||
                     switches.no_is_never || switches.silent_below_watermark || switches.forgotten_is_never;
  if (!looks) return true;
  wire::Header header = wire::read_header(message->bytes.data());
  const auto type = static_cast<wire::Type>(header.type);
  if (wire::is_between_participants(type)) return break_commit_message(worker, message);
  const std::byte* const bytes = message->bytes.data();
  if (wire::parse_request_header(bytes, message->length, &header) != wire::ParseError::kNone) return true;
  std::array<wire::Operation, limits::kOperationsMax> operations;
  Participants participants;
  if (type == wire::Type::kExecute) {
    if (wire::parse_operations(bytes, header, operations.data()) != wire::ParseError::kNone) return true;
  } else if (type != wire::Type::kPrepare ||
             wire::parse_prepare(bytes, header, &participants, operations.data()) != wire::ParseError::kNone) {
    return true;
  }
  if (switches.forgets_own_writes) forget_own_writes({operations.data(), header.operation_count});
  if (type != wire::Type::kPrepare || !map_.is_mine(header.shard)) return true;
  const TransactionId id{header.session, header.sequence};
  commit::Machine& machine = worker.front->machine();
  if (switches.rebinds_ids) {
    commit::Transaction* const t = known(machine, id, header.shard);
    if (t != nullptr && t->participants != participants) {
      t->participants = participants;
      t->place = static_cast<uint8_t>(participants.index_of(header.shard));
    }
  }
  if (!switches.windows_of_nodes || participants.coordinator() == header.shard) return true;
  for (uint32_t i = 0; i < participants.count; ++i) {
    const commit::Transaction* const t = known(machine, id, participants.shards[i]);
    if (participants.shards[i] == header.shard || t == nullptr) continue;
    if (t->state != commit::State::kPrepared || !t->durable) return false;
    wire::CommitMessage yes;  // what it has said for the other one
    yes.type = wire::Type::kVote;
    yes.sender = static_cast<uint8_t>(participants.index_of(header.shard));
    yes.shard = participants.coordinator();
    yes.incarnation = incarnation_;
    yes.id = id;
    yes.participants = participants;
    forge(yes);
    return false;
  }
  return true;
}

// Of another participant, for this worker. False: it is lost.
bool NodeRig::break_commit_message(Worker& worker, Message* message) {
  const RigSwitches& switches = config_.switches;
  wire::CommitMessage m;
  if (wire::parse_commit_message(message->bytes.data(), message->length, &m) != wire::ParseError::kNone) return true;
  commit::Transaction* const t = known(worker.front->machine(), m.id, m.shard);
  if (switches.rebinds_ids && t != nullptr && t->participants != m.participants) {
    t->participants = m.participants;
    t->place = static_cast<uint8_t>(m.participants.index_of(m.shard));
  }
  // The rule's case and no other: from before the restart.
  if (switches.no_is_never && m.type == wire::Type::kVote && m.vote == wire::Vote::kNo && t != nullptr &&
      t->state == commit::State::kPrepared && t->recovered) {
    m.vote = wire::Vote::kNever;
    message->length = wire::build_commit_message(m, message->bytes);
  }
  if (m.type != wire::Type::kInquire || t != nullptr) return true;
  const Session* const session = worker.sessions.find(m.id.session);
  const bool coordinates = m.participants.coordinator() == m.shard;
  const bool is_below = session != nullptr && m.id.sequence < session->watermark;
  if (coordinates) return !switches.silent_below_watermark || !is_below;
  if (!switches.forgotten_is_never || (session != nullptr && !is_below)) return true;
  wire::CommitMessage abort = m;
  abort.type = wire::Type::kDecision;
  abort.result = Result::kConflict;
  abort.detail = 0;
  abort.sender = static_cast<uint8_t>(m.participants.index_of(m.shard));
  abort.shard = m.participants.shards[m.sender];
  forge(abort);
  return false;
}

void NodeRig::forge(const wire::CommitMessage& m) {
  std::vector<std::byte> bytes(limits::kMessageBytesMax);
  bytes.resize(wire::build_commit_message(m, bytes));
  carry(m.shard, bytes);
}

// A message between participants that leaves one of this node's workers. False: it is lost.
bool NodeRig::break_message(std::vector<std::byte>* message) {
  const RigSwitches& switches = config_.switches;
  if (!switches.never_asks && !switches.ends_early && !switches.reborn_says_abort) return true;
  wire::CommitMessage m;
  if (wire::parse_commit_message(message->data(), static_cast<uint32_t>(message->size()), &m) !=
      wire::ParseError::kNone) {
    return true;
  }
  if (switches.never_asks && m.type == wire::Type::kAsk) return false;
  if (switches.reborn_says_abort && m.type == wire::Type::kDecision && m.result == Result::kUnknownOutcome) {
    m.result = Result::kConflict;
    std::vector<std::byte> abort(limits::kMessageBytesMax);
    abort.resize(wire::build_commit_message(m, abort));
    *message = std::move(abort);
  }
  if (switches.ends_early && m.type == wire::Type::kDecision && m.sender == 0) {
    wire::CommitMessage forged = m;
    forged.type = wire::Type::kAcknowledge;
    forged.result = Result::kCommitted;
    forged.detail = 0;
    forged.sender = static_cast<uint8_t>(m.participants.index_of(m.shard));
    forged.shard = m.participants.coordinator();
    forge(forged);
  }
  return true;
}

// With a switch that ignores locks, transactions of one shard run one by one with the lock table out of sight.
void NodeRig::step_front(Worker& worker, std::span<offload::Request> burst, TimeNs now) {
  const RigSwitches& switches = config_.switches;
  if (!switches.reads_ignore_locks && !switches.writes_ignore_locks) {
    worker.front->step(burst, now);
    return;
  }
  for (offload::Request& request : burst) {
    std::array<wire::Operation, limits::kOperationsMax> operations;
    wire::Header header{};
    bool hides = wire::parse_request_header(request.message, request.length, &header) == wire::ParseError::kNone &&
                 header.type == static_cast<uint8_t>(wire::Type::kExecute) &&
                 wire::parse_operations(request.message, header, operations.data()) == wire::ParseError::kNone;
    bool writes = false;
    for (uint32_t i = 0; hides && i < header.operation_count; ++i) writes |= wire::code_writes(operations[i].code);
    hides = hides && (writes ? switches.writes_ignore_locks : switches.reads_ignore_locks);
    auto& locks = const_cast<commit::LockTable&>(worker.front->machine().locks());
    const commit::LockTable kept = locks;
    if (hides) locks = commit::LockTable{};
    worker.front->step({&request, 1}, now);
    if (hides) locks = kept;
  }
}

void NodeRig::drop_read_locks(Worker& worker) const {
  auto& locks = const_cast<commit::LockTable&>(worker.front->machine().locks());
  worker.front->machine().for_each([&](const commit::Transaction& held) {
    auto& t = const_cast<commit::Transaction&>(held);
    auto* const own = const_cast<commit::Lock*>(t.held_locks().data());
    for (uint32_t i = 0; i < t.lock_count;) {
      if (own[i].exclusive) {
        ++i;
        continue;
      }
      locks.release({&own[i], 1});
      own[i] = own[--t.lock_count];
    }
  });
}

void NodeRig::give_up_in_doubt(Worker& worker, TimeNs now) const {
  commit::Machine& machine = worker.front->machine();
  std::vector<std::pair<TransactionId, ShardId>> old;
  machine.for_each([&](const commit::Transaction& t) {
    if (t.state == commit::State::kPrepared && !t.coordinates() && now > t.since + 100'000'000) {
      old.emplace_back(t.id, t.shard);
    }
  });
  for (const auto& [id, shard] : old) machine.force(id, shard, false, now);
}

void NodeRig::freshen_stamp(Worker& worker, Message& message) const {
  if (message.length < wire::kHeaderBytes) return;
  wire::Header header = wire::read_header(message.bytes.data());
  if (header.type != static_cast<uint8_t>(wire::Type::kExecute) &&
      header.type != static_cast<uint8_t>(wire::Type::kPrepare)) {
    return;
  }
  const Session* const session = worker.sessions.find(header.session);
  if (session == nullptr) return;
  header.stamp = session->stamp;
  wire::write_header(message.bytes.data(), header);
}

}  // namespace txnic::test
