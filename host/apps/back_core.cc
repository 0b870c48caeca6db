// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/back_core.h"

#include "dataplane/link_port.h"
#include "dataplane/modes/local_pair.h"

namespace txnic::apps {

std::unique_ptr<dataplane::Mode> BackCore::make_mode(uint32_t worker, dataplane::Dataplane* plane,
                                                     std::string* error) {
  dataplane::LinkPort* const port = plane->link_port(worker);
  LinkWorker* const server = engine_.make_link_worker(worker, port, port->frame_bytes_max(), error);
  if (server == nullptr) return nullptr;
  return std::make_unique<dataplane::LinkBackMode<LinkWorker>>(server, reasons_, plane->clock(),
                                                               &plane->counters(worker));
}

std::unique_ptr<dataplane::Mode> PairCore::make_mode(uint32_t worker, dataplane::Dataplane* plane,
                                                     std::string* error) {
  links_.push_back(std::make_unique<dataplane::LocalLink>(profile_));
  dataplane::LocalLink* const link = links_.back().get();
  LinkWorker* const server = engine_.make_link_worker(worker, &link->to_front, limits::kMessageBytesMax, error);
  if (server == nullptr) return nullptr;
  fronts_.at(worker)->attach(&link->to_back, limits::kMessageBytesMax, plane->outbox(worker));
  return std::make_unique<dataplane::LocalPairMode<NicWorker, LinkWorker>>(
      fronts_.at(worker), server, link, profile_, txn_reasons_, reasons_, plane->clock(), &plane->counters(worker));
}

EngineStatistics PairCore::statistics(TimeNs now) const {
  EngineStatistics sum = engine_.statistics(now);
  fronts_.add_to(&sum, now);
  return sum;
}

}  // namespace txnic::apps
