// SPDX-License-Identifier: BSD-3-Clause
// A node of the simulation: the production front, back, logs, keeper and recovery (tests/unit/back/node_rig.h) over a
// disk that forgets, with lives and deaths. It is woken when there is something to do, not polled.
#pragma once

#include "tests/sim/network.h"
#include "tests/sim/routing.h"
#include "tests/support/test_disk.h"
#include "tests/unit/back/node_rig.h"

namespace txnic::sim {

class Node {
 public:
  Node(Context* context, Network* network, const Routing* routing, uint32_t index);

  // Recovers from its disk and serves. On failure it is planned again, or it is a violation.
  void start();
  // Power loss (or the death of the process alone), now. Starts again later by itself.
  void crash(bool power_loss);
  void on_message(Message message);
  void wake();

  bool up() const { return rig_.running(); }
  uint64_t deaths() const { return deaths_; }
  bool is_awaited(TimeNs at) const { return at == wake_at_; }

  // ---- faults
  void plan_death_at_disk() { disk_.die_after(1 + context_.random.below(12)); }
  void set_slow(bool slow);
  void set_full(bool full);
  void fail_syncs();
  void jump_clock(TimeNs forward) { clock_offset_ += forward; }
  void begin_checkpoint();

  // ---- checks
  void take_figures();  // before it goes, so that nothing is counted twice
  // Recovers the same disk twice and compares; then it is up.
  void restart_and_compare();
  // After faults and load: nothing waits for the disk, no answer is held, nothing is prepared or locked.
  bool is_quiet() const {
    return up() && rig_.held() == 0 && !rig_.has_messages() && !rig_.has_records() && rig_.undecided() == 0 &&
           rig_.locks() == 0;
  }
  std::vector<test::NodeRig::Row> rows() const { return rig_.rows(); }

 private:
  bool try_start();
  void say(Message message);
  void plan_start(TimeNs delay);
  void plan_wake(TimeNs delay);
  void plan_next_wake();

  TimeNs clock() const { return context_.now() + clock_offset_; }

  Context& context_;
  Network& network_;
  const uint32_t index_;
  test::TestDisk disk_;
  test::NodeRig rig_;
  uint32_t workers_ = 1;
  uint64_t deaths_ = 0;
  TimeNs clock_offset_ = 0;
  TimeNs wake_at_ = ~TimeNs{0};
  bool is_slow_ = false;
  bool is_full_ = false;
};

}  // namespace txnic::sim
