#include "trainer/launch/slurm_nodes.h"

#include <gmock/gmock.h>

namespace halograph {
namespace {

using testing::HasSubstr;

TEST(FirstOfNodeListTest, IsTheFirstNameWithItsFirstNumber) {
  EXPECT_EQ(FirstOfNodeList("m1").value_or(""), "m1");
  EXPECT_EQ(FirstOfNodeList("m1,n[0-3]").value_or(""), "m1");
  EXPECT_EQ(FirstOfNodeList("n[0-3,7],m1").value_or(""), "n0");
  EXPECT_EQ(FirstOfNodeList("n[7,0-3]").value_or(""), "n7");
  EXPECT_EQ(FirstOfNodeList("n[12]").value_or(""), "n12");
  EXPECT_EQ(FirstOfNodeList("gpu-a.example.org,b").value_or(""), "gpu-a.example.org");
}

TEST(FirstOfNodeListTest, ZerosInFrontStay) {
  EXPECT_EQ(FirstOfNodeList("node[008-010]").value_or(""), "node008");
}

TEST(FirstOfNodeListTest, SeveralBracketsAndWhatStandsAfterThemCount) {
  EXPECT_EQ(FirstOfNodeList("rack[2-3]n[08,10-12],m1").value_or(""), "rack2n08");
  EXPECT_EQ(FirstOfNodeList("n[4-5]-ib,m").value_or(""), "n4-ib");
}

TEST(FirstOfNodeListTest, WhatIsNoListIsRefusedWithTheReason) {
  for (const char* list : {"", ",m1", "n[", "n[0-3", "n[]", "n[a-b]", "n[-3]", "n[0 -3]", "n]", "[",
                           "n[0-[3]]", "a b", "n[1x,2]"}) {
    const auto first = FirstOfNodeList(list);
    EXPECT_TRUE(absl::IsInvalidArgument(first.status())) << list;
    EXPECT_THAT(Message(first.status()), HasSubstr("is no list of nodes as n[0-3,7],m1: ")) << list;
  }
}

}  // namespace
}  // namespace halograph
