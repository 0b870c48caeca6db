// SPDX-License-Identifier: BSD-3-Clause
// Reads tests/golden/packets.txt. The test's build names the file as TXNIC_GOLDEN_PACKETS.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "txn/types.h"

namespace txnic::golden {

struct Packet {
  bool is_request = false;
  bool is_peer = false;  // between participants of a transaction
  std::vector<std::byte> bytes;
  uint32_t length() const { return static_cast<uint32_t>(bytes.size()); }
};

// Packets by name. A malformed file ends the test: it is a bug of the tree.
inline std::map<std::string, Packet> read_packets(const char* path) {
  std::map<std::string, Packet> packets;
  std::ifstream file(path);
  Packet* packet = nullptr;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    while (words >> word) {
      if (word == "packet") {
        std::string name, kind;
        words >> name >> kind;
        packet = &packets[name];
        packet->is_request = kind == "request";
        packet->is_peer = kind == "peer";
      } else if (packet != nullptr && word.size() == 2) {
        packet->bytes.push_back(static_cast<std::byte>(std::stoul(word, nullptr, 16)));
      } else {
        std::fprintf(stderr, "%s: cannot read \"%s\"\n", path, line.c_str());
        std::abort();
      }
    }
  }
  return packets;
}

}  // namespace txnic::golden
