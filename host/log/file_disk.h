// SPDX-License-Identifier: BSD-3-Clause
// A real directory. The blocking half of a disk is the same whichever way segments are written; the two devices
// differ in how they open a file for asynchronous writing (uring_file.h, thread_file.h).
#pragma once

#include <string>

#include "host/log/disk.h"

namespace txnic::log {

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class FileDisk final : public Disk {
 public:
  FileDisk(std::string directory, bool io_uring) : directory_(std::move(directory)), io_uring_(io_uring) {}

  // Finds out what the directory's file system allows; makes the directory. Before anything else.
  bool probe(std::string* error);

  Errno lock() override;
  Errno list(std::vector<FileInfo>* files) override;
  Errno read(const std::string& name, uint64_t offset, MutableBytes into, size_t* got) override;
  Errno create(const std::string& name, uint64_t bytes, Bytes head) override;
  Errno replace(const std::string& name, Bytes contents) override;
  Errno recycle(const std::string& from, const std::string& to, Bytes head) override;
  Errno remove(const std::string& name) override;
  Errno truncate(const std::string& name, uint64_t bytes) override;
  Errno sync(const std::string& name) override;
  Errno open(const std::string& name, std::unique_ptr<LogFile>* file) override;
  std::string describe() const override;

 private:
  Errno open_file(const std::string& name, int flags, Descriptor* file) const;
  Errno write_whole(int file, uint64_t offset, Bytes data) const;
  Errno rename_durably(const std::string& from, const std::string& to) const;

  const std::string directory_;
  bool io_uring_;
  bool direct_ = false;     // the file system takes O_DIRECT
  std::string why_thread_;  // why io_uring is not used
  Descriptor folder_;
  Descriptor lock_;
};

}  // namespace txnic::log
