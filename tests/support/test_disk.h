// SPDX-License-Identifier: BSD-3-Clause
// The disk that forgets: a directory in memory behind the log's disk interface. A test decides when writes
// complete, fills the disk, fails a sync, kills the process or cuts the power; then every unsynced 512-byte sector
// may be there or not. Deterministic from its seed.
#pragma once

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "host/log/disk.h"

namespace txnic::test {

class TestDisk final : public log::Disk {
 public:
  explicit TestDisk(uint64_t seed) : random_(seed) {}
  ~TestDisk() override = default;

  // ---- what a test turns
  void set_slow(bool slow) { slow_ = slow; }                    // begun writes stay in flight
  void set_latency(uint32_t polls) { latency_polls_ = polls; }  // a write takes 1 to `polls` polls; 1: done at the next
  // Simulated time instead of polls: a write is done between `shortest` and `longest` after it began, by `*clock`,
  // which the caller moves on and keeps.
  void set_clock(const TimeNs* clock, TimeNs shortest, TimeNs longest) {
    clock_ = clock, shortest_ns_ = shortest, longest_ns_ = longest;
  }
  TimeNs next_due() const;  // when the next write in flight is done; UINT64_MAX: none, or set_slow()
  // Ways in which a disk, or who uses it, may break its promises: for tests that prove that this would be noticed.
  struct Lies {
    bool acknowledges_early = false;  // a write is done when it is in the cache
    bool hides_sync_errors = false;   // as a sync that is tried again "succeeds": the pages that failed are gone
  };
  void set_lies(const Lies& lies) { lies_ = lies; }
  void set_full(bool full) { full_ = full; }                            // nothing can be made or extended: ENOSPC
  void fail_syncs(log::Errno error) { sync_error_ = error; }            // of asynchronous writes; 0: they work
  void fail_operations(log::Errno error) { operation_error_ = error; }  // of the blocking half
  // The process dies in the middle of the n-th operation from now that changes the disk (0: not planned). From then
  // on everything fails, until crash() or kill().
  void die_after(uint64_t operations) { operations_left_ = operations; }
  bool dead() const { return dead_; }

  // Power loss: unsynced sectors survive or not, in-flight writes are torn. Open files are lost. The disk works again.
  void crash();
  // The process alone dies: what it wrote stays in the cache, unsynced; an in-flight write arrives or not.
  void kill();

  // ---- looking and damaging
  std::vector<std::byte> contents(const std::string& name) const;
  std::vector<std::string> names() const;
  void flip(const std::string& name, uint64_t offset, std::byte mask);
  void cut(const std::string& name, uint64_t bytes);
  // All files with their contents, to go back to.
  struct Snapshot {
    std::map<std::string, std::vector<std::byte>> files;
  };
  Snapshot snapshot() const;
  void restore(const Snapshot& snapshot);
  uint64_t operations() const { return operations_; }
  uint64_t sectors_lost() const { return sectors_lost_; }

  // ---- Disk
  log::Errno lock() override;
  log::Errno list(std::vector<log::FileInfo>* files) override;
  log::Errno read(const std::string& name, uint64_t offset, MutableBytes into, size_t* got) override;
  log::Errno create(const std::string& name, uint64_t bytes, Bytes head) override;
  log::Errno replace(const std::string& name, Bytes contents) override;
  log::Errno recycle(const std::string& from, const std::string& to, Bytes head) override;
  log::Errno remove(const std::string& name) override;
  log::Errno truncate(const std::string& name, uint64_t bytes) override;
  log::Errno sync(const std::string& name) override;
  log::Errno open(const std::string& name, std::unique_ptr<log::LogFile>* file) override;
  std::string describe() const override { return "test disk"; }

 private:
  class OpenFile;
  static constexpr uint64_t kSectorBytes = 512;
  // What a sector holds on the disk, where the cache may differ.
  struct OnDisk {
    std::vector<std::byte> bytes;  // shorter than a sector: zeros, or the end of the file on the disk
    bool will_sync = true;         // false: no sync brings the cached content to the disk any more
  };
  struct File {
    std::vector<std::byte> current;
    uint64_t durable_bytes = 0;  // the file's size on the disk
    std::map<uint64_t, OnDisk> on_disk;
    bool is_clean() const;
  };
  // How much of a torn write survives.
  enum class Tear : uint8_t { kNothing, kEverything, kSome, kPrefix, kSuffix };

  // Counts an operation that changes the disk. `*effect`: whether it takes effect at all (a dying one may or may not).
  log::Errno begin_operation(bool* effect);
  static void write_sectors(std::vector<std::byte>* to, uint64_t offset, Bytes data);
  static void write_cached(File* file, uint64_t offset, Bytes data, bool will_sync = true);
  static void write_durable(File* file, uint64_t offset, Bytes data);
  static void make_durable(File* file);
  static void resize(File* file, uint64_t bytes);
  static void lose_sector(File* file, uint64_t sector, const OnDisk& on_disk);
  std::vector<bool> torn(uint64_t sectors);
  void lose_cached(File* file);
  void tear(File* file, uint64_t offset, Bytes data);
  void detach_all();
  uint64_t draw(uint64_t below) { return random_() % below; }

  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::map<uint64_t, OpenFile*> open_files_;  // by number of opening: never by address, one seed is one run
  uint64_t openings_ = 0;
  bool locked_ = false;
  bool slow_ = false;
  bool full_ = false;
  bool dead_ = false;
  uint32_t latency_polls_ = 1;
  const TimeNs* clock_ = nullptr;
  TimeNs shortest_ns_ = 0, longest_ns_ = 0;
  Lies lies_;
  log::Errno sync_error_ = 0;
  log::Errno operation_error_ = 0;
  uint64_t operations_left_ = 0;
  uint64_t operations_ = 0;
  uint64_t sectors_lost_ = 0;
};

}  // namespace txnic::test
