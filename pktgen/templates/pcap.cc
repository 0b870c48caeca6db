// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/templates/pcap.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "pktgen/workload/micro.h"
#include "txn/wire/build.h"

namespace txnic::pktgen {

namespace {

// The file format: https://www.tcpdump.org/manpages/pcap-savefile.5.html
struct FileHeader {
  uint32_t magic = 0xa1b2c3d4;  // microseconds
  uint16_t major = 2, minor = 4;
  uint32_t zone = 0, accuracy = 0;
  uint32_t longest = 65535;
  uint32_t link_type = 1;  // Ethernet
};
static_assert(sizeof(FileHeader) == 24);
struct PacketHeader {
  uint32_t seconds, microseconds, captured, length;
};
static_assert(sizeof(PacketHeader) == 16);

using Frame = std::array<uint8_t, dataplane::kHeadersBytes + limits::kMessageBytesMax>;

// Writes Ethernet, IPv4 and UDP around a message of `length` bytes that is in its place already.
void write_headers(Frame& frame, const TemplateSettings& s, uint32_t length, uint32_t worker) {
  using namespace dataplane::frame_at;
  using dataplane::byte_swap;
  uint8_t* const at = frame.data();
  std::memcpy(at + kDestinationMac, s.node_mac.data(), s.node_mac.size());
  std::memcpy(at + kSourceMac, s.local_mac.data(), s.local_mac.size());
  store(at + kEthertype, byte_swap(uint16_t{0x0800}));
  const auto udp_length = static_cast<uint16_t>(length + dataplane::kUdpHeaderBytes);
  store(at + kIp, uint16_t{0x0045});  // version 4, no options
  store(at + kIpTotalLength, byte_swap(static_cast<uint16_t>(udp_length + dataplane::kIpHeaderBytes)));
  store(at + kIpId, uint32_t{0x00400000});  // do not fragment
  at[kIpTtl] = dataplane::kReplyTtl;
  at[kIpProtocol] = dataplane::kProtocolUdp;
  store(at + kIpSource, byte_swap(s.local.address));
  store(at + kIpDestination, byte_swap(s.node.address));
  dataplane::write_ip_checksum(at);
  store(at + kUdpSource, byte_swap(s.local.port));
  store(at + kUdpDestination, byte_swap(static_cast<uint16_t>(s.node.port + worker)));
  store(at + kUdpLength, byte_swap(udp_length));
  dataplane::write_udp_checksum(at, dataplane::UdpChecksum::kSoftware);
}

struct Shape {
  uint32_t records = 1;  // in one transaction
  bool reads = true, writes = false;
};

bool shape_of(const std::string& name, Shape* shape) {
  if (name == "get") return true;
  if (name.rfind("put", 0) != 0 && name.rfind("rmw", 0) != 0) return false;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 3, end, shape->records);
  shape->reads = name[0] == 'r';
  shape->writes = true;
  return error == std::errc() && stop == end && shape->records > 0 &&
         shape->records <= kOperationsPerTransactionMax;
}

}  // namespace

// A replay knows no versions: its read-modify-write reads and rewrites each key in one transaction.
std::string make_frames(const TemplateSettings& s, const std::function<void(Bytes frame)>& take) {
  Shape shape;
  if (!shape_of(s.workload, &shape))
    return "templates exist for get, putK and rmwK (K up to 16), not for " + s.workload;
  if (s.count == 0 || s.count > kTemplateCountMax) return "--count: 1 to " + std::to_string(kTemplateCountMax);
  if (s.value_bytes > limits::kValueBytesMax) return "--value-size: at most " + std::to_string(limits::kValueBytesMax);
  if (s.workers == 0 || s.shards == 0 || s.shards > limits::kShardsMax || s.workers > limits::kWorkersMax) {
    return "--shards, --workers: at least 1, and within the node's limits";
  }
  KeySpace keys;
  keys.init(s.records, s.shards);
  const std::string problem = check_shards(keys, shape.records, s.records);
  if (!problem.empty()) return problem;
  ValueMaker values(s.value_bytes);
  Random random(s.seed, 0);
  Frame frame{};
  auto* const message = reinterpret_cast<std::byte*>(frame.data() + dataplane::kHeadersBytes);
  for (uint64_t i = 0; i < s.count; ++i) {
    uint64_t records[kOperationsPerTransactionMax];
    draw_distinct(keys, random, records, shape.records);
    wire::ExecuteBuilder request({message, limits::kMessageBytesMax});
    bool fits = true;
    for (uint32_t k = 0; k < shape.records; ++k) {
      const Key key(records[k]);
      if (shape.reads) fits &= request.get(s.table, key);
      if (shape.writes) fits &= request.put(s.table, key, values.make(records[k]));
    }
    if (!fits) return s.workload + " with values of " + std::to_string(s.value_bytes) + " bytes does not fit a message";
    const ShardId shard = keys.shard(records[0]);
    const uint32_t length = request.finish(s.session, i + 1, 0, 0, shard);
    write_headers(frame, s, length, wire::worker_of(shard, s.workers));
    take({reinterpret_cast<const std::byte*>(frame.data()), dataplane::kHeadersBytes + length});
  }
  return {};
}

// The file is opened for the first frame, when everything that can be wrong with the settings has been found: a refused
// command touches no file. What the path names is only ever written to, never removed: it may be a device.
bool write_pcap(const std::string& path, const TemplateSettings& settings, std::string* error) {
  FILE* file = nullptr;
  bool good = true;
  int cause = 0;
  const auto write = [&](const void* bytes, size_t count) {
    if (good && std::fwrite(bytes, 1, count, file) != count) {
      good = false;
      cause = errno;
    }
  };
  *error = make_frames(settings, [&](Bytes frame) {
    if (!good) return;
    if (file == nullptr) {
      file = std::fopen(path.c_str(), "wb");
      good = file != nullptr;
      cause = errno;
      if (!good) return;
      const FileHeader header;
      write(&header, sizeof header);
    }
    const auto length = static_cast<uint32_t>(frame.size());
    const PacketHeader packet{0, 0, length, length};
    write(&packet, sizeof packet);
    write(frame.data(), frame.size());
  });
  if (file != nullptr && std::fclose(file) != 0 && good) {
    good = false;
    cause = errno;
  }
  if (error->empty() && !good) {
    *error = "cannot write " + path + ": " + std::strerror(cause) + (file != nullptr ? "; it is not complete" : "");
  }
  return error->empty();
}

}  // namespace txnic::pktgen
