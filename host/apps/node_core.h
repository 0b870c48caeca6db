// SPDX-License-Identifier: BSD-3-Clause
// Placement HOST: front and back of each worker are one loop.
#pragma once

#include "dataplane/modes/txn.h"
#include "host/apps/core.h"
#include "host/apps/engine.h"
#include "host/apps/options.h"

namespace txnic::apps {

class NodeCore final : public Core {
 public:
  // `options` outlive it.
  NodeCore(const Options& options, const control::NodeConfig& config, uint32_t workers)
      : options_(options), engine_(config, workers), reasons_(dataplane::TxnReasons::register_all()) {}

  uint64_t region_bytes() const override { return engine_.region_bytes(); }
  StartError start(TimeNs now, const Say& say) override {
    StartError error = engine_.start(now, say);
    return error.text.empty() ? engine_.resolve(options_.resolutions, now, say) : error;
  }
  std::unique_ptr<dataplane::Mode> make_mode(uint32_t worker, dataplane::Dataplane* plane, std::string*) override {
    engine_.front(worker)->set_outbox(plane->outbox(worker));
    return std::make_unique<dataplane::TxnMode<back::HostBack>>(engine_.front(worker), engine_.back(worker), reasons_,
                                                                &plane->counters(worker));
  }
  uint32_t incarnation() const override { return engine_.incarnation(); }
  std::string failure() const override { return engine_.failure(); }
  std::string alarm() override { return engine_.alarm(); }
  bool close() override { return engine_.close_log(); }
  std::string text(TimeNs now) const override { return to_text(engine_.statistics(now)); }
  std::string json(TimeNs now) const override { return ", \"engine\": " + to_json(engine_.statistics(now)); }

 private:
  const Options& options_;
  Engine engine_;
  const dataplane::TxnReasons reasons_;
};

}  // namespace txnic::apps
