// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/link_worker.h"

#include "host/apps/random.h"

namespace txnic::apps {

void LinkWorker::choose_front(TimeNs now) {
  link::BackEnd& link = server_->link();
  if (!link.wants_front()) [[likely]]
    return;
  // One whose lease has ended may take it up again as long as nobody else wants to serve. It wanted to when the lease
  // was over; since then it may have been renewed.
  const bool is_successor = link.has_front();
  if (is_successor && !link.front_is_dead(now)) return;
  // What the one before has left may have been read by nobody yet. The next one answers from it without waiting, so it
  // must be durable where answers wait for that (DESIGN 4.4, trap 5).
  if (back_->durable() < back_->dependency_on_all()) return;
  const uint32_t incarnation = incarnations_();
  if (incarnation == 0) return;  // the front says hello again
  deaths_ += is_successor;
  server_->admit(random_word(), incarnation, now);
  incarnation_.store(incarnation, std::memory_order_relaxed);
}

}  // namespace txnic::apps
