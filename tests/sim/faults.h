// SPDX-License-Identifier: BSD-3-Clause
// The dice: every few milliseconds of simulated time each kind of fault gets its chance; what lasts is ended by an
// event.
#pragma once

#include <deque>
#include <vector>

#include "tests/sim/client.h"
#include "tests/sim/node.h"

namespace txnic::sim {

class Faults {
 public:
  Faults(Context* context, Network* network, std::deque<Node>* nodes, std::deque<Client>* clients)
      : context_(*context), network_(*network), nodes_(*nodes), clients_(*clients) {}

  void throw_dice();
  // A kEndFault event.
  void end(uint64_t number);
  // Everything heals: the load is over.
  void end_all();

 private:
  enum class Kind : uint8_t { kSlowDisk, kFullDisk, kPartition };
  struct Lasting {
    Kind kind;
    bool over;
    uint32_t node;
    uint32_t client;
    bool to_node, to_client;
  };
  void throw_for_node(Node& node, uint32_t index);
  void throw_for_client(Client& client, uint32_t index);
  bool falls(double per_minute);
  void begin(Lasting lasting, TimeNs most);
  TimeNs jump();

  Context& context_;
  Network& network_;
  std::deque<Node>& nodes_;
  std::deque<Client>& clients_;
  std::vector<Lasting> lasting_;
};

}  // namespace txnic::sim
