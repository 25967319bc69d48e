#include "common/base/machine_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

class MachineMemoryTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = root_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  TestFolder root_;
};

TEST_F(MachineMemoryTest, IsThatOfTheMachineWithoutAControlGroup) {
  Write("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n");
  EXPECT_EQ(MachineMemory(root_.path()), 1000 * 1024);
  EXPECT_EQ(FreeMemory(root_.path()), 400 * 1024);
  Write("sys/fs/cgroup/memory.max", "max\n");
  Write("sys/fs/cgroup/memory.current", "100\n");
  EXPECT_EQ(MachineMemory(root_.path()), 1000 * 1024);
  EXPECT_EQ(FreeMemory(root_.path()), 400 * 1024);
}

TEST_F(MachineMemoryTest, OfAControlGroupFilesThatGiveWayAreFree) {
  Write("proc/meminfo", "MemTotal:  1000 kB\nMemAvailable:    400 kB\n");
  Write("sys/fs/cgroup/memory.max", "50000\n");
  Write("sys/fs/cgroup/memory.current", "48000\n");
  EXPECT_EQ(MachineMemory(root_.path()), 50000);
  EXPECT_EQ(FreeMemory(root_.path()), 2000);
  Write("sys/fs/cgroup/memory.stat",
        "anon 1000\nfile 47000\ninactive_file 30000\nactive_file 9000\n");
  EXPECT_EQ(FreeMemory(root_.path()), 41000);
}

TEST_F(MachineMemoryTest, WithoutAnyFileItIsAllOfTheMachine) {
  EXPECT_GT(MachineMemory(root_.path()), int64_t{1} << 20);
  EXPECT_EQ(FreeMemory(root_.path()), MachineMemory(root_.path()));
}

}  // namespace
}  // namespace halograph
