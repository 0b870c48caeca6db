// SPDX-License-Identifier: BSD-3-Clause
// The machine against the model node over a network that drops, doubles and reorders, with restarts: what is told as
// committed was executed exactly once, an abort never, an unknown outcome at most once. Each seed is one whole run.
#include <functional>
#include <map>

#include "tests/unit/client/harness.h"
#include "tests/unit/client/model_node.h"

namespace txnic::client::test {
namespace {

struct Weather {
  const char* name;
  uint32_t drop_per_mille = 100;
  uint32_t double_per_mille = 100;
  TimeNs delay_max_ns = 30 * kMs;  // longer than the first retransmission: copies overtake each other
  uint32_t restarts = 0;
  uint32_t keeps_window_percent = 50;
  TimeNs down_max_ns = 200 * kMs;
  uint32_t half_openings_per_mille = 100;
  uint32_t busy_per_mille = 0;
  uint32_t with_deadline_percent = 0;
  uint32_t window = 32;
  uint32_t node_window = 64;
};

class Run {
 public:
  Run(const Weather& weather, uint64_t seed)
      : weather_(weather), random_(seed), node_(model_options(weather, seed)) {
    MachineLimits limits;
    limits.window = weather.window;
    limits.slot_bytes = 256;
    const size_t bytes = SessionMachine::memory_bytes(limits);
    memory_.resize(bytes / sizeof(Line) + 1);
    machine_.init(limits, {memory_[0].bytes, bytes}, kSession, &Run::emit, this);
  }

  void play(uint32_t requests) {
    for (uint32_t i = 0; i < weather_.restarts; ++i) {
      const TimeNs when = now_ + 20 * kMs + random_() % (600 * kMs);
      restarts_.emplace(when, when + random_() % weather_.down_max_ns);
    }
    machine_.open(now_);
    for (uint32_t step = 0; step < 200'000; ++step) {
      while (submitted_ < requests && submit_one()) ++submitted_;
      if (submitted_ == requests && machine_.outstanding() == 0 && machine_.state() == MachineState::kOpen) break;
      advance();
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(submitted_, requests) << "the run did not come to its end";
    ASSERT_EQ(machine_.outstanding(), 0u);
    check();
  }

  const MachineStatistics& statistics() const { return machine_.statistics(); }

 private:
  struct alignas(64) Line { std::byte bytes[64]; };
  struct Told {
    Result result = Result::kBusy;
    uint32_t times = 0;
    bool read_only = false;
  };

  static ModelOptions model_options(const Weather& weather, uint64_t seed) {
    ModelOptions options;
    options.shards = 1;
    options.workers = 1;
    options.window = weather.node_window;
    options.busy_per_mille = weather.busy_per_mille;
    options.abort_per_mille = 100;
    options.opening_loss_per_mille = weather.half_openings_per_mille;
    options.seed = seed * 31 + 7;
    return options;
  }

  bool submit_one() {
    Slot* slot = machine_.acquire();
    if (slot == nullptr) return false;
    wire::ExecuteBuilder builder(slot->buffer());
    const bool read_only = random_() % 4 == 0;
    if (read_only) {
      builder.get(1, bytes_of("key"));
    } else {
      builder.put(1, bytes_of("key"), bytes_of("value"));
    }
    const bool limited = random_() % 100 < weather_.with_deadline_percent;
    told_[slot->sequence].read_only = read_only;
    machine_.submit(slot, builder, 0, limited ? now_ + random_() % (400 * kMs) : 0, now_);
    return true;
  }

  // To the next thing that happens: an arrival, a restart, a timer.
  void advance() {
    const TimeNs timer = machine_.next_poll();
    TimeNs next = timer < now_ ? now_ : timer;
    if (!arrivals_.empty() && arrivals_.begin()->first < next) next = arrivals_.begin()->first;
    ASSERT_NE(next, UINT64_MAX) << "nothing is waited for, but requests are outstanding";
    now_ = next > now_ ? next : now_;
    if (!restarts_.empty() && restarts_.begin()->first <= now_) {
      node_.restart(random_() % 100 < weather_.keeps_window_percent);
      down_until_ = restarts_.begin()->second;
      restarts_.erase(restarts_.begin());
    }
    while (!arrivals_.empty() && arrivals_.begin()->first <= now_) {
      auto packet = std::move(arrivals_.begin()->second);
      arrivals_.erase(arrivals_.begin());
      if (packet.to_node) {
        if (now_ < down_until_) continue;
        const auto reply = node_.handle(packet.bytes.data(), static_cast<uint32_t>(packet.bytes.size()));
        if (reply) carry(*reply, false);
      } else {
        tell(machine_.on_message(now_, packet.bytes.data(), static_cast<uint32_t>(packet.bytes.size())));
      }
    }
    for (int i = 0; i < 200; ++i) {
      const Event event = machine_.poll(now_);
      tell(event);
      if (event.kind == EventKind::kNone && machine_.next_poll() > now_) return;
    }
  }

  void tell(const Event& event) {
    if (event.kind == EventKind::kRefused) FAIL() << "opening refused: " << name(event.result);
    if (event.kind != EventKind::kSettled) return;
    Told& told = told_[event.slot->sequence];
    told.result = event.result;
    ++told.times;
    machine_.release(event.slot);
  }

  void carry(const Message& bytes, bool to_node) {
    const uint32_t copies = 1u + (random_() % 1000 < weather_.double_per_mille);
    for (uint32_t i = 0; i < copies; ++i) {
      if (random_() % 1000 < weather_.drop_per_mille) continue;
      // Most are quick, so that what is late is overtaken by whole openings.
      const TimeNs delay_max_ns = random_() % 4 == 0 ? weather_.delay_max_ns : weather_.delay_max_ns / 50;
      arrivals_.emplace(now_ + 1000 + random_() % delay_max_ns, Packet{to_node, bytes});
    }
  }

  static void emit(void* context, const std::byte* message, uint32_t length, uint32_t, uint32_t) {
    auto* self = static_cast<Run*>(context);
    const wire::Header h = wire::read_header(message);
    if (h.type == static_cast<uint8_t>(wire::Type::kExecute)) {
      // The watermark must never be ahead of what was told.
      const Sequence watermark = h.sequence - h.watermark_lag;
      for (auto at = self->told_.lower_bound(self->checked_below_); at != self->told_.end(); ++at) {
        if (at->first >= watermark) break;
        EXPECT_EQ(at->second.times, 1u) << "watermark " << watermark << " passes " << at->first;
      }
      EXPECT_GE(watermark, self->checked_below_) << "the watermark went back";
      self->checked_below_ = watermark;
      EXPECT_EQ(self->told_[h.sequence].times, 0u) << "sent after it was settled";
    }
    self->carry({message, message + length}, true);
  }

  void check() const {
    const MachineStatistics& s = machine_.statistics();
    EXPECT_EQ(s.submitted, submitted_);
    EXPECT_EQ(s.submitted, s.settled);
    EXPECT_EQ(s.settled, s.committed + s.aborted + s.unknown + s.refused + s.timed_out);
    EXPECT_EQ(s.received_messages, s.answers + s.session_messages + s.retryable + s.duplicates + s.stale +
                                       s.unmatched + s.malformed);
    EXPECT_EQ(s.malformed, 0u);
    for (const auto& [sequence, told] : told_) {
      ASSERT_EQ(told.times, 1u) << "sequence " << sequence;
      const auto found = node_.executions().find({kSession, sequence});
      const uint32_t executed = found == node_.executions().end() ? 0 : found->second;
      ASSERT_LE(executed, 1u) << "sequence " << sequence << " told as " << name(told.result);
      if (told.read_only) continue;
      if (told.result == Result::kCommitted) {
        ASSERT_EQ(executed, 1u) << "sequence " << sequence;
      }
      if (is_recorded(told.result) && told.result != Result::kCommitted) {
        ASSERT_EQ(executed, 0u) << "sequence " << sequence << " told as " << name(told.result);
      }
      // A single copy that was refused is not executed, unless the network doubles it.
      if (told.result == Result::kBusy && weather_.double_per_mille == 0) {
        ASSERT_EQ(executed, 0u) << "sequence " << sequence;
      }
    }
  }

  struct Packet {
    bool to_node;
    Message bytes;
  };
  Weather weather_;
  std::mt19937_64 random_;
  ModelNode node_;
  std::vector<Line> memory_;
  SessionMachine machine_;
  TimeNs now_ = 1'000'000'000;
  TimeNs down_until_ = 0;
  uint32_t submitted_ = 0;
  Sequence checked_below_ = 1;
  std::multimap<TimeNs, Packet> arrivals_;
  std::map<TimeNs, TimeNs> restarts_;
  std::map<Sequence, Told> told_;
};

MachineStatistics run_seeds(const Weather& weather, uint64_t seeds, uint32_t requests) {
  MachineStatistics total;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(std::string(weather.name) + ", seed " + std::to_string(seed));
    Run run(weather, seed);
    run.play(requests);
    const MachineStatistics& s = run.statistics();
    total.committed += s.committed;
    total.aborted += s.aborted;
    total.unknown += s.unknown;
    total.refused += s.refused;
    total.timed_out += s.timed_out;
    total.reopens += s.reopens;
    total.windows_lost += s.windows_lost;
    total.busy_retries += s.busy_retries;
    total.stale += s.stale;
    total.duplicates += s.duplicates;
    if (testing::Test::HasFailure()) break;
  }
  return total;
}

TEST(MachineLossy, DropsDoublesAndReorderingAreInvisible) {
  const MachineStatistics s = run_seeds({.name = "no restart"}, 100, 200);
  EXPECT_EQ(s.unknown, 0u);
  EXPECT_EQ(s.refused, 0u);
  EXPECT_GT(s.duplicates, 1000u);
}

TEST(MachineLossy, RestartsThatKeepTheWindowAreInvisible) {
  const MachineStatistics s =
      run_seeds({.name = "window kept", .restarts = 4, .keeps_window_percent = 100}, 100, 300);
  EXPECT_EQ(s.unknown, 0u);
  EXPECT_EQ(s.windows_lost, 0u);
  EXPECT_GT(s.reopens, 100u);
  EXPECT_GT(s.stale, 100u);
}

TEST(MachineLossy, RestartsThatLoseTheWindowMakeUnknownNeverTwice) {
  const MachineStatistics s = run_seeds({.name = "window lost", .restarts = 4, .keeps_window_percent = 0}, 100, 300);
  EXPECT_GT(s.unknown, 100u);
  EXPECT_GT(s.windows_lost, 100u);
}

TEST(MachineLossy, EverythingAtOnce) {
  const MachineStatistics s = run_seeds({.name = "all",
                                         .restarts = 5,
                                         .busy_per_mille = 150,
                                         .with_deadline_percent = 50,
                                         .node_window = 16},
                                        150, 300);
  EXPECT_GT(s.timed_out, 100u);
  EXPECT_GT(s.busy_retries, 100u);
}

TEST(MachineLossy, BusyIsNoAbortWithoutDoubling) {
  const MachineStatistics s = run_seeds(
      {.name = "busy", .double_per_mille = 0, .busy_per_mille = 300, .with_deadline_percent = 30}, 100, 200);
  EXPECT_GT(s.refused, 100u);
  EXPECT_GT(s.unknown, 0u);
}

// Answers from before a restart arrive long after the request was sent again under the new stamp (COMMIT 8). (Without
// half openings: those may lose a session that was not used yet.)
TEST(MachineLossy, LateAbortsFromBeforeARestartAreNoOutcome) {
  const MachineStatistics s = run_seeds({.name = "late",
                                         .delay_max_ns = 300 * kMs,
                                         .restarts = 8,
                                         .keeps_window_percent = 100,
                                         .down_max_ns = kMs,
                                         .half_openings_per_mille = 0,
                                         .window = 64},
                                        100, 300);
  EXPECT_EQ(s.unknown, 0u);
  EXPECT_GT(s.stale, 1000u);
}

TEST(MachineLossy, AWindowOfOne) {
  run_seeds({.name = "window 1", .delay_max_ns = kMs, .restarts = 3, .window = 1, .node_window = 1}, 20, 100);
}

TEST(MachineLossy, AStormOfLossStillEnds) {
  run_seeds({.name = "storm", .drop_per_mille = 600, .double_per_mille = 500, .restarts = 2, .window = 128}, 20, 100);
}

}  // namespace
}  // namespace txnic::client::test
