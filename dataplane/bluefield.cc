// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/bluefield.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace txnic::dataplane {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kHugeBytesLeast = uint64_t{1} << 30;

std::string read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<fs::path> children(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The kernel interface whose physical port name is this; an empty path if there is none.
fs::path interface_of(const fs::path& net, const std::string& port_name) {
  for (const fs::path& path : children(net)) {
    if (read_line(path / "phys_port_name") == port_name) return path;
  }
  return {};
}

bool is_bluefield(const fs::path& device) {
  const std::string id = read_line(device / "device");
  return read_line(device / "vendor") == "0x15b3" &&
         (id == "0xa2d2" || id == "0xa2d6" || id == "0xa2dc");  // BlueField-1, -2, -3
}

void check_cards(const fs::path& sys, std::vector<Problem>* problems) {
  for (const fs::path& device : children(sys / "bus/pci/devices")) {
    if (!is_bluefield(device)) continue;
    problems->push_back({Severity::kNote, "BlueField function at " + device.filename().string() + ": -a " +
                                              device.filename().string() + ",dv_flow_en=1,representor=[65535]"});
    return;
  }
  problems->push_back({Severity::kError,
                       "no BlueField here (PCI vendor 15b3, device a2d2, a2d6 or a2dc): run this on the card's ARM "
                       "side"});
}

void check_bridge(const fs::path& interface, const std::string& name, std::vector<Problem>* problems) {
  std::error_code error;
  const fs::path master = fs::read_symlink(interface / "master", error);
  if (error) return;
  problems->push_back({Severity::kError, name + " is in the bridge " + master.filename().string() +
                                             ", which takes its packets: ovs-vsctl del-br (or ip link set " +
                                             interface.filename().string() + " nomaster)"});
}

void check_representors(const fs::path& sys, std::vector<Problem>* problems) {
  const fs::path uplink = interface_of(sys / "class/net", "p0");
  const fs::path host = interface_of(sys / "class/net", "pf0hpf").empty() ? interface_of(sys / "class/net", "c1pf0")
                                                                         : interface_of(sys / "class/net", "pf0hpf");
  if (uplink.empty()) problems->push_back({Severity::kError, "no uplink p0: is the card in DPU (embedded) mode?"});
  if (host.empty()) {
    problems->push_back({Severity::kError,
                         "no representor of the host (pf0hpf): is the card in DPU (embedded) mode, and the e-switch in "
                         "mode switchdev (devlink dev eswitch show)?"});
  }
  if (uplink.empty() || host.empty()) return;
  check_bridge(uplink, "the uplink p0", problems);
  check_bridge(host, "the host's representor pf0hpf", problems);
  const std::string wire = read_line(uplink / "mtu");
  const std::string inside = read_line(host / "mtu");
  if (wire != inside) {
    problems->push_back({Severity::kError, "MTU of the uplink is " + wire + ", of the host's representor " + inside +
                                               ": packets would be lost between them; make them alike"});
  }
}

// Pages of 2 or 512 MiB on ARM: what counts is the sum.
void check_huge_pages(const fs::path& sys, std::vector<Problem>* problems) {
  uint64_t bytes = 0;
  for (const fs::path& size : children(sys / "kernel/mm/hugepages")) {
    const std::string name = size.filename().string();  // hugepages-2048kB
    const size_t at = name.find('-');
    if (at == std::string::npos) continue;
    const uint64_t kib = std::strtoull(name.c_str() + at + 1, nullptr, 10);
    bytes += kib * 1024 * std::strtoull(read_line(size / "free_hugepages").c_str(), nullptr, 10);
  }
  if (bytes >= kHugeBytesLeast) return;
  problems->push_back({Severity::kError, std::to_string(bytes >> 20) + " MiB of huge pages are free, need " +
                                             std::to_string(kHugeBytesLeast >> 20) +
                                             ": echo N > /sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages"});
}

}  // namespace

std::vector<Problem> preflight_bluefield(const std::string& root) {
  const fs::path sys = fs::path(root.empty() ? "/" : root) / "sys";
  std::vector<Problem> problems;
  check_cards(sys, &problems);
  check_representors(sys, &problems);
  check_huge_pages(sys, &problems);
  return problems;
}

}  // namespace txnic::dataplane
