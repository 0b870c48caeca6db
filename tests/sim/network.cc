// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/network.h"

#include <utility>

#include "dataplane/checksum.h"
#include "txn/result.h"
#include "txn/wire/commit.h"

namespace txnic::sim {
namespace {

constexpr TimeNs kUs = 1000, kMs = 1'000'000;
constexpr TimeNs kDelayLeast = 20 * kUs, kDelayMost = 200 * kUs, kReorderMost = 30 * kMs;
constexpr TimeNs kAfterStartMost = 2 * kMs, kReopenedMost = 100 * kMs;  // clients need some time to be back
constexpr TimeNs kHeldAfterStartMost = 200 * kUs;  // before its questions are answered
constexpr TimeNs kLetGoMost = 2 * kMs;
constexpr uint32_t kHeldMax = 256;
constexpr uint32_t kKeptMax = 64;  // of each node

uint16_t checksum_of(const std::vector<std::byte>& bytes) {
  return dataplane::checksum_finish(dataplane::checksum_add(bytes.size(), bytes.data(), bytes.size()));
}

}  // namespace

bool Network::send(Message message) {
  ++context_.statistics.messages;
  Random& random = context_.random;
  const FaultRates& rates = context_.rates;
  bool is_cut = false;
  if (message.sender != kClientSends) {
    ++context_.statistics.between_nodes;
    is_cut = cut_of(peer_of(message.sender), message.node).to_node != 0 ||
             cut_of(peer_of(message.node), message.sender).to_client != 0;
  } else {
    const Cut& cut = cut_of(message.client, message.node);
    is_cut = (message.to_node ? cut.to_node : cut.to_client) != 0;
  }
  if (is_cut || random.chance(rates.drop)) {
    ++context_.statistics.dropped;
    note("drop", message);
    return true;
  }
  if (hold(message)) {
    note("hold", message);
    return false;
  }
  if (message.to_node && message.sender == kClientSends) let_go(message);
  const bool is_late = random.chance(rates.late);
  // With faults that aim, some come late and have no copy in time.
  if (!is_late || rates.at_restart == 0 || random.below(2) == 0) {
    plan(message, random.between(kDelayLeast, random.chance(rates.reorder) ? kReorderMost : kDelayMost));
  }
  if (random.chance(rates.duplicate)) {
    ++context_.statistics.duplicated;
    plan(message, random.between(kDelayLeast, kReorderMost));
  }
  if (is_late) {
    ++context_.statistics.late;
    plan(message, kReorderMost + random.below(static_cast<TimeNs>(rates.late_seconds * 1e9)));
  }
  if (random.chance(rates.at_restart)) keep(message);
  return true;
}

bool Network::hold(const Message& message) {
  const FaultRates& rates = context_.rates;
  if (rates.hold == 0 || !is_held(message.word) || (rates.words >> static_cast<uint32_t>(message.word) & 1) == 0 ||
      message.bytes.size() < wire::kHeaderBytes || !context_.random.chance(rates.hold)) {
    return false;
  }
  const wire::Header header = wire::read_header(message.bytes.data());
  if (held_.size() == kHeldMax) held_.erase(held_.begin());
  held_.push_back({message, header.session, header.sequence, starts_[message.node]});
  return true;
}

// A client sends another copy of a request: what was to tell it the outcome arrives now, if it is from before a
// restart.
void Network::let_go(const Message& copy) {
  if (held_.empty() || copy.bytes.size() < wire::kHeaderBytes) return;
  const wire::Header header = wire::read_header(copy.bytes.data());
  for (size_t i = held_.size(); i-- > 0;) {
    const Held& held = held_[i];
    if (held.message.to_node || held.message.node != copy.node || held.session != header.session ||
        held.sequence != header.sequence || held.starts == starts_[copy.node]) {
      continue;
    }
    plan(held.message, context_.random.between(kDelayLeast, kLetGoMost));
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool Network::holds_for(uint32_t node, const std::vector<std::byte>& message) const {
  if (held_.empty() || message.size() < wire::kHeaderBytes) return false;
  const wire::Header header = wire::read_header(message.data());
  for (const Held& held : held_) {
    if (held.message.to_node && held.message.node == node && held.session == header.session &&
        held.sequence == header.sequence) {
      return true;
    }
  }
  return false;
}

void Network::keep(const Message& message) {
  std::vector<Message>& kept = kept_[message.node];
  if (kept.size() < kKeptMax) {
    kept.push_back(message);
  } else {
    kept[context_.random.below(kKeptMax)] = message;
  }
}

void Network::on_start(uint32_t node) {
  ++starts_[node];
  for (size_t i = 0; i < held_.size();) {
    if (!held_[i].message.to_node || held_[i].message.node != node) {
      ++i;
      continue;
    }
    if (context_.rates.hold > 0) plan(held_[i].message, context_.random.below(kHeldAfterStartMost));
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::vector<Message>& kept = kept_[node];
  if (context_.rates.at_restart > 0) {
    for (const Message& message : kept) {
      plan(message, context_.random.below(message.to_node ? kAfterStartMost : kReopenedMost));
    }
  }
  // Some come once more, after the next start.
  std::erase_if(kept, [this](const Message&) { return context_.random.below(2) == 0; });
}

void Network::plan(const Message& message, TimeNs delay) {
  uint64_t number = under_way_.size();
  if (free_.empty()) {
    under_way_.push_back(message);
  } else {
    number = free_.back();
    free_.pop_back();
    under_way_[number] = message;
  }
  if (context_.random.chance(context_.rates.corrupt)) damage(&under_way_[number]);
  context_.queue.plan(context_.now() + delay, message.to_node ? EventKind::kToNode : EventKind::kToClient,
                      message.to_node ? message.node : message.client, number);
}

// Changed bytes are found by UDP's checksum (up to what it finds: others are not made). A cut message is handed on: the
// parser must find it.
void Network::damage(Message* message) {
  Random& random = context_.random;
  ++context_.statistics.corrupted;
  std::vector<std::byte>& bytes = message->bytes;
  if (random.below(2) == 0) {
    bytes.resize(random.below(bytes.size()));
    return;
  }
  message->is_damaged = true;
  message->checksum = checksum_of(bytes);
  do {
    bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1 + random.below(255));
  } while (checksum_of(bytes) == message->checksum);
}

bool Network::receive(uint64_t number, Message* message) {
  *message = std::move(under_way_[number]);
  free_.push_back(number);
  if (!message->is_damaged || checksum_of(message->bytes) == message->checksum) return true;
  note("damaged", *message);
  return false;
}

namespace {

// What a message says, for people who read a trace.
std::string describe(const std::vector<std::byte>& bytes) {
  if (bytes.size() < wire::kHeaderBytes) return "a piece";
  const wire::Header header = wire::read_header(bytes.data());
  const std::string id = std::to_string(header.session % 1000) + ":" + std::to_string(header.sequence) + " shard " +
                         std::to_string(header.shard);
  wire::CommitMessage m;
  if (wire::parse_commit_message(bytes.data(), static_cast<uint32_t>(bytes.size()), &m) == wire::ParseError::kNone) {
    static constexpr const char* kVotes[] = {"", "yes", "no", "never"};
    const std::string from = " from place " + std::to_string(m.sender);
    switch (m.type) {
      case wire::Type::kVote: return "VOTE " + std::string(kVotes[static_cast<uint8_t>(m.vote)]) + " " + id + from;
      case wire::Type::kDecision: return std::string("DECISION ") + name(m.result) + " " + id + from;
      case wire::Type::kAcknowledge: return "ACKNOWLEDGE " + id + from;
      case wire::Type::kAsk: return "ASK " + id + from;
      default: return "INQUIRE " + id + from;
    }
  }
  return "type " + std::to_string(header.type) + " " + id + " result " + name(static_cast<Result>(header.result)) +
         " stamp " + std::to_string(header.stamp >> 32) + "." + std::to_string(header.stamp & 0xffffffff);
}

}  // namespace

void Network::note(const char* what, const Message& message) {
  const bool is_between = message.sender != kClientSends;
  context_.trace.note(context_.now(), what, is_between ? message.sender : message.client, message.node,
                      message.to_node, "%s %u %s node %u, %s", is_between ? "node" : "client",
                      is_between ? message.sender : message.client, message.to_node ? "->" : "<-", message.node,
                      context_.trace.prints() ? describe(message.bytes).c_str() : "");
}

void Network::cut(uint32_t client, uint32_t node, bool to_node, bool to_client) {
  cut_of(client, node).to_node += to_node;
  cut_of(client, node).to_client += to_client;
}

void Network::mend(uint32_t client, uint32_t node, bool to_node, bool to_client) {
  cut_of(client, node).to_node -= to_node;
  cut_of(client, node).to_client -= to_client;
}

}  // namespace txnic::sim
