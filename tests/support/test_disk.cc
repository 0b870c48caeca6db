// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/test_disk.h"

#include <algorithm>
#include <cassert>
#include <cerrno>

namespace txnic::test {

using log::Errno;
using log::WriteState;

// An open file. It is detached when the disk crashes or goes: then nothing that it does has an effect.
class TestDisk::OpenFile final : public log::LogFile {
 public:
  OpenFile(TestDisk* disk, std::shared_ptr<File> file, uint64_t number)
      : disk_(disk), file_(std::move(file)), number_(number) {}
  ~OpenFile() override {
    if (disk_ == nullptr) return;
    const std::lock_guard lock(disk_->mutex_);
    disk_->open_files_.erase(number_);
    // A real file waits for its write here; whether it arrives is up to the disk.
    if (in_flight_ && !disk_->dead_) arrive();
  }

  Errno begin_write(uint64_t offset, const std::byte* data, uint32_t length) override {
    assert(!in_flight_ && reinterpret_cast<uintptr_t>(data) % 4096 == 0 && offset % 4096 == 0 && length % 4096 == 0);
    if (disk_ == nullptr) return error_ = EIO;
    const std::lock_guard lock(disk_->mutex_);
    if (disk_->dead_) return error_ = EIO;
    bool effect = false;
    // If the process dies here, the write is in flight: how much of it arrives is decided by crash() or kill().
    if (const Errno code = disk_->begin_operation(&effect); code != 0 && !disk_->dead_) return error_ = code;
    if (disk_->full_ && offset + length > file_->current.size()) return error_ = ENOSPC;
    offset_ = offset;
    data_.assign(data, data + length);
    in_flight_ = true;
    if (disk_->clock_ == nullptr) {
      polls_left_ = 1 + disk_->draw(std::max(disk_->latency_polls_, 1u));
    } else {
      due_ns_ = *disk_->clock_ + disk_->shortest_ns_ + disk_->draw(disk_->longest_ns_ - disk_->shortest_ns_ + 1);
    }
    return 0;
  }

  WriteState poll() override {
    if (!in_flight_) return WriteState::kIdle;
    if (disk_ == nullptr) {
      in_flight_ = false;
      error_ = EIO;
      return WriteState::kFailed;
    }
    const std::lock_guard lock(disk_->mutex_);
    if (disk_->dead_ || disk_->slow_ || !is_due()) return WriteState::kInFlight;
    in_flight_ = false;
    arrive();
    if (disk_->sync_error_ != 0 && !disk_->lies_.hides_sync_errors) {
      error_ = disk_->sync_error_;
      return WriteState::kFailed;
    }
    return WriteState::kDone;
  }

  Errno last_error() const override { return error_; }
  uint64_t size() const override { return file_->current.size(); }

 private:
  friend class TestDisk;
  bool is_due() {
    if (disk_->clock_ != nullptr) return *disk_->clock_ >= due_ns_;
    if (polls_left_ > 1) return --polls_left_, false;
    return true;
  }

  // The write reaches the disk; it is durable if syncs work.
  void arrive() {
    if (disk_->sync_error_ != 0 && disk_->lies_.hides_sync_errors) {
      return write_cached(file_.get(), offset_, data_, false);
    }
    if (disk_->lies_.acknowledges_early) return write_cached(file_.get(), offset_, data_);
    if (disk_->sync_error_ == 0 && file_->is_clean()) return write_durable(file_.get(), offset_, data_);
    write_cached(file_.get(), offset_, data_);
    if (disk_->sync_error_ == 0) make_durable(file_.get());
  }

  TestDisk* disk_;
  std::shared_ptr<File> file_;
  const uint64_t number_;
  TimeNs due_ns_ = 0;
  bool in_flight_ = false;
  uint64_t offset_ = 0;
  uint64_t polls_left_ = 0;
  std::vector<std::byte> data_;
  Errno error_ = 0;
};

// ---- losing ---------------------------------------------------------------------------------------------------------

void TestDisk::write_sectors(std::vector<std::byte>* to, uint64_t offset, Bytes data) {
  if (to->size() < offset + data.size()) to->resize(offset + data.size());
  std::copy(data.begin(), data.end(), to->begin() + static_cast<std::ptrdiff_t>(offset));
}

bool TestDisk::File::is_clean() const {
  return std::none_of(on_disk.begin(), on_disk.end(), [](const auto& entry) { return entry.second.will_sync; });
}

// Only what differs from the disk is kept twice: most of a file never does.
void TestDisk::write_cached(File* file, uint64_t offset, Bytes data, bool will_sync) {
  for (uint64_t at = offset / kSectorBytes * kSectorBytes; at < offset + data.size(); at += kSectorBytes) {
    const auto [entry, is_new] = file->on_disk.try_emplace(at / kSectorBytes);
    OnDisk& old = entry->second;
    if (!is_new) {
      old.will_sync = old.will_sync || will_sync;
      continue;
    }
    old.will_sync = will_sync;
    const uint64_t end = std::min({at + kSectorBytes, file->durable_bytes, uint64_t{file->current.size()}});
    if (at < end) old.bytes.assign(file->current.data() + at, file->current.data() + end);
  }
  write_sectors(&file->current, offset, data);
}

void TestDisk::write_durable(File* file, uint64_t offset, Bytes data) {
  write_sectors(&file->current, offset, data);
  file->durable_bytes = std::max(file->durable_bytes, offset + data.size());
  file->on_disk.erase(file->on_disk.lower_bound(offset / kSectorBytes),
                      file->on_disk.lower_bound((offset + data.size() + kSectorBytes - 1) / kSectorBytes));
}

void TestDisk::make_durable(File* file) {
  std::erase_if(file->on_disk, [](const auto& entry) { return entry.second.will_sync; });
  file->durable_bytes = file->current.size();
}

void TestDisk::resize(File* file, uint64_t bytes) {
  file->current.resize(bytes);
  file->durable_bytes = bytes;
  file->on_disk.erase(file->on_disk.lower_bound((bytes + kSectorBytes - 1) / kSectorBytes), file->on_disk.end());
}

// The cached content of a sector is gone; what the disk has is there.
void TestDisk::lose_sector(File* file, uint64_t sector, const OnDisk& on_disk) {
  const uint64_t at = sector * kSectorBytes;
  const uint64_t end = std::min<uint64_t>(at + kSectorBytes, file->current.size());
  for (uint64_t i = at; i < end; ++i) {
    file->current[i] = i - at < on_disk.bytes.size() ? on_disk.bytes[i - at] : std::byte{0};
  }
}

// Which of a write's sectors survive.
std::vector<bool> TestDisk::torn(uint64_t sectors) {
  const Tear how = static_cast<Tear>(draw(5));
  const uint64_t border = draw(sectors + 1);
  std::vector<bool> survives(sectors);
  for (uint64_t sector = 0; sector < sectors; ++sector) {
    switch (how) {
      case Tear::kNothing:
        break;
      case Tear::kEverything:
        survives[sector] = true;
        break;
      case Tear::kSome:
        survives[sector] = draw(2) == 0;
        break;
      case Tear::kPrefix:
        survives[sector] = sector < border;
        break;
      case Tear::kSuffix:
        survives[sector] = sector >= border;
        break;
    }
    sectors_lost_ += survives[sector] ? 0 : 1;
  }
  return survives;
}

// Each cached sector reaches the disk or not.
void TestDisk::lose_cached(File* file) {
  uint64_t size = file->durable_bytes;
  for (const auto& [sector, on_disk] : file->on_disk) {
    if (on_disk.will_sync && torn(1)[0]) {
      size = std::max(size, std::min<uint64_t>((sector + 1) * kSectorBytes, file->current.size()));
    } else {
      lose_sector(file, sector, on_disk);
    }
  }
  resize(file, size);
  file->on_disk.clear();
}

// Lets some sectors of a write that is in flight survive.
void TestDisk::tear(File* file, uint64_t offset, Bytes data) {
  const std::vector<bool> survives = torn((data.size() + kSectorBytes - 1) / kSectorBytes);
  for (uint64_t sector = 0; sector < survives.size(); ++sector) {
    const uint64_t at = sector * kSectorBytes;
    if (!survives[sector]) continue;
    write_durable(file, offset + at, data.subspan(at, std::min<uint64_t>(kSectorBytes, data.size() - at)));
  }
}

void TestDisk::detach_all() {
  for (const auto& [number, file] : open_files_) file->disk_ = nullptr;
  open_files_.clear();
  locked_ = false;
  dead_ = false;
  operations_left_ = 0;
  slow_ = false;
  sync_error_ = operation_error_ = 0;
}

void TestDisk::crash() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, file] : files_) lose_cached(file.get());
  for (const auto& [number, open] : open_files_) {
    if (open->in_flight_) tear(open->file_.get(), open->offset_, open->data_);
  }
  detach_all();
}

void TestDisk::kill() {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, open] : open_files_) {
    if (open->in_flight_ && draw(2) == 0) write_cached(open->file_.get(), open->offset_, open->data_);
  }
  detach_all();
}

Errno TestDisk::begin_operation(bool* effect) {
  *effect = false;
  if (dead_) return EIO;
  if (operation_error_ != 0) return operation_error_;
  ++operations_;
  *effect = true;
  if (operations_left_ > 0 && --operations_left_ == 0) {
    dead_ = true;
    *effect = draw(2) == 0;
    return EIO;
  }
  return 0;
}

// ---- looking --------------------------------------------------------------------------------------------------------

TimeNs TestDisk::next_due() const {
  const std::lock_guard lock(mutex_);
  TimeNs due = ~TimeNs{0};
  if (slow_ || dead_) return due;
  for (const auto& [number, open] : open_files_) {
    if (open->in_flight_) due = std::min(due, open->due_ns_);
  }
  return due;
}

std::vector<std::byte> TestDisk::contents(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  return found == files_.end() ? std::vector<std::byte>{} : found->second->current;
}

std::vector<std::string> TestDisk::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> result;
  for (const auto& [name, file] : files_) result.push_back(name);
  return result;
}

void TestDisk::flip(const std::string& name, uint64_t offset, std::byte mask) {
  const std::lock_guard lock(mutex_);
  File& file = *files_.at(name);
  file.current.at(offset) ^= mask;
  const auto on_disk = file.on_disk.find(offset / kSectorBytes);
  if (on_disk == file.on_disk.end()) return;
  std::vector<std::byte>& bytes = on_disk->second.bytes;
  if (offset % kSectorBytes < bytes.size()) bytes[offset % kSectorBytes] ^= mask;
}

void TestDisk::cut(const std::string& name, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  resize(files_.at(name).get(), bytes);
}

TestDisk::Snapshot TestDisk::snapshot() const {
  const std::lock_guard lock(mutex_);
  Snapshot result;
  for (const auto& [name, file] : files_) result.files[name] = file->current;
  return result;
}

void TestDisk::restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  detach_all();
  files_.clear();
  for (const auto& [name, contents] : snapshot.files) {
    auto file = std::make_shared<File>();
    file->current = contents;
    file->durable_bytes = contents.size();
    files_[name] = std::move(file);
  }
}

// ---- Disk -----------------------------------------------------------------------------------------------------------

Errno TestDisk::lock() {
  const std::lock_guard lock(mutex_);
  if (locked_) return EWOULDBLOCK;
  locked_ = true;
  return 0;
}

Errno TestDisk::list(std::vector<log::FileInfo>* files) {
  const std::lock_guard lock(mutex_);
  files->clear();
  if (dead_) return EIO;
  for (const auto& [name, file] : files_) files->push_back({name, file->current.size()});
  return 0;
}

Errno TestDisk::read(const std::string& name, uint64_t offset, MutableBytes into, size_t* got) {
  const std::lock_guard lock(mutex_);
  *got = 0;
  if (dead_) return EIO;
  const auto found = files_.find(name);
  if (found == files_.end()) return ENOENT;
  const std::vector<std::byte>& from = found->second->current;
  if (offset >= from.size()) return 0;
  *got = std::min<size_t>(into.size(), from.size() - offset);
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(offset), *got, into.begin());
  return 0;
}

Errno TestDisk::create(const std::string& name, uint64_t bytes, Bytes head) {
  const std::lock_guard lock(mutex_);
  if (full_) return ENOSPC;
  bool effect = false;
  const Errno code = begin_operation(&effect);
  auto file = std::make_shared<File>();
  if (code != 0) {
    // Half made: under its temporary name.
    if (dead_ && draw(2) == 0) files_[name + ".tmp"] = file;
    if (!effect) return code;
  }
  file->current.assign(bytes, std::byte{0});
  write_sectors(&file->current, 0, head);
  file->durable_bytes = file->current.size();
  files_[name] = std::move(file);
  return code;
}

Errno TestDisk::replace(const std::string& name, Bytes contents) {
  const std::lock_guard lock(mutex_);
  if (full_) return ENOSPC;
  bool effect = false;
  const Errno code = begin_operation(&effect);
  if (!effect) return code;
  auto file = std::make_shared<File>();
  file->current.assign(contents.begin(), contents.end());
  file->durable_bytes = contents.size();
  files_[name] = std::move(file);
  return code;
}

Errno TestDisk::recycle(const std::string& from, const std::string& to, Bytes head) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(from);
  if (found == files_.end()) return ENOENT;
  bool effect = false;
  const Errno code = begin_operation(&effect);
  if (code != 0 && !effect && !dead_) return code;
  if (!effect && draw(2) == 0) return code;  // nothing has happened yet
  std::shared_ptr<File> file = found->second;
  files_.erase(found);
  if (!effect) {  // it died between the two names
    files_[to + ".tmp"] = std::move(file);
    return code;
  }
  write_cached(file.get(), 0, head);
  make_durable(file.get());
  files_[to] = std::move(file);
  return code;
}

Errno TestDisk::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (!files_.contains(name)) return ENOENT;
  bool effect = false;
  const Errno code = begin_operation(&effect);
  if (effect) files_.erase(name);
  return code;
}

Errno TestDisk::truncate(const std::string& name, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  if (found == files_.end()) return ENOENT;
  bool effect = false;
  const Errno code = begin_operation(&effect);
  if (!effect) return code;
  resize(found->second.get(), bytes);
  return code;
}

Errno TestDisk::sync(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  if (found == files_.end()) return ENOENT;
  bool effect = false;
  const Errno code = begin_operation(&effect);
  if (effect) make_durable(found->second.get());
  return code;
}

Errno TestDisk::open(const std::string& name, std::unique_ptr<log::LogFile>* file) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  if (found == files_.end()) return ENOENT;
  if (dead_) return EIO;
  auto opened = std::make_unique<OpenFile>(this, found->second, ++openings_);
  open_files_.emplace(openings_, opened.get());
  *file = std::move(opened);
  return 0;
}

}  // namespace txnic::test
