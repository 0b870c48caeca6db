// SPDX-License-Identifier: BSD-3-Clause
// The preflight of a BlueField over made-up kernel files: each lack is named, and a good machine has none.
#include "dataplane/bluefield.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace txnic::dataplane {
namespace {

namespace fs = std::filesystem;

class Bluefield : public testing::Test {
 protected:
  void SetUp() override {
    if (!root_.empty()) fs::remove_all(root_);  // a test may begin anew
    char name[] = "/tmp/txnic-bluefield-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    write("bus/pci/devices/0000:03:00.0/vendor", "0x15b3");
    write("bus/pci/devices/0000:03:00.0/device", "0xa2d6");
    write("class/net/p0/phys_port_name", "p0");
    write("class/net/p0/mtu", "1500");
    write("class/net/pf0hpf/phys_port_name", "pf0hpf");
    write("class/net/pf0hpf/mtu", "1500");
    write("kernel/mm/hugepages/hugepages-524288kB/free_hugepages", "4");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const fs::path file = root_ / "sys" / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  // All errors, a line each.
  std::string errors() const {
    std::string text;
    for (const Problem& problem : preflight_bluefield(root_.string())) {
      if (problem.severity == Severity::kError) text += problem.text + "\n";
    }
    return text;
  }

  fs::path root_;
};

TEST_F(Bluefield, AGoodMachineLacksNothing) {
  EXPECT_EQ(errors(), "");
  const std::string note = format(preflight_bluefield(root_.string()).front());
  EXPECT_NE(note.find("-a 0000:03:00.0,dv_flow_en=1"), std::string::npos) << note;
}

TEST_F(Bluefield, EachLackIsNamed) {
  write("bus/pci/devices/0000:03:00.0/device", "0x101d");  // a plain ConnectX
  EXPECT_NE(errors().find("no BlueField here"), std::string::npos);
  SetUp();
  write("class/net/pf0hpf/mtu", "9000");
  EXPECT_NE(errors().find("MTU of the uplink is 1500, of the host's representor 9000"), std::string::npos) << errors();
  SetUp();
  fs::create_directory_symlink("../ovs-system", root_ / "sys/class/net/p0/master");
  EXPECT_NE(errors().find("in the bridge ovs-system"), std::string::npos) << errors();
  SetUp();
  fs::remove_all(root_ / "sys/class/net/pf0hpf");
  EXPECT_NE(errors().find("no representor of the host"), std::string::npos) << errors();
  SetUp();
  write("kernel/mm/hugepages/hugepages-524288kB/free_hugepages", "1");
  EXPECT_NE(errors().find("512 MiB of huge pages are free, need 1024"), std::string::npos) << errors();
}

TEST_F(Bluefield, AMachineWithoutACardGetsAReport) {
  fs::remove_all(root_ / "sys");
  const std::string text = errors();
  for (const char* what : {"no BlueField", "no uplink", "no representor", "0 MiB of huge pages"}) {
    EXPECT_NE(text.find(what), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace txnic::dataplane
