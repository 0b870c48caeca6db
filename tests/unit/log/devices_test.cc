// SPDX-License-Identifier: BSD-3-Clause
// Real files, with both devices, in a folder of their own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "host/log/format.h"
#include "host/log/uring_file.h"
#include "tests/unit/log/log_node.h"

namespace txnic::test {
namespace {

using namespace std::chrono_literals;

// A folder that goes when the test ends, however it ends.
class Folder {
 public:
  explicit Folder(const char* base) {
    path_ = std::string(base) + "/txnic-log-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Device {
  const char* name;
  bool io_uring;
  const char* base;
};

struct DevicesTest : ::testing::TestWithParam<Device> {
  void SetUp() override {
    folder = std::make_unique<Folder>(GetParam().base);
    if (folder->path().empty()) GTEST_SKIP() << "no folder in " << GetParam().base;
    if (GetParam().io_uring && log::probe_uring() != 0) GTEST_SKIP() << "io_uring is refused here";
    std::string error;
    ASSERT_TRUE(log::open_disk(folder->path(), GetParam().io_uring, &disk, &error)) << error;
    RecordProperty("device", disk->describe());
    std::printf("%s\n", disk->describe().c_str());
  }
  // Polls until the write is over; bounded.
  log::WriteState wait(log::LogFile& file) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    log::WriteState state = file.poll();
    while (state == log::WriteState::kInFlight && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      state = file.poll();
    }
    return state;
  }
  std::vector<std::byte> block(unsigned char fill) const {
    return std::vector<std::byte>(log::kBlockBytes, std::byte{fill});
  }

  std::unique_ptr<Folder> folder;
  std::unique_ptr<log::Disk> disk;
};

TEST_P(DevicesTest, CreateWriteReadRecycleRemove) {
  ASSERT_EQ(disk->create("a", 1 << 20, block(1)), 0);
  std::unique_ptr<log::LogFile> file;
  ASSERT_EQ(disk->open("a", &file), 0);
  EXPECT_EQ(file->size(), 1u << 20);
  EXPECT_EQ(file->poll(), log::WriteState::kIdle);
  log::AlignedBuffer data(64 << 10);
  for (int i = 0; i < 8; ++i) {
    std::memset(data.data(), 'a' + i, data.size());
    ASSERT_EQ(file->begin_write(4096 + static_cast<uint64_t>(i) * data.size(), data.data(), 64 << 10), 0);
    ASSERT_EQ(wait(*file), log::WriteState::kDone) << log::errno_text(file->last_error());
    EXPECT_EQ(file->poll(), log::WriteState::kIdle);
  }
  file.reset();
  log::AlignedBuffer read(1 << 20);
  size_t got = 0;
  ASSERT_EQ(disk->read("a", 0, MutableBytes(read.data(), read.size()), &got), 0);
  EXPECT_EQ(got, 1u << 20);
  EXPECT_EQ(read.data()[0], std::byte{1});
  EXPECT_EQ(read.data()[4096], std::byte{'a'});
  EXPECT_EQ(read.data()[4096 + (64 << 10)], std::byte{'b'});
  EXPECT_EQ(read.data()[(1 << 20) - 1], std::byte{0});
  // Unaligned reads work too, and end with the file.
  std::vector<std::byte> small(1000);
  ASSERT_EQ(disk->read("a", (1 << 20) - 10, small, &got), 0);
  EXPECT_EQ(got, 10u);
  ASSERT_EQ(disk->recycle("a", "b", block(2)), 0);
  EXPECT_EQ(disk->read("a", 0, small, &got), ENOENT);
  ASSERT_EQ(disk->read("b", 0, small, &got), 0);
  EXPECT_EQ(small[0], std::byte{2});
  ASSERT_EQ(disk->read("b", 4096, small, &got), 0);
  EXPECT_EQ(small[0], std::byte{'a'});
  ASSERT_EQ(disk->truncate("b", 4096), 0);
  ASSERT_EQ(disk->sync("b"), 0);
  std::vector<log::FileInfo> files;
  ASSERT_EQ(disk->list(&files), 0);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].name, "b");
  EXPECT_EQ(files[0].bytes, 4096u);
  ASSERT_EQ(disk->remove("b"), 0);
  EXPECT_EQ(disk->remove("b"), ENOENT);
}

TEST_P(DevicesTest, FilesGrowAsTheyAreWritten) {
  ASSERT_EQ(disk->create("part", 4096, block(1)), 0);
  std::unique_ptr<log::LogFile> file;
  ASSERT_EQ(disk->open("part", &file), 0);
  log::AlignedBuffer data(1 << 20);
  for (uint64_t offset = 4096; offset < 5u << 20; offset += data.size()) {
    ASSERT_EQ(file->begin_write(offset, data.data(), 1 << 20), 0);
    ASSERT_EQ(wait(*file), log::WriteState::kDone);
  }
  std::vector<log::FileInfo> files;
  ASSERT_EQ(disk->list(&files), 0);
  EXPECT_EQ(files[0].bytes, (5u << 20) + 4096);
}

TEST_P(DevicesTest, ReplaceIsWhole) {
  for (const char* text : {"one", "two and more", ""}) {
    const std::string_view contents = text;
    ASSERT_EQ(disk->replace("MANIFEST", std::as_bytes(std::span(contents))), 0);
    std::vector<std::byte> read(100);
    size_t got = 0;
    ASSERT_EQ(disk->read("MANIFEST", 0, read, &got), 0);
    EXPECT_EQ(std::string_view(reinterpret_cast<char*>(read.data()), got), contents);
  }
}

TEST_P(DevicesTest, ClosingWaitsForTheWriteInFlight) {
  ASSERT_EQ(disk->create("a", 8 << 20, block(1)), 0);
  std::unique_ptr<log::LogFile> file;
  ASSERT_EQ(disk->open("a", &file), 0);
  {
    log::AlignedBuffer data(4 << 20);
    std::memset(data.data(), 'x', data.size());
    ASSERT_EQ(file->begin_write(4096, data.data(), 4 << 20), 0);
    file.reset();
  }
  log::AlignedBuffer read(4096);
  size_t got = 0;
  ASSERT_EQ(disk->read("a", 4 << 20, MutableBytes(read.data(), 4096), &got), 0);
  EXPECT_EQ(read.data()[0], std::byte{'x'});
}

// A write at an offset that no file can have: refused by the kernel, seen as a failure.
TEST_P(DevicesTest, RefusedWriteIsAFailure) {
  ASSERT_EQ(disk->create("a", 64 << 10, block(1)), 0);
  std::unique_ptr<log::LogFile> file;
  ASSERT_EQ(disk->open("a", &file), 0);
  log::AlignedBuffer data(4096);
  ASSERT_EQ(file->begin_write(1ull << 63, data.data(), 4096), 0);
  EXPECT_EQ(wait(*file), log::WriteState::kFailed);
  EXPECT_NE(file->last_error(), 0);
}

TEST_P(DevicesTest, SecondOpenerIsRefused) {
  ASSERT_EQ(disk->lock(), 0);
  std::unique_ptr<log::Disk> second;
  std::string error;
  ASSERT_TRUE(log::open_disk(folder->path(), GetParam().io_uring, &second, &error));
  EXPECT_EQ(second->lock(), EWOULDBLOCK);
  // Also from another process.
  const pid_t child = ::fork();
  if (child == 0) {
    std::unique_ptr<log::Disk> third;
    std::string ignored;
    ::_exit(log::open_disk(folder->path(), false, &third, &ignored) && third->lock() == EWOULDBLOCK ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  disk.reset();
  EXPECT_EQ(second->lock(), 0);
}

// The whole life with the keeper's own thread.
TEST_P(DevicesTest, LogLivesThroughRestarts) {
  std::vector<ShardHistory> history(4);
  for (const uint32_t workers : {2u, 1u, 3u}) {
    LogNode node(*disk, {.workers = workers, .segment_bytes = 256 << 10, .group_bytes = 64 << 10}, &history);
    ASSERT_TRUE(node.start()) << node.error;
    node.keeper().run();
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    uint32_t committed = 0;
    bool asked = false;
    while (committed < 6000 && std::chrono::steady_clock::now() < deadline) {
      for (int i = 0; i < 40; ++i) committed += node.commit(committed % 4);
      for (uint32_t worker = 0; worker < workers; ++worker) node.worker_step(worker);
      if (!asked && committed > 3000) asked = node.keeper().begin_checkpoint();
    }
    ASSERT_GE(committed, 6000u);
    bool quiet = false;
    while (std::chrono::steady_clock::now() < deadline && !(quiet && !node.keeper().checkpoint_running())) {
      quiet = true;
      for (uint32_t worker = 0; worker < workers; ++worker) {
        node.worker_step(worker);
        quiet &= node.log(worker).quiet();
      }
      std::this_thread::yield();
    }
    EXPECT_TRUE(quiet);
    EXPECT_EQ(node.keeper().statistics().checkpoints, 1u);
    node.keeper().stop();
  }
  LogNode last(*disk, {}, &history);
  EXPECT_TRUE(last.start()) << last.error;
}

INSTANTIATE_TEST_SUITE_P(All, DevicesTest,
                         ::testing::Values(Device{"uring", true, "/var/tmp"}, Device{"thread", false, "/var/tmp"},
                                           Device{"uring_tmpfs", true, "/dev/shm"},
                                           Device{"thread_tmpfs", false, "/dev/shm"}),
                         [](const auto& device) { return std::string(device.param.name); });

TEST(OpenDisk, NamesWhatIsWrong) {
  std::unique_ptr<log::Disk> disk;
  std::string error;
  EXPECT_FALSE(log::open_disk("/proc/no/such/folder", true, &disk, &error));
  EXPECT_NE(error.find("/proc/no/such/folder"), std::string::npos);
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
}

}  // namespace
}  // namespace txnic::test
