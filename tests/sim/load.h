// SPDX-License-Identifier: BSD-3-Clause
// Small things that workloads share: a task that fills rows in, and bytes.
#pragma once

#include "tests/sim/task.h"

namespace txnic::sim {

template <class T>
void append_bytes(std::vector<std::byte>* to, T value) {
  const size_t at = to->size();
  to->resize(at + sizeof value);
  store(to->data() + at, value);
}
template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes;
  append_bytes(&bytes, value);
  return bytes;
}

// One transaction of the setup, which has a network and nodes without faults.
class Load final : public Task {
 public:
  Load(Context* context, Part part) : context_(*context), part_(std::move(part)) {}
  bool next(const Outcome* previous, Transaction* transaction) override {
    if (previous == nullptr) {
      transaction->parts = {part_};
      return true;
    }
    if (!previous->committed()) context_.fail(std::string("the setup was answered ") + name(previous->result));
    return false;
  }
  void abandon() override {}

 private:
  Context& context_;
  const Part part_;
};

}  // namespace txnic::sim
