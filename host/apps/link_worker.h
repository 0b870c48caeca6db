// SPDX-License-Identifier: BSD-3-Clause
// One worker's back behind a host link (placement NIC): its log and store, the server of its link, and who may serve
// its shards. A front is admitted when no other one can be serving, each with an incarnation of its own (COMMIT 14,
// 21).
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "host/back/link_server.h"

namespace txnic::apps {

class LinkWorker {
 public:
  // `incarnations`: answers one that is new and durable, or 0 if none is ready; called by the worker. `back` outlives
  // this.
  LinkWorker(back::HostBack* back, std::unique_ptr<back::LinkServer> server, std::function<uint32_t()> incarnations)
      : back_(back), server_(std::move(server)), incarnations_(std::move(incarnations)) {
    server_->link().set_open(true);
  }

  // ---- dataplane::LinkServer: the worker's lcore
  void on_frame(Bytes frame, TimeNs now) { server_->on_frame(frame, now); }
  uint32_t poll(TimeNs now) {
    const uint32_t work = back_->poll(now);
    choose_front(now);
    return work + server_->poll();
  }
  bool quiet() const { return back_->quiet(); }

  // ---- any thread, as plain statistics
  const back::LinkServer& server() const { return *server_; }
  uint64_t deaths() const { return deaths_; }
  // The incarnation of the newest front; 0: there was none.
  uint32_t incarnation() const { return incarnation_.load(std::memory_order_relaxed); }
  bool has_front() const { return server_->link().has_front(); }

 private:
  void choose_front(TimeNs now);

  back::HostBack* const back_;
  const std::unique_ptr<back::LinkServer> server_;
  const std::function<uint32_t()> incarnations_;
  uint64_t deaths_ = 0;  // fronts whose lease ended without a word
  std::atomic<uint32_t> incarnation_{0};
};

}  // namespace txnic::apps
