// SPDX-License-Identifier: BSD-3-Clause
// Exactly once: many additions in flight at a time, and the counter agrees with what was told, also over a network
// that loses and doubles packets:  counter 10.99.0.1:7700 [COUNT]
//
// Exit code 0: the counter grew by exactly the number of committed additions (or, where outcomes stayed unknown, by
// at least that and at most the unknown ones more). Nobody else may use the counter meanwhile.
#include <cstdio>
#include <cstdlib>

#include "host/client/client.h"

namespace {

constexpr txnic::TableId kTable = 1;
constexpr const char* kCounter = "example-counter";

int fail(const char* what, const txnic::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return std::fprintf(stderr, "usage: %s ADDRESS:PORT [COUNT]\n", argv[0]), 2;
  const long count = argc == 3 ? std::strtol(argv[2], nullptr, 10) : 1000;
  txnic::ClientOptions options;
  options.request_timeout_ms = 10'000;  // long: lost packets and full disks are waited out under the same id
  auto client = txnic::Client::connect(argv[1], options);
  if (!client) return fail("connect", client.error());

  const auto created = client->insert(kTable, kCounter, txnic::number_value(0));
  if (!created && created.error().result != txnic::Result::kExists) return fail("creating", created.error());
  const auto before = client->get(kTable, kCounter);
  if (!before) return fail("reading", before.error());

  long committed = 0;
  long unknown = 0;
  long failed = 0;
  const auto told = [&](const txnic::Expected<txnic::Committed>& answer) {
    if (answer) {
      ++committed;
    } else if (answer.error().kind == txnic::ErrorKind::kUnknownOutcome) {
      ++unknown;
    } else {
      ++failed;
      std::fprintf(stderr, "add: %s\n", answer.error().text.c_str());
    }
  };
  const txnic::Batch add = txnic::Batch().add(kTable, kCounter, 1);
  for (long sent = 0; sent < count;) {
    const txnic::Status submitted = client->submit(add, told);
    if (submitted) {
      ++sent;
      client->poll();
    } else if (submitted.error().result == txnic::Result::kBusy) {
      client->poll(10);  // the window is full
    } else {
      return fail("submit", submitted.error());
    }
  }
  while (client->outstanding() != 0) client->poll(10);

  const auto after = client->get(kTable, kCounter);
  if (!after) return fail("reading", after.error());
  const long grown = after->number().value_or(0) - before->number().value_or(0);
  std::printf("committed %ld, unknown %ld, failed %ld; the counter grew by %ld\n", committed, unknown, failed, grown);
  return grown >= committed && grown <= committed + unknown ? 0 : 1;
}
