#include "common/base/processors.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

// A machine of files: eight processors unless a test says otherwise.
class AvailableProcessorsTest : public testing::Test {
 protected:
  AvailableProcessorsTest() { Allow("0-7"); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void Allow(const std::string& list) {
    Write("proc/self/status", "Name:\ttest\nCpus_allowed:\tff\nCpus_allowed_list:\t" + list + "\n");
  }
  void BeOnline(const std::string& list) { Write("cpu/online", list + "\n"); }
  void BeIn(const std::string& groups) { Write("proc/self/cgroup", groups); }
  // In a folder of /sys/fs/cgroup.
  void SetMax(const std::string& group, const std::string& text) {
    Write("cgroup/" + group + "/cpu.max", text + "\n");
  }
  void SetCfs(const std::string& group, const std::string& quota, const std::string& period) {
    Write("cgroup/" + group + "/cpu.cfs_quota_us", quota + "\n");
    Write("cgroup/" + group + "/cpu.cfs_period_us", period + "\n");
  }
  int Available() {
    return AvailableProcessors(
        {folder_.path() / "proc", folder_.path() / "cgroup", folder_.path() / "cpu"});
  }

  double Usable() {
    return UsableProcessors(
        {folder_.path() / "proc", folder_.path() / "cgroup", folder_.path() / "cpu"});
  }

  TestFolder folder_;
};

TEST_F(AvailableProcessorsTest, AreThoseOfTheAffinityMaskWithoutAQuota) {
  EXPECT_EQ(Available(), 8);
  Allow("3");
  EXPECT_EQ(Available(), 1);
  Allow("0-3,8,10-11");
  EXPECT_EQ(Available(), 7);
  Allow("0-2047");
  EXPECT_EQ(Available(), 2048) << "more than a cpu_set_t has";
}

// The mask may have all that the machine could get.
TEST_F(AvailableProcessorsTest, AreOnlyThoseOfTheMaskThatAreOnline) {
  Allow("0-127");
  BeOnline("0-3");
  EXPECT_EQ(Available(), 4);
  BeOnline("0-1,4,126-130");
  EXPECT_EQ(Available(), 5);
  Allow("1,3-5");
  EXPECT_EQ(Available(), 2) << "1 and 4";
  BeIn("0::/job\n");
  SetMax("job", "100000 100000");
  EXPECT_EQ(Available(), 1) << "a quota below both";
  SetMax("job", "300000 100000");
  EXPECT_EQ(Available(), 2) << "a quota above both";
  Write("proc/self/status", "Name:\ttest\n");
  BeOnline("0-1");
  EXPECT_EQ(Available(), 2) << "without a mask";
  Allow("0-2");
  BeOnline("none");
  EXPECT_EQ(Available(), 3) << "a list that cannot be read";
}

TEST_F(AvailableProcessorsTest, AreNoMoreThanAQuotaOfVersion2RoundedUp) {
  BeIn("0::/system.slice/job.service\n");
  SetMax("system.slice/job.service", "300000 100000");
  EXPECT_EQ(Available(), 3);
  SetMax("system.slice/job.service", "150000 100000");
  EXPECT_EQ(Available(), 2);
  EXPECT_DOUBLE_EQ(Usable(), 1.5);
  SetMax("system.slice/job.service", "5000 100000");
  EXPECT_EQ(Available(), 1);
  EXPECT_DOUBLE_EQ(Usable(), 0.05);
  SetMax("system.slice/job.service", "max 100000");
  EXPECT_EQ(Available(), 8);
  SetMax("system.slice/job.service", "1600000 100000");
  EXPECT_EQ(Available(), 8) << "a quota beyond the mask";
  Allow("0,1");
  EXPECT_EQ(Available(), 2);
}

TEST_F(AvailableProcessorsTest, AGroupAboveCountsToo) {
  BeIn("0::/pods/pod7/container\n");
  SetMax("pods/pod7/container", "max 100000");
  SetMax("pods/pod7", "400000 100000");
  SetMax("pods", "600000 100000");
  EXPECT_EQ(Available(), 4);
}

TEST_F(AvailableProcessorsTest, AContainersOwnGroupStandsAtTheRoot) {
  SetMax(".", "200000 100000");
  for (const char* group : {"0::/\n", "0::/docker/12ab\n", "0::/../other\n"}) {
    BeIn(group);
    EXPECT_EQ(Available(), 2) << group;
  }
}

TEST_F(AvailableProcessorsTest, AreNoMoreThanAQuotaOfVersion1) {
  BeIn("5:memory:/docker/12ab\n4:cpu,cpuacct:/docker/12ab\n0::/\n");
  SetCfs("cpu,cpuacct/docker/12ab", "250000", "100000");
  EXPECT_EQ(Available(), 3);
  SetCfs("cpu,cpuacct/docker/12ab", "-1", "100000");
  EXPECT_EQ(Available(), 8);
  SetCfs("cpu,cpuacct", "100000", "50000");
  EXPECT_EQ(Available(), 2) << "within the container the path is the host's";
  BeIn("4:cpuacct,cpu:/job\n");
  SetCfs("cpu/job", "100000", "100000");
  EXPECT_EQ(Available(), 1) << "mounted by its short name";
}

TEST_F(AvailableProcessorsTest, WhatCannotBeReadLimitsNothing) {
  BeIn("no colon\n0::/a\n4:cpu:/a\n");
  for (const char* text : {"", "max", "-5 100000", "200000 0", "two 100000", "200000 100000 1"}) {
    SetMax("a", text);
    EXPECT_EQ(Available(), 8) << text;
  }
  SetCfs("cpu/a", "200000", "0");
  EXPECT_EQ(Available(), 8);
  const std::filesystem::path none = folder_.path() / "none";
  EXPECT_GE(AvailableProcessors({none, none, none}), 1);
}

TEST_F(AvailableProcessorsTest, ThisProcessHasSome) { EXPECT_GE(AvailableProcessors(), 1); }

}  // namespace
}  // namespace halograph
