// SPDX-License-Identifier: BSD-3-Clause
// One table of options: reading and --help come from it.
#include "pktgen/apps/options.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "dataplane/transport_queue.h"
#include "pktgen/apps/values.h"
#include "pktgen/templates/pcap.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

namespace {

constexpr double kSecondsMax = 1e6;
constexpr double kRateMax = 1e9;

struct OptionEntry {
  const char* name;      // without the dashes
  const char* argument;  // null: a switch
  const char* about;
  std::function<bool(Options&, const std::string&)> set;  // false: not a value of this option
};

struct OptionGroup {
  const char* title;
  std::vector<OptionEntry> entries;
};

// ---- setters for the common kinds of values -----------------------------------------------------
template <class T, class Field>
auto number(Field field, uint64_t least, uint64_t most) {
  return [=](Options& o, const std::string& text) {
    uint64_t value = 0;
    if (!read_number(text, least, most, &value)) return false;
    field(o) = static_cast<T>(value);
    return true;
  };
}
template <class Field>
auto real(Field field, double least, double most) {
  return [=](Options& o, const std::string& text) { return read_real(text, least, most, &field(o)); };
}
template <class Field>
auto path(Field field) {
  return [=](Options& o, const std::string& text) {
    field(o) = text;
    return !text.empty();
  };
}
template <class Set>
auto flag(Set set) {
  return [=](Options& o, const std::string&) {
    set(o);
    return true;
  };
}
#define FIELD(expression) [](Options& o) -> auto& { return o.expression; }

template <class Field>
auto milliseconds(Field field) {
  return [=](Options& o, const std::string& text) {
    double value = 0;
    if (!read_real(text, 0, kSecondsMax * 1e3, &value)) return false;
    field(o) = static_cast<TimeNs>(value * 1e6);
    return true;
  };
}

bool set_idle(Options& o, const std::string& text) {
  if (text == "poll") o.load.idle = Idle::kPoll;
  else if (text == "yield") o.load.idle = Idle::kYield;
  else if (text == "sleep") o.load.idle = Idle::kSleep;
  else return false;
  return true;
}

bool set_checksums(Options& o, const std::string& text) {
  if (text == "auto") o.checksums = Checksums::kAuto;
  else if (text == "off") o.checksums = Checksums::kOff;
  else if (text == "on") o.checksums = Checksums::kOn;
  else return false;
  return true;
}

bool set_transport(Options& o, const std::string& text) {
  if (text != "port" && text != "socket") return false;
  o.transport = text == "port" ? TransportKind::kPort : TransportKind::kSocket;
  return true;
}

bool set_initial_balance(Options& o, const std::string& text) {
  return read_signed(text, &o.workload.initial_balance_cents) && o.workload.initial_balance_cents >= 0 &&
         o.workload.initial_balance_cents <= int64_t{1} << 40;
}

// The first one is what sessions begin with.
bool read_node(const std::string& text, Options* o) {
  Endpoint node{0, wire::kBasePortDefault};
  if (!read_endpoint(text, &node)) return false;
  if (o->has_node) {
    o->more_nodes.push_back(node);
  } else {
    o->node = node;
  }
  o->has_node = true;
  return o->more_nodes.size() < limits::kNodesMax;
}

OptionGroup node_group() {
  return {"Node and network",
          {{"node", "ADDR[:PORT]",
            "the node's IPv4 address and base UDP port (10.99.0.1:7700); again for further nodes\n"
            "of a cluster that are behind ports of their own, from --port-id on",
            [](Options& o, const std::string& t) { return read_node(t, &o); }},
           {"address", "ADDR", "our own IPv4 address (10.99.0.2; socket: the kernel's choice)",
            [](Options& o, const std::string& t) { return o.has_local_address = read_address(t, &o.local.address); }},
           {"port", "PORT", "our own UDP port (a free or random one)", number<uint16_t>(FIELD(local.port), 1, 65535)},
           {"transport", "port|socket", "a DPDK port (port), or kernel UDP without DPDK (socket)", set_transport},
           {"port-id", "N", "DPDK port to use (0)", number<uint16_t>(FIELD(port_id), 0, 31)},
           {"queues", "N", "queues of the DPDK port; a shared-memory link has as many at both ends (1)",
            number<uint32_t>(FIELD(queues), 1, dataplane::kTransportQueuesMax)},
           {"descriptors", "N", "packets in a ring of the DPDK port, each way (1024)",
            number<uint32_t>(FIELD(descriptors), 64, 32768)},
           {"checksum", "auto|off|on", "UDP checksums over a DPDK port (auto: off towards software devices, else on)",
            set_checksums},
           {"raw", nullptr, "the peer is no node: it sends our frames back with MACs swapped (testpmd macswap)",
            flag([](Options& o) { o.raw = true; })},
           {"give-up", "SECONDS", "end after so long without an answer (60)",
            [](Options& o, const std::string& t) {
              double seconds = 0;
              if (!read_real(t, 0.1, kSecondsMax, &seconds)) return false;
              o.load.give_up_ns = static_cast<TimeNs>(seconds * 1e9);
              return true;
            }}}};
}

OptionGroup workload_group() {
  return {
      "Workload",
      {{"workload", "NAME", "see the list below (get)", path(FIELD(workload.name))},
       {"records", "N", "records, accounts or subscribers (1000000)",
        number<uint64_t>(FIELD(workload.records), 2, kRecordsMax)},
       {"accounts", "N", "the same", number<uint64_t>(FIELD(workload.records), 2, kRecordsMax)},
       {"value-size", "BYTES", "of a value (40; retwis: 64; append: 256; ycsb: 1000, with --operations 100)",
        number<uint32_t>(FIELD(workload.value_bytes), 0, limits::kValueBytesMax)},
       {"operations", "K", "ycsb: operations in one transaction (1, the plain form)",
        number<uint32_t>(FIELD(workload.operations), 1, kOperationsPerTransactionMax)},
       {"theta", "X", "ycsb, retwis: Zipf constant, 0 (uniform) to below 1 (0.99; retwis: 0.5)",
        real(FIELD(workload.theta), 0, 0.9999)},
       {"hot-accounts", "PERCENT", "smallbank: how many accounts are hot (4)",
        real(FIELD(workload.hot_accounts_percent), 0, 100)},
       {"hot-transactions", "PERCENT", "smallbank: transactions that draw from the hot ones (90)",
        real(FIELD(workload.hot_transactions_percent), 0, 100)},
       {"remote", "PERCENT",
        "smallbank, rmw, ycsb, retwis: transactions of several keys that take them from several shards (0)",
        real(FIELD(workload.remote_percent), 0, 100)},
       {"initial-balance", "CENTS", "smallbank: of each account when loaded (1000000)", set_initial_balance},
       {"keys", "N", "append: lists in use at a time; cycle: keys of the ring (512)",
        number<uint32_t>(FIELD(workload.keys), 4, kContendedKeysMax)},
       {"adds", "N", "counter: additions of each client (until the time is over)",
        number<uint64_t>(FIELD(workload.adds), 1, 1ull << 40)},
       {"first-client", "N", "counter: number of the first client, for several generators at once (0)",
        number<uint64_t>(FIELD(workload.first_client), 0, 1ull << 32)},
       {"table", "ID", "table of echo, get, put, rmw, ycsb, retwis, counter, append, cycle (1)",
        number<TableId>(FIELD(workload.table), 0, 65535)},
       {"savings-table", "ID", "smallbank (2)", number<TableId>(FIELD(workload.savings_table), 0, 65535)},
       {"checking-table", "ID", "smallbank (3)", number<TableId>(FIELD(workload.checking_table), 0, 65535)},
       {"tatp-table", "ID", "tatp: the first of its five (11)", number<TableId>(FIELD(workload.tatp_table), 0, 65531)},
       {"load", nullptr, "write all records before the run (the default)", flag([](Options& o) { o.do_load = true; })},
       {"no-load", nullptr, "they are there already", flag([](Options& o) { o.do_load = false; })},
       {"load-only", nullptr, "load, then end", flag([](Options& o) { o.load_only = true; })}}};
}

OptionGroup load_group() {
  return {"Load",
          {{"window", "N", "transactions in flight at most, over all sessions (512; with --rate 4096)",
            [](Options& o, const std::string& t) {
              uint64_t value = 0;
              o.has_window = read_number(t, 1, 1 << 20, &value);
              if (o.has_window) o.load.window = static_cast<uint32_t>(value);
              return o.has_window;
            }},
           {"sessions", "N", "sessions with the node (as many as the window needs: one for 128)",
            number<uint32_t>(FIELD(load.sessions), 1, kSessionsMax)},
           {"rate", "N", "open loop: N transactions a second, Poisson arrivals, timed from the intended send",
            real(FIELD(rate), 1e-3, kRateMax)},
           {"duration", "SECONDS", "measured time (10); 0: until the workload has nothing left",
            [](Options& o, const std::string& t) {
              return o.has_duration = read_real(t, 0, kSecondsMax, &o.duration_seconds);
            }},
           {"warmup", "SECONDS", "before the measured time (0.5)", real(FIELD(warmup_seconds), 0, kSecondsMax)},
           {"transactions", "N", "end after N transactions", number<uint64_t>(FIELD(transactions), 1, 1ull << 62)},
           {"deadline", "MS", "of each request; without one it is sent until it is answered (none)",
            milliseconds(FIELD(load.deadline_ns))},
           {"burst", "N", "packets in one burst (64)", number<uint32_t>(FIELD(load.burst), 1, limits::kBurstMax)},
           {"idle", "poll|yield|sleep", "what to do while nothing arrives (poll; socket: sleep)", set_idle},
           {"seed", "N", "of everything that is drawn (1)", number<uint64_t>(FIELD(load.seed), 0, ~0ull)}}};
}

OptionGroup result_group() {
  return {
      "Results",
      {{"json", "FILE", "the result as one JSON object (pktgen/report/result.proto); - is standard output",
        path(FIELD(json_path))},
       {"name", "NAME", "name of the result row (the workload's)", path(FIELD(row_name))},
       {"progress", nullptr, "a live line each second also when standard error is no terminal",
        flag([](Options& o) { o.progress = true; })},
       {"histogram", nullptr, "with --json: the latency histogram's cells, so that several runs can be merged",
        flag([](Options& o) { o.histogram = true; })},
       {"quiet", nullptr, "no live line, no table", flag([](Options& o) { o.quiet = true; })},
       {"no-check", nullptr, "skip the workload's own check at the end", flag([](Options& o) { o.do_check = false; })},
       {"ledger", "FILE", "smallbank, counter: what the acknowledged transactions must have done, for --verify",
        path(FIELD(ledger_path))},
       {"history", "FILE", "append: what clients did and were told, for ./txnic check (Jepsen's EDN)",
        path(FIELD(workload.history_path))},
       {"verify", "FILE", "no run: compare the node's data with a ledger; repeat it for generators that ran at once",
        [](Options& o, const std::string& t) {
          o.verify_paths.push_back(t);
          return !t.empty();
        }},
       {"help", nullptr, "this text", flag([](Options& o) { o.help = true; })}}};
}

OptionGroup template_group() {
  return {"Packet templates (no run, no DPDK)",
          {{"write-pcap", "FILE", "write requests of a static session for packet generators that can only replay",
            path(FIELD(pcap_path))},
           {"count", "N", "packets (10000)", number<uint64_t>(FIELD(template_count), 1, kTemplateCountMax)},
           {"node-mac", "MAC", "the node's MAC address (broadcast)",
            [](Options& o, const std::string& t) { return o.has_node_mac = read_mac(t, &o.node_mac); }},
           {"static-session", "ID", "as in the node's configuration (1)",
            number<uint64_t>(FIELD(static_session), 1, ~0ull)},
           {"shards", "N", "of the node (1)", number<uint32_t>(FIELD(template_shards), 1, limits::kShardsMax)},
           {"workers", "N", "of the node (1)", number<uint32_t>(FIELD(template_workers), 1, limits::kWorkersMax)}}};
}
#undef FIELD

const std::vector<OptionGroup>& groups() {
  static const std::vector<OptionGroup> all = {node_group(), workload_group(), load_group(), result_group(),
                                               template_group()};
  return all;
}

const OptionEntry* find_entry(const std::string& name) {
  for (const OptionGroup& group : groups()) {
    for (const OptionEntry& entry : group.entries) {
      if (name == entry.name) return &entry;
    }
  }
  return nullptr;
}

std::string closest(const std::string& name) {
  std::string best;
  size_t best_distance = 4;
  for (const OptionGroup& group : groups()) {
    for (const OptionEntry& entry : group.entries) {
      const size_t distance = edit_distance(name, entry.name);
      if (distance < best_distance) {
        best_distance = distance;
        best = entry.name;
      }
    }
  }
  return best;
}

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

// Everything that shapes the run, defaults included; not where results go.
std::string hash_of(const Options& o) {
  const WorkloadSettings& w = o.workload;
  const LoadSettings& l = o.load;
  char text[640];
  std::snprintf(
      text, sizeof text,
      "%s %llu %u %u %.17g %u %u %u %u %lld %.17g %.17g %.17g %u %llu %llu | %u %u %u %llu %llu %d %llu | %d %d %d %d "
      "%u %u %.17g %.17g %.17g %llu %zu",
      w.name.c_str(), static_cast<unsigned long long>(w.records), w.value_bytes, w.operations, w.theta, w.table,
      w.savings_table, w.checking_table, w.tatp_table, static_cast<long long>(w.initial_balance_cents),
      w.hot_accounts_percent, w.hot_transactions_percent, w.remote_percent, w.keys,
      static_cast<unsigned long long>(w.adds),
      static_cast<unsigned long long>(w.first_client), l.sessions, l.window, l.burst,
      static_cast<unsigned long long>(l.deadline_ns), static_cast<unsigned long long>(l.give_up_ns),
      static_cast<int>(l.idle), static_cast<unsigned long long>(l.seed), static_cast<int>(o.transport), o.raw ? 1 : 0,
      o.do_load ? 1 : 0, static_cast<int>(o.checksums), o.queues, o.descriptors, o.rate, o.warmup_seconds,
      o.duration_seconds, static_cast<unsigned long long>(o.transactions), o.more_nodes.size());
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(fnv1a(text)));
  return hash;
}

// What does not go together, and defaults that depend on other options.
bool complete(Options* o, std::string* error) {
  o->load.node = o->node;
  if (o->rate > 0 && !o->has_window) o->load.window = 4096;
  if (o->load.sessions > o->load.window) {
    o->notes.push_back("only " + std::to_string(o->load.window) + " of " + std::to_string(o->load.sessions) +
                       " sessions are of use with --window " + std::to_string(o->load.window));
    o->load.sessions = o->load.window;
  }
  if (o->transport == TransportKind::kSocket && o->load.idle == Idle::kPoll) o->load.idle = Idle::kSleep;
  if (o->raw && o->transport == TransportKind::kSocket) {
    *error = "--raw needs a DPDK port: a kernel socket never sees frames that are not addressed to it";
  } else if (!o->more_nodes.empty() && (o->raw || o->transport == TransportKind::kSocket)) {
    *error = "several --node go with DPDK ports and nodes: each one is behind a port of its own";
  } else if (!o->verify_paths.empty() && (!o->ledger_path.empty() || o->load_only)) {
    *error = "--verify makes no run: it does not go with --ledger or --load-only";
  } else if (o->duration_seconds == 0 && o->transactions == 0 && o->workload.adds == 0 && !o->load_only &&
             o->verify_paths.empty() && o->pcap_path.empty()) {
    *error = "--duration 0 would never end here: give --transactions, --adds or --load-only with it";
  }
  if (error->empty() && o->pcap_path.empty()) make_workload(o->workload, error);
  // A count is a limit of its own: no time, unless one is asked for.
  if ((o->transactions != 0 || o->workload.adds != 0) && !o->has_duration) o->duration_seconds = 0;
  if (o->transactions != 0 || o->workload.adds != 0) o->warmup_seconds = 0;
  o->config_hash = hash_of(*o);
  if (o->row_name.empty()) o->row_name = o->workload.name;
  return error->empty();
}

}  // namespace

bool parse_options(const std::vector<std::string>& arguments, Options* options, std::string* error) {
  error->clear();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-h") {
      options->help = true;
      continue;
    }
    if (word.rfind("--", 0) != 0 || word.size() == 2) {
      *error = "unexpected argument '" + word + "': options begin with '--' (see --help)";
      return false;
    }
    const size_t equals = word.find('=');
    const std::string option = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const OptionEntry* const entry = find_entry(option);
    if (entry == nullptr) {
      const std::string hint = closest(option);
      *error = "unknown option '--" + option + "'" +
               (hint.empty() ? std::string(": see --help") : "; did you mean --" + hint + "?");
      return false;
    }
    std::string value;
    if (entry->argument == nullptr && equals != std::string::npos) {
      *error = "--" + option + " takes no value";
      return false;
    }
    if (entry->argument != nullptr && equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (entry->argument != nullptr) {
      if (i + 1 == arguments.size()) {
        *error = "--" + option + " needs a value: --" + option + " " + entry->argument;
        return false;
      }
      value = arguments[++i];
    }
    if (!entry->set(*options, value)) {
      *error = "--" + option + " " + value + ": not a valid " + entry->argument + " (" + entry->about + ")";
      return false;
    }
  }
  return options->help || complete(options, error);
}

std::string help_text() {
  std::string text =
      "txgen: load generator and checker of txnic\n"
      "\n"
      "  txgen EAL-ARGUMENTS -- OPTIONS            over a DPDK port\n"
      "  txgen --transport socket OPTIONS          over kernel UDP, no DPDK\n"
      "  txgen --write-pcap FILE OPTIONS           packet templates, no run\n"
      "\n"
      "  txgen -l 0,1 --vdev=net_memif0,role=client,socket=/run/txnic.sock -- \\\n"
      "    --node 10.99.0.1:7700 --address 10.99.0.2 --workload smallbank --accounts 1000000 \\\n"
      "    --sessions 16 --window 512 --duration 10 --json out.json\n";
  char line[256];
  for (const OptionGroup& group : groups()) {
    text += std::string("\n") + group.title + "\n";
    for (const OptionEntry& entry : group.entries) {
      const std::string head =
          std::string("--") + entry.name + (entry.argument != nullptr ? std::string(" ") + entry.argument : "");
      std::snprintf(line, sizeof line, "  %-26s %s\n", head.c_str(), entry.about);
      text += line;
    }
  }
  text += "\nWorkloads\n";
  for (const WorkloadEntry& entry : workload_catalogue()) {
    std::snprintf(line, sizeof line, "  %-26s %s\n", entry.name, entry.about);
    text += line;
  }
  text +=
      "\nCtrl-C ends the run: what is in flight is waited for, checked, and the table printed; a second one does not\n"
      "wait. A node that is restarted during a run is waited for: sessions are opened again, and the checks hold.\n"
      "\n"
      "Exit codes\n"
      "  0  finished, all checks passed\n"
      "  1  a check failed: money, counters, values, or sent = committed + aborted + refused + unknown\n"
      "  2  wrong command line or ledger file\n"
      "  3  cannot start: DPDK, port or socket, or no node that answers and takes our sessions\n"
      "  4  the run could not go on: the node fell silent for --give-up seconds, or refused it for good\n";
  return text;
}

}  // namespace txnic::pktgen
