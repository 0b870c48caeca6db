// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/link/nic_side.h"

namespace txnic::test {

void NicSide::die() {
  if (front_ != nullptr) {
    misses += back_->counters().misses;
    duplicates += front_->counters().duplicates;
  }
  front_.reset();
  back_.reset();
  end_.reset();
  kept_.reset();
  inbox_.clear();
  held_.clear();
}

void NicSide::start() {
  ++starts;
  kept_ = std::make_unique<back::RecoveredState>(std::vector<storage::Shard*>(config_.shards), config_.sessions.window);
  end_ = std::make_unique<link::FrontEnd>();
  back_ = std::make_unique<offload::NicBack>();
  const offload::NicBackConfig config{.shards = config_.shards,
                                      .durability = config_.durability,
                                      .session_window = config_.sessions.window,
                                      .filter_keys = 4096};
  if (!back_->init(config, config_.tables, cache_memory_.make(config_.cache_bytes),
                   filter_memory_.make(offload::NicBack::filter_bytes(config)), end_.get(), this)) {
    error = "too little memory";
  }
  link::FrontEndConfig link = config_.link;
  link.instance = ++instance_;
  link.shards = config_.shards;
  end_->init(link, link_memory_.make(link::FrontEnd::memory_bytes(link)), to_back_, back_.get());
}

// Everything that was kept has been read.
void NicSide::install(TimeNs now) {
  sessions_.init(config_.sessions, session_memory_.make(SessionTable::memory_bytes(config_.sessions)));
  error += kept_->fill(0, 1, now, &sessions_);
  const back::RecoveredState::Room room = kept_->room_to_restore(0, 1);
  offload::FrontConfig front;
  front.map = ShardMap::of_one_node(config_.shards, 1, {0, wire::kBasePortDefault});
  front.incarnation = end_->incarnation();
  front.durability = config_.durability;
  front.cookie_secret = {instance_ * 31, 7};
  front.commit.transactions = config_.transactions + room.transactions;
  front.commit.locks = config_.locks + room.locks;
  front_ =
      std::make_unique<Front>(front, back_.get(), &sessions_, commit_memory_.make(Front::commit_memory_bytes(front)));
  back_->serve(end_->incarnation());
  error += kept_->restore(0, 1, now, back_.get(), &front_->machine());
  restored += room.transactions;
  end_->serve();
  end_->fill();
}

void NicSide::deliver(Endpoint from, std::vector<std::byte> message) {
  auto entry = std::make_unique<Message>();
  entry->from = from;
  entry->length = static_cast<uint32_t>(message.size());
  entry->bytes = std::move(message);
  entry->bytes.resize(std::max<size_t>(entry->bytes.size(), limits::kMessageBytesMax));
  inbox_.push_back(std::move(entry));
}

void NicSide::settle(offload::Action action, uint32_t reply_length, Message* raw) {
  std::unique_ptr<Message> message(raw);
  if (action == offload::Action::kReply) {
    message->bytes.resize(reply_length);
    reply_(message->from, std::move(message->bytes));
  } else if (action == offload::Action::kHold) {
    held_[raw] = std::move(message);
  }
}

void NicSide::step(TimeNs now) {
  if (end_->state() == link::FrontState::kLost) {
    if (front_ != nullptr) front_->abandon([this](void* handle) { held_.erase(static_cast<Message*>(handle)); });
    if (!held_.empty()) error = "the front has lost a message that it held";
    die();
    start();
    return;
  }
  if (end_->state() == link::FrontState::kReady) install(now);
  if (front_ == nullptr) {
    inbox_.clear();
    end_->poll(now);
    return;
  }
  std::array<offload::Request, limits::kBurstMax> burst;
  std::array<Message*, limits::kBurstMax> messages;
  uint32_t count = 0;
  for (; count < burst.size() && !inbox_.empty(); ++count) {
    messages[count] = inbox_.front().release();
    inbox_.pop_front();
    Message& message = *messages[count];
    burst[count] = {.message = message.bytes.data(),
                    .handle = &message,
                    .from = message.from,
                    .length = message.length,
                    .room = limits::kMessageBytesMax};
  }
  front_->step({burst.data(), count}, now);
  for (uint32_t i = 0; i < count; ++i) settle(burst[i].action, burst[i].reply_length, messages[i]);
  back_->poll(now);
  std::array<offload::Released, limits::kBurstMax> released;
  const uint32_t ready = front_->release(released);
  for (uint32_t i = 0; i < ready; ++i) {
    auto held = held_.extract(static_cast<Message*>(released[i].handle));
    settle(released[i].action, released[i].reply_length, held.mapped().release());
  }
  front_->idle(now);
}

}  // namespace txnic::test
