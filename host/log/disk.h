// SPDX-License-Identifier: BSD-3-Clause
// The disk, as the log sees it: injected, so that a test or a simulator can own it, lose unsynced sectors, tear
// writes, be slow, fill up, or fail a sync. Three implementations: io_uring (uring_disk), a writer thread where
// io_uring is refused (thread_disk), and the disk that forgets (tests/support/test_disk).
//
// Two halves. LogFile is used by a worker's loop and never blocks: one write with sync in flight, polled.
// Disk is used by the log keeper's thread and by recovery, and may block.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "txn/types.h"

namespace txnic::log {

// Errors are values: 0, or an errno.
using Errno = int;
const char* errno_text(Errno code);  // its name and meaning, for messages

enum class WriteState : uint8_t { kIdle, kInFlight, kDone, kFailed };

// An open segment or checkpoint file. Called by one thread.
class LogFile {
 public:
  virtual ~LogFile() = default;
  // Begins to write `data` (block-aligned address, offset and length) and to make it durable. At most one in
  // flight. The caller keeps `data` until poll() answers otherwise than kInFlight. An Errno if it cannot begin.
  virtual Errno begin_write(uint64_t offset, const std::byte* data, uint32_t length) = 0;
  // kDone or kFailed once per write, then kIdle.
  virtual WriteState poll() = 0;
  virtual Errno last_error() const = 0;
  virtual uint64_t size() const = 0;
};

struct FileInfo {
  std::string name;
  uint64_t bytes = 0;
};

// A directory of files. Names have no folders. Blocking; never called by a worker. read() may be called by several
// threads at once.
class Disk {
 public:
  virtual ~Disk() = default;
  // Takes the directory for this process alone (and makes it if need be); EWOULDBLOCK if another node has it.
  virtual Errno lock() = 0;
  virtual Errno list(std::vector<FileInfo>* files) = 0;
  virtual Errno read(const std::string& name, uint64_t offset, MutableBytes into, size_t* got) = 0;
  // Makes a file of `bytes` zeros whose space cannot run out later (written, not only reserved), starting with
  // `head`; durable under its name when this returns. An existing file of that name is replaced. ENOSPC if the disk
  // is full, and then nothing is left behind.
  virtual Errno create(const std::string& name, uint64_t bytes, Bytes head) = 0;
  // Replaces a small file atomically and durably.
  virtual Errno replace(const std::string& name, Bytes contents) = 0;
  // Gives an old file a new name and head, keeping its blocks; durable when this returns.
  virtual Errno recycle(const std::string& from, const std::string& to, Bytes head) = 0;
  virtual Errno remove(const std::string& name) = 0;
  virtual Errno truncate(const std::string& name, uint64_t bytes) = 0;
  // Makes what the file holds now durable (recovery relies on what it reads, and a killed process may have left it
  // in a cache).
  virtual Errno sync(const std::string& name) = 0;
  // Opens for asynchronous writing.
  virtual Errno open(const std::string& name, std::unique_ptr<LogFile>* file) = 0;
  virtual std::string describe() const = 0;  // "io_uring, O_DIRECT, …": for the start banner
};

// The disk of a real directory. `io_uring` false, or a kernel that refuses it: a writer thread per open file.
// False: `error` names the cause and the next step.
bool open_disk(const std::string& directory, bool io_uring, std::unique_ptr<Disk>* disk, std::string* error);

}  // namespace txnic::log
