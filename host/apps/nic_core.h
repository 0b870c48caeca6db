// SPDX-License-Identifier: BSD-3-Clause
// `--role nic`: the front in a process of its own, on a SmartNIC's cores. No store, no log, no disk.
#pragma once

#include "dataplane/modes/nic.h"
#include "host/apps/core.h"
#include "host/apps/nic_worker.h"
#include "host/apps/statistics.h"

namespace txnic::apps {

// The fronts of all workers, as the two cores that have them need them.
class NicWorkers {
 public:
  NicWorkers(const control::NodeConfig& config, uint32_t workers);
  uint64_t region_bytes() const;
  StartError allocate();
  NicWorker* at(uint32_t worker) { return workers_[worker].get(); }
  uint32_t incarnation() const { return workers_.front()->incarnation(); }
  // What has changed since the last call, for people: who serves, or why nobody does.
  std::string news();
  std::string failure() const;
  void add_to(EngineStatistics* sum, TimeNs now) const;

 private:
  std::vector<std::unique_ptr<NicWorker>> workers_;
  std::string told_;
};

class NicCore final : public Core {
 public:
  NicCore(const control::NodeConfig& config, uint32_t workers)
      : workers_(config, workers),
        txn_reasons_(dataplane::TxnReasons::register_all()),
        reasons_(dataplane::NicReasons::register_all()) {}

  uint64_t region_bytes() const override { return workers_.region_bytes(); }
  StartError start(TimeNs, const Say&) override { return workers_.allocate(); }
  std::unique_ptr<dataplane::Mode> make_mode(uint32_t worker, dataplane::Dataplane* plane,
                                             std::string*) override;
  uint32_t incarnation() const override { return workers_.incarnation(); }
  std::string failure() const override { return workers_.failure(); }
  std::string alarm() override { return workers_.news(); }
  bool close() override { return true; }
  std::string text(TimeNs now) const override { return to_text(statistics(now)); }
  std::string json(TimeNs now) const override { return ", \"role\": \"nic\", \"engine\": " + to_json(statistics(now)); }

 private:
  EngineStatistics statistics(TimeNs now) const;

  NicWorkers workers_;
  const dataplane::TxnReasons txn_reasons_;
  const dataplane::NicReasons reasons_;
};

}  // namespace txnic::apps
