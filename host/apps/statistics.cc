// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/statistics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "dataplane/json.h"

namespace txnic::apps {
namespace {

using dataplane::json_string;

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(line, sizeof line, pattern, arguments);
  va_end(arguments);
  return line;
}

struct Field {
  const char* name;
  uint64_t value;
};

std::vector<Field> front_fields(const EngineStatistics& s) {
  const offload::FrontCounters& f = s.front;
  return {{"requests", f.requests}, {"read_only", f.read_only}, {"duplicates", f.duplicates},
          {"replays", f.replays},   {"forwarded", f.forwarded}, {"held", f.held},
          {"held_now", s.held_now}, {"echoes", f.echoes},       {"challenges", f.challenges},
          {"opens", f.opens},       {"reopens", f.reopens},     {"stale_opens", f.stale_opens},
          {"closes", f.closes},     {"expired", f.expired},     {"sessions", s.sessions},
          {"prepares", f.prepares}, {"decided", f.decided},     {"superseded", f.superseded},
          {"parked", f.parked},     {"parked_copies", f.parked_copies},
          {"peer_messages", f.peer_messages}, {"peer_messages_lost", f.peer_messages_lost}};
}

// Transactions over several shards, as participant and as coordinator.
std::vector<Field> commit_fields(const EngineStatistics& s) {
  const commit::MachineCounters& c = s.commit;
  return {{"prepared", c.prepared},
          {"refused", c.refused},
          {"committed", c.committed},
          {"aborted", c.aborted},
          {"decided_commit", c.decided_commit},
          {"decided_abort", c.decided_abort},
          {"ended", c.ended},
          {"promises", c.promises},
          {"asked", c.asked},
          {"inquired", c.inquired},
          {"decisions_repeated", c.decisions_repeated},
          {"full", c.full},
          {"differed", c.differed},
          {"forced", c.forced},
          {"orphaned", c.orphaned},
          {"contradictions", c.contradictions},
          {"kept_now", s.transactions_now},
          {"locks_now", s.locks_now}};
}

std::vector<Field> log_fields(const EngineStatistics& s) {
  return {{"records", s.log.records},
          {"record_bytes", s.log.record_bytes},
          {"groups", s.log.groups},
          {"written_bytes", s.log.written_bytes},
          {"group_bytes_max", s.log.group_bytes_max},
          {"full", s.log.full},
          {"in_flight_ns", s.log.in_flight_ns},
          {"longest_write_ns", s.log.longest_write_ns},
          {"checkpoints", s.keeper.checkpoints},
          {"checkpoints_failed", s.keeper.checkpoints_failed},
          {"checkpoint_bytes", s.keeper.checkpoint_bytes},
          {"log_bytes", s.keeper.log_bytes},
          {"segments_created", s.keeper.segments_created},
          {"segments_recycled", s.keeper.segments_recycled},
          {"segments_removed", s.keeper.segments_removed}};
}

std::vector<Field> frame_fields(const link::ChannelCounters& c) {
  return {{"frames_sent", c.frames_sent},         {"bytes_sent", c.bytes_sent},
          {"entries_sent", c.entries_sent},       {"frames_received", c.frames_received},
          {"bytes_received", c.bytes_received},   {"entries_received", c.entries_received},
          {"no_credit", c.no_credit},             {"no_room", c.no_room},
          {"missed", c.missed},                   {"reordered", c.reordered},
          {"not_ours", c.not_ours},               {"other_version", c.other_version},
          {"other_epoch", c.other_epoch},         {"malformed", c.malformed}};
}

std::vector<Field> cache_fields(const offload::NicBackCounters& c) {
  return {{"hits", c.hits},
          {"misses", c.misses},
          {"joined", c.joined},
          {"absent_by_filter", c.absent_by_filter},
          {"absent_by_host", c.absent_by_host},
          {"evictions", c.evictions},
          {"kept", c.kept},
          {"cache_full", c.cache_full},
          {"link_full", c.link_full},
          {"store_full", c.store_full},
          {"no_lease", c.no_lease},
          {"dropped", c.dropped},
          {"stale", c.stale},
          {"commits", c.commits},
          {"applied", c.applied},
          {"entries", c.entries},
          {"cache_bytes", c.cache_bytes},
          {"cache_used_bytes", c.cache_used_bytes}};
}

std::vector<Field> front_link_fields(const NicStatistics& s) {
  const link::FrontEndCounters& c = s.link;
  return {{"fronts", s.fronts},
          {"serving_now", s.serving_now},
          {"hellos", c.hellos},
          {"refused", c.refused},
          {"records", c.records},
          {"record_bytes", c.record_bytes},
          {"repeated_bytes", c.repeated_bytes},
          {"rewinds", c.rewinds},
          {"append_full", c.append_full},
          {"questions", c.questions},
          {"repeated_questions", c.repeated_questions},
          {"answers", c.answers},
          {"questions_full", c.questions_full},
          {"leases", c.leases},
          {"lease_gaps", c.lease_gaps}};
}

std::vector<Field> back_link_fields(const LinkServerStatistics& s) {
  const back::LinkServerCounters& c = s.server;
  return {{"commits", c.commits},
          {"rows", c.rows},
          {"prepares", c.prepares},
          {"prepared_commits", c.prepared_commits},
          {"aborts", c.aborts},
          {"found", c.found},
          {"absent", c.absent},
          {"no_memory", c.no_memory},
          {"log_full", c.log_full},
          {"not_set_aside", c.not_set_aside},
          {"hellos", s.link.hellos},
          {"refused", s.link.refused},
          {"admitted", s.link.admitted},
          {"released", s.link.released},
          {"deaths", s.deaths},
          {"records", s.link.records},
          {"record_bytes", s.link.record_bytes},
          {"repeated", s.link.repeated},
          {"gaps", s.link.gaps},
          {"put_off", s.link.put_off},
          {"questions", s.link.questions},
          {"answers_lost", s.link.answers_lost},
          {"leases", s.link.leases}};
}

std::string json_object(const std::vector<Field>& fields) {
  std::string out = "{";
  for (const Field& field : fields) {
    out += format("%s\"%s\": %" PRIu64, out.size() == 1 ? "" : ", ", field.name, field.value);
  }
  return out + "}";
}

std::string lower(const char* text) {
  std::string out = text;
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string shard_list(const std::vector<ShardId>& shards) {
  std::string out;
  for (const ShardId shard : shards) out += (out.empty() ? "" : ", ") + std::to_string(shard);
  return out;
}

// Those that are not zero.
void append_fields(std::string* out, const std::vector<Field>& fields, const char* of) {
  for (const Field& field : fields) {
    if (field.value == 0) continue;
    const std::string name = std::string(of) + " " + field.name;
    *out += format("  %-22s %20" PRIu64 "\n", name.c_str(), field.value);
  }
}

double bytes_per_record(const storage::ShardStatistics& store) {
  return store.records == 0
             ? 0
             : static_cast<double>(store.used_bytes - store.payload_bytes) / static_cast<double>(store.records);
}

}  // namespace

void add(const offload::FrontCounters& from, offload::FrontCounters* to) {
  to->requests += from.requests;
  for (size_t i = 0; i < from.results.size(); ++i) to->results[i] += from.results[i];
  for (size_t i = 0; i < from.parse_errors.size(); ++i) to->parse_errors[i] += from.parse_errors[i];
  to->read_only += from.read_only;
  to->duplicates += from.duplicates;
  to->replays += from.replays;
  to->forwarded += from.forwarded;
  to->held += from.held;
  to->prepares += from.prepares;
  to->decided += from.decided;
  to->superseded += from.superseded;
  to->parked += from.parked;
  to->parked_copies += from.parked_copies;
  to->peer_messages += from.peer_messages;
  to->peer_messages_lost += from.peer_messages_lost;
  to->echoes += from.echoes;
  to->challenges += from.challenges;
  to->opens += from.opens;
  to->reopens += from.reopens;
  to->stale_opens += from.stale_opens;
  to->closes += from.closes;
  to->expired += from.expired;
}

void add_in_doubt(const commit::Machine& machine, TimeNs now, std::vector<InDoubt>* to) {
  for (uint32_t slot = 0; slot < machine.capacity(); ++slot) {
    const commit::Transaction* const t = machine.kept(slot);
    if (t == nullptr || t->state != commit::State::kPrepared || now < t->since + kInDoubtAfterNs) continue;
    InDoubt entry{t->id, t->shard, now - t->since, {}};
    if (!t->coordinates()) {
      entry.waits_for.push_back(t->participants.coordinator());
    } else {
      for (uint32_t i = 1; i < std::min(t->participants.count, limits::kParticipantsMax); ++i) {
        if ((t->yes >> i & 1) == 0) entry.waits_for.push_back(t->participants.shards[i]);
      }
    }
    to->push_back(std::move(entry));
  }
  std::sort(to->begin(), to->end(), [](const InDoubt& a, const InDoubt& b) { return a.age_ns > b.age_ns; });
  if (to->size() > kInDoubtShown) to->resize(kInDoubtShown);
}

void add(const commit::MachineCounters& from, commit::MachineCounters* to) {
  to->prepared += from.prepared;
  to->refused += from.refused;
  to->committed += from.committed;
  to->aborted += from.aborted;
  to->decided_commit += from.decided_commit;
  to->decided_abort += from.decided_abort;
  to->ended += from.ended;
  to->promises += from.promises;
  to->asked += from.asked;
  to->inquired += from.inquired;
  to->decisions_repeated += from.decisions_repeated;
  to->full += from.full;
  to->differed += from.differed;
  to->forced += from.forced;
  to->orphaned += from.orphaned;
  to->contradictions += from.contradictions;
}

void add(const storage::ShardStatistics& from, storage::ShardStatistics* to) {
  to->records += from.records;
  to->buckets += from.buckets;
  to->overflow_buckets += from.overflow_buckets;
  to->payload_bytes += from.payload_bytes;
  to->used_bytes += from.used_bytes;
  to->memory_bytes += from.memory_bytes;
  to->splits += from.splits;
}

void add(const log::WorkerLogStatistics& from, log::WorkerLogStatistics* to) {
  to->records += from.records;
  to->record_bytes += from.record_bytes;
  to->groups += from.groups;
  to->written_bytes += from.written_bytes;
  to->full += from.full;
  to->group_bytes_max = std::max(to->group_bytes_max, from.group_bytes_max);
  to->in_flight_ns += from.in_flight_ns;
  to->longest_write_ns = std::max(to->longest_write_ns, from.longest_write_ns);
}

std::string to_text(const EngineStatistics& s) {
  std::string out = "\n  ---------------------- Transactions of this node ----------------------\n";
  for (const Field& field : front_fields(s)) {
    if (field.value != 0) out += format("  %-22s %20" PRIu64 "\n", field.name, field.value);
  }
  append_fields(&out, commit_fields(s), "several");
  for (const InDoubt& t : s.in_doubt) {
    out += format("  in doubt: %" PRIu64 ":%" PRIu64 ":%u for %.1f s, waits for%s %s\n", t.id.session, t.id.sequence,
                  t.shard, static_cast<double>(t.age_ns) * 1e-9,
                  t.waits_for.size() == 1 ? " shard" : " the votes of shards", shard_list(t.waits_for).c_str());
  }
  for (uint32_t i = 0; i < kResultCount; ++i) {
    if (s.front.results[i] != 0) {
      out += format("  result %-15s %20" PRIu64 "\n", name(static_cast<Result>(i)), s.front.results[i]);
    }
  }
  for (uint32_t i = 1; i < wire::kParseErrorCount; ++i) {
    if (s.front.parse_errors[i] != 0) {
      out +=
          format("  malformed %-12s %20" PRIu64 "\n", name(static_cast<wire::ParseError>(i)), s.front.parse_errors[i]);
    }
  }
  append_fields(&out, s.nic ? cache_fields(s.nic->cache) : std::vector<Field>{}, "cache");
  append_fields(&out, s.nic ? front_link_fields(*s.nic) : std::vector<Field>{}, "link");
  append_fields(&out, s.nic ? frame_fields(s.nic->frames) : std::vector<Field>{}, "link");
  append_fields(&out, s.link_server ? back_link_fields(*s.link_server) : std::vector<Field>{}, "back");
  append_fields(&out, s.link_server ? frame_fields(s.link_server->frames) : std::vector<Field>{}, "back");
  if (!s.has_store) return out + "  ------------------------------------------------------------------------\n";
  out += format("  store: %" PRIu64 " records, load %.2f, %.1f bytes a record beside key and value, %" PRIu64
                " of %" PRIu64 " MiB used, %" PRIu64 " splits\n",
                s.store.records, s.store.load(), bytes_per_record(s.store), s.store.used_bytes >> 20,
                s.store.memory_bytes >> 20, s.store.splits);
  if (s.has_log) {
    out += format("  log: %" PRIu64 " records in %" PRIu64 " groups, %" PRIu64
                  " MiB written, longest write %.1f ms, %" PRIu64 " appends refused; %" PRIu64 " checkpoints\n",
                  s.log.records, s.log.groups, s.log.written_bytes >> 20,
                  static_cast<double>(s.log.longest_write_ns) / 1e6, s.log.full, s.keeper.checkpoints);
    if (!s.keeper.last_error.empty()) out += "  log trouble: " + s.keeper.last_error + "\n";
  }
  return out + "  ------------------------------------------------------------------------\n";
}

std::string to_json(const EngineStatistics& s) {
  std::vector<Field> results, errors;
  std::vector<std::string> names;  // keeps the lower-case names alive
  names.reserve(kResultCount);
  for (uint32_t i = 0; i < kResultCount; ++i) {
    const char* const result = name(static_cast<Result>(i));
    if (*result == '?') continue;
    names.push_back(lower(result));
    results.push_back({names.back().c_str(), s.front.results[i]});
  }
  for (uint32_t i = 1; i < wire::kParseErrorCount; ++i) {
    const char* const error = name(static_cast<wire::ParseError>(i));
    if (*error != '?') errors.push_back({error, s.front.parse_errors[i]});
  }
  std::string in_doubt;
  for (const InDoubt& t : s.in_doubt) {
    in_doubt += format("%s{\"session\": %" PRIu64 ", \"sequence\": %" PRIu64 ", \"shard\": %u, \"age_ns\": %" PRIu64
                       ", \"waits_for\": [%s]}",
                       in_doubt.empty() ? "" : ", ", t.id.session, t.id.sequence, t.shard, t.age_ns,
                       shard_list(t.waits_for).c_str());
  }
  std::string out = "{\"front\": " + json_object(front_fields(s)) + ", \"commit\": " + json_object(commit_fields(s)) +
                    ", \"in_doubt\": [" + in_doubt + "]" +
                    ", \"results\": " + json_object(results) +
                    ", \"malformed\": " + json_object(errors);
  out += format(", \"store\": {\"records\": %" PRIu64 ", \"buckets\": %" PRIu64 ", \"overflow_buckets\": %" PRIu64
                ", \"payload_bytes\": %" PRIu64 ", \"used_bytes\": %" PRIu64 ", \"memory_bytes\": %" PRIu64
                ", \"splits\": %" PRIu64 ", \"load\": %.4f, \"overhead_bytes_per_record\": %.2f}",
                s.store.records, s.store.buckets, s.store.overflow_buckets, s.store.payload_bytes, s.store.used_bytes,
                s.store.memory_bytes, s.store.splits, s.store.load(), bytes_per_record(s.store));
  out += ", \"tables\": {";
  for (size_t i = 0; i < s.table_records.size(); ++i) {
    out +=
        (i == 0 ? "" : ", ") + json_string(s.table_records[i].first) + format(": %" PRIu64, s.table_records[i].second);
  }
  out += "}";
  if (s.nic) {
    out += ", \"nic\": {\"cache\": " + json_object(cache_fields(s.nic->cache)) +
           ", \"link\": " + json_object(front_link_fields(*s.nic)) +
           ", \"frames\": " + json_object(frame_fields(s.nic->frames)) + "}";
  }
  if (s.link_server) {
    out += ", \"link_server\": {\"link\": " + json_object(back_link_fields(*s.link_server)) +
           ", \"frames\": " + json_object(frame_fields(s.link_server->frames)) + "}";
  }
  if (s.has_log) {
    out += ", \"log\": " + json_object(log_fields(s)) + ", \"log_trouble\": " + json_string(s.keeper.last_error);
  }
  return out + "}";
}

}  // namespace txnic::apps
