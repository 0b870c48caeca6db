// SPDX-License-Identifier: BSD-3-Clause
// How many queues: as many as workers if the port spreads packets over them (RSS). A port that does not spread has one
// queue, unless the device itself was made with a few (af_packet qpairs=, several rx_pcap= files): then all of them are
// used, since packets arrive at each. Shared-memory links (net_memif) could have hundreds, but work only if both ends
// agree: `queues` asks for them explicitly.
#include "dataplane/port.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "dataplane/driver_thread.h"
#include "dataplane/memory.h"

namespace txnic::dataplane {
namespace {

constexpr uint32_t kDeviceQueuesMax = 8;     // a device that offers more does not mean them to be polled
constexpr uint32_t kDescriptorsLeast = 64;
constexpr uint32_t kFrameOverheadBytes = 18; // Ethernet header and checksum
constexpr uint32_t kPoolCachePackets = 512;

std::string failure(const Port& port, const char* what, int result) {
  return "port " + std::to_string(port.id) + " (" + port.name + "): " + what + ": " + rte_strerror(-result);
}

bool is_on_virtual_bus(const rte_eth_dev_info& info) {
  if (info.device == nullptr) return false;
  const rte_bus* bus = rte_dev_bus(info.device);
  return bus != nullptr && std::strcmp(rte_bus_name(bus), "vdev") == 0;
}

bool is_listening(const rte_eth_dev_info& info) {
  const rte_devargs* arguments = info.device == nullptr ? nullptr : rte_dev_devargs(info.device);
  if (arguments == nullptr || arguments->args == nullptr) return false;
  return std::strstr(arguments->args, "role=server") != nullptr ||
         std::strstr(arguments->args, "role=master") != nullptr;
}

// Stop, start and close of a virtual port, one after the other with its driver's events (driver_thread.h).
void control(const Port& port, const std::function<void()>& body) {
  if (port.is_virtual) {
    run_in_interrupt_thread(body);
  } else {
    body();
  }
}

void choose_queues(const PortOptions& options, const rte_eth_dev_info& info, Port* port) {
  const uint32_t most = std::max<uint32_t>(1, std::min(info.max_rx_queues, info.max_tx_queues));
  uint32_t queues = 1;
  port->spreads = false;
  if (options.queues != 0) {
    queues = std::min(options.queues, most);
    port->spreads = queues > 1 && info.flow_type_rss_offloads != 0;
  } else if (info.flow_type_rss_offloads != 0) {
    queues = std::min(options.workers, most);
    port->spreads = queues > 1;
  } else if (most <= kDeviceQueuesMax) {
    queues = most;
  }
  // The same number each way: some devices (net_tap) insist, and none minds.
  port->rx_queues = static_cast<uint16_t>(queues);
  port->tx_queues = static_cast<uint16_t>(queues);
}

std::string describe(const Port& port, const rte_eth_dev_info& info) {
  std::string text = "port " + std::to_string(port.id) + " (" + port.name + "): MAC ";
  char mac[18];
  std::snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", port.mac[0], port.mac[1], port.mac[2], port.mac[3],
                port.mac[4], port.mac[5]);
  text += mac;
  text += ", " + std::to_string(port.rx_queues) + (port.rx_queues == 1 ? " queue" : " queues");
  text += " each way of " + std::to_string(port.rx_descriptors) + "/" + std::to_string(port.tx_descriptors);
  text += port.spreads ? ", RSS" : info.flow_type_rss_offloads != 0 ? ", RSS not needed" : ", no RSS";
  text += ", rx checksums by ";
  text += port.checks_udp && port.checks_ip ? "hardware" : "software";
  text += ", tx UDP checksums by ";
  text += port.computes_udp ? "hardware" : "software";
  return text;
}

}  // namespace

std::vector<uint16_t> available_ports() {
  std::vector<uint16_t> ids;
  for (uint64_t id = rte_eth_find_next_owned_by(0, RTE_ETH_DEV_NO_OWNER); id < RTE_MAX_ETHPORTS;
       id = rte_eth_find_next_owned_by(static_cast<uint16_t>(id + 1), RTE_ETH_DEV_NO_OWNER)) {
    ids.push_back(static_cast<uint16_t>(id));
  }
  return ids;
}

uint32_t port_packet_count(const Port& port) {
  return uint32_t{port.rx_queues} * port.rx_descriptors + uint32_t{port.tx_queues} * port.tx_descriptors;
}

bool examine_port(uint16_t id, const PortOptions& options, Port* port, std::string* error) {
  port->id = id;
  char name[RTE_ETH_NAME_MAX_LEN] = "?";
  rte_eth_dev_get_name_by_port(id, name);
  port->name = name;
  rte_eth_dev_info info{};
  int result = rte_eth_dev_info_get(id, &info);
  if (result != 0) {
    *error = failure(*port, "cannot ask what it can do", result);
    return false;
  }
  if (info.max_rx_queues == 0 || info.max_tx_queues == 0) {
    *error = "port " + std::to_string(id) + " (" + port->name + ") has no queue " +
             (info.max_rx_queues == 0 ? "to receive from" : "to send to") + ": give the device both directions";
    return false;
  }
  port->numa_node = rte_eth_dev_socket_id(id);
  port->is_virtual = is_on_virtual_bus(info);
  port->listens = is_listening(info);
  choose_queues(options, info, port);
  uint16_t rx = static_cast<uint16_t>(std::clamp<uint32_t>(options.rx_descriptors, kDescriptorsLeast, UINT16_MAX));
  uint16_t tx = static_cast<uint16_t>(std::clamp<uint32_t>(options.tx_descriptors, kDescriptorsLeast, UINT16_MAX));
  // Adjusts to the limits of the last configuration; devices keep them constant.
  rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx, &tx);
  port->rx_descriptors = rx;
  port->tx_descriptors = tx;
  const bool hardware = options.checksum == ChecksumPolicy::kAuto;
  port->checks_ip = hardware && (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0;
  port->checks_udp = hardware && (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0;
  port->computes_udp = hardware && (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0;
  rte_ether_addr mac{};
  if (rte_eth_macaddr_get(id, &mac) == 0) std::memcpy(port->mac.data(), mac.addr_bytes, port->mac.size());
  port->summary = describe(*port, info);
  return true;
}

bool configure_port(const PortOptions& options, rte_mempool* pool, Port* port, std::string* error) {
  rte_eth_dev_info info{};
  int result = rte_eth_dev_info_get(port->id, &info);
  rte_eth_conf conf{};
  conf.rxmode.mtu = options.mtu;
  if (info.max_mtu != 0 && options.mtu > info.max_mtu) conf.rxmode.mtu = info.max_mtu;
  if (info.max_rx_pktlen != 0 && conf.rxmode.mtu + kFrameOverheadBytes > info.max_rx_pktlen) {
    // Some devices (net_memif) count the header in and the checksum out.
    conf.rxmode.mtu = std::min<uint32_t>(conf.rxmode.mtu, info.max_rx_pktlen - RTE_ETHER_HDR_LEN);
  }
  if (port->checks_ip) conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
  if (port->checks_udp) conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
  if (port->computes_udp) conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
  if (port->spreads) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
  }
  result = rte_eth_dev_configure(port->id, port->rx_queues, port->tx_queues, &conf);
  if (result != 0 && port->spreads) {  // offered, but not like this
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
    conf.rx_adv_conf.rss_conf.rss_hf = 0;
    port->spreads = false;
    result = rte_eth_dev_configure(port->id, port->rx_queues, port->tx_queues, &conf);
  }
  if (result != 0) {
    *error = failure(*port, "cannot be configured", result);
    return false;
  }
  const unsigned node = port->numa_node < 0 ? static_cast<unsigned>(SOCKET_ID_ANY)
                                            : static_cast<unsigned>(port->numa_node);
  rte_eth_rxconf rx_conf = info.default_rxconf;
  rx_conf.offloads = conf.rxmode.offloads & info.rx_queue_offload_capa;
  rte_eth_txconf tx_conf = info.default_txconf;
  tx_conf.offloads = conf.txmode.offloads & info.tx_queue_offload_capa;
  for (uint16_t q = 0; q < port->rx_queues && result == 0; ++q) {
    port->pool = pool;
    result = rte_eth_rx_queue_setup(port->id, q, port->rx_descriptors, node, &rx_conf, pool);
  }
  for (uint16_t q = 0; q < port->tx_queues && result == 0; ++q) {
    result = rte_eth_tx_queue_setup(port->id, q, port->tx_descriptors, node, &tx_conf);
  }
  if (result != 0) {
    *error = failure(*port, "cannot set up its queues", result);
    return false;
  }
  port->summary = describe(*port, info);
  return true;
}

bool start_port(Port* port, std::string* error) {
  int result = 0;
  control(*port, [&] { result = rte_eth_dev_start(port->id); });
  if (result != 0) {
    *error = failure(*port, "does not start", result);
    return false;
  }
  port->started = true;
  ++port->starts;
  // Refused by devices that receive everything anyway.
  port->promiscuous = rte_eth_promiscuous_enable(port->id) == 0;
  rte_ether_addr mac{};
  if (rte_eth_macaddr_get(port->id, &mac) == 0) std::memcpy(port->mac.data(), mac.addr_bytes, port->mac.size());
  return true;
}

void stop_port(Port* port) {
  if (!port->started) return;
  control(*port, [port] { rte_eth_dev_stop(port->id); });
  port->started = false;
}

void close_port(Port* port) {
  stop_port(port);
  control(*port, [port] { rte_eth_dev_close(port->id); });
}

bool port_link_is_up(const Port& port) {
  if (!port.started) return false;
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port.id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

uint64_t packet_pool_bytes(uint32_t packets) {
  // Packet, private part, header and trailer of a pool element, rounded up; measured with rte_mempool_dump.
  constexpr uint64_t kPacketBytes = sizeof(rte_mbuf) + RTE_MBUF_DEFAULT_BUF_SIZE + 2 * RTE_CACHE_LINE_SIZE;
  return packets * kPacketBytes + (1u << 20);
}

rte_mempool* create_packet_pool(const std::string& name, uint32_t packets, int numa_node, std::string* error) {
  const uint32_t cache = std::min(kPoolCachePackets, packets / 4);
  rte_mempool* pool = rte_pktmbuf_pool_create(name.c_str(), packets, cache, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                              numa_node < 0 ? SOCKET_ID_ANY : numa_node);
  if (pool == nullptr) {
    *error = "cannot create a pool of " + std::to_string(packets) + " packets: " + rte_strerror(rte_errno) + "; need " +
             std::to_string(packet_pool_bytes(packets) >> 20) + " MiB, have " + std::to_string(eal_free_bytes() >> 20) +
             " MiB. Give the EAL more memory (hugepages, or a larger -m with --no-huge), or ask for fewer descriptors";
  }
  return pool;
}

}  // namespace txnic::dataplane
