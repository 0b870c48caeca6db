// SPDX-License-Identifier: BSD-3-Clause
// The client library against the model node on the loopback interface: sessions, single operations, batches,
// callbacks, deadlines, restarts, error texts.
#include "host/client/client.h"

#include "host/client/udp_socket.h"
#include "tests/unit/client/model_server.h"

namespace txnic::client::test {
namespace {

// Time limits that no busy machine reaches; tests of limits set their own.
ClientOptions patient() {
  ClientOptions options;
  options.open_timeout_ms = 60'000;
  options.request_timeout_ms = 60'000;
  return options;
}

Client connected(const ModelServer& server, const ClientOptions& options = patient()) {
  auto client = Client::connect(server.address(), options);
  EXPECT_TRUE(client.ok()) << client.error().text;
  return std::move(*client);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A key of the shard of `like`, other than it.
uint64_t sibling(const Client& client, uint64_t like) {
  uint64_t key = like + 1;
  while (client.shard_of(key) != client.shard_of(like)) ++key;
  return key;
}

TEST(ClientAddress, IsReadStrictly) {
  const auto good = parse_endpoint("10.99.0.1:7700");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->address, 0x0a630001u);
  EXPECT_EQ(good->port, 7700);
  EXPECT_EQ(endpoint_text(*good), "10.99.0.1:7700");
  for (const char* bad : {"", ":", "10.99.0.1", "10.99.0.1:", "10.99.0.1:0", "10.99.0.1:65536", "10.99.0.1:77x",
                          "10.99.0:1", "localhost:7700", "10.99.0.256:7700", "10.99.0.1:-1", "[::1]:7700"}) {
    const auto parsed = parse_endpoint(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_TRUE(contains(parsed.error().text, "IPV4:PORT"));
  }
}

TEST(ClientConnect, SaysWhatToDoWhenNobodyAnswers) {
  ClientOptions options;
  options.open_timeout_ms = 150;
  ModelServer server;
  server.set_deaf(true);
  auto client = Client::connect(server.address(), options);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind, ErrorKind::kTimeout);
  EXPECT_TRUE(contains(client.error().text, server.address())) << client.error().text;
  EXPECT_TRUE(contains(client.error().text, "is txnode running")) << client.error().text;

  EXPECT_EQ(Client::connect("nonsense").error().kind, ErrorKind::kInvalid);
  options.window = 0;
  EXPECT_EQ(Client::connect(server.address(), options).error().kind, ErrorKind::kInvalid);
}

TEST(ClientConnect, TellsFacts) {
  ModelServer server;
  Client client = connected(server);
  EXPECT_EQ(client.shard_count(), 4u);
  EXPECT_LT(client.shard_of("some key"), 4);
  EXPECT_EQ(client.outstanding(), 0u);
}

TEST(ClientConnect, ClosesTheSession) {
  ModelServer server;
  { Client client = connected(server); }
  EXPECT_EQ(server.with_node([](ModelNode& node) { return node.opened_sessions(); }), 0u);
}

TEST(ClientOperations, DoWhatTheySay) {
  ModelServer server;
  Client client = connected(server);
  EXPECT_FALSE(client.get(1, "k")->present);
  const auto put = client.put(1, "k", "value");
  ASSERT_TRUE(put);
  const auto got = client.get(1, "k");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, "value");
  EXPECT_EQ(got->version, put->version);
  EXPECT_FALSE(got->number());

  const auto exists = client.insert(1, "k", "x");
  ASSERT_FALSE(exists);
  EXPECT_EQ(exists.error().kind, ErrorKind::kAborted);
  EXPECT_EQ(exists.error().result, Result::kExists);
  EXPECT_TRUE(client.remove(1, "k"));
  EXPECT_EQ(client.remove(1, "k").error().result, Result::kNotFound);
  EXPECT_EQ(client.add(1, "k", 1).error().result, Result::kNotFound);

  ASSERT_TRUE(client.insert(1, 0, number_value(40)));
  EXPECT_EQ(**client.add(1, 0, 2), 42);
  EXPECT_EQ(client.add(1, 0, -43, 0).error().result, Result::kBelowFloor);
  EXPECT_EQ(**client.add(1, 0, -42, 0), 0);
  EXPECT_EQ(client.get(1, 0)->number(), 0);

  // Empty and longest keys and values.
  const std::string longest_key(limits::kKeyBytesMax, 'k');
  const std::string longest_value(limits::kValueBytesMax, 'v');
  ASSERT_TRUE(client.put(1, longest_key, longest_value));
  EXPECT_EQ(client.get(1, longest_key)->bytes, longest_value);
  ASSERT_TRUE(client.put(1, longest_key, ""));
  EXPECT_TRUE(client.get(1, longest_key)->present);
  EXPECT_EQ(client.get(1, longest_key)->bytes, "");
}

TEST(ClientOperations, RefuseWhatIsWrongBeforeSending) {
  ModelServer server;
  Client client = connected(server);
  const uint64_t sent = client.statistics().submitted;
  EXPECT_EQ(client.put(1, "", "v").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(client.put(1, std::string(65, 'k'), "v").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(client.put(1, "k", std::string(1025, 'v')).error().result, Result::kTooLarge);
  EXPECT_EQ(client.execute(Batch()).error().kind, ErrorKind::kInvalid);
  Batch many;
  for (uint32_t i = 0; i < limits::kOperationsMax + 1; ++i) many.get(1, 7);
  EXPECT_EQ(client.execute(many).error().result, Result::kTooLarge);
  Batch long_one;
  long_one.put(1, 7, std::string(1000, 'v')).put(1, 7, std::string(1000, 'v'));
  EXPECT_EQ(client.execute(long_one).error().result, Result::kTooLarge);
  EXPECT_EQ(client.statistics().submitted, sent);

  const auto table = client.put(99, "k", "v");  // only the node knows its tables
  EXPECT_EQ(table.error().kind, ErrorKind::kRefused);
  EXPECT_EQ(table.error().result, Result::kUnknownTable);
  EXPECT_TRUE(contains(table.error().text, "configuration")) << table.error().text;
}

TEST(ClientBatch, IsOneStepWithValuesInTheirPlaces) {
  ModelServer server;
  Client client = connected(server);
  const uint64_t other = sibling(client, 7);
  Batch batch;
  batch.put(1, 7, number_value(5)).add(1, 7, 3).get(1, other).get(1, 7);
  const auto done = client.execute(batch);
  ASSERT_TRUE(done) << done.error().text;
  ASSERT_EQ(done->values.size(), 4u);
  EXPECT_FALSE(done->values[0]);
  EXPECT_EQ(done->values[1]->number(), 8);
  EXPECT_FALSE(done->values[2]->present);
  EXPECT_EQ(done->values[3]->number(), 8);
  // The second operation fails, so the first has not happened.
  const auto failed = client.execute(Batch().put(1, 7, "x").insert(1, 7, "y"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().detail, 1);
  EXPECT_EQ(client.get(1, 7)->number(), 8);
  // CHECK of a presence and of an absence.
  const Value present = *client.get(1, 7);
  const Value absent = *client.get(1, other);
  EXPECT_TRUE(client.execute(Batch().check(1, 7, present).check(1, other, absent).put(1, other, "v")));
  EXPECT_EQ(client.execute(Batch().check(1, other, absent).put(1, 7, "v")).error().result, Result::kCheckFailed);
}

TEST(ClientBatch, ADuplicateAnswerHasNoValues) {
  ModelServer server;
  Client client = connected(server);
  ASSERT_TRUE(client.put(1, 7, number_value(1)));
  server.lose_answers(1);
  const auto done = client.execute(Batch().add(1, 7, 1));
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->values_known);
  EXPECT_FALSE(done->values[0]);
  server.lose_answers(1);
  const auto sum = client.add(1, 7, 1);
  ASSERT_TRUE(sum);
  EXPECT_FALSE(*sum);
  server.lose_answers(1);
  EXPECT_EQ(client.get(1, 7)->number(), 3);  // reads are executed again
}

TEST(ClientCallbacks, CountExactlyOverABadNetwork) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    ModelServer server({.window = 64, .busy_per_mille = 50, .seed = seed},
                       {.drop_per_mille = 100, .double_per_mille = 100, .garbage = true});
    Client client = connected(server);
    ASSERT_TRUE(client.put(1, 7, number_value(0)));
    uint32_t committed = 0;
    uint32_t other = 0;
    uint32_t submitted = 0;
    const Batch add = Batch().add(1, 7, 1);
    const auto told = [&](const Expected<Committed>& answer) { ++(answer ? committed : other); };
    for (uint32_t round = 0; round < 20'000 && (submitted < 300 || client.outstanding() != 0); ++round) {
      while (submitted < 300 && client.submit(add, told)) ++submitted;
      client.poll(10);
    }
    EXPECT_EQ(committed, 300u);
    EXPECT_EQ(other, 0u);
    EXPECT_EQ(client.get(1, 7)->number(), 300);
    EXPECT_GT(client.statistics().malformed + client.statistics().unmatched, 0u);
  }
}

TEST(ClientCallbacks, TheWindowIsALimitWithAName) {
  ModelServer server;
  ClientOptions options = patient();
  options.window = 4;
  Client client = connected(server, options);
  server.set_deaf(true);
  uint32_t told = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(client.submit(Batch().get(1, 7), [&](const auto&) { ++told; }));
  }
  const Status full = client.submit(Batch().get(1, 7), [&](const auto&) { ++told; });
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().result, Result::kBusy);
  EXPECT_TRUE(contains(full.error().text, "poll()"));
  server.set_deaf(false);
  for (int i = 0; i < 100 && told < 4; ++i) client.poll(1000);
  EXPECT_EQ(told, 4u);
}

TEST(ClientCallbacks, MaySubmitButNotWait) {
  ModelServer server;
  Client client = connected(server);
  int told = 0;
  ErrorKind waiting = ErrorKind::kSystem;
  EXPECT_TRUE(client.submit(Batch().put(1, 7, "a"), [&](const Expected<Committed>&) {
    ++told;
    const auto refused = client.get(1, 7);
    waiting = refused ? ErrorKind::kSystem : refused.error().kind;
    EXPECT_TRUE(client.submit(Batch().put(1, 7, "b"), [&](const Expected<Committed>&) { ++told; }));
  }));
  for (int i = 0; i < 100 && told < 2; ++i) client.poll(1000);
  EXPECT_EQ(told, 2);
  EXPECT_EQ(waiting, ErrorKind::kInvalid);
}

TEST(ClientCallbacks, RunWhenTheClientGoes) {
  ModelServer server;
  std::vector<ErrorKind> kinds;
  const auto told = [&](const Expected<Committed>& answer) {
    kinds.push_back(answer ? ErrorKind::kSystem : answer.error().kind);
  };
  {
    Client client = connected(server);
    server.set_deaf(true);
    EXPECT_TRUE(client.submit(Batch().put(1, 7, "a"), told));
    EXPECT_TRUE(client.submit(Batch().get(1, 7), told));
  }
  EXPECT_EQ(kinds, (std::vector{ErrorKind::kUnknownOutcome, ErrorKind::kClosed}));
}

TEST(ClientDeadline, SaysWhetherItCanHaveHappened) {
  ModelServer server;
  ClientOptions options = patient();
  options.request_timeout_ms = 60;
  Client client = connected(server, options);
  server.set_deaf(true);
  const auto write = client.put(1, 7, "a");
  ASSERT_FALSE(write);
  EXPECT_EQ(write.error().kind, ErrorKind::kUnknownOutcome);
  EXPECT_TRUE(contains(write.error().text, "no answer from " + server.address())) << write.error().text;
  EXPECT_TRUE(contains(write.error().text, "may or may not")) << write.error().text;
  const auto read = client.get(1, 7);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kTimeout);
  server.set_deaf(false);
  server.with_node([](ModelNode& node) { node.set_busy_per_mille(1000); });
  options.request_timeout_ms = 500;
  Client longer = connected(server, options);
  const auto busy = longer.get(1, 7);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().kind, ErrorKind::kTimeout);
  EXPECT_TRUE(contains(busy.error().text, "disk")) << busy.error().text;  // what the node kept saying
}

TEST(ClientRestart, WithTheWindowIsInvisible) {
  ModelServer server;
  Client client = connected(server);
  ASSERT_TRUE(client.put(1, 7, number_value(0)));
  server.lose_answers(1);
  std::optional<Expected<Committed>> answer;
  EXPECT_TRUE(client.submit(Batch().add(1, 7, 1), [&](const Expected<Committed>& a) { answer = a; }));
  // The addition has been executed when its answer is lost.
  for (int i = 0; i < 1000; ++i) {
    if (server.with_node([](ModelNode& node) { return node.executions().size(); }) == 2) break;
    client.poll(1);
  }
  server.with_node([](ModelNode& node) { node.restart(true); });
  for (int i = 0; i < 1000 && !answer; ++i) client.poll(100);
  ASSERT_TRUE(answer && answer->ok()) << answer->error().text;
  EXPECT_EQ(client.get(1, 7)->number(), 1);
  EXPECT_EQ(client.statistics().reopens, 1u);
}

TEST(ClientRestart, WithoutTheWindowIsUnknownOnce) {
  ModelServer server;
  Client client = connected(server);
  server.set_deaf(true);
  std::optional<Expected<Committed>> answer;
  EXPECT_TRUE(client.submit(Batch().put(1, 7, "a"), [&](const Expected<Committed>& a) { answer = a; }));
  server.with_node([](ModelNode& node) { node.restart(false); });
  server.set_deaf(false);
  for (int i = 0; i < 1000 && !answer; ++i) client.poll(100);
  ASSERT_TRUE(answer && !answer->ok());
  EXPECT_EQ(answer->error().kind, ErrorKind::kUnknownOutcome);
  EXPECT_TRUE(contains(answer->error().text, "read before you repeat")) << answer->error().text;
  EXPECT_TRUE(client.put(1, 7, "b"));  // the same client goes on
}

}  // namespace
}  // namespace txnic::client::test
