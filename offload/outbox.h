// SPDX-License-Identifier: BSD-3-Clause
// Where the front's own messages go: to other workers of this node and to other nodes. The dataplane puts messages for
// the same worker into one frame and sends it at the end of the loop's step.
#pragma once

#include "txn/types.h"

namespace txnic::offload {

class Outbox {
 public:
  // Carries a copy of `message` (one of txn/wire/commit.h, at most kMessageBytesMax) to the worker that owns `shard`,
  // which is not the caller's. Where there is no room the message is lost, and counted there: its sender's timer sends
  // it again.
  virtual void send(ShardId shard, Bytes message) = 0;

 protected:
  ~Outbox() = default;
};

}  // namespace txnic::offload
