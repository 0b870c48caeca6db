// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/dataplane/link_fixture.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "dataplane/clock.h"
#include "dataplane/eal.h"
#include "dataplane/lcores.h"

namespace txnic::dataplane::test {
namespace {

std::string lcore_map(uint32_t lcores) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<uint32_t> cpus;
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  std::string map;
  for (uint32_t lcore = 0; lcore < lcores; ++lcore) {
    if (lcore != 0) map += ',';
    map.append(std::to_string(lcore)).append("@").append(std::to_string(cpus[lcore % cpus.size()]));
  }
  return map;
}

void nap() {
  const timespec time{0, 200'000};
  nanosleep(&time, nullptr);
}

uint16_t plug(const std::string& name, const std::string& arguments) {
  uint16_t id = 0;
  const int result = rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str());
  EXPECT_EQ(result, 0) << name;
  EXPECT_EQ(rte_eth_dev_get_port_by_name(name.c_str(), &id), 0);
  return id;
}

}  // namespace

void start_test_eal() {
  static bool started = false;
  if (started) return;
  started = true;
  const CommandLine line{
      {"test", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level", "4",
       "--file-prefix", "txnic-test-" + std::to_string(getpid()), "--lcores", lcore_map(kTestWorkers + 1)},
      {}};
  const EalStart eal = start_eal(line);
  ASSERT_TRUE(eal.ok) << eal.error;
  ASSERT_EQ(worker_lcore_count(), kTestWorkers);
  std::atexit(stop_eal);
}

bool eventually(const std::function<bool()>& condition) {
  const Clock clock = Clock::calibrated();
  constexpr TimeNs kPatienceNs = 60'000'000'000;
  for (const TimeNs start = clock.now(); clock.now() - start < kPatienceNs;) {
    if (condition()) return true;
    nap();
  }
  return condition();
}

Link::Link() {
  static int count = 0;
  ++count;
  char name[] = "/tmp/txnic-test-XXXXXX";
  EXPECT_NE(mkdtemp(name), nullptr);
  directory_ = name;
  socket_ = directory_ + "/s";
  listener_name_ = "net_memif_l" + std::to_string(count);
  connector_name_ = "net_memif_c" + std::to_string(count);
  plug_listener();
  connector_ = plug(connector_name_, "role=client,id=0,socket-abstract=no,socket=" + socket_);
}

void Link::plug_listener() {
  listener_ = plug(listener_name_, "role=server,id=0,socket-abstract=no,socket=" + socket_);
}

void Link::unplug_listener() { rte_eal_hotplug_remove("vdev", listener_name_.c_str()); }

Link::~Link() {
  rte_eal_hotplug_remove("vdev", connector_name_.c_str());
  rte_eal_hotplug_remove("vdev", listener_name_.c_str());
  unlink(socket_.c_str());
  rmdir(directory_.c_str());
}

Wire::Wire(uint16_t port_id, uint32_t queues) {
  options_.queues = queues;
  std::string error;
  EXPECT_TRUE(examine_port(port_id, options_, &port_, &error)) << error;
  pool_ = create_packet_pool("wire" + std::to_string(port_id), 8191, -1, &error);
  EXPECT_NE(pool_, nullptr) << error;
  EXPECT_TRUE(configure_port(options_, pool_, &port_, &error)) << error;
}

Wire::~Wire() {
  close_port(&port_);
  rte_mempool_free(pool_);
}

bool Wire::start() {
  std::string error;
  return start_port(&port_, &error);
}

bool Wire::connect() {
  std::string error;
  return eventually([&] {
    if (!port_.started && !start_port(&port_, &error)) return false;
    return port_link_is_up(port_);
  });
}

bool Wire::send(const std::vector<Frame>& frames, bool deaf, uint16_t queue) {
  constexpr uint16_t kBurst = 32;
  for (size_t at = 0; at < frames.size(); at += kBurst) {
    const auto count = static_cast<uint16_t>(std::min<size_t>(kBurst, frames.size() - at));
    std::array<rte_mbuf*, kBurst> packets;
    if (rte_pktmbuf_alloc_bulk(pool_, packets.data(), count) != 0) return false;
    for (uint16_t i = 0; i < count; ++i) {
      const Frame& f = frames[at + i];
      rte_mbuf* tail = packets[i];
      for (size_t done = 0; done < f.size() || done == 0;) {  // a long frame becomes a chain
        const auto part = static_cast<uint16_t>(std::min<size_t>(f.size() - done, rte_pktmbuf_tailroom(tail)));
        if (part != 0) std::memcpy(rte_pktmbuf_mtod(tail, uint8_t*), f.data() + done, part);
        tail->data_len = part;
        packets[i]->pkt_len += part;
        done += part;
        if (done >= f.size()) break;
        tail->next = rte_pktmbuf_alloc(pool_);
        tail = tail->next;
        ++packets[i]->nb_segs;
      }
    }
    uint16_t sent = 0;
    const bool all = eventually([&] {
      sent = static_cast<uint16_t>(
          sent + rte_eth_tx_burst(port_.id, queue, packets.data() + sent, static_cast<uint16_t>(count - sent)));
      if (!deaf) gather();
      return sent == count;
    });
    if (!all) {
      rte_pktmbuf_free_bulk(packets.data() + sent, static_cast<unsigned>(count - sent));
      return false;
    }
  }
  return true;
}

void Wire::gather() {
  std::array<rte_mbuf*, 64> packets;
  for (uint16_t q = 0; q < port_.rx_queues; ++q) {
    const uint16_t count = rte_eth_rx_burst(port_.id, q, packets.data(), 64);
    for (uint16_t i = 0; i < count; ++i) {
      const auto* data = rte_pktmbuf_mtod(packets[i], const uint8_t*);
      answers.emplace_back(data, data + packets[i]->data_len);
    }
    rte_pktmbuf_free_bulk(packets.data(), count);
  }
}

bool Wire::gather_until(size_t count) {
  return eventually([&] {
    gather();
    return answers.size() >= count;
  });
}

}  // namespace txnic::dataplane::test
