// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/tatp.h"

#include <cmath>
#include <cstdio>

#include "pktgen/workload/tatp_load.h"
#include "pktgen/workload/tatp_rows.h"

namespace txnic::pktgen {

std::span<const char* const> Tatp::kinds() const {
  static const char* const kinds[kKinds] = {"get_subscriber",    "get_destination", "get_access",
                                            "update_subscriber", "update_location", "insert_forwarding",
                                            "delete_forwarding"};
  return kinds;
}

std::string Tatp::prepare(const Facts& facts) {
  if (facts.reflected) return "tatp needs a node that executes";
  shards_ = facts.shards;
  for (uint32_t flow = 0; flow < facts.flows; ++flow) random_.emplace_back(facts.seed, flow);
  flows_.assign(facts.flows, {});
  return {};
}

std::unique_ptr<Workload> Tatp::loader() { return std::make_unique<TatpLoad>(settings_.records, settings_.tatp_table); }

void Tatp::draw(uint32_t flow) {
  FlowState& state = flows_[flow];
  Random& random = random_[flow];
  const uint8_t kind = draw_kind(random, kMixPercent);
  state.kind = static_cast<Kind>(kind);
  state.subscriber = tatp::choose(random, settings_.records);
  state.type = static_cast<uint8_t>(1 + random.below(kTypes));
  state.start = static_cast<uint8_t>(random.below(kStartTimes));
  state.end_time = static_cast<uint8_t>(1 + random.below(kEndTimeMax));
  state.location = static_cast<uint32_t>(random.next());
  if (state.kind <= kGetAccess) {
    state.step = Step::kOneShot;
  } else {
    state.step = state.kind == kUpdateSubscriber ? Step::kRead : Step::kLookUp;
  }
}

void Tatp::fill_one_shot(const FlowState& state, tatp::Places& at, wire::ExecuteBuilder& request) const {
  if (state.kind == kGetSubscriber) {
    request.get(table(kSubscriber), at(tatp::subscriber_key(state.subscriber)));
  } else if (state.kind == kGetAccess) {
    request.get(table(kAccessInfo), at(tatp::typed_key(state.subscriber, state.type)));
  } else {
    request.get(table(kSpecialFacility), at(tatp::typed_key(state.subscriber, state.type)));
    for (uint32_t start = 0; start <= state.start; ++start) {
      request.get(table(kCallForwarding), at(tatp::forwarding_key(state.subscriber, state.type, start)));
    }
  }
}

void Tatp::fill_read(const FlowState& state, tatp::Places& at, wire::ExecuteBuilder& request) const {
  if (state.kind == kUpdateSubscriber || state.kind == kUpdateLocation) {
    request.get(table(kSubscriber), at(tatp::subscriber_key(state.subscriber)));
  }
  if (state.kind == kUpdateSubscriber || state.kind == kInsertForwarding) {
    request.get(table(kSpecialFacility), at(tatp::typed_key(state.subscriber, state.type)));
  }
}

void Tatp::fill_commit(FlowState& state, tatp::Places& at, wire::ExecuteBuilder& request) const {
  const Key subscriber = tatp::subscriber_key(state.subscriber);
  const Key facility = tatp::typed_key(state.subscriber, state.type);
  const Key forwarding = tatp::forwarding_key(state.subscriber, state.type, state.start);
  if (state.kind == kUpdateSubscriber) {
    state.subscriber_row[tatp::kBit1] = std::byte{static_cast<unsigned char>(state.location & 1)};
    state.facility_row[tatp::kDataA] = std::byte{static_cast<unsigned char>(state.location >> 8 & 255)};
    request.put_if(table(kSubscriber), at(subscriber), state.subscriber_row, state.subscriber_version);
    request.put_if(table(kSpecialFacility), at(facility), state.facility_row, state.facility_version);
    return;
  }
  request.check(table(kSecSubscriber), at(subscriber), state.secondary_version, wire::kReadSet);
  if (state.kind == kUpdateLocation) {
    store(state.subscriber_row.data() + tatp::kLocation, state.location);
    request.put_if(table(kSubscriber), at(subscriber), state.subscriber_row, state.subscriber_version);
  } else if (state.kind == kInsertForwarding) {
    std::byte row[tatp::kForwardingBytes] = {};
    row[tatp::kEndTime] = std::byte{state.end_time};
    request.check(table(kSpecialFacility), at(facility), state.facility_version, wire::kReadSet);
    request.insert(table(kCallForwarding), at(forwarding), row);
  } else {
    request.remove(table(kCallForwarding), at(forwarding));
  }
}

ShardId Tatp::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  FlowState& state = flows_[flow];
  if (state.step == Step::kDraw) draw(flow);
  tatp::Places at(shards_);
  switch (state.step) {
    case Step::kOneShot:
      fill_one_shot(state, at, request);
      break;
    case Step::kLookUp:
      request.get(table(kSecSubscriber), at(tatp::subscriber_key(state.subscriber)));
      break;
    case Step::kRead:
      fill_read(state, at, request);
      break;
    default:
      fill_commit(state, at, request);
      break;
  }
  return at.shard();
}

uint32_t Tatp::values_wanted(const FlowState& state) const {
  if (state.step == Step::kOneShot) return state.kind == kGetDestination ? 2u + state.start : 1;
  if (state.step == Step::kRead) return state.kind == kUpdateSubscriber ? 2 : 1;
  return 1;
}

// True: it found what it looked for.
bool Tatp::inspect_one_shot(const FlowState& state, const Reply& reply) {
  const wire::Value& first = reply.values[0];
  if (!first.present) {
    if (state.kind == kGetSubscriber) fail("tatp: a subscriber is missing: load the tables first");
    return false;
  }
  if (state.kind != kGetDestination) {
    const uint32_t bytes = state.kind == kGetSubscriber ? tatp::kSubscriberBytes : tatp::kAccessBytes;
    if (first.length != bytes || load<uint64_t>(first.data) != state.subscriber) {
      fail("tatp: a row is not its subscriber's; were the tables loaded by another workload?");
      return false;
    }
    return true;
  }
  if (first.length != tatp::kFacilityBytes || first.data[tatp::kIsActive] == std::byte{0}) return false;
  for (uint32_t i = 1; i < reply.values.size(); ++i) {
    const wire::Value& row = reply.values[i];
    if (row.present && row.length == tatp::kForwardingBytes &&
        std::to_integer<uint32_t>(row.data[tatp::kEndTime]) > state.end_time) {
      return true;
    }
  }
  return false;
}

bool Tatp::keep_row(const wire::Value& value, std::span<std::byte> row, Version* version) {
  if (!value.present) return false;
  if (value.length != row.size()) {
    fail("tatp: a row has another length; were the tables loaded by another workload?");
    return false;
  }
  std::memcpy(row.data(), value.data, row.size());
  *version = value.version;
  return true;
}

bool Tatp::take_reads(FlowState& state, const Reply& reply) {
  if (state.step == Step::kLookUp) {
    std::array<std::byte, 8> row{};
    if (!keep_row(reply.values[0], row, &state.secondary_version)) return false;
    state.subscriber = load<uint64_t>(row.data());
    return true;
  }
  size_t at = 0;
  if (state.kind != kInsertForwarding &&
      !keep_row(reply.values[at++], state.subscriber_row, &state.subscriber_version)) {
    return false;
  }
  return state.kind == kUpdateLocation || keep_row(reply.values[at], state.facility_row, &state.facility_version);
}

Progress Tatp::end(FlowState& state, const Reply& reply, bool good) {
  const bool is_outcome =
      reply.result == Result::kCommitted || reply.result == Result::kExists || reply.result == Result::kNotFound;
  if (is_outcome) {
    ++tally_[state.kind].executed;
    tally_[state.kind].good += good && reply.result == Result::kCommitted ? 1 : 0;
  }
  state.step = Step::kDraw;
  return finished(reply, state.kind, good);
}

Progress Tatp::settled(uint32_t flow, const Reply& reply) {
  FlowState& state = flows_[flow];
  if (reply.result != Result::kCommitted || state.step == Step::kCommit) return end(state, reply, true);
  if (!reply.has_values || reply.values.size() != values_wanted(state)) {
    return {.done = false, .kind = state.kind};  // values are not repeated: read again
  }
  if (state.step == Step::kOneShot) return end(state, reply, inspect_one_shot(state, reply));
  if (!take_reads(state, reply)) return end(state, reply, false);
  const bool has_read = state.step == Step::kRead || state.kind == kDeleteForwarding;
  state.step = has_read ? Step::kCommit : Step::kRead;
  return {.done = false, .kind = state.kind};
}

// ---- what is expected ---------------------------------------------------------------------------------------------

double Tatp::expected_success(Kind kind) {
  const double type_present = 2.5 / kTypes;  // 1 to 4 of 4 types
  switch (kind) {
    case kGetSubscriber:
    case kUpdateLocation:
      return 1;
    case kGetAccess:
    case kUpdateSubscriber:
      return type_present;
    case kInsertForwarding:
    case kDeleteForwarding:
      return type_present * tatp::kForwardingPresent;
    case kGetDestination:
      break;
  }
  // Some forwarding that begins at or before the start time ends after the end time; both times are uniform.
  double found = 0;
  for (uint32_t rows = 1; rows <= kStartTimes; ++rows) {
    for (uint32_t end = 1; end <= kEndTimeMax; ++end) {
      const double row_fits = tatp::kForwardingPresent * (kEndTimeMax - end) / kEndTimeMax;
      found += (1 - std::pow(1 - row_fits, rows)) / (kStartTimes * kEndTimeMax);
    }
  }
  return type_present * tatp::kActive * found;
}

// Five standard deviations, and what the uneven choice among few subscribers may add.
Check Tatp::check() const {
  constexpr uint64_t kLeast = 200;
  constexpr double kUneven = 0.02;
  Check check;
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    const Tally& tally = tally_[kind];
    if (tally.executed < kLeast) continue;
    const double expected = expected_success(static_cast<Kind>(kind));
    const double share = static_cast<double>(tally.good) / static_cast<double>(tally.executed);
    const double deviation = std::sqrt(expected * (1 - expected) / static_cast<double>(tally.executed));
    const double allowed = expected == 1 ? 0 : 5 * deviation + kUneven;
    char text[80];
    std::snprintf(text, sizeof text, "%s%s %.1f %% of %.1f %%", check.text.empty() ? "" : ", ", kinds()[kind],
                  share * 100, expected * 100);
    check.text += text;
    check.made = true;
    check.passed &= std::abs(share - expected) <= allowed;
  }
  if (check.made) check.text = (check.passed ? "success as expected: " : "success NOT as expected: ") + check.text;
  return check;
}

}  // namespace txnic::pktgen
