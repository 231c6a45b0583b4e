#include "base/control_groups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace attend {
namespace {

namespace fs = std::filesystem;

// A system's files in a folder of their own.
class ControlGroups : public testing::Test {
 protected:
  ControlGroups() { fs::remove_all(folder_); }
  ~ControlGroups() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  detail::ControlGroupFiles files() const { return {folder_ / "groups", folder_ / "root"}; }
  double cores() const { return detail::cores_of_control_groups(files()); }
  double memory() const { return detail::memory_of_control_groups(files()); }

 private:
  fs::path folder_ = fs::path(testing::TempDir()) / ("attend_control_groups_" + std::to_string(getpid()));
};

TEST_F(ControlGroups, WithoutAnyNothingIsLimited) {
  EXPECT_TRUE(std::isinf(cores()) && std::isinf(memory()));
  write("groups", "0::/\nnonsense\n");
  EXPECT_TRUE(std::isinf(cores()) && std::isinf(memory()));
  write("root/cpu.max", "max 100000\n");
  write("root/memory.max", "max\n");
  EXPECT_TRUE(std::isinf(cores()) && std::isinf(memory()));
}

TEST_F(ControlGroups, TheTightestGroupAroundCounts) {
  write("groups", "0::/outer/inner\n");
  write("root/outer/cpu.max", "150000 100000\n");
  write("root/outer/inner/cpu.max", "max 100000\n");
  write("root/outer/inner/memory.max", "1000000\n");
  EXPECT_EQ(cores(), 1.5);
  EXPECT_EQ(memory(), 1e6);
  write("root/outer/inner/cpu.max", "50000 100000\n");
  EXPECT_EQ(cores(), 0.5);
}

// A container of version 1 sees its own group at the root, and not the path that the host gave it.
TEST_F(ControlGroups, VersionOneHasAFolderForEachKind) {
  write("groups", "5:cpu,cpuacct:/docker/ab12\n4:memory:/docker/ab12\n0::/\n");
  write("root/cpu/cpu.cfs_quota_us", "200000\n");
  write("root/cpu/cpu.cfs_period_us", "100000\n");
  write("root/memory/docker/ab12/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(cores(), 2.0);
  EXPECT_EQ(memory(), 4096.0);
  write("root/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_TRUE(std::isinf(cores()));
}

}  // namespace
}  // namespace attend
