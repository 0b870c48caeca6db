// SPDX-License-Identifier: BSD-3-Clause
// Writes a value and reads it back:  hello 10.99.0.1:7700
#include <cstdio>

#include "host/client/client.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s ADDRESS:PORT\n", argv[0]), 2;
  auto client = txnic::Client::connect(argv[1]);
  if (!client) return std::fprintf(stderr, "%s\n", client.error().text.c_str()), 1;

  const auto put = client->put(1, "greeting", "hello, world");
  if (!put) return std::fprintf(stderr, "put: %s\n", put.error().text.c_str()), 1;

  const auto got = client->get(1, "greeting");
  if (!got) return std::fprintf(stderr, "get: %s\n", got.error().text.c_str()), 1;

  std::printf("%s\n", got->bytes.c_str());
  return 0;
}
