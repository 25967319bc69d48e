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

// What each method takes is a contract: policies are written by it.
TEST(MethodsTest, RightsAreAsThePolicySays) {
  std::map<Right, std::set<Method>> methods;
  for (const MethodRow& row : kMethodRows) methods[row.right].insert(row.method);
  EXPECT_THAT(
      methods,
      UnorderedElementsAre(
          Pair(Right::kAny,
               UnorderedElementsAre(Method::kDescribe, Method::kListTensors, Method::kStats)),
          Pair(Right::kSample, UnorderedElementsAre(Method::kSample, Method::kReadTopology,
                                                    Method::kColumnSums, Method::kExtract)),
          Pair(Right::kPull, UnorderedElementsAre(Method::kPull, Method::kReadTaskSet,
                                                  Method::kGraphReadTaskSet)),
          Pair(Right::kPush, UnorderedElementsAre(Method::kPush, Method::kRegisterClient)),
          Pair(Right::kCreate, UnorderedElementsAre(Method::kCreateTensor, Method::kDropTensor)),
          Pair(Right::kSnapshot,
               UnorderedElementsAre(Method::kSnapshotTensors, Method::kListSnapshots,
                                    Method::kReadSnapshot, Method::kDeleteSnapshot)),
          Pair(Right::kAdmin, UnorderedElementsAre(Method::kRestoreSnapshot))));
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
