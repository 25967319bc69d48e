// What doctor says of servers and trainers that are made up: of each check a healthy line, and what
// turns it.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ctl/doctor/checkup.h"
#include "common/base/call_metadata.h"

namespace halograph::ctl {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kNow = 1.8e9;

ServerReading Server(const std::string& address, std::vector<int> parts) {
  ServerReading reading{.address = address,
                        .at_seconds = 100,
                        .here_unix_seconds = kNow,
                        .answer_seconds = 0.002,
                        .unix_seconds = kNow + 0.01,
                        .identity = "1d",
                        .graph_name = "cora",
                        .build_version = "1.0",
                        .phase = "serving",
                        .parts = std::move(parts),
                        .num_parts = 2,
                        .uptime_seconds = 50,
                        .ended = 10};
  const auto value = [&](const std::string& name, double number) {
    reading.metrics[name].series.push_back({.value = number});
  };
  value("process_open_fds", 50);
  value("process_max_fds", 1024);
  value("halograph_server_request_memory_bytes", 1e6);
  value("halograph_server_request_memory_limit_bytes", 16e6);
  value("halograph_server_reply_memory_bytes", 1e6);
  value("halograph_server_reply_memory_limit_bytes", 48e6);
  value("halograph_server_waiting_calls", 0);
  return reading;
}

TrainerReading Trainer(int rank) {
  return {.address = "t" + std::to_string(rank) + ":9000",
          .at_seconds = 100,
          .here_unix_seconds = kNow,
          .unix_seconds = kNow,
          .build_version = "1.0",
          .phase = "training",
          .rank = rank,
          .world_size = 2,
          .uptime_seconds = 40,
          .epoch = 1,
          .step = 10};
}

FoundName Found(const std::string& number) { return {.addresses = {number}, .listens = true}; }

// Two servers and two trainers that work; a second passes between the looks.
Checkup Well() {
  Checkup checkup;
  for (int i = 0; i < 2; ++i) {
    const ServerReading server = Server(i == 0 ? "a:7000" : "b:7000", {i});
    checkup.servers.push_back({Found("10.0.0." + std::to_string(i + 1)), server, server});
    checkup.servers.back().second.at_seconds += 1;
    checkup.servers.back().second.ended += 5;
    const TrainerReading trainer = Trainer(i);
    checkup.trainers.push_back({Found("10.0.1." + std::to_string(i + 1)), trainer, trainer});
    checkup.trainers.back().second.at_seconds += 1;
    checkup.trainers.back().second.step += 20;
  }
  return checkup;
}

std::vector<Diagnosis> Of(const Checkup& checkup, const std::string& check) {
  std::vector<Diagnosis> found;
  for (const Diagnosis& line : Examine(checkup)) {
    if (line.check == check) found.push_back(line);
  }
  return found;
}

// That one line of the check is so, and says so.
void ExpectLine(const Checkup& checkup, const std::string& check, Severity severity,
                const std::string& words) {
  EXPECT_THAT(Of(checkup, check), Contains(AllOf(Field(&Diagnosis::severity, severity),
                                                 Field(&Diagnosis::what, HasSubstr(words)))))
      << FormatDiagnoses(Examine(checkup));
}

TEST(DoctorTest, AllIsWell) {
  const auto lines = Examine(Well());
  EXPECT_THAT(lines, Each(Field(&Diagnosis::severity, Severity::kOk))) << FormatDiagnoses(lines);
  ExpectLine(Well(), "answers", Severity::kOk, "4 of 4 answer");
  ExpectLine(Well(), "parts", Severity::kOk, "all 2 parts are served");
  ExpectLine(Well(), "clocks", Severity::kOk, "4 clocks");
}

TEST(DoctorTest, EveryFaultSaysWhatToDo) {
  Checkup checkup = Well();
  checkup.servers[0].second.error = Unavailable("gone");
  checkup.servers[0].first.error = Unavailable("gone");
  checkup.servers[0].name.listens = false;
  checkup.servers[1].second.identity = "2e";
  for (const Diagnosis& line : Examine(checkup)) {
    EXPECT_TRUE(line.severity == Severity::kOk || !line.advice.empty()) << line.what;
  }
}

TEST(DoctorTest, NamesThatAreNotFoundOrHaveSeveralAddresses) {
  Checkup checkup = Well();
  checkup.servers[0].name = {.error = "a: Name or service not known"};
  checkup.servers[1].name.addresses = {"10.0.0.2", "10.0.0.3"};
  ExpectLine(checkup, "addresses", Severity::kFault, "server a:7000 has no address");
  ExpectLine(checkup, "addresses", Severity::kLook, "server b:7000 has 2 addresses");
}

TEST(DoctorTest, OneServerUnderTwoNames) {
  Checkup checkup = Well();
  checkup.servers[1].name.addresses = {"10.0.0.1"};
  ExpectLine(checkup, "addresses", Severity::kLook, "one and the same");
}

TEST(DoctorTest, HungIsNotGoneAndWhoRefusesIsNeither) {
  Checkup checkup = Well();
  ServerSeen& server = checkup.servers[1];
  server.first.error = server.second.error = DeadlineExceeded("no answer within 5 s");
  ExpectLine(checkup, "answers", Severity::kFault, "server b:7000 hangs");
  server.first.error = server.second.error = WithReason(Unavailable("closed"), kClosedAtOnce);
  ExpectLine(checkup, "answers", Severity::kFault, "server b:7000 refuses connections");
  server.first.error = server.second.error = Unavailable("connection refused");
  server.name.listens = false;
  ExpectLine(checkup, "answers", Severity::kFault, "server b:7000 is gone");
  ExpectLine(checkup, "parts", Severity::kFault, "part 1 of 2 is served by no server");
}

TEST(DoctorTest, TrainerThatHangsIsToldOf) {
  Checkup checkup = Well();
  checkup.trainers[0].first.error = checkup.trainers[0].second.error = DeadlineExceeded("late");
  ExpectLine(checkup, "answers", Severity::kFault, "trainer t0:9000 hangs");
}

TEST(DoctorTest, VersionsThatDiffer) {
  Checkup checkup = Well();
  checkup.servers[1].second.build_version = "0.9";
  ExpectLine(checkup, "versions", Severity::kLook, "0.9 (server b:7000)");
}

TEST(DoctorTest, DifferentGraphsAreNamed) {
  Checkup checkup = Well();
  checkup.servers[1].second.identity = "2e";
  ExpectLine(checkup, "graphs", Severity::kFault, "cora (2e) by b:7000");
}

TEST(DoctorTest, PartsServedTwiceAreNoFault) {
  Checkup checkup = Well();
  checkup.servers[1].second.parts = {0, 1};
  ExpectLine(checkup, "parts", Severity::kOk, "0 by a:7000, b:7000");
}

TEST(DoctorTest, DrainingAndOpening) {
  Checkup checkup = Well();
  checkup.servers[0].second.draining = true;
  checkup.servers[1].second.phase = "recovering";
  ExpectLine(checkup, "phases", Severity::kFault, "a:7000 drains");
  ExpectLine(checkup, "phases", Severity::kLook, "b:7000 is recovering");
}

TEST(DoctorTest, ClocksByHowFarTheyAreOff) {
  Checkup checkup = Well();
  checkup.servers[0].second.unix_seconds = kNow - 90;
  checkup.servers[1].second.unix_seconds = kNow + 3;
  ExpectLine(checkup, "clocks", Severity::kFault, "a:7000 is 1 min 30 s behind");
  ExpectLine(checkup, "clocks", Severity::kLook, "b:7000 is 3.0 s ahead");
}

TEST(DoctorTest, ClockThatASlowAnswerMayExplainIsWell) {
  Checkup checkup = Well();
  checkup.servers[0].second.unix_seconds = kNow + 3;
  checkup.servers[0].second.answer_seconds = 5;
  EXPECT_THAT(Of(checkup, "clocks"), Each(Field(&Diagnosis::severity, Severity::kOk)));
}

TEST(DoctorTest, DescriptorsAndMemoryNearTheirBounds) {
  Checkup checkup = Well();
  checkup.servers[0].second.metrics["process_open_fds"].series[0].value = 900;
  checkup.servers[1].second.metrics["process_open_fds"].series[0].value = 1020;
  checkup.servers[1].second.metrics["halograph_server_reply_memory_bytes"].series[0].value = 47e6;
  ExpectLine(checkup, "descriptors", Severity::kLook, "server a:7000 has 900 of 1,024");
  ExpectLine(checkup, "descriptors", Severity::kFault, "server b:7000");
  ExpectLine(checkup, "memory", Severity::kLook, "for replies");
}

TEST(DoctorTest, DisksOfState) {
  Checkup checkup = Well();
  EXPECT_THAT(Of(checkup, "disks"), IsEmpty());
  MetricValues& metrics = checkup.servers[0].second.metrics;
  metrics["halograph_state_disk_free_bytes"].series.push_back(
      {.labels = {{"part", "0"}}, .value = 50e9});
  metrics["halograph_state_disk_size_bytes"].series.push_back(
      {.labels = {{"part", "0"}}, .value = 100e9});
  ExpectLine(checkup, "disks", Severity::kOk, "have room");
  metrics["halograph_state_disk_free_bytes"].series[0].value = 5e9;
  ExpectLine(checkup, "disks", Severity::kLook, "part 0 at a:7000");
  metrics["halograph_state_disk_free_bytes"].series[0].value = 5e6;
  ExpectLine(checkup, "disks", Severity::kFault, "part 0 at a:7000");
}

TEST(DoctorTest, TensorsThatRefuseAndThatDiffer) {
  Checkup checkup = Well();
  checkup.servers[0].second.tensors = {{.part = 0, .name = "node/emb", .step = 10}};
  checkup.servers[1].second.tensors = {{.part = 1, .name = "node/emb", .step = 11}};
  ExpectLine(checkup, "tensors", Severity::kOk, "2 mutable tensors");
  checkup.servers[1].second.tensors[0].step = 12;
  checkup.servers[1].second.tensors[0].refused = "the disk is full";
  ExpectLine(checkup, "tensors", Severity::kLook, "at step 10 in part 0 and at step 12 in part 1");
  ExpectLine(checkup, "tensors", Severity::kFault, "the disk is full");
}

TEST(DoctorTest, SlowCallsOfTheLastMinute) {
  Checkup checkup = Well();
  checkup.servers[0].second.slow_calls = {
      {.unix_seconds = kNow - 30,
       .method = "KVService/Pull",
       .host = "h",
       .rank = "1",
       .status = "OK",
       .seconds = 2.5},
      {.unix_seconds = kNow - 300, .method = "KVService/Push", .seconds = 9}};
  ExpectLine(checkup, "slow calls", Severity::kLook, "1 call of the last minute");
  ExpectLine(checkup, "slow calls", Severity::kLook, "2.5 s: KVService/Pull of rank 1");
}

TEST(DoctorTest, CallsThatDoNotMoveNameWhoWaits) {
  Checkup checkup = Well();
  ServerSeen& server = checkup.servers[0];
  server.first.in_flight = server.second.in_flight = 2;
  server.second.clients = {{.host = "h", .rank = "0", .in_flight = 2}};
  EXPECT_THAT(Of(checkup, "calls"), IsEmpty());  // others ended meanwhile
  server.second.ended = server.first.ended;
  ExpectLine(checkup, "calls", Severity::kLook, "none has ended for 1.0 s; of rank 0 at h (2)");
}

TEST(DoctorTest, SilentRankIsNamedWhileAnotherWaits) {
  Checkup checkup = Well();
  checkup.servers[0].second.clients = {
      {.host = "h", .rank = "0", .in_flight = 1, .silent_seconds = 7},
      {.host = "i", .rank = "1", .silent_seconds = 42}};
  checkup.servers[1].second.clients = {{.host = "i", .rank = "1", .silent_seconds = 40}};
  ExpectLine(checkup, "ranks", Severity::kLook,
             "no call came from rank 1 at i for 40.0 s, while rank 0 at h waits");
  checkup.servers[0].second.clients[0].in_flight = 0;
  EXPECT_THAT(Of(checkup, "ranks"),
              Each(Field(&Diagnosis::what, Not(HasSubstr("no call came from")))));
}

TEST(DoctorTest, RanksThatStandStillOrAreBehind) {
  Checkup checkup = Well();
  checkup.trainers[0].second.step = checkup.trainers[0].first.step;
  ExpectLine(checkup, "ranks", Severity::kLook, "rank 0 made no step in 1.0 s");
  ExpectLine(checkup, "ranks", Severity::kLook, "rank 0 is behind: epoch 1, step 10");
}

TEST(DoctorTest, RanksOfWhichNothingIsKnown) {
  Checkup checkup = Well();
  checkup.trainers.pop_back();
  ExpectLine(checkup, "ranks", Severity::kLook, "of 2 ranks nothing is known of 1");
  checkup.trainers[0].second.phase = "starting";
  ExpectLine(checkup, "ranks", Severity::kLook, "rank 0 is starting, for 40.0 s");
}

TEST(DoctorTest, OlderServersAreNotTakenForHealthy) {
  Checkup checkup = Well();
  checkup.servers[0].second.metrics.clear();
  checkup.servers[0].second.without_metrics = true;
  checkup.servers[0].second.unix_seconds = 0;
  ExpectLine(checkup, "not told", Severity::kLook, "a:7000 tells no metrics");
  ExpectLine(checkup, "clocks", Severity::kOk, "3 clocks");
}

TEST(DoctorTest, WhatDidNotFitIsNotTakenForHealthy) {
  Checkup checkup = Well();
  checkup.servers[0].second.left_out = {"state of parts (900)"};
  ExpectLine(checkup, "not told", Severity::kLook,
             "a:7000 had no room in its answer for: state of");
}

TEST(DoctorTest, TensorsThatWereNotToldAreNotTakenForHealthy) {
  Checkup checkup = Well();
  checkup.servers[0].second.tensors_left_out = 17;
  ExpectLine(checkup, "not told", Severity::kLook,
             "a:7000 had no room in its answer for 17 mutable tensors");
}

TEST(DoctorTest, NamesOfOthersAreEscaped) {
  Checkup checkup = Well();
  checkup.servers[0].second.graph_name = "\x1b[31mred";
  EXPECT_THAT(FormatDiagnoses(Examine(checkup)), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace halograph::ctl
