// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong, and how often. Every seed draws its own rates (some of them zero), so that a run over many seeds
// meets faults alone and together.
#pragma once

#include <string>

#include "tests/sim/random.h"
#include "tests/sim/word.h"

namespace txnic::sim {

struct FaultRates {
  // Probability for each message.
  double drop = 0;
  double duplicate = 0;
  double late = 0;     // a second copy arrives up to late_seconds later
  double reorder = 0;  // it takes up to 30 ms instead of up to 200 µs
  double corrupt = 0;  // a byte is changed, or the end is cut off
  double late_seconds = 20;
  double at_restart = 0;  // a further copy, to or from a node, arrives when this node has just been started again
  // That a message with one of `words` that takes something away (a no, "never", an abort, an acknowledgement) is not
  // delivered, but held until it is most dangerous: one to a node until that has lost power (it dies soon after it has
  // said the contrary), one to a client until that sends another copy of the request to the node, started anew.
  double hold = 0;
  // That a node loses power soon after a message with one of `words` (a bit each; every seed draws some): what it has
  // said is out, what it has written is not on the disk yet.
  double die_after = 0;
  uint32_t words = 0;
  // Mean number in a simulated minute: of each node, client, or pair of both.
  double power_loss = 0;   // unsynced sectors are lost or torn
  double kill = 0;         // the process dies, what it wrote stays in the cache
  double die_at_disk = 0;  // power is lost in the middle of one of the next operations on files, a start included
  double slow_disk = 0;    // writes stay in flight for up to 2 s
  double sync_error = 0;   // the node must stop; then it is started again
  double full_disk = 0;    // nothing can be made for up to 2 s
  double clock_jump = 0;   // a node's or client's clock goes forward, rarely by minutes
  double partition = 0;    // a client and a node, or two nodes, one way or both, for up to 4 s
  double client_death = 0;
  double session_close = 0;  // a client closes its session, whatever is under way, and opens another one
  double checkpoint = 0;  // no fault, but on the same dice

  // Between messages nothing is ever lost here: for the time before and after the faults.
  static FaultRates none() { return {}; }
  static FaultRates draw(Random& random);
  std::string describe() const;
};

}  // namespace txnic::sim
