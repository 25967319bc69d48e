#include "server/listener/connection_rules.h"

#include <set>

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

constexpr ConnectionBounds kBounds{.calls = 10, .bytes = 95, .address_bytes = 100};

AddressBytes Address(uint8_t last) {
  AddressBytes address{};
  address.back() = last;
  return address;
}

std::set<uint64_t> Ids(const std::vector<ConnectionRow>& rows) {
  std::set<uint64_t> ids;
  for (const Offender& offender : ChooseOffenders(rows, kBounds)) {
    EXPECT_TRUE(ids.insert(offender.id).second) << offender.id << " twice";
  }
  return ids;
}

TEST(ConnectionRulesTest, ABoundItselfMayBeReached) {
  EXPECT_EQ(Ids({}), std::set<uint64_t>());
  EXPECT_EQ(Ids({{.id = 1, .calls = 10, .bytes = 100, .lasting_bytes = 95}}), std::set<uint64_t>());
}

TEST(ConnectionRulesTest, AConnectionBeyondABoundIsChosenAtOnce) {
  const std::vector<ConnectionRow> rows = {{.id = 1, .address = Address(1), .calls = 11},
                                           {.id = 2, .address = Address(2), .bytes = 101},
                                           {.id = 3, .address = Address(3), .calls = 10}};
  const std::vector<Offender> offenders = ChooseOffenders(rows, kBounds);
  ASSERT_EQ(offenders.size(), 2U);
  EXPECT_EQ(offenders[0].id, 1U);
  EXPECT_EQ(offenders[0].offence, Offence::kCalls);
  EXPECT_EQ(offenders[0].amount, 11);
  EXPECT_EQ(offenders[1].id, 2U);
  EXPECT_EQ(offenders[1].offence, Offence::kBytes);
  EXPECT_EQ(offenders[1].amount, 101);
}

TEST(ConnectionRulesTest, OfAnAddressThoseWithMostGoUntilTheRestIsWithinTheBound) {
  EXPECT_EQ(Ids({{.id = 1, .address = Address(1), .calls = 3},
                 {.id = 2, .address = Address(1), .calls = 6},
                 {.id = 3, .address = Address(1), .calls = 5},
                 {.id = 4, .address = Address(2), .calls = 6}}),
            std::set<uint64_t>({2}));
  EXPECT_EQ(Ids({{.id = 1, .address = Address(1), .bytes = 90, .lasting_bytes = 90},
                 {.id = 2, .address = Address(1), .bytes = 60, .lasting_bytes = 60},
                 {.id = 3, .address = Address(1), .bytes = 50, .lasting_bytes = 50},
                 {.id = 4, .address = Address(1), .bytes = 50, .lasting_bytes = 50}}),
            std::set<uint64_t>({1, 2}));
}

TEST(ConnectionRulesTest, AllOfAnAddressThatGoesOnAreChosenLast) {
  const std::vector<ConnectionRow> rows = {
      {.id = 1, .address = Address(1), .defies = true, .calls = 5},
      {.id = 2, .address = Address(1), .defies = true, .calls = 6},
      {.id = 3, .address = Address(2), .calls = 10}};
  const std::vector<Offender> offenders = ChooseOffenders(rows, kBounds);
  ASSERT_EQ(offenders.size(), 2U);
  EXPECT_EQ(offenders[0].id, 2U);
  EXPECT_EQ(offenders[0].offence, Offence::kCalls);
  EXPECT_EQ(offenders[1].id, 1U);
  EXPECT_EQ(offenders[1].offence, Offence::kAddress);
}

// Many honest clients of an address may have many calls together, but no streams that are none.
TEST(ConnectionRulesTest, OnlyTheCallsOfAnAddressAreAMildOffence) {
  const auto one = [](const ConnectionRow& row) {
    ConnectionRow other = row;
    other.id = 2;
    const std::vector<Offender> offenders = ChooseOffenders(std::vector{row, other}, kBounds);
    EXPECT_EQ(offenders.size(), 1U);
    return offenders.at(0);
  };
  EXPECT_TRUE(one({.id = 1, .calls = 6}).is_mild);
  EXPECT_FALSE(one({.id = 1, .streams = 6}).is_mild);
  EXPECT_FALSE(one({.id = 1, .bytes = 60}).is_mild);
  EXPECT_FALSE(ChooseOffenders(std::vector{ConnectionRow{.calls = 11}}, kBounds).at(0).is_mild);
}

TEST(ConnectionRulesTest, StreamsOfAConnectionCountWithItsCalls) {
  EXPECT_EQ(Ids({{.id = 1, .calls = 5, .streams = 5}}), std::set<uint64_t>());
  const std::vector<ConnectionRow> rows = {{.id = 1, .calls = 5, .streams = 6}};
  const std::vector<Offender> offenders = ChooseOffenders(rows, kBounds);
  ASSERT_EQ(offenders.size(), 1U);
  EXPECT_EQ(offenders[0].offence, Offence::kStreams);
  EXPECT_EQ(Ids({{.id = 1, .calls_alone = true, .streams = 9},
                 {.id = 2, .calls_alone = true, .streams = 9}}),
            std::set<uint64_t>());
}

TEST(ConnectionRulesTest, OneThatGoesForItselfDoesNotBurdenTheOthersOfItsAddress) {
  EXPECT_EQ(Ids({{.id = 1, .address = Address(1), .calls = 9},
                 {.id = 2, .address = Address(1), .calls = 1000}}),
            std::set<uint64_t>({2}));
}

TEST(ConnectionRulesTest, OfAllAddressesThoseWithMostGoUntilTheRestIsWithinTheBound) {
  const ConnectionBounds bounds{.calls = 10, .bytes = 95, .address_bytes = 100, .all_bytes = 150};
  const std::vector<ConnectionRow> rows = {
      {.id = 1, .address = Address(1), .bytes = 60, .lasting_bytes = 60},
      {.id = 2, .address = Address(2), .bytes = 90, .lasting_bytes = 90},
      {.id = 3, .address = Address(3), .alone = true, .bytes = 50, .lasting_bytes = 50}};
  const std::vector<Offender> offenders = ChooseOffenders(rows, bounds);
  ASSERT_EQ(offenders.size(), 1U);
  EXPECT_EQ(offenders[0].id, 2U);
  EXPECT_EQ(offenders[0].amount, 200);
}

TEST(ConnectionRulesTest, BytesOfAConnectionCountWhenTheyLast) {
  EXPECT_EQ(Ids({{.id = 1, .address = Address(1), .bytes = 99, .lasting_bytes = 20},
                 {.id = 2, .address = Address(2), .bytes = 99, .lasting_bytes = 96}}),
            std::set<uint64_t>({2}));
}

TEST(ConnectionRulesTest, ThoseOfATrustedProxyAreCountedByThemselves) {
  EXPECT_EQ(Ids({{.id = 1, .address = Address(1), .alone = true, .calls = 9, .lasting_bytes = 95},
                 {.id = 2, .address = Address(1), .alone = true, .calls = 9, .lasting_bytes = 95},
                 {.id = 3, .address = Address(1), .alone = true, .calls = 11}}),
            std::set<uint64_t>({3}));
}

TEST(ConnectionRulesTest, CallsOfLoopbackAreCountedByConnectionAlone) {
  EXPECT_EQ(Ids({{.id = 1, .address = Address(1), .calls_alone = true, .calls = 9},
                 {.id = 2, .address = Address(1), .calls_alone = true, .calls = 9},
                 {.id = 3, .address = Address(1), .calls_alone = true, .calls = 11}}),
            std::set<uint64_t>({3}));
}

TEST(ConnectionRulesTest, BothSumsOfAnAddressChooseAConnectionOnce) {
  EXPECT_EQ(Ids({{.id = 1, .address = Address(1), .calls = 9, .bytes = 90, .lasting_bytes = 90},
                 {.id = 2, .address = Address(1), .calls = 8, .bytes = 80, .lasting_bytes = 80}}),
            std::set<uint64_t>({1}));
}

}  // namespace
}  // namespace halograph::server
