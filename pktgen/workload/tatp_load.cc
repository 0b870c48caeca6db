// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/tatp_load.h"

#include "pktgen/workload/tatp.h"
#include "pktgen/workload/tatp_rows.h"

namespace txnic::pktgen {

std::span<const char* const> TatpLoad::kinds() const {
  static const char* const kinds[] = {"subscriber"};
  return kinds;
}

std::string TatpLoad::prepare(const Facts& facts) {
  flows_.assign(facts.flows, {});
  shards_ = facts.shards;
  return {};
}

ShardId TatpLoad::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  FlowState& state = flows_[flow];
  uint64_t& loading = state.subscriber;
  if (loading == kNone) {
    if (next_ == subscribers_) return wire::kNoShard;
    loading = next_++;
    state.has_first_half = false;
  }
  tatp::Places at(shards_);
  const tatp::Rows rows = tatp::rows_of(loading);
  std::byte row[tatp::kSubscriberBytes] = {};
  store(row, loading);
  const auto put = [&](Tatp::Table table, const Key& key, uint32_t bytes) {
    request.put(static_cast<TableId>(first_table_ + table), at(key), Bytes(row, bytes));
  };
  if (!state.has_first_half) {
    put(Tatp::kSubscriber, tatp::subscriber_key(loading), tatp::kSubscriberBytes);
    put(Tatp::kSecSubscriber, tatp::subscriber_key(loading), tatp::kSecondaryBytes);
    for (uint32_t type = 1; type <= Tatp::kTypes; ++type) {
      if ((rows.access_types >> (type - 1) & 1) != 0) {
        put(Tatp::kAccessInfo, tatp::typed_key(loading, type), tatp::kAccessBytes);
      }
    }
    if (shards_ > 1) return at.shard();
  }
  for (uint32_t type = 1; type <= Tatp::kTypes; ++type) {
    if ((rows.facility_types >> (type - 1) & 1) == 0) continue;
    store<uint64_t>(row, 0);
    row[tatp::kIsActive] = std::byte{static_cast<unsigned char>(rows.active_types >> (type - 1) & 1)};
    put(Tatp::kSpecialFacility, tatp::typed_key(loading, type), tatp::kFacilityBytes);
    for (uint32_t start = 0; start < Tatp::kStartTimes; ++start) {
      if (rows.end_time[type - 1][start] == 0) continue;
      row[tatp::kEndTime] = std::byte{rows.end_time[type - 1][start]};
      put(Tatp::kCallForwarding, tatp::forwarding_key(loading, type, start), tatp::kForwardingBytes);
    }
  }
  return at.shard();
}

Progress TatpLoad::settled(uint32_t flow, const Reply& reply) {
  // Rows are written as a whole: once more does no harm.
  const bool again =
      reply.result == Result::kLocked || reply.result == Result::kBusy || reply.result == Result::kUnknownOutcome;
  FlowState& state = flows_[flow];
  if (reply.result == Result::kCommitted) {
    const bool is_half = shards_ > 1 && !state.has_first_half;
    state.has_first_half = true;
    if (!is_half) {
      state.subscriber = kNone;
      ++done_;
    }
  } else if (reply.result == Result::kUnknownTable) {
    fail("tatp: the node does not have the tables " + std::to_string(first_table_) + " to " +
         std::to_string(first_table_ + 4) +
         ": declare them (configs/tatp.textproto), or name others with --tatp-table");
  } else if (!again) {
    fail(std::string("tatp: loading was answered ") + txnic::name(reply.result) + ", detail " +
         std::to_string(reply.detail));
  }
  return finished(reply, 0, true);
}

}  // namespace txnic::pktgen
