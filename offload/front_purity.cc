// SPDX-License-Identifier: BSD-3-Clause
// The front over backs that hold nothing, one as on the host and one that may miss keys: compiled only so that a test
// can look at what the front's code imports (tests/tidy): no clock, no allocation, no system call.
#include "offload/front.h"

namespace txnic::offload {

struct NullBack {
  bool knows_table(TableId) const { return true; }
  void prefetch_bucket(uint32_t, uint64_t) const {}
  void prefetch_record(uint32_t, uint64_t) const {}
  Found find(uint32_t, TableId, const std::byte*, uint32_t, uint64_t) { return {}; }
  BusyReason can_commit(const CommitRequest&) { return BusyReason::kNone; }
  Version commit(const CommitRequest&) { return ++version; }
  bool log_session_open(SessionId, Endpoint, Stamp, Sequence) { return true; }
  bool log_session_close(SessionId) { return true; }
  Lsn dependency(uint32_t, Version) const { return 0; }
  Lsn dependency_on_all() const { return 0; }
  Lsn durable() const { return 0; }
  uint32_t poll(TimeNs) { return 0; }
  bool quiet() const { return true; }
  uint32_t encode_redo(std::span<const Write>, MutableBytes) { return 0; }
  bool set_aside(uint32_t, std::span<const Write>) { return true; }
  void give_back(uint32_t, Bytes) {}
  Version take_version(uint32_t) { return ++version; }
  void apply(uint32_t, Version, Bytes) {}
  bool log_transaction(const TransactionRecord&, Lsn*) { return true; }
  Version version = 0;
};

struct NullMissingBack : NullBack {
  static constexpr bool kMayMiss = true;
  void begin_burst(TimeNs) {}
  Want want(uint32_t, TableId, const std::byte*, uint32_t, uint64_t) { return {BusyReason::kNone, ++asked}; }
  Lsn fetched() const { return asked; }
  Lsn asked = 0;
};

template class Front<NullBack>;
template class Front<NullMissingBack>;

}  // namespace txnic::offload
