// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/nic_core.h"

#include "dataplane/link_port.h"

namespace txnic::apps {

NicWorkers::NicWorkers(const control::NodeConfig& config, uint32_t workers) {
  for (uint32_t w = 0; w < workers; ++w) workers_.push_back(std::make_unique<NicWorker>(config, w, workers));
}

uint64_t NicWorkers::region_bytes() const {
  uint64_t bytes = 0;
  for (const auto& worker : workers_) bytes += worker->region_bytes();
  return bytes;
}

StartError NicWorkers::allocate() {
  for (const auto& worker : workers_) {
    StartError error = worker->allocate();
    if (!error.text.empty()) return error;
  }
  return {};
}

std::string NicWorkers::news() {
  std::string now;
  for (const auto& worker : workers_) {
    now = worker->is_serving() ? "front serves, incarnation " + std::to_string(worker->incarnation())
                               : worker->refusal();
    if (!worker->is_serving()) break;
  }
  if (now.empty()) now = "front waits for the back at the other end of the link";
  if (now == told_) return {};
  told_ = now;
  return "host link: " + now;
}

void NicWorkers::add_to(EngineStatistics* sum, TimeNs now) const {
  NicStatistics nic;
  for (const auto& each : workers_) {
    const NicWorker& worker = *each;
    const NicWorker::Counters counters = worker.counters();
    nic.fronts += worker.fronts();
    add_counters(counters.cache, &nic.cache);
    add_counters(counters.link, &nic.link);
    add_counters(counters.frames, &nic.frames);
    add_counters(counters.front, &sum->front);
    add_counters(counters.commit, &sum->commit);
    if (!worker.is_serving()) continue;
    ++nic.serving_now;
    add_held(*worker.front(), now, sum);
    sum->sessions = std::max<uint64_t>(sum->sessions, worker.sessions().size());
  }
  sum->nic = nic;
}

std::unique_ptr<dataplane::Mode> NicCore::make_mode(uint32_t worker, dataplane::Dataplane* plane, std::string*) {
  dataplane::LinkPort* const port = plane->link_port(worker);
  workers_.at(worker)->attach(port, port->frame_bytes_max(), plane->outbox(worker));
  return std::make_unique<dataplane::NicMode<NicWorker>>(workers_.at(worker), txn_reasons_, reasons_, plane->clock(),
                                                         &plane->counters(worker));
}

EngineStatistics NicCore::statistics(TimeNs now) const {
  EngineStatistics sum;
  sum.has_store = false;
  workers_.add_to(&sum, now);
  return sum;
}

}  // namespace txnic::apps
