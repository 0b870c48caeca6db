// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/eal.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "dataplane/memory.h"
#include "dataplane/port.h"
#include "dataplane/unmap_guard.h"

namespace txnic::dataplane {
namespace {

bool has_argument(const std::vector<std::string>& arguments, const char* name) {
  for (const std::string& a : arguments) {
    if (a == name || a.starts_with(std::string(name) + "=")) return true;
  }
  return false;
}

// The value of `key` in a device argument "net_x0,key=value,…"; empty if it is not there.
std::string device_value(const std::string& device, const std::string& key) {
  size_t at = 0;
  while ((at = device.find(',', at)) != std::string::npos) {
    ++at;
    if (device.compare(at, key.size() + 1, key + "=") == 0) {
      const size_t from = at + key.size() + 1;
      return device.substr(from, device.find(',', from) - from);
    }
  }
  return {};
}

// All device arguments, from "--vdev=X" and "--vdev X".
std::vector<std::string> virtual_devices(const std::vector<std::string>& arguments) {
  std::vector<std::string> devices;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--vdev=")) devices.push_back(arguments[i].substr(7));
    if (arguments[i] == "--vdev" && i + 1 < arguments.size()) devices.push_back(arguments[i + 1]);
  }
  return devices;
}

enum class SocketState { kNone, kDead, kListening };

SocketState look_at_socket(const std::string& path) {
  struct stat info {};
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path) || lstat(path.c_str(), &info) != 0 ||
      !S_ISSOCK(info.st_mode)) {
    return SocketState::kNone;
  }
  // Asked with another socket type, the kernel tells the dead (ECONNREFUSED) from the living (EPROTOTYPE) without the
  // listener noticing. A real connection, closed at once, makes net_memif's listening side panic.
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return SocketState::kNone;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const bool refused =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  close(fd);
  return refused ? SocketState::kDead : SocketState::kListening;
}

// The EAL goes on without a device that it could not make. Says which one, and why as far as that can be seen.
std::string explain_missing_devices(const std::vector<std::string>& arguments) {
  for (const std::string& device : virtual_devices(arguments)) {
    const std::string name = device.substr(0, device.find(','));
    uint16_t port = 0;
    if (!name.starts_with("net_") || rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0) continue;
    const std::string text = "device " + name + " could not be made. ";
    const std::string socket = device_value(device, "socket");
    const std::string directory = socket.substr(0, socket.rfind('/'));
    if (!socket.empty() && !directory.empty() && access(directory.c_str(), W_OK | X_OK) != 0) {
      return text + "The directory of its socket, " + directory + ", " +
             (errno == ENOENT ? "does not exist: create it" : "cannot be written: choose another");
    }
    if (look_at_socket(socket) == SocketState::kListening) {
      return text + "Another process listens on " + socket + ": stop it, or choose another socket";
    }
    return text +
           "The lines above say why; a socket path or interface must be free and permitted (net_tap and net_af_packet "
           "need root), and each argument spelled as the driver knows it";
  }
  return {};
}

std::string explain_failure(int error, const std::vector<std::string>& arguments) {
  const bool without_hugepages = has_argument(arguments, "--no-huge");
  const HugepageFacts huge = hugepage_facts();
  std::string text = "DPDK did not start: ";
  text += rte_strerror(error);
  text += ". ";
  if (!without_hugepages && huge.total_bytes == 0) {
    text += "There are no hugepages. Run with --no-huge -m 1024, or as root reserve some: "
            "echo 1024 > /proc/sys/vm/nr_hugepages";
  } else if (!without_hugepages && !huge.mounted) {
    text += "No hugetlbfs is mounted. Run with --no-huge -m 1024, or as root: "
            "mount -t hugetlbfs nodev /dev/hugepages";
  } else if (!without_hugepages && !huge.permitted) {
    text += "This user may not use hugepages (" + huge.mount + "). Run with --no-huge -m 1024, or as root";
  } else if (!without_hugepages && huge.free_bytes == 0) {
    text += "All hugepages are taken (" + std::to_string(huge.total_bytes >> 20) + " MiB). Stop the process that holds "
            "them, reserve more (/proc/sys/vm/nr_hugepages), or run with --no-huge -m 1024";
  } else if (error == EACCES || error == EPERM) {
    text += "Run as root, or as a plain user with --no-huge -m 1024 --no-pci --file-prefix NAME";
  } else if (error == EALREADY || error == EEXIST) {
    text += "Another DPDK process uses the same --file-prefix: give this one its own (--file-prefix NAME)";
  } else if (error == EINVAL) {
    text += "Check the arguments in front of \"--\" (EAL arguments; ours come behind it)";
  } else {
    text += "The lines above name the device or argument; check the --vdev and -a arguments (each socket path and "
            "interface must be free and permitted), and give each process its own --file-prefix";
  }
  return text;
}

}  // namespace

CommandLine split_command_line(int argc, char** argv) {
  CommandLine line;
  int i = 0;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) line.eal.emplace_back(argv[i]);
  for (++i; i < argc; ++i) line.ours.emplace_back(argv[i]);
  return line;
}

std::vector<std::string> remove_dead_sockets(const std::vector<std::string>& eal_arguments) {
  std::vector<std::string> notes;
  for (const std::string& device : virtual_devices(eal_arguments)) {
    const std::string role = device_value(device, "role");
    if (role != "server" && role != "master") continue;
    const std::string path = device_value(device, "socket");
    if (look_at_socket(path) != SocketState::kDead) continue;
    if (unlink(path.c_str()) == 0) {
      notes.push_back("removed " + path + ", left behind by a process that is gone");
    } else {
      notes.push_back("cannot remove " + path + ", left behind by a process that is gone: " + std::strerror(errno) +
                      ". Remove it, or choose another socket path");
    }
  }
  return notes;
}

EalStart start_eal(const CommandLine& line) {
  EalStart result;
  result.ours = line.ours;
  result.notes = remove_dead_sockets(line.eal);
  // The EAL keeps pointers into its arguments and permutes them.
  static std::vector<std::string> kept;
  static std::vector<char*> pointers;
  assert(kept.empty() && "the EAL starts once per process");
  kept = line.eal;
  if (kept.empty()) kept.emplace_back("txnic");
  for (std::string& s : kept) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  const int count = static_cast<int>(kept.size());
  const int consumed = rte_eal_init(count, pointers.data());
  if (consumed < 0) {
    result.error = explain_failure(rte_errno, line.eal);
    return result;
  }
  if (consumed + 1 < count) {
    result.error = "unknown argument \"" + std::string(pointers[static_cast<size_t>(consumed) + 1]) +
                   "\" in front of \"--\": EAL arguments come first, then \"--\", then ours";
    return result;
  }
  result.error = explain_missing_devices(line.eal);
  if (!result.error.empty()) return result;
  arm_unmap_guard();
  result.ok = true;
  return result;
}

void stop_eal() {
  for (const uint16_t id : available_ports()) {
    Port port;
    std::string error;
    if (examine_port(id, {}, &port, &error)) close_port(&port);
  }
}

}  // namespace txnic::dataplane
