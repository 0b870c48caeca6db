// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/faults.h"

namespace txnic::sim {
namespace {

constexpr TimeNs kMs = 1'000'000, kSecond = 1'000'000'000;
constexpr TimeNs kDiceLeast = 5 * kMs, kDiceMost = 35 * kMs;  // 20 ms on average
constexpr double kThrowsPerMinute = 60.0 * kSecond / ((kDiceLeast + kDiceMost) / 2);

}  // namespace

bool Faults::falls(double per_minute) { return context_.random.chance(per_minute / kThrowsPerMinute); }

void Faults::throw_dice() {
  for (uint32_t i = 0; i < nodes_.size(); ++i) throw_for_node(nodes_[i], i);
  for (uint32_t i = 0; i < clients_.size(); ++i) throw_for_client(clients_[i], i);
  context_.queue.plan(context_.now() + context_.random.between(kDiceLeast, kDiceMost), EventKind::kDice, 0);
}

// Mostly short, rarely long enough for sessions and cookies to expire.
TimeNs Faults::jump() {
  ++context_.statistics.clock_jumps;
  return context_.random.below(kSecond * (context_.random.below(8) == 0 ? 120 : 2));
}

void Faults::throw_for_node(Node& node, uint32_t index) {
  const FaultRates& rates = context_.rates;
  if (falls(rates.power_loss) && node.up()) node.crash(true);
  if (falls(rates.kill) && node.up()) node.crash(false);
  if (falls(rates.die_at_disk)) node.plan_death_at_disk();
  if (falls(rates.slow_disk)) begin({Kind::kSlowDisk, false, index, 0, false, false}, 2 * kSecond);
  if (falls(rates.full_disk)) begin({Kind::kFullDisk, false, index, 0, false, false}, 2 * kSecond);
  if (falls(rates.sync_error)) {
    ++context_.statistics.sync_errors;
    node.fail_syncs();
  }
  for (uint32_t other = 0; other < nodes_.size(); ++other) {
    if (other == index || !falls(rates.partition)) continue;
    const uint64_t ways = context_.random.below(3);
    begin({Kind::kPartition, false, index, network_.peer_of(other), ways != 1, ways != 2}, 4 * kSecond);
  }
  if (falls(rates.clock_jump)) node.jump_clock(jump());
  if (falls(rates.checkpoint) && node.up()) node.begin_checkpoint();
}

void Faults::throw_for_client(Client& client, uint32_t index) {
  const FaultRates& rates = context_.rates;
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    if (!falls(rates.partition)) continue;
    const uint64_t ways = context_.random.below(3);
    begin({Kind::kPartition, false, node, index, ways != 1, ways != 2}, 4 * kSecond);
  }
  if (falls(rates.clock_jump) && client.alive()) client.jump_clock(jump());
  if (falls(rates.session_close) && client.alive()) client.close_session();
  if (falls(rates.client_death) && client.alive()) {
    client.die();
    context_.queue.plan(context_.now() + context_.random.below(2 * kSecond), EventKind::kNewClient, index);
  }
}

void Faults::begin(Lasting lasting, TimeNs most) {
  const TimeNs length = context_.random.between(kMs, most);
  static constexpr const char* kNames[] = {"slow disk", "full disk", "partition"};
  context_.trace.note(context_.now(), kNames[static_cast<uint8_t>(lasting.kind)], lasting.node, lasting.client, length,
                      "node %u client %u%s%s for %.3f s", lasting.node, lasting.client, lasting.to_node ? " ->" : "",
                      lasting.to_client ? " <-" : "", static_cast<double>(length) * 1e-9);
  switch (lasting.kind) {
    case Kind::kSlowDisk:
      ++context_.statistics.slow_disks;
      nodes_[lasting.node].set_slow(true);
      break;
    case Kind::kFullDisk:
      ++context_.statistics.full_disks;
      nodes_[lasting.node].set_full(true);
      break;
    case Kind::kPartition:
      ++context_.statistics.partitions;
      network_.cut(lasting.client, lasting.node, lasting.to_node, lasting.to_client);
      break;
  }
  context_.queue.plan(context_.now() + length, EventKind::kEndFault, 0, lasting_.size());
  lasting_.push_back(lasting);
}

void Faults::end(uint64_t number) {
  Lasting& lasting = lasting_[number];
  if (lasting.over) return;
  lasting.over = true;
  switch (lasting.kind) {
    case Kind::kSlowDisk:
      nodes_[lasting.node].set_slow(false);
      break;
    case Kind::kFullDisk:
      nodes_[lasting.node].set_full(false);
      break;
    case Kind::kPartition:
      network_.mend(lasting.client, lasting.node, lasting.to_node, lasting.to_client);
      break;
  }
}

void Faults::end_all() {
  for (uint64_t number = 0; number < lasting_.size(); ++number) end(number);
}

}  // namespace txnic::sim
