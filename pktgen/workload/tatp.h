// SPDX-License-Identifier: BSD-3-Clause
// TATP, the Telecommunication Application Transaction Processing benchmark (its specification 1.0, IBM/Solid 2009; row
// sizes as in FaSST and Motor), as WORKLOADS.md defines it. Five tables with 8-byte keys:
//
//   SUBSCRIBER       40 B  s_id              ACCESS_INFO      16 B  s_id, ai_type 1–4
//   SEC_SUBSCRIBER    8 B  sub_nbr           SPECIAL_FACILITY  8 B  s_id, sf_type 1–4
//                                            CALL_FORWARDING  16 B  s_id, sf_type, start_time 0, 8 or 16
//
//   GetSubscriberData    35 %  one-shot     always succeeds
//   GetNewDestination    10 %  one-shot     the facility is active, and a forwarding begins before and ends after
//   GetAccessData        35 %  one-shot     the row is there (62.5 %)
//   UpdateSubscriberData  2 %  interactive  the facility is there (62.5 %)
//   UpdateLocation       14 %  interactive  by sub_nbr; always succeeds
//   InsertCallForwarding  2 %  interactive  by sub_nbr; the facility is there and the forwarding is not (31.25 %)
//   DeleteCallForwarding  2 %  interactive  by sub_nbr; the forwarding is there (31.25 %)
//
// A transaction that finds nothing to do is executed, not aborted; it counts for throughput and not for goodput. The
// check compares each kind's share of successes with what the specification expects.
//
// Rows lie where their own keys hash to: with several shards most of the transactions that name several rows are
// transactions over several shards (GetNewDestination's reads too, all at once).
#pragma once

#include <array>
#include <vector>

#include "pktgen/workload/key_space.h"
#include "pktgen/workload/settings.h"
#include "pktgen/workload/tatp_rows.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

class Tatp final : public Workload {
 public:
  enum Kind : uint8_t {
    kGetSubscriber,
    kGetDestination,
    kGetAccess,
    kUpdateSubscriber,
    kUpdateLocation,
    kInsertForwarding,
    kDeleteForwarding
  };
  static constexpr uint32_t kKinds = 7;
  static constexpr uint32_t kMixPercent[kKinds] = {35, 10, 35, 2, 14, 2, 2};
  enum Table : uint8_t { kSubscriber, kSecSubscriber, kAccessInfo, kSpecialFacility, kCallForwarding };
  static constexpr uint32_t kTypes = 4;       // of access info and of facilities
  static constexpr uint32_t kStartTimes = 3;  // 0, 8, 16
  static constexpr uint32_t kEndTimeMax = 24;

  explicit Tatp(const WorkloadSettings& settings) : settings_(settings) {}
  const char* name() const override { return "tatp"; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;
  std::unique_ptr<Workload> loader() override;
  Check check() const override;

  // The share of transactions of a kind that do their work.
  static double expected_success(Kind kind);

 private:
  enum class Step : uint8_t { kDraw, kOneShot, kLookUp, kRead, kCommit };
  struct FlowState {
    Step step = Step::kDraw;
    Kind kind = kGetSubscriber;
    uint8_t type = 1;   // ai_type or sf_type
    uint8_t start = 0;  // index of the start time
    uint8_t end_time = 1;
    uint64_t subscriber = 0;
    uint32_t location = 0;
    Version secondary_version = 0, subscriber_version = 0, facility_version = 0;
    std::array<std::byte, 40> subscriber_row{};
    std::array<std::byte, 8> facility_row{};
  };
  void draw(uint32_t flow);
  void fill_one_shot(const FlowState& state, tatp::Places& at, wire::ExecuteBuilder& request) const;
  void fill_read(const FlowState& state, tatp::Places& at, wire::ExecuteBuilder& request) const;
  void fill_commit(FlowState& state, tatp::Places& at, wire::ExecuteBuilder& request) const;
  uint32_t values_wanted(const FlowState& state) const;
  bool inspect_one_shot(const FlowState& state, const Reply& reply);
  // Takes over what an interactive transaction read. False: there is nothing for it to do.
  bool take_reads(FlowState& state, const Reply& reply);
  bool keep_row(const wire::Value& value, std::span<std::byte> row, Version* version);
  Progress end(FlowState& state, const Reply& reply, bool good);
  TableId table(Table which) const { return static_cast<TableId>(settings_.tatp_table + which); }

  const WorkloadSettings settings_;
  uint32_t shards_ = 1;
  std::vector<Random> random_;  // by flow
  std::vector<FlowState> flows_;
  struct Tally {
    uint64_t executed = 0, good = 0;
  };
  std::array<Tally, kKinds> tally_{};
};

}  // namespace txnic::pktgen
