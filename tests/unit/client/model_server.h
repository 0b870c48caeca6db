// SPDX-License-Identifier: BSD-3-Clause
// The model node behind a UDP socket on the loopback interface, in a thread of its own. The port is the kernel's
// choice, so that tests can run side by side.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "tests/unit/client/model_node.h"

namespace txnic::client::test {

struct ServerWeather {
  uint32_t drop_per_mille = 0;
  uint32_t double_per_mille = 0;
  bool garbage = false;  // a spoilt copy goes before every answer
};

class ModelServer {
 public:
  explicit ModelServer(ModelOptions options = {}, const ServerWeather& weather = {},
                       std::shared_ptr<ModelStore> shared = nullptr)
      : weather_(weather), random_(options.seed) {
    fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    options.workers = 1;  // one port
    options.base_port = port_;
    node_ = std::make_unique<ModelNode>(options, std::move(shared));
    thread_ = std::thread([this] { serve(); });
  }
  ~ModelServer() {
    stop_ = true;
    thread_.join();
    ::close(fd_);
  }
  ModelServer(const ModelServer&) = delete;
  ModelServer& operator=(const ModelServer&) = delete;

  uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Runs `action` on the node while it serves nothing.
  template <class Action>
  auto with_node(Action action) {
    const std::lock_guard lock(mutex_);
    return action(*node_);
  }
  void set_deaf(bool deaf) { deaf_ = deaf; }                      // requests are lost
  void lose_answers(uint32_t count) { answers_to_lose_ = count; }  // the next ones

 private:
  bool chance(uint32_t per_mille) { return random_() % 1000 < per_mille; }

  void serve() {
    std::byte buffer[2048];
    while (!stop_) {
      pollfd waiter{fd_, POLLIN, 0};
      if (::poll(&waiter, 1, 10) <= 0) continue;
      sockaddr_in from{};
      socklen_t length = sizeof from;
      const ssize_t got = ::recvfrom(fd_, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (got <= 0 || deaf_ || chance(weather_.drop_per_mille)) continue;
      const std::lock_guard lock(mutex_);
      const uint32_t copies = chance(weather_.double_per_mille) ? 2 : 1;
      for (uint32_t i = 0; i < copies; ++i) {
        const auto reply = node_->handle(buffer, static_cast<uint32_t>(got));
        if (reply) send(*reply, from);
      }
    }
  }

  void send(const Message& reply, const sockaddr_in& to) {
    const auto type = static_cast<wire::Type>(reply[3]);
    if ((type == wire::Type::kExecuted || type == wire::Type::kPrepared) && answers_to_lose_ != 0) {
      --answers_to_lose_;
      return;
    }
    if (weather_.garbage) {
      Message spoilt = reply;
      for (int i = 0; i < 4; ++i) spoilt[random_() % 8] = static_cast<std::byte>(random_());
      spoilt.resize(1 + random_() % spoilt.size());
      transmit(spoilt, to);
    }
    if (chance(weather_.drop_per_mille)) return;
    transmit(reply, to);
    if (chance(weather_.double_per_mille)) transmit(reply, to);
  }
  void transmit(const Message& message, const sockaddr_in& to) {
    (void)::sendto(fd_, message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }

  ServerWeather weather_;
  std::mt19937_64 random_;
  std::unique_ptr<ModelNode> node_;
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> deaf_ = false;
  std::atomic<uint32_t> answers_to_lose_ = 0;
  int fd_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace txnic::client::test
