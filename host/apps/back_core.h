// SPDX-License-Identifier: BSD-3-Clause
// `--role host`: the back in a process of its own, and placement NIC in one process: the same back, with the fronts
// before it in the same workers.
#pragma once

#include "dataplane/local_link.h"
#include "dataplane/modes/link_back.h"
#include "host/apps/engine.h"
#include "host/apps/nic_core.h"

namespace txnic::apps {

class BackCore final : public Core {
 public:
  BackCore(const control::NodeConfig& config, uint32_t workers)
      : engine_(config, workers, Engine::Fronts::kElsewhere), reasons_(dataplane::NicReasons::register_all()) {}

  uint64_t region_bytes() const override { return engine_.region_bytes(); }
  StartError start(TimeNs now, const Say& say) override { return engine_.start(now, say); }
  std::unique_ptr<dataplane::Mode> make_mode(uint32_t worker, dataplane::Dataplane* plane,
                                             std::string* error) override;
  uint32_t incarnation() const override { return engine_.incarnation(); }
  std::string failure() const override { return engine_.failure(); }
  std::string alarm() override { return engine_.alarm(); }
  bool close() override { return engine_.close_log(); }
  std::string text(TimeNs now) const override { return to_text(engine_.statistics(now)); }
  std::string json(TimeNs now) const override {
    return ", \"role\": \"host\", \"engine\": " + to_json(engine_.statistics(now));
  }

 private:
  Engine engine_;
  const dataplane::NicReasons reasons_;
};

class PairCore final : public Core {
 public:
  PairCore(const control::NodeConfig& config, const offload::HardwareProfile& profile, uint32_t workers)
      : profile_(profile),
        fronts_(config, workers),
        engine_(config, workers, Engine::Fronts::kElsewhere),
        txn_reasons_(dataplane::TxnReasons::register_all()),
        reasons_(dataplane::NicReasons::register_all()) {}

  uint64_t region_bytes() const override { return engine_.region_bytes() + fronts_.region_bytes(); }
  StartError start(TimeNs now, const Say& say) override {
    StartError error = engine_.start(now, say);
    return error.text.empty() ? fronts_.allocate() : error;
  }
  std::unique_ptr<dataplane::Mode> make_mode(uint32_t worker, dataplane::Dataplane* plane,
                                             std::string* error) override;
  uint32_t incarnation() const override { return engine_.incarnation(); }
  std::string failure() const override {
    const std::string failure = engine_.failure();
    return failure.empty() ? fronts_.failure() : failure;
  }
  std::string alarm() override {
    const std::string alarm = engine_.alarm();
    return alarm.empty() ? fronts_.news() : alarm;
  }
  bool close() override { return engine_.close_log(); }
  std::string text(TimeNs now) const override { return to_text(statistics(now)); }
  std::string json(TimeNs now) const override {
    return ", \"role\": \"both\", \"engine\": " + to_json(statistics(now));
  }

 private:
  EngineStatistics statistics(TimeNs now) const;

  const offload::HardwareProfile profile_;
  NicWorkers fronts_;
  Engine engine_;
  const dataplane::TxnReasons txn_reasons_;
  const dataplane::NicReasons reasons_;
  std::vector<std::unique_ptr<dataplane::LocalLink>> links_;
};

}  // namespace txnic::apps
