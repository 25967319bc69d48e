#include "proto/methods/methods.h"

#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

template <typename Of>
std::set<Method> Having(const Of& of) {
  std::set<Method> methods;
  for (const MethodRow& row : kMethodRows) {
    if (of(row)) methods.insert(row.method);
  }
  return methods;
}

TEST(MethodsTest, NamesArePartsOfThePath) {
  EXPECT_EQ(PathOf(Method::kSample), "/halograph.v1.GraphService/Sample");
  EXPECT_EQ(PathOf(Method::kSample).data(), std::string("/halograph.v1.GraphService/Sample"))
      << "no zero follows";
  EXPECT_EQ(FullNameOf(Method::kSample), "halograph.v1.GraphService/Sample");
  EXPECT_EQ(MethodName(Method::kSample), "GraphService/Sample");
  EXPECT_EQ(ServiceOf(Method::kSample), "halograph.v1.GraphService");
  EXPECT_THAT(kServiceNames, ElementsAre("halograph.v1.GraphService", "halograph.v1.KVService",
                                         "halograph.v1.AdminService"));
}

TEST(MethodsTest, EachMethodIsFoundByItsNameAndNothingElseIs) {
  std::set<std::string_view> names;
  for (const MethodRow& row : kMethodRows) {
    EXPECT_TRUE(names.insert(MethodName(row.method)).second) << row.path;
    EXPECT_EQ(FindMethod(MethodName(row.method)), row.method);
  }
  EXPECT_EQ(names.size(), kNumMethods);
  for (const char* none : {"", "GraphService", "GraphService/", "GraphService/sample", "Sample",
                           "halograph.v1.GraphService/Sample"}) {
    EXPECT_FALSE(FindMethod(none).has_value()) << none;
  }
}

// Which requests may be large, and which calls may not be repeated, are contracts.
TEST(MethodsTest, BoundsAndRepetitionsAreAsTheMessagesSay) {
  EXPECT_THAT(Having([](const MethodRow& row) { return row.request == RequestBound::kMessage; }),
              UnorderedElementsAre(Method::kSample, Method::kColumnSums, Method::kExtract,
                                   Method::kPull, Method::kPush));
  EXPECT_EQ(kSmallRequestBytes, 65536U);
  EXPECT_THAT(Having([](const MethodRow& row) { return !row.repeatable; }),
              UnorderedElementsAre(Method::kSnapshotTensors));
}

TEST(MethodsTest, OnlyWhatReadsIsOpenToReaders) {
  EXPECT_THAT(
      Having([](const MethodRow& row) { return row.right != Right::kRead; }),
      UnorderedElementsAre(Method::kPush, Method::kRegisterClient, Method::kCreateTensor,
                           Method::kDropTensor, Method::kSnapshotTensors, Method::kReadSnapshot,
                           Method::kDeleteSnapshot, Method::kRestoreSnapshot, Method::kStats));
}

// The first version of the protocol had no word for what it had.
TEST(MethodsTest, WhatCameLaterHasItsWord) {
  std::map<std::string_view, int> words;
  for (const MethodRow& row : kMethodRows) ++words[row.capability];
  EXPECT_THAT(words, UnorderedElementsAre(Pair("", 6), Pair("sample-columns", 2),
                                          Pair("task-set-rows", 1), Pair("mutable-tensors", 8),
                                          Pair("read-snapshot", 1), Pair("registered-clients", 1)));
}

}  // namespace
}  // namespace halograph
