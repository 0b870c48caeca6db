// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/statistics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "dataplane/dataplane.h"

namespace txnic::dataplane {
namespace {

[[gnu::format(printf, 2, 3)]] void append(std::string* out, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0) out->append(line, std::min<size_t>(static_cast<size_t>(length), sizeof line - 1));
}

void append_block(std::string* out, uint64_t rx, uint64_t rx_dropped, uint64_t tx, uint64_t tx_dropped) {
  append(out, "  RX-packets: %-14" PRIu64 " RX-dropped: %-13" PRIu64 " RX-total: %" PRIu64 "\n", rx, rx_dropped,
         rx + rx_dropped);
  append(out, "  TX-packets: %-14" PRIu64 " TX-dropped: %-13" PRIu64 " TX-total: %" PRIu64 "\n", tx, tx_dropped,
         tx + tx_dropped);
}

void add_outbox(const OutboxCounters& from, OutboxTotals* totals) {
  totals->messages += from.messages.read();
  totals->frames += from.frames.read();
  totals->worker_frames += from.worker_frames.read();
  for (size_t i = 0; i < kLostCount; ++i) totals->lost[i] += from.lost[i].read();
  totals->arp_requests += from.arp_requests.read();
  totals->arp_unanswered += from.arp_unanswered.read();
}

void add_worker(const WorkerCounters& from, Totals* totals) {
  totals->received += from.received.read();
  for (size_t r = 0; r < kReasonsMax; ++r) totals->ended[r] += from.ended[r].read();
  totals->forwarded += from.forwarded.read();
  totals->passed += from.passed.read();
  totals->taken += from.taken.read();
  totals->from_workers += from.from_workers.read();
  add_outbox(from.outbox, &totals->outbox);
  totals->link.rx_frames += from.link.rx_frames.read();
  totals->link.rx_bytes += from.link.rx_bytes.read();
  totals->link.tx_frames += from.link.tx_frames.read();
  totals->link.tx_bytes += from.link.tx_bytes.read();
  totals->link.no_packet += from.link.no_packet.read();
  const uint64_t given_back = from.given_back.read();
  const uint64_t held = from.held.read();
  totals->held_now += held > given_back ? held - given_back : 0;
  totals->checksums_unfinished += from.checksums_unfinished.read();
  totals->busy_ns += from.busy_ns.read();
  totals->back_busy_ns += from.back_busy_ns.read();
  totals->back_idle_ns += from.back_idle_ns.read();
  totals->back_busy_turns += from.back_busy_turns.read();
  totals->idle_ns += from.idle_ns.read();
  totals->emulated_ns += from.emulated_ns.read();
  totals->busy_steps += from.busy_steps.read();
  totals->idle_steps += from.idle_steps.read();
  totals->longest_step_ns = std::max(totals->longest_step_ns, from.longest_step_ns.read());
  for (size_t b = 0; b < kStepBuckets; ++b) totals->step_buckets[b] += from.step_buckets[b].read();
  for (PortTotals& port : totals->ports) {
    const PortCounters& counters = from.ports[port.port];
    port.rx_packets += counters.rx_packets.read();
    port.rx_bytes += counters.rx_bytes.read();
    port.tx_packets += counters.tx_packets.read();
    port.tx_bytes += counters.tx_bytes.read();
    port.tx_dropped += counters.tx_dropped.read();
  }
}

// What the node sent on its own account. Nothing where it did not.
void append_outbox(std::string* out, const Totals& totals) {
  const OutboxTotals& outbox = totals.outbox;
  if (outbox.messages == 0 && outbox.next_hops == 0) return;
  append(out,
         "  Sent by itself: %" PRIu64 " messages, %" PRIu64 " frames to other nodes, %" PRIu64
         " between workers; lost messages %" PRIu64,
         outbox.messages, outbox.frames, outbox.worker_frames, outbox.lost_total());
  const char* separator = " (";
  for (size_t i = 0; i < kLostCount; ++i) {
    if (outbox.lost[i] == 0) continue;
    append(out, "%s%s %" PRIu64, separator, lost_name(static_cast<Lost>(i)), outbox.lost[i]);
    separator = ", ";
  }
  append(out, "%s\n", outbox.lost_total() == 0 ? "" : ")");
  append(out, "  Next hops: %u of %u known, %" PRIu64 " ARP requests, %" PRIu64 " unanswered\n", outbox.next_hops_known,
         outbox.next_hops, outbox.arp_requests, outbox.arp_unanswered);
}

std::string outbox_json(const OutboxTotals& outbox) {
  std::string out;
  append(&out, "{\"messages\":%" PRIu64 ",\"frames\":%" PRIu64 ",\"worker_frames\":%" PRIu64 ",\"lost\":{",
         outbox.messages, outbox.frames, outbox.worker_frames);
  for (size_t i = 0; i < kLostCount; ++i) {
    append(&out, "%s\"%s\":%" PRIu64, i == 0 ? "" : ",", lost_name(static_cast<Lost>(i)), outbox.lost[i]);
  }
  append(&out,
         "},\"lost_total\":%" PRIu64 ",\"arp_requests\":%" PRIu64 ",\"arp_unanswered\":%" PRIu64
         ",\"next_hops\":%u,\"next_hops_known\":%u}",
         outbox.lost_total(), outbox.arp_requests, outbox.arp_unanswered, outbox.next_hops, outbox.next_hops_known);
  return out;
}

std::string stages_json(const std::array<uint64_t, kStages>& samples) {
  std::string out = "{";
  for (const Stage stage : {Stage::kReceive, Stage::kParse, Stage::kProcess, Stage::kPoll, Stage::kTransmit,
                            Stage::kIdle}) {
    append(&out, "%s\"%s\":%" PRIu64, out.size() == 1 ? "" : ",", stage_name(stage),
           samples[static_cast<size_t>(stage)]);
  }
  return out + "}";
}

uint64_t rate(uint64_t now, uint64_t before, uint64_t nanoseconds) {
  if (nanoseconds == 0 || now < before) return 0;
  return static_cast<uint64_t>(static_cast<double>(now - before) * 1e9 / static_cast<double>(nanoseconds));
}

}  // namespace

uint64_t OutboxTotals::lost_total() const {
  uint64_t sum = 0;
  for (const uint64_t count : lost) sum += count;
  return sum;
}

Totals read_totals(Dataplane& plane) {
  Totals totals;
  totals.time_ns = plane.clock().now();
  totals.tsc_hz = rte_get_tsc_hz();
  totals.stalls = plane.stalls();
  totals.stage_samples = plane.stage_samples();
  totals.outbox.next_hops = plane.next_hops();
  totals.outbox.next_hops_known = plane.next_hops_known();
  for (const Port& port : plane.ports()) {
    PortTotals& figures = totals.ports.emplace_back();
    figures.port = port.id;
    figures.name = port.name;
    rte_eth_stats device{};
    if (rte_eth_stats_get(port.id, &device) == 0) {
      figures.rx_missed = device.imissed;
      figures.rx_errors = device.ierrors;
      figures.rx_no_buffer = device.rx_nombuf;
    }
  }
  for (uint32_t w = 0; w < plane.worker_count(); ++w) {
    add_worker(plane.counters(w), &totals);
    for (const QueueCounters& queue : plane.queues(w)) {
      totals.queues.push_back({queue.port, queue.queue, w, queue.packets.read(), queue.misdirected.read()});
    }
  }
  totals.steering = plane.steering_rules();
  for (const uint64_t count : totals.ended) totals.ended_total += count;
  return totals;
}

uint64_t step_quantile_ns(const Totals& totals, double share) {
  uint64_t all = 0;
  for (const uint64_t count : totals.step_buckets) all += count;
  if (all == 0) return 0;
  uint64_t seen = 0;
  for (size_t b = 0; b < kStepBuckets; ++b) {
    seen += totals.step_buckets[b];
    if (static_cast<double>(seen) >= share * static_cast<double>(all)) {
      return std::min(uint64_t{1} << (b + 1), totals.longest_step_ns);
    }
  }
  return totals.longest_step_ns;
}

std::string forward_statistics(const Totals& totals) {
  std::string out;
  PortTotals all;
  for (const PortTotals& port : totals.ports) {
    append(&out, "\n  ---------------------- Forward statistics for port %-2u ----------------------\n", port.port);
    append_block(&out, port.rx_packets, port.rx_missed, port.tx_packets, port.tx_dropped);
    append(&out, "  ----------------------------------------------------------------------------\n");
    all.rx_packets += port.rx_packets;
    all.rx_missed += port.rx_missed;
    all.tx_packets += port.tx_packets;
    all.tx_dropped += port.tx_dropped;
  }
  append(&out, "\n  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++\n");
  append_block(&out, all.rx_packets, all.rx_missed, all.tx_packets, all.tx_dropped);
  append(&out, "  ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++\n");
  return out;
}

std::string period_statistics(const Totals& now, const Totals& before) {
  std::string out;
  const uint64_t elapsed = now.time_ns - before.time_ns;
  for (size_t i = 0; i < now.ports.size(); ++i) {
    const PortTotals& port = now.ports[i];
    const PortTotals last = i < before.ports.size() ? before.ports[i] : PortTotals{};
    append(&out, "\n  ######################## NIC statistics for port %-2u ########################\n", port.port);
    append(&out, "  RX-packets: %-10" PRIu64 " RX-missed: %-10" PRIu64 " RX-bytes:  %-10" PRIu64 "\n", port.rx_packets,
           port.rx_missed, port.rx_bytes);
    append(&out, "  RX-errors: %-10" PRIu64 "\n  RX-nombuf:  %-10" PRIu64 "\n", port.rx_errors, port.rx_no_buffer);
    append(&out, "  TX-packets: %-10" PRIu64 " TX-errors: %-10" PRIu64 " TX-bytes:  %-10" PRIu64 "\n", port.tx_packets,
           port.tx_dropped, port.tx_bytes);
    append(&out, "\n  Throughput (since last show)\n");
    append(&out, "  Rx-pps: %12" PRIu64 "          Rx-bps: %12" PRIu64 "\n",
           rate(port.rx_packets, last.rx_packets, elapsed), 8 * rate(port.rx_bytes, last.rx_bytes, elapsed));
    append(&out, "  Tx-pps: %12" PRIu64 "          Tx-bps: %12" PRIu64 "\n",
           rate(port.tx_packets, last.tx_packets, elapsed), 8 * rate(port.tx_bytes, last.tx_bytes, elapsed));
    append(&out, "  ############################################################################\n");
  }
  return out;
}

std::string steering_table(const Totals& totals) {
  if (totals.queues.size() < 2 && totals.steering.size() < 2) return {};
  std::string out = steering::flow_list(totals.steering);
  for (const QueueTotals& queue : totals.queues) {
    append(&out, "  Port %u queue %u (worker %u): %" PRIu64 " packets, %" PRIu64 " for other workers\n", queue.port,
           queue.queue, queue.worker, queue.packets, queue.misdirected);
  }
  return out;
}

std::string counters_table(const Totals& totals) {
  std::string out;
  append(&out, "\n  How the %" PRIu64 " packets received ended\n", totals.received);
  for (uint32_t r = 0; r < reason_count(); ++r) {
    if (totals.ended[r] != 0 || r == reason::kReplied || r == reason::kOther) {
      append(&out, "    %-24s %" PRIu64 "\n", reason_name(static_cast<Reason>(r)), totals.ended[r]);
    }
  }
  append(&out, "    %-24s %" PRIu64 " (%" PRIu64 " held or under way)\n", "sum", totals.ended_total,
         totals.received - totals.ended_total);
  append(&out, "  Between workers: %" PRIu64 " forwarded, %" PRIu64 " passed\n", totals.forwarded, totals.passed);
  append_outbox(&out, totals);
  if (const LinkTotals& link = totals.link; link.rx_frames + link.tx_frames != 0) {
    append(&out,
           "  Host link: %" PRIu64 " frames (%" PRIu64 " bytes) received, %" PRIu64 " (%" PRIu64 ") sent, %" PRIu64
           " not sent for want of a packet\n",
           link.rx_frames, link.rx_bytes, link.tx_frames, link.tx_bytes, link.no_packet);
  }
  if (totals.checksums_unfinished != 0) {
    append(&out, "  Unfinished UDP checksums accepted: %" PRIu64 "\n", totals.checksums_unfinished);
  }
  const uint64_t all_ns = totals.busy_ns + totals.idle_ns;
  append(
      &out,
      "  Loop: busy %.1f %%, %.1f packets a busy step, longest step %.1f us, 99.99 %% within %.1f us, stalls %" PRIu64
      "\n",
      all_ns == 0 ? 0.0 : 100.0 * static_cast<double>(totals.busy_ns) / static_cast<double>(all_ns),
      totals.busy_steps == 0 ? 0.0 : static_cast<double>(totals.received) / static_cast<double>(totals.busy_steps),
      static_cast<double>(totals.longest_step_ns) / 1e3, static_cast<double>(step_quantile_ns(totals, 0.9999)) / 1e3,
      totals.stalls);
  return out;
}

std::string to_json(const Totals& totals) {
  std::string out;
  append(&out, "{\"time_ns\":%" PRIu64 ",\"tsc_hz\":%" PRIu64 ",", totals.time_ns, totals.tsc_hz);
  out += "\"stage_samples\":" + stages_json(totals.stage_samples) + ",";
  append(&out, "\"received\":%" PRIu64 ",\"ended_total\":%" PRIu64 ",\"ended\":{", totals.received,
         totals.ended_total);
  const char* comma = "";
  for (uint32_t r = 0; r < reason_count(); ++r) {
    append(&out, "%s\"%s\":%" PRIu64, comma, reason_name(static_cast<Reason>(r)), totals.ended[r]);
    comma = ",";
  }
  append(&out,
         "},\"forwarded\":%" PRIu64 ",\"passed\":%" PRIu64 ",\"taken\":%" PRIu64 ",\"held_now\":%" PRIu64
         ",\"checksums_unfinished\":%" PRIu64 ",\"from_workers\":%" PRIu64 ",\"outbox\":",
         totals.forwarded, totals.passed, totals.taken, totals.held_now, totals.checksums_unfinished,
         totals.from_workers);
  out += outbox_json(totals.outbox);
  append(&out,
         ",\"link\":{\"rx_frames\":%" PRIu64 ",\"rx_bytes\":%" PRIu64 ",\"tx_frames\":%" PRIu64 ",\"tx_bytes\":%" PRIu64
         ",\"no_packet\":%" PRIu64 "}",
         totals.link.rx_frames, totals.link.rx_bytes, totals.link.tx_frames, totals.link.tx_bytes,
         totals.link.no_packet);
  append(&out,
         ",\"back_busy_ns\":%" PRIu64 ",\"back_idle_ns\":%" PRIu64 ",\"back_busy_turns\":%" PRIu64
         ",\"busy_ns\":%" PRIu64 ",\"emulated_ns\":%" PRIu64 ",\"idle_ns\":%" PRIu64
         ",\"busy_steps\":%" PRIu64 ",\"idle_steps\":%" PRIu64
         ",\"longest_step_ns\":%" PRIu64 ",\"step_p99_99_ns\":%" PRIu64 ",\"stalls\":%" PRIu64 ",\"ports\":[",
         totals.back_busy_ns, totals.back_idle_ns, totals.back_busy_turns, totals.busy_ns, totals.emulated_ns,
         totals.idle_ns, totals.busy_steps, totals.idle_steps,
         totals.longest_step_ns,
         step_quantile_ns(totals, 0.9999), totals.stalls);
  comma = "";
  for (const PortTotals& port : totals.ports) {
    append(&out,
           "%s{\"port\":%u,\"name\":\"%s\",\"rx_packets\":%" PRIu64 ",\"rx_bytes\":%" PRIu64 ",\"rx_missed\":%" PRIu64
           ",\"rx_errors\":%" PRIu64 ",\"rx_no_buffer\":%" PRIu64 ",\"tx_packets\":%" PRIu64 ",\"tx_bytes\":%" PRIu64
           ",\"tx_dropped\":%" PRIu64 "}",
           comma, port.port, port.name.c_str(), port.rx_packets, port.rx_bytes, port.rx_missed, port.rx_errors,
           port.rx_no_buffer, port.tx_packets, port.tx_bytes, port.tx_dropped);
    comma = ",";
  }
  out += "],\"queues\":[";
  comma = "";
  for (const QueueTotals& queue : totals.queues) {
    append(&out,
           "%s{\"port\":%u,\"queue\":%u,\"worker\":%u,\"packets\":%" PRIu64 ",\"misdirected\":%" PRIu64 "}",
           comma, queue.port, queue.queue, queue.worker, queue.packets, queue.misdirected);
    comma = ",";
  }
  out += "],\"steering\":" + steering::to_json(totals.steering) + "}";
  return out;
}

}  // namespace txnic::dataplane
