// SPDX-License-Identifier: BSD-3-Clause
// In the guest: CLIENTS clients, each from a socket of its own, put and read back KEYS keys of all shards.
//   vm-guest-client ADDRESS:PORT CLIENTS KEYS
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "host/client/client.h"

int main(int argc, char** argv) {
  constexpr txnic::TableId kTable = 1;
  if (argc != 4) return std::fprintf(stderr, "usage: %s ADDRESS:PORT CLIENTS KEYS\n", argv[0]), 2;
  const long clients = std::strtol(argv[2], nullptr, 10);
  const long keys = std::strtol(argv[3], nullptr, 10);
  txnic::ClientOptions options;
  options.request_timeout_ms = 20'000;  // the guest is slow
  long committed = 0;
  for (long c = 0; c < clients; ++c) {
    auto client = txnic::Client::connect(argv[1], options);
    if (!client) return std::fprintf(stderr, "connect: %s\n", client.error().text.c_str()), 1;
    for (long k = 0; k < keys; ++k) {
      const auto key = static_cast<uint64_t>(k);
      const int64_t number = c * keys + k;
      const auto put = client->execute(txnic::Batch().put(kTable, key, txnic::number_value(number)));
      if (!put) return std::fprintf(stderr, "put: %s\n", put.error().text.c_str()), 1;
      const auto got = client->get(kTable, key);
      if (!got || got->number() != number) return std::fprintf(stderr, "key %ld: a wrong value\n", k), 1;
      committed += 2;
    }
  }
  std::printf("committed %ld\n", committed);
  return 0;
}
