// SPDX-License-Identifier: BSD-3-Clause
// One EAL for the test process, without hugepages and without root, and shared-memory links inside the process: the
// listening end is the node's port, the connecting end the test's.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/dataplane.h"
#include "dataplane/port.h"
#include "tests/unit/dataplane/frames.h"

struct rte_mempool;

namespace txnic::dataplane::test {

inline constexpr uint32_t kTestWorkers = 2;

// Starts the EAL at the first use; afterwards does nothing. Main and two workers on whatever CPUs there are.
void start_test_eal();

// Polls `condition` until it holds; false after a minute.
bool eventually(const std::function<bool()>& condition);

// Two ports that are connected once both are started. Removed at the end.
class Link {
 public:
  Link();
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  void plug_listener();    // done by the constructor; again after unplug_listener(), as a new process would
  void unplug_listener();  // after its Dataplane is gone

  uint16_t listener() const { return listener_; }
  uint16_t connector() const { return connector_; }

 private:
  std::string directory_, socket_, listener_name_, connector_name_;
  uint16_t listener_ = 0, connector_ = 0;
};

// The connecting end, driven frame by frame.
class Wire {
 public:
  Wire(uint16_t port_id, uint32_t queues = 1);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool start();
  bool connect();  // starts the port, waits for the link, and starts again as long as nobody listens
  // Sends frames in bursts; false if the port stopped taking them. Answers gather meanwhile unless `deaf`.
  bool send(const std::vector<Frame>& frames, bool deaf = false, uint16_t queue = 0);
  void gather();
  bool gather_until(size_t count);  // bounded
  std::vector<Frame> answers;

 private:
  Port port_;
  PortOptions options_;
  rte_mempool* pool_ = nullptr;
};

}  // namespace txnic::dataplane::test
