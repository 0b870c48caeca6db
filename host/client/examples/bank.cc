// SPDX-License-Identifier: BSD-3-Clause
// Transfers between two accounts, in two ways, and proves that no money came or went:  bank 10.99.0.1:7700
//
// By default both accounts live in one shard: the example looks for a second key with the first one's shard. With
// "bank ADDRESS:PORT far" they live in two, where the cluster has several.
#include <cstdio>
#include <string_view>

#include "host/client/client.h"

namespace {

constexpr txnic::TableId kAccounts = 1;
constexpr uint64_t kFirst = 9'000'000'001;

int fail(const char* what, const txnic::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.text.c_str());
  return 1;
}

// One message: take with a floor of zero, give. The node aborts it with BELOW_FLOOR if the money is not there.
txnic::Expected<txnic::Committed> transfer_at_once(txnic::Client& client, uint64_t from, uint64_t to, int64_t amount) {
  return client.execute(txnic::Batch().add(kAccounts, from, -amount, 0).add(kAccounts, to, amount));
}

// Read, decide, write: half of what is there, whatever that is. transact() begins again when somebody was faster.
txnic::Expected<txnic::Committed> transfer_half(txnic::Client& client, uint64_t from, uint64_t to) {
  return client.transact([&](txnic::Transaction& t) -> txnic::Status {
    const auto source = t.get(kAccounts, from);
    if (!source) return source.error();
    const auto target = t.get(kAccounts, to);
    if (!target) return target.error();
    const int64_t amount = source->number().value_or(0) / 2;
    const txnic::Status taken = t.put(kAccounts, from, txnic::number_value(source->number().value_or(0) - amount));
    if (!taken) return taken;
    return t.put(kAccounts, to, txnic::number_value(target->number().value_or(0) + amount));
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_far = argc == 3 && std::string_view(argv[2]) == "far";
  if (argc != 2 && !is_far) return std::fprintf(stderr, "usage: %s ADDRESS:PORT [far]\n", argv[0]), 2;
  auto client = txnic::Client::connect(argv[1]);
  if (!client) return fail("connect", client.error());

  uint64_t second = kFirst + 1;
  const auto is_near = [&](uint64_t key) { return client->shard_of(key) == client->shard_of(kFirst); };
  while (client->shard_count() > 1 && is_near(second) == is_far) ++second;

  txnic::Batch opening;
  opening.put(kAccounts, kFirst, txnic::number_value(1000)).put(kAccounts, second, txnic::number_value(0));
  const auto opened = client->execute(opening);
  if (!opened) return fail("opening the accounts", opened.error());

  const auto moved = transfer_at_once(*client, kFirst, second, 300);
  if (!moved) return fail("transfer", moved.error());
  const auto refused = transfer_at_once(*client, kFirst, second, 5000);
  if (refused) return std::fprintf(stderr, "an overdraft was not refused\n"), 1;
  std::printf("overdraft: %s\n", refused.error().text.c_str());
  if (refused.error().result != txnic::Result::kBelowFloor) return fail("overdraft", refused.error());
  const auto half = transfer_half(*client, kFirst, second);
  if (!half) return fail("transfer of a half", half.error());

  // Both balances of one moment.
  const auto end = client->execute(txnic::Batch().get(kAccounts, kFirst).get(kAccounts, second));
  if (!end) return fail("reading the balances", end.error());
  const int64_t a = end->values[0]->number().value_or(0);
  const int64_t b = end->values[1]->number().value_or(0);
  std::printf("balances: %lld + %lld = %lld\n", static_cast<long long>(a), static_cast<long long>(b),
              static_cast<long long>(a + b));
  return a == 350 && b == 650 ? 0 : 1;
}
