// SPDX-License-Identifier: BSD-3-Clause
// get: one-shot GET of one uniform key. echo: a request of the same shape that the dataplane answers by itself.
#pragma once

#include "pktgen/workload/micro.h"

namespace txnic::pktgen {

class Get final : public MicroWorkload {
 public:
  using MicroWorkload::MicroWorkload;
  const char* name() const override { return "get"; }
  std::span<const char* const> kinds() const override {
    static const char* const kinds[] = {"get"};
    return kinds;
  }
  std::string prepare(const Facts& facts) override {
    asked_.assign(facts.flows, 0);
    return MicroWorkload::prepare(facts);
  }
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override {
    const uint64_t record = random_[flow].below(settings_.records);
    asked_[flow] = record;
    request.get(settings_.table, Key(record));
    return keys_.shard(record);
  }
  Progress settled(uint32_t flow, const Reply& reply) override {
    if (reply.result != Result::kCommitted) return finished(reply, 0, false);
    if (!reply.has_values) return finished(reply, 0, true);
    return finished(reply, 0, reply.values.size() == 1 && inspect(asked_[flow], reply.values[0]));
  }

 private:
  std::vector<uint64_t> asked_;  // by flow
};

class Echo final : public MicroWorkload {
 public:
  using MicroWorkload::MicroWorkload;
  const char* name() const override { return "echo"; }
  std::span<const char* const> kinds() const override {
    static const char* const kinds[] = {"echo"};
    return kinds;
  }
  std::unique_ptr<Workload> loader() override { return nullptr; }
  // As long as a GET; with a value size longer by that.
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override {
    const uint64_t record = random_[flow].below(settings_.records);
    if (settings_.value_bytes == 0) {
      request.get(settings_.table, Key(record));
    } else {
      request.put(settings_.table, Key(record), values_.make(record));
    }
    return 0;
  }
  Progress settled(uint32_t, const Reply& reply) override { return finished(reply, 0, true); }
};

}  // namespace txnic::pktgen
