// SPDX-License-Identifier: BSD-3-Clause
// One worker's run-to-completion loop: receive a burst, parse, hand it to the mode, answer in a burst; packets for
// other workers go over rings. dataplane.h owns the workers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/clock.h"
#include "dataplane/counters.h"
#include "dataplane/exchange.h"
#include "dataplane/frame.h"
#include "dataplane/link_port.h"
#include "dataplane/lost_time.h"
#include "dataplane/modes/mode.h"
#include "dataplane/options.h"
#include "dataplane/outbox.h"
#include "dataplane/poll_gate.h"
#include "dataplane/port.h"
#include "dataplane/transmit.h"

namespace txnic::dataplane {

enum class Phase : uint8_t {
  kRun,
  kDrain,  // nothing new from the ports; what is held or under way is finished
  kExit,
};

class Worker {
 public:
  // `hops`: shared by all workers; used where the options have a map.
  Worker(uint32_t index, const DataplaneOptions& options, std::span<const Port> ports, NextHops* hops,
         Exchange* exchange, const Clock& clock);
  void set_mode(Mode* mode) { mode_ = mode; }  // before run()

  // ---- the worker's lcore -----------------------------------------------------------------------
  void run();

  // ---- housekeeping -----------------------------------------------------------------------------
  void set_phase(Phase phase) { phase_.store(phase, std::memory_order_release); }
  // Loop iterations in a row that found nothing to do, with nothing held (meaningful while draining).
  uint32_t quiet_steps() const { return quiet_steps_.load(std::memory_order_acquire); }
  PollGate& gate() { return gate_; }
  const Progress& progress() const { return progress_; }
  WorkerCounters& counters() { return counters_; }
  const std::deque<QueueCounters>& queues() const { return queue_counters_; }
  WorkerOutbox* outbox() { return outbox_ ? &*outbox_ : nullptr; }
  LinkPort* link_port() { return link_port_ ? &*link_port_ : nullptr; }
  // After run() has returned: counts and frees what nobody will finish.
  void abandon();

 private:
  struct Source {  // a receive queue of ours
    uint16_t port;
    uint16_t queue;
    bool checks_ip;
    bool checks_udp;
    rte_mempool* pool;
    uint32_t port_index;
    bool is_link;
    QueueCounters* counters;
    uint32_t last_count = 0;  // packets of the last burst
  };

  uint32_t step(TimeNs now, bool receiving);
  uint32_t receive(Source& source, TimeNs now);
  static void warm_up_pool(const Source& source);
  uint32_t take(uint32_t from, TimeNs now);
  void count_taken(const Note& note);
  uint32_t release();
  bool sort_in(const Source& source, rte_mbuf* packet, TimeNs now, Packet* out);
  bool bridge(const Source& source, rte_mbuf* packet);
  void answer_neighbour(rte_mbuf* packet, const ParsedFrame& parsed, TimeNs now);
  bool make_contiguous(rte_mbuf* packet);
  void fill(rte_mbuf* packet, uint32_t payload_length, uint32_t tag, Packet* out);
  void process(uint32_t count, TimeNs now);
  void warm_up(std::span<const Packet> packets);
  void settle(std::span<Packet> packets);
  void reply(Packet& packet);
  void forward(uint32_t to, rte_mbuf* packet, uint32_t tag);
  void flush_forwards();
  TimeNs emulate(TimeNs began, uint32_t work);
  void account(TimeNs began, TimeNs ended, uint32_t work);
  void rest();

  const uint32_t index_;
  const uint32_t workers_;
  const DataplaneOptions options_;
  const FrameFilter filter_;
  const FrameFilter link_filter_;  // of the port that is the host link
  const Clock clock_;
  Exchange* const exchange_;
  Mode* mode_ = nullptr;
  PollGate gate_;
  Progress progress_;
  WorkerCounters counters_;
  Transmitter transmitter_;
  const bool emulates_;
  LostTime lost_time_;
  TimeNs emulated_until_ns_ = 0;  // the step before
  std::optional<WorkerOutbox> outbox_;
  std::optional<LinkPort> link_port_;
  std::vector<Source> sources_;
  std::deque<QueueCounters> queue_counters_;  // one for each source; they stay where they are
  // Only between a wire and a host: what software does with frames that no port has steered.
  std::vector<steering::Rule> bridge_table_;
  std::vector<uint16_t> port_ids_;
  uint32_t empty_steps_ = 0;

  // Packets on their way to other workers, gathered during a step.
  struct Outgoing {
    uint32_t count = 0;
    std::array<rte_mbuf*, limits::kBurstMax> packets;
  };
  std::vector<Outgoing> outgoing_;

  std::array<rte_mbuf*, limits::kBurstMax> received_{};
  std::array<Packet, limits::kBurstMax> burst_{};

  alignas(64) std::atomic<Phase> phase_{Phase::kRun};
  alignas(64) std::atomic<uint32_t> quiet_steps_{0};
};

}  // namespace txnic::dataplane
