// SPDX-License-Identifier: BSD-3-Clause
// Beside a loop that never sleeps, a thread of ordinary priority waits milliseconds for its turn after each write;
// with the lowest real-time priority it runs at once (measured 0.5 ms instead of 3.6 ms for 4 KiB, both CPUs busy).
// It works for microseconds at a time. Without the permission for that it is merely slower.
#include "host/log/thread_file.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <system_error>
#include <thread>

#include "host/log/all_cpus.h"

namespace txnic::log {
namespace {

class ThreadFile final : public LogFile {
 public:
  ThreadFile(Descriptor file, uint64_t bytes) : file_(std::move(file)), bytes_(bytes) {
    thread_ = std::thread([this] { serve(); });
  }
  ThreadFile(const ThreadFile&) = delete;
  ThreadFile& operator=(const ThreadFile&) = delete;
  ~ThreadFile() override {
    stopping_.store(true, std::memory_order_release);
    // A write in flight is finished first; the next wake-up sees the flag.
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_one();
    thread_.join();
  }

  Errno begin_write(uint64_t offset, const std::byte* data, uint32_t length) override {
    assert(!busy_);
    busy_ = true;
    offset_ = offset;
    data_ = data;
    length_ = length;
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_one();  // wakes, never waits
    return 0;
  }

  WriteState poll() override {
    if (!busy_) return WriteState::kIdle;
    if (served_.load(std::memory_order_acquire) != turn_.load(std::memory_order_relaxed)) return WriteState::kInFlight;
    busy_ = false;
    return error_ == 0 ? WriteState::kDone : WriteState::kFailed;
  }

  Errno last_error() const override { return error_; }
  uint64_t size() const override { return bytes_; }

 private:
  void serve() {
    const AllCpus cpus;
    sched_param lowest{};
    lowest.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
    (void)::sched_setscheduler(0, SCHED_FIFO, &lowest);
    (void)::pthread_setname_np(::pthread_self(), "log-writer");
    for (uint32_t seen = 0;;) {
      turn_.wait(seen, std::memory_order_acquire);
      seen = turn_.load(std::memory_order_acquire);
      if (stopping_.load(std::memory_order_acquire) && !has_work(seen)) return;
      error_ = write_durably();
      served_.store(seen, std::memory_order_release);
      if (stopping_.load(std::memory_order_acquire)) return;
    }
  }

  // Stopping adds one turn that carries no write: there is work only if an earlier turn has not been served.
  bool has_work(uint32_t seen) const { return served_.load(std::memory_order_relaxed) + 1 < seen; }

  Errno write_durably() const {
    uint32_t written = 0;
    while (written < length_) {
      const ssize_t count =
          ::pwrite(file_.get(), data_ + written, length_ - written, static_cast<off_t>(offset_ + written));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno;
      if (count == 0) return ENOSPC;
      written += static_cast<uint32_t>(count);
    }
    return ::fdatasync(file_.get()) == 0 ? 0 : errno;
  }

  Descriptor file_;
  const uint64_t bytes_;
  std::thread thread_;
  std::atomic<uint32_t> turn_{0};    // counts writes begun
  std::atomic<uint32_t> served_{0};  // the last one finished
  std::atomic<bool> stopping_{false};
  bool busy_ = false;
  uint64_t offset_ = 0;
  const std::byte* data_ = nullptr;
  uint32_t length_ = 0;
  Errno error_ = 0;
};

}  // namespace

Errno open_thread_file(Descriptor file, uint64_t bytes, std::unique_ptr<LogFile>* opened) {
  try {
    *opened = std::make_unique<ThreadFile>(std::move(file), bytes);
  } catch (const std::system_error&) {  // no thread to be had
    return EAGAIN;
  }
  return 0;
}

}  // namespace txnic::log
