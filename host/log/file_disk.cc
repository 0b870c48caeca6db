// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/file_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "host/log/buffer.h"
#include "host/log/format.h"
#include "host/log/thread_file.h"
#include "host/log/uring_file.h"

namespace txnic::log {
namespace {

constexpr size_t kZeroBytes = 1u << 20;
constexpr mode_t kFileMode = 0640;

bool is_aligned(const void* memory, uint64_t offset, size_t bytes) {
  return (reinterpret_cast<uintptr_t>(memory) | offset | bytes) % kBlockBytes == 0;
}

}  // namespace

const char* errno_text(Errno code) {
  const char* text = ::strerrordesc_np(code);
  return text != nullptr ? text : "unknown error";
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

bool open_disk(const std::string& directory, bool io_uring, std::unique_ptr<Disk>* disk, std::string* error) {
  auto made = std::make_unique<FileDisk>(directory, io_uring);
  if (!made->probe(error)) return false;
  *disk = std::move(made);
  return true;
}

bool FileDisk::probe(std::string* error) {
  if (::mkdir(directory_.c_str(), 0750) != 0 && errno != EEXIST) {
    *error = "log directory " + directory_ + " cannot be made: " + errno_text(errno) +
             "; make its parent folder, or name another in log.directory";
    return false;
  }
  folder_ = Descriptor(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) {
    *error = "log directory " + directory_ + " cannot be opened: " + errno_text(errno) + "; check its permissions";
    return false;
  }
  // O_DIRECT is refused at open (tmpfs) where it is not supported; an unnamed file leaves nothing behind.
  const Descriptor direct(::openat(folder_.get(), ".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, kFileMode));
  direct_ = static_cast<bool>(direct);
  if (!io_uring_) {
    why_thread_ = "as configured";
  } else if (const Errno code = probe_uring(); code != 0) {
    io_uring_ = false;
    why_thread_ = std::string("io_uring is refused: ") + errno_text(code);
  }
  return true;
}

std::string FileDisk::describe() const {
  std::string text = io_uring_ ? "io_uring (write, linked fdatasync)" : "writer thread (" + why_thread_ + ")";
  return text + (direct_ ? ", O_DIRECT" : ", buffered (O_DIRECT is refused here)") + ", " + directory_;
}

Errno FileDisk::lock() {
  Descriptor file;
  if (const Errno code = open_file(kLockName, O_RDWR | O_CREAT, &file); code != 0) return code;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return errno;
  lock_ = std::move(file);
  return 0;
}

Errno FileDisk::list(std::vector<FileInfo>* files) {
  files->clear();
  const int fd = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  DIR* folder = ::fdopendir(fd);
  if (folder == nullptr) {
    const Errno code = errno;
    ::close(fd);
    return code;
  }
  for (const dirent* entry = ::readdir(folder); entry != nullptr; entry = ::readdir(folder)) {
    struct stat facts {};
    if (::fstatat(folder_.get(), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode)) continue;
    files->push_back({entry->d_name, static_cast<uint64_t>(facts.st_size)});
  }
  ::closedir(folder);
  std::sort(files->begin(), files->end(), [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  return 0;
}

Errno FileDisk::read(const std::string& name, uint64_t offset, MutableBytes into, size_t* got) {
  *got = 0;
  const bool direct = direct_ && is_aligned(into.data(), offset, into.size());
  Descriptor file;
  if (const Errno code = open_file(name, O_RDONLY | (direct ? O_DIRECT : 0), &file); code != 0) return code;
  while (*got < into.size()) {
    const ssize_t count =
        ::pread(file.get(), into.data() + *got, into.size() - *got, static_cast<off_t>(offset + *got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    *got += static_cast<size_t>(count);
    // A short direct read is the end of the file, or must go on at an aligned place.
    if (direct && !is_block_multiple(*got)) break;
  }
  return 0;
}

Errno FileDisk::create(const std::string& name, uint64_t bytes, Bytes head) {
  const std::string temporary = name + kTemporarySuffix;
  Errno code = 0;
  {
    Descriptor file;
    code = open_file(temporary, O_RDWR | O_CREAT | O_TRUNC | (direct_ ? O_DIRECT : 0), &file);
    if (code != 0) return code;
    // Reserve first: one large extent where there is one, and a full disk shows before anything is written. Then
    // write: an extent that was only reserved is converted at its first write, with a journal commit each time.
    if (bytes > kBlockBytes && ::fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) != 0 && errno != EOPNOTSUPP) {
      code = errno;
    }
    AlignedBuffer zeros(std::min<size_t>(kZeroBytes, std::max<size_t>(bytes, kBlockBytes)));
    for (uint64_t at = 0; at < bytes && code == 0; at += zeros.size()) {
      const size_t step = std::min<uint64_t>(zeros.size(), bytes - at);
      code = write_whole(file.get(), at, Bytes(zeros.data(), step));
    }
    if (code == 0) {
      std::copy(head.begin(), head.end(), zeros.data());
      code = write_whole(file.get(), 0, Bytes(zeros.data(), round_to_block(static_cast<uint32_t>(head.size()))));
    }
    if (code == 0 && ::fsync(file.get()) != 0) code = errno;
  }
  if (code == 0) code = rename_durably(temporary, name);
  if (code != 0) (void)::unlinkat(folder_.get(), temporary.c_str(), 0);
  return code;
}

Errno FileDisk::replace(const std::string& name, Bytes contents) {
  const std::string temporary = name + kTemporarySuffix;
  Errno code = 0;
  {
    Descriptor file;
    code = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, &file);
    if (code == 0) code = write_whole(file.get(), 0, contents);
    if (code == 0 && ::fsync(file.get()) != 0) code = errno;
  }
  if (code == 0) code = rename_durably(temporary, name);
  if (code != 0) (void)::unlinkat(folder_.get(), temporary.c_str(), 0);
  return code;
}

Errno FileDisk::recycle(const std::string& from, const std::string& to, Bytes head) {
  // Under a temporary name in between: a crash must not leave the new name with the old head.
  const std::string temporary = to + kTemporarySuffix;
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), temporary.c_str()) != 0) return errno;
  {
    Descriptor file;
    if (const Errno code = open_file(temporary, O_WRONLY | (direct_ ? O_DIRECT : 0), &file); code != 0) return code;
    AlignedBuffer block(round_to_block(static_cast<uint32_t>(head.size())));
    std::copy(head.begin(), head.end(), block.data());
    if (const Errno code = write_whole(file.get(), 0, Bytes(block.data(), block.size())); code != 0) return code;
    if (::fsync(file.get()) != 0) return errno;
  }
  return rename_durably(temporary, to);
}

Errno FileDisk::remove(const std::string& name) { return ::unlinkat(folder_.get(), name.c_str(), 0) == 0 ? 0 : errno; }

Errno FileDisk::truncate(const std::string& name, uint64_t bytes) {
  Descriptor file;
  if (const Errno code = open_file(name, O_WRONLY, &file); code != 0) return code;
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return errno;
  return ::fsync(file.get()) == 0 ? 0 : errno;
}

Errno FileDisk::sync(const std::string& name) {
  Descriptor file;
  if (const Errno code = open_file(name, O_WRONLY, &file); code != 0) return code;
  return ::fsync(file.get()) == 0 ? 0 : errno;
}

Errno FileDisk::open(const std::string& name, std::unique_ptr<LogFile>* file) {
  Descriptor opened;
  if (const Errno code = open_file(name, O_WRONLY | (direct_ ? O_DIRECT : 0), &opened); code != 0) return code;
  struct stat facts {};
  if (::fstat(opened.get(), &facts) != 0) return errno;
  const uint64_t bytes = static_cast<uint64_t>(facts.st_size);
  return io_uring_ ? open_uring_file(std::move(opened), bytes, file) : open_thread_file(std::move(opened), bytes, file);
}

Errno FileDisk::open_file(const std::string& name, int flags, Descriptor* file) const {
  const int fd = ::openat(folder_.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, kFileMode);
  if (fd < 0) return errno;
  *file = Descriptor(fd);
  return 0;
}

Errno FileDisk::write_whole(int file, uint64_t offset, Bytes data) const {
  size_t written = 0;
  while (written < data.size()) {
    const ssize_t count =
        ::pwrite(file, data.data() + written, data.size() - written, static_cast<off_t>(offset + written));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return ENOSPC;
    written += static_cast<size_t>(count);
  }
  return 0;
}

Errno FileDisk::rename_durably(const std::string& from, const std::string& to) const {
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) != 0) return errno;
  return ::fsync(folder_.get()) == 0 ? 0 : errno;
}

}  // namespace txnic::log
