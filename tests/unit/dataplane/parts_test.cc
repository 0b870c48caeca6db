// SPDX-License-Identifier: BSD-3-Clause
// The parts that need no EAL: counters, watchdog, gate, command line, dead sockets, statistics text.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "dataplane/counters.h"
#include "dataplane/eal.h"
#include "dataplane/options.h"
#include "dataplane/poll_gate.h"
#include "dataplane/statistics.h"
#include "dataplane/transmit.h"
#include "dataplane/watchdog.h"

namespace txnic::dataplane {
namespace {

TEST(Counters, ReasonsHaveNamesAndModesAddTheirs) {
  for (uint32_t r = 0; r < reason::kFirstOfModes; ++r) EXPECT_GT(std::strlen(reason_name(static_cast<Reason>(r))), 2u);
  EXPECT_STREQ(reason_name(reason::kOther), "other");
  EXPECT_STREQ(reason_name(reason::kReplied), "replied");
  const Reason mine = register_reason("parts_test_reason");
  EXPECT_GE(mine, reason::kFirstOfModes);
  EXPECT_EQ(register_reason("parts_test_reason"), mine);
  EXPECT_STREQ(reason_name(mine), "parts_test_reason");
  EXPECT_EQ(register_reason("other"), reason::kOther);
}

TEST(Counters, ADropWithoutANameIsOther) {
  auto counters = std::make_unique<WorkerCounters>();
  const Reason named = register_reason("parts_test_named");
  counters->drop(named);
  counters->expect_named_drops(3);
  counters->settle_drops();
  EXPECT_EQ(counters->ended[named].read(), 1u);
  EXPECT_EQ(counters->ended[reason::kOther].read(), 2u);
  EXPECT_EQ(counters->ended_total(), 3u);
  counters->settle_drops();
  EXPECT_EQ(counters->ended_total(), 3u);
}

TEST(Watchdog, ReportsSilenceOnceWithItsStage) {
  Progress worker;
  Watchdog watchdog({&worker});
  std::vector<std::string> notes;
  constexpr TimeNs kSecond = 1'000'000'000;
  watchdog.tick(100 * kSecond, &notes);
  EXPECT_TRUE(notes.empty()) << "not started";
  worker.enter(Stage::kProcess);
  worker.last_poll_ns.store(100 * kSecond);
  watchdog.tick(100 * kSecond + kSecond / 2, &notes);
  EXPECT_TRUE(notes.empty());
  watchdog.tick(103 * kSecond, &notes);
  watchdog.tick(104 * kSecond, &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("worker 0"), std::string::npos);
  EXPECT_NE(notes[0].find("\"process\""), std::string::npos);
  worker.last_poll_ns.store(104 * kSecond);
  watchdog.tick(104 * kSecond, &notes);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(watchdog.stalls(), 1u);
  worker.enter(Stage::kStopped);
  watchdog.tick(200 * kSecond, &notes);
  EXPECT_EQ(notes.size(), 2u);
  EXPECT_EQ(watchdog.samples()[static_cast<size_t>(Stage::kProcess)], 4u);
  uint64_t all = 0;
  for (const uint64_t count : watchdog.samples()) all += count;
  EXPECT_EQ(all, 4u) << "a worker that does not run is in no stage";
}

TEST(PollGate, ClosedMeansNobodyIsInside) {
  PollGate gate;
  constexpr uint16_t kPort = 3;
  std::atomic<bool> stop{false};
  std::atomic<bool> alive{true};  // what the driver stands on
  std::atomic<uint64_t> calls{0}, wrong{0};
  std::thread poller([&] {
    while (!stop.load()) {
      if (!gate.enter(kPort)) {
        std::this_thread::yield();
        continue;
      }
      for (int i = 0; i < 20; ++i) wrong.fetch_add(alive.load() ? 0 : 1);
      calls.fetch_add(1);
      gate.leave();
    }
  });
  uint64_t closings = 0;
  for (int round = 0; round < 300; ++round) {
    if (gate.close(kPort, 5000)) {
      alive.store(false);
      ++closings;
      alive.store(true);
    }
    gate.open(kPort);
    const uint64_t before = calls.load();
    for (int i = 0; i < 100'000 && calls.load() == before; ++i) std::this_thread::yield();
  }
  stop.store(true);
  poller.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(closings, 0u);
  EXPECT_GT(calls.load(), 0u);
}

TEST(PollGate, WaitingIsBounded) {
  PollGate gate;
  ASSERT_TRUE(gate.enter(0));
  EXPECT_FALSE(gate.close(0, 2));
  EXPECT_FALSE(PollGate::wait_until_outside_all(2));
  gate.leave();
  EXPECT_TRUE(gate.wait_until_outside(2));
  EXPECT_FALSE(gate.enter(0));
  EXPECT_TRUE(gate.enter(1));
  gate.leave();
}

TEST(CommandLine, SplitsAtTheFirstDashes) {
  const char* argv[] = {"txnode", "-l", "1", "--", "--config", "x", "--", "y"};
  const CommandLine line = split_command_line(8, const_cast<char**>(argv));
  EXPECT_EQ(line.eal, (std::vector<std::string>{"txnode", "-l", "1"}));
  EXPECT_EQ(line.ours, (std::vector<std::string>{"--config", "x", "--", "y"}));
  const CommandLine without = split_command_line(2, const_cast<char**>(argv));
  EXPECT_TRUE(without.ours.empty());
}

class DeadSockets : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/txnic-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    unlink(path().c_str());
    rmdir(directory_.c_str());
  }
  std::string path() const { return directory_ + "/s"; }
  bool exists() const {
    struct stat info {};
    return lstat(path().c_str(), &info) == 0;
  }
  int listen_there() const {
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
  }
  std::string device(const char* role) const { return "--vdev=net_x0,role=" + std::string(role) + ",socket=" + path(); }
  std::string directory_;
};

TEST_F(DeadSockets, RemovedWhenNobodyListens) {
  close(listen_there());
  ASSERT_TRUE(exists());
  EXPECT_TRUE(remove_dead_sockets({"p", device("client")}).empty());
  EXPECT_TRUE(exists());
  EXPECT_EQ(remove_dead_sockets({"p", "--vdev", device("server").substr(7)}).size(), 1u);
  EXPECT_FALSE(exists());
}

TEST_F(DeadSockets, LeftAloneWhenSomebodyListens) {
  const int fd = listen_there();
  EXPECT_TRUE(remove_dead_sockets({"p", device("server")}).empty());
  EXPECT_TRUE(exists());
  close(fd);
}

TEST_F(DeadSockets, OtherFilesAreNotSockets) {
  std::ofstream(path()) << "precious";
  EXPECT_TRUE(remove_dead_sockets({"p", device("server")}).empty());
  EXPECT_TRUE(exists());
}

TEST(QueueOwner, EveryQueueHasOneOwnerAndWorkersShare) {
  for (uint32_t workers = 1; workers <= 8; ++workers) {
    for (uint32_t queues = 1; queues <= 8; ++queues) {
      for (uint32_t q = 0; q < queues; ++q) EXPECT_LT(queue_owner(0, q, queues, workers), workers);
    }
    if (workers > 1) {
      EXPECT_NE(queue_owner(0, 0, 1, workers), queue_owner(1, 0, 1, workers));
    }
  }
  EXPECT_EQ(queue_owner(1, 1, 2, 2), 1u) << "as many queues as workers: queue w is worker w's";
}

TEST(Options, Idle) {
  Idle idle = Idle::kPoll;
  EXPECT_TRUE(parse_idle("sleep", &idle));
  EXPECT_EQ(idle, Idle::kSleep);
  EXPECT_FALSE(parse_idle("slumber", &idle));
}

TEST(Statistics, TextIsShapedLikeTestpmd) {
  Totals totals;
  totals.received = totals.ended_total = 12;
  totals.stage_samples[static_cast<size_t>(Stage::kProcess)] = 7;
  totals.ended[reason::kReplied] = 12;
  totals.ports.push_back(
      {.port = 0, .name = "p0", .rx_packets = 12, .rx_missed = 1, .tx_packets = 11, .tx_dropped = 1});
  const std::string forward = forward_statistics(totals);
  EXPECT_NE(forward.find("---------------------- Forward statistics for port 0  ----------------------\n"
                         "  RX-packets: 12             RX-dropped: 1             RX-total: 13\n"
                         "  TX-packets: 11             TX-dropped: 1             TX-total: 12\n"),
            std::string::npos)
      << forward;
  EXPECT_NE(forward.find("+++ Accumulated forward statistics for all ports+++"), std::string::npos);
  Totals later = totals;
  later.time_ns = totals.time_ns + 500'000'000;
  later.ports[0].rx_packets += 1000;
  EXPECT_NE(period_statistics(later, totals).find("Rx-pps:         2000"), std::string::npos);
  EXPECT_NE(counters_table(totals).find("replied                  12"), std::string::npos);
  const std::string json = to_json(totals);
  EXPECT_NE(json.find("\"replied\":12"), std::string::npos);
  EXPECT_NE(json.find("\"stage_samples\":{\"receive\":0,\"parse\":0,\"process\":7,"), std::string::npos) << json;
  EXPECT_EQ(std::count(json.begin(), json.end(), '{'), std::count(json.begin(), json.end(), '}'));
  EXPECT_EQ(json.find('\n'), std::string::npos);
}

TEST(Statistics, WhatTheNodeSentByItself) {
  Totals totals;
  EXPECT_EQ(counters_table(totals).find("Sent by itself"), std::string::npos) << "nothing, nothing to tell";
  totals.outbox.messages = 10;
  totals.outbox.frames = 3;
  totals.outbox.worker_frames = 2;
  totals.outbox.lost[static_cast<size_t>(Lost::kUnresolved)] = 4;
  totals.outbox.lost[static_cast<size_t>(Lost::kRingFull)] = 1;
  totals.outbox.arp_requests = 6;
  totals.outbox.next_hops = 2;
  totals.outbox.next_hops_known = 1;
  const std::string text = counters_table(totals);
  EXPECT_NE(text.find("Sent by itself: 10 messages, 3 frames to other nodes, 2 between workers; lost messages 5 "
                      "(ring_full 1, unresolved 4)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Next hops: 1 of 2 known, 6 ARP requests, 0 unanswered"), std::string::npos) << text;
  EXPECT_NE(to_json(totals).find("\"lost\":{\"no_packet\":0,\"ring_full\":1,\"unresolved\":4,\"no_shard\":0}"),
            std::string::npos);
}

TEST(Statistics, Quantile) {
  Totals totals;
  totals.step_buckets[10] = 99;
  totals.step_buckets[20] = 1;
  totals.longest_step_ns = 1'500'000;
  EXPECT_EQ(step_quantile_ns(totals, 0.5), 2048u);
  EXPECT_EQ(step_quantile_ns(totals, 1.0), 1'500'000u);
}

}  // namespace
}  // namespace txnic::dataplane
