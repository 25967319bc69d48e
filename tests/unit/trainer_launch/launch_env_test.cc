#include "trainer/launch/launch_env.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::HasSubstr;

Environment Of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(LaunchDefaultsTest, NothingSetIsNothing) {
  auto defaults = ReadLaunchDefaults(Of({}));
  ASSERT_TRUE(defaults.ok());
  EXPECT_FALSE(defaults->rank.has_value() || defaults->world_size.has_value());
}

TEST(LaunchDefaultsTest, RankAndWorldSizeComeBeforeOpenMpiBeforeSlurm) {
  std::map<std::string, std::string> all = {{"RANK", "1"},
                                            {"WORLD_SIZE", "4"},
                                            {"OMPI_COMM_WORLD_RANK", "2"},
                                            {"SLURM_PROCID", "3"},
                                            {"SLURM_NTASKS", "6"},
                                            {"OMPI_COMM_WORLD_SIZE", "5"},
                                            {"MASTER_ADDR", "node7"},
                                            {"MASTER_PORT", "1234"}};
  auto defaults = ReadLaunchDefaults(Of(all));
  ASSERT_TRUE(defaults.ok());
  EXPECT_EQ(defaults->rank, 1);
  EXPECT_EQ(defaults->world_size, 4);
  EXPECT_EQ(defaults->master_addr, "node7");
  EXPECT_EQ(defaults->master_port, 1234);
  all.erase("RANK");
  all.erase("WORLD_SIZE");
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->rank, 2);
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->world_size, 5);
  all.erase("OMPI_COMM_WORLD_RANK");
  all.erase("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->rank, 3);
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->world_size, 6);
}

TEST(LaunchDefaultsTest, UnderSlurmRankZeroIsOnTheFirstNode) {
  std::map<std::string, std::string> slurm = {
      {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_NODELIST", "n[04-07],m1"}};
  EXPECT_EQ(ReadLaunchDefaults(Of(slurm))->master_addr, "n04");
  slurm["SLURM_STEP_NODELIST"] = "n[06-07]";
  EXPECT_EQ(ReadLaunchDefaults(Of(slurm))->master_addr, "n06");
  slurm["MASTER_ADDR"] = "m1";
  EXPECT_EQ(ReadLaunchDefaults(Of(slurm))->master_addr, "m1");
  slurm.erase("MASTER_ADDR");
  slurm["SLURM_STEP_NODELIST"] = "n[";
  slurm["SLURM_JOB_NODELIST"] = "";
  EXPECT_EQ(ReadLaunchDefaults(Of(slurm))->master_addr, std::nullopt);
}

TEST(LaunchDefaultsTest, OtherLaunchersInASlurmJobSayThemselvesWhereRankZeroIs) {
  std::map<std::string, std::string> job = {{"RANK", "1"},
                                            {"WORLD_SIZE", "2"},
                                            {"SLURM_PROCID", "0"},
                                            {"SLURM_NTASKS", "2"},
                                            {"SLURM_JOB_NODELIST", "n[0-1]"}};
  EXPECT_EQ(ReadLaunchDefaults(Of(job))->master_addr, std::nullopt);
  EXPECT_EQ(ReadLaunchDefaults(
                Of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_JOB_NODELIST", "n0"}}))
                ->master_addr,
            std::nullopt)
      << "one rank meets nobody";
}

TEST(LaunchDefaultsTest, TheJobIsTheLaunchersThatSaysTheRank) {
  std::map<std::string, std::string> all = {
      {"RANK", "1"},         {"WORLD_SIZE", "2"},   {"TORCHELASTIC_RUN_ID", "run"},
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_JOB_ID", "17"},
      {"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->job, "run");
  all["TORCHELASTIC_RUN_ID"] = "none";
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->job, std::nullopt);
  all.erase("TORCHELASTIC_RUN_ID");
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->job, std::nullopt) << "two runs may be in one Slurm step";
  all.erase("RANK");
  all.erase("WORLD_SIZE");
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->job, "17.0");
  all.erase("SLURM_STEP_ID");
  EXPECT_EQ(ReadLaunchDefaults(Of(all))->job, "17");
  EXPECT_EQ(ReadLaunchDefaults(Of({{"OMPI_COMM_WORLD_RANK", "0"},
                                   {"OMPI_COMM_WORLD_SIZE", "2"},
                                   {"PMIX_NAMESPACE", "1684930561"}}))
                ->job,
            "1684930561");
}

TEST(LaunchDefaultsTest, HalfAPairIsRefusedNamingBoth) {
  const Status status = ReadLaunchDefaults(Of({{"RANK", "1"}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("RANK is set but WORLD_SIZE is not"));
}

TEST(LaunchDefaultsTest, WhatIsNoNumberIsNamed) {
  for (const char* text : {"", "x", "1x", "-1", "99999999999"}) {
    const Status status = ReadLaunchDefaults(Of({{"RANK", text}, {"WORLD_SIZE", "2"}})).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(Message(status), HasSubstr("RANK is"));
  }
}

TEST(RankOnThisMachineTest, LaunchersSayWhich) {
  EXPECT_EQ(RankOnThisMachine(Of({})), 0);
  EXPECT_EQ(RankOnThisMachine(Of({{"LOCAL_RANK", "3"}, {"SLURM_LOCALID", "1"}})), 3);
  EXPECT_EQ(RankOnThisMachine(Of({{"OMPI_COMM_WORLD_LOCAL_RANK", "2"}})), 2);
  EXPECT_EQ(RankOnThisMachine(Of({{"SLURM_LOCALID", "1"}})), 1);
  EXPECT_EQ(RankOnThisMachine(Of({{"LOCAL_RANK", "-1"}})), 0);
  EXPECT_EQ(RankOnThisMachine(Of({{"LOCAL_RANK", "first"}})), 0);
}

TEST(RanksOnThisMachineTest, LaunchersSayHowMany) {
  EXPECT_EQ(RanksOnThisMachine(Of({})), 1);
  EXPECT_EQ(RanksOnThisMachine(Of({{"LOCAL_WORLD_SIZE", "3"}})), 3);
  EXPECT_EQ(RanksOnThisMachine(Of({{"SLURM_NTASKS_PER_NODE", "8"}})), 8);
  EXPECT_EQ(RanksOnThisMachine(Of({{"LOCAL_WORLD_SIZE", "many"}})), 1);
}

}  // namespace
}  // namespace halograph
