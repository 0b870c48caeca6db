// SPDX-License-Identifier: BSD-3-Clause
// The network between clients and nodes, and between nodes: it drops, doubles, delays, damages, and is cut one way or
// both.
#pragma once

#include <vector>

#include "tests/sim/context.h"

namespace txnic::sim {

inline constexpr uint32_t kClientSends = ~uint32_t{0};

struct Message {
  std::vector<std::byte> bytes;
  uint32_t client = 0;
  uint32_t life = 0;  // of the client: a new one in the same place does not get the old one's messages
  uint32_t node = 0;
  uint32_t worker = 0;  // to a node: whose port
  uint32_t sender = kClientSends;  // the node that sends it to another one
  bool to_node = false;
  bool is_damaged = false;
  Word word = Word::kOther;  // that a node says with it
  uint16_t checksum = 0;  // of the bytes before the damage
};

class Network {
 public:
  explicit Network(Context* context)
      : context_(*context),
        cuts_(size_t{context->options.nodes} * (context->options.clients + context->options.nodes)),
        kept_(context->options.nodes),
        starts_(context->options.nodes) {}

  // False: it is held (FaultRates::hold).
  bool send(Message message);

  // FaultRates::hold: whether something is held for this node, to be delivered at its next start, about the transaction
  // that the message speaks of.
  bool holds_for(uint32_t node, const std::vector<std::byte>& message) const;

  // The receiving end of a kToNode or kToClient event. False: it did not survive the way (its checksum is wrong).
  bool receive(uint64_t number, Message* message);

  // To the trace.
  void note(const char* what, const Message& message);

  // A node has been started: what was kept for this moment arrives (FaultRates::at_restart).
  void on_start(uint32_t node);

  // Cuts may lie over each other, so they are counted. `client`: or another node, as peer_of() names it.
  void cut(uint32_t client, uint32_t node, bool to_node, bool to_client);
  void mend(uint32_t client, uint32_t node, bool to_node, bool to_client);
  uint32_t peer_of(uint32_t node) const { return context_.options.clients + node; }

 private:
  struct Cut {
    uint32_t to_node = 0, to_client = 0;
  };
  Cut& cut_of(uint32_t client, uint32_t node) { return cuts_[size_t{client} * context_.options.nodes + node]; }
  void keep(const Message& message);
  bool hold(const Message& message);
  void let_go(const Message& copy);
  void plan(const Message& message, TimeNs delay);
  void damage(Message* message);

  Context& context_;
  std::vector<Cut> cuts_;
  std::vector<Message> under_way_;
  std::vector<uint64_t> free_;
  std::vector<std::vector<Message>> kept_;  // by node, for its next start
  struct Held {
    Message message;
    uint64_t session, sequence;
    uint64_t starts;  // of the node that said it, until then
  };
  std::vector<Held> held_;  // the oldest first
  std::vector<uint64_t> starts_;  // of each node
};

}  // namespace txnic::sim
