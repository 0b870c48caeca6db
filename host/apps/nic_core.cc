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

std::string NicWorkers::failure() const {
  for (const auto& worker : workers_) {
    std::string failure = worker->failure();
    if (!failure.empty()) return failure;
  }
  return {};
}

void NicWorkers::add_to(EngineStatistics* sum, TimeNs now) const {
  NicStatistics nic;
  for (const auto& worker : workers_) worker->add_to(sum, &nic, now);
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
