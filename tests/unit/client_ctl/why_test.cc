// Each cause, shown by figures that are made up, is named first with its culprit; pairs that look
// alike are told apart.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ctl/why/readings.h"
#include "client/ctl/why/verdict.h"
#include "tests/unit/client_ctl/made_evidence.h"

namespace halograph::ctl {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Minibatches that come late, since calls take so long that some are always under way.
void WaitsForCalls(Made* made, const std::string& stage, double waiting = 0.7) {
  for (MadeRank& rank : made->ranks) {
    rank.computing = 1 - waiting - 0.02;
    rank.waiting = waiting;
    rank.meeting = 0.02;
    rank.busy[stage] = 0.95;
  }
}

Finding First(const Made& made) {
  const Verdict verdict = Explain(made.Take());
  EXPECT_TRUE(verdict.answered);
  return verdict.findings.empty() ? Finding{} : verdict.findings.front();
}

void ExpectFirst(const Made& made, const std::string& cause, const std::string& culprit) {
  const Verdict verdict = Explain(made.Take());
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings.front().cause, cause) << FormatVerdict(verdict);
  EXPECT_EQ(verdict.findings.front().culprit, culprit) << FormatVerdict(verdict);
}

const Finding* FindingOf(const Verdict& verdict, const std::string& cause) {
  for (const Finding& finding : verdict.findings) {
    if (finding.cause == cause) return &finding;
  }
  return nullptr;
}

Made Delayed() {
  Made made;
  WaitsForCalls(&made, "gather");
  made.servers[1].delay = 5.2e-3;
  made.servers[1].round_trip = 5.1e-3;
  return made;
}

Made Narrow() {
  Made made;
  WaitsForCalls(&made, "gather");
  MadeServer& server = made.servers[1];
  server.calls = 550;  // of 220 KB in ten seconds: 12 MB/s
  server.way_of_pull = 60e-3;
  server.way_of_sample = 9e-3;
  server.sending = 50e-3;
  return made;
}

Made BusyCore() {
  Made made;
  WaitsForCalls(&made, "gather");
  made.servers[1].work = 3e-3;
  made.servers[1].queue = 1e-3;
  made.servers[1].processors = 0.4;
  made.servers[1].lacked = 0.6;
  return made;
}

TEST(WhyTest, HealthyRunIsBoundByComputing) {
  const Made made;
  ExpectFirst(made, "computing", "rank 0");
  EXPECT_THAT(First(made).what, HasSubstr("computing bounds the step"));
}

TEST(WhyTest, ServerBehindADelay) {
  ExpectFirst(Delayed(), "delay", "b:7000");
  const Finding finding = First(Delayed());
  ASSERT_TRUE(finding.step_seconds);
  EXPECT_NEAR(*finding.step_seconds, 0.05 * 0.7 * 5.2 / 5.7, 0.003);
}

TEST(WhyTest, DelayWhereAllMessagesAreLargeIsToldByAnEmptyCall) {
  Made made = Delayed();
  for (MadeServer& server : made.servers) {
    server.sample_bytes = server.pull_bytes = 1e6;
  }
  ExpectFirst(made, "delay", "b:7000");
}

TEST(WhyTest, DelayOfFewBytesIsTrustedThoughItIsNotThereFromHere) {
  Made made = Delayed();
  for (MadeServer& server : made.servers) {
    server.sample_bytes = server.pull_bytes = 1e3;
  }
  made.servers[1].round_trip = 0.1e-3;
  ExpectFirst(made, "delay", "b:7000");
}

TEST(WhyTest, DelayOfEveryServerNamesAll) {
  Made made = Delayed();
  made.servers[0].delay = 5.1e-3;
  made.servers[0].round_trip = 5.1e-3;
  EXPECT_THAT(First(made).culprit, AnyOf("b:7000, a:7000", "a:7000, b:7000"));
  EXPECT_THAT(First(made).advice, HasSubstr("every server"));
}

TEST(WhyTest, NarrowLinkTakesLongerTheMoreIsSent) {
  ExpectFirst(Narrow(), "narrow-link", "b:7000");
  EXPECT_THAT(First(Narrow()).evidence, Contains(HasSubstr("link of 100 Mbit/s")));
}

TEST(WhyTest, FullLinkInWhichSmallCallsWaitTooIsNoDelay) {
  Made made = Narrow();
  MadeServer& server = made.servers[1];
  server.delay = 30e-3;  // nine of ten waited in the queue before the link
  server.way_of_pull = 30e-3;
  server.way_of_sample = 3e-3;
  server.round_trip = 1e-3;
  ExpectFirst(made, "narrow-link", "b:7000");
}

// Nothing is faster elsewhere, and no link carries so much: it may be the trainers that read
// slowly.
TEST(WhyTest, WayThatGrowsEverywhereIsLessCertain) {
  EXPECT_FALSE(First(Narrow()).weight);
  Made made;
  WaitsForCalls(&made, "gather");
  for (MadeServer& server : made.servers) server.way_of_pull = 5e-3;
  const Verdict verdict = Explain(made.Take());
  const Finding* const found = FindingOf(verdict, "narrow-link");
  ASSERT_NE(found, nullptr) << FormatVerdict(verdict);
  EXPECT_LT(found->weight.value_or(1), found->share / 2);
}

TEST(WhyTest, ServerOnABusyCore) { ExpectFirst(BusyCore(), "busy-processors", "b:7000"); }

// What its threads waited for decides, where it is told, whatever processors they got.
TEST(WhyTest, ServerThatWaitsForProcessorsIsOnABusyCore) {
  Made made = BusyCore();
  made.servers[1].processors = 2;
  ExpectFirst(made, "busy-processors", "b:7000");
}

// Threads that receive and send wait for the core as those that work do.
TEST(WhyTest, ServerOnABusyCoreHasALongWayToo) {
  Made made = BusyCore();
  made.servers[1].way_of_pull = 12e-3;
  made.servers[1].way_of_sample = 4e-3;
  ExpectFirst(made, "busy-processors", "b:7000");
  const Verdict verdict = Explain(made.Take());
  EXPECT_THAT(verdict.findings[0].evidence, Contains(HasSubstr("on its way into the server")));
  EXPECT_EQ(FindingOf(verdict, "narrow-link"), nullptr) << FormatVerdict(verdict);
}

Made Crowded() {
  Made made;
  WaitsForCalls(&made, "gather");
  for (MadeServer& server : made.servers) server.way_of_pull = 5e-3;
  for (MadeRank& rank : made.ranks) rank.lacked = 3;
  return made;
}

TEST(WhyTest, TrainerWithoutProcessorsHasALongWayToAllServers) {
  ExpectFirst(Crowded(), "trainer-processors", "rank 0");
  EXPECT_THAT(First(Crowded()).advice, HasSubstr("what else runs"));
  Made made = Crowded();
  for (MadeRank& rank : made.ranks) rank.usable = 2;
  ExpectFirst(made, "trainer-processors", "rank 0");
  EXPECT_THAT(First(made).advice, HasSubstr("more processors"));
}

TEST(WhyTest, BytesOfALinkByChanceAreLessCertain) {
  Made made = Crowded();
  for (MadeServer& server : made.servers) server.calls = 4900;  // of 220 KB: 108 MB/s
  const Verdict verdict = Explain(made.Take());
  const Finding* const link = FindingOf(verdict, "narrow-link");
  ASSERT_NE(link, nullptr) << FormatVerdict(verdict);
  EXPECT_EQ(link->weight, link->share / 2);
}

// A lack that is no cause of its own explains nothing.
TEST(WhyTest, WayIsFullWhereTrainersHardlyWait) {
  Made made = Crowded();
  for (MadeRank& rank : made.ranks) rank.lacked = 0.8;
  const Verdict verdict = Explain(made.Take());
  EXPECT_EQ(FindingOf(verdict, "trainer-processors"), nullptr) << FormatVerdict(verdict);
  EXPECT_NE(FindingOf(verdict, "narrow-link"), nullptr) << FormatVerdict(verdict);
}

// What a trainer lacks makes all ways long, and not that to one server.
TEST(WhyTest, CrowdedTrainerBehindANarrowLinkOfOneServerIsTheLink) {
  Made made = Narrow();
  for (MadeRank& rank : made.ranks) rank.lacked = 3;
  made.servers[1].calls = 300;  // no link that has a name
  ExpectFirst(made, "narrow-link", "b:7000");
}

TEST(WhyTest, ThreadsThatWaitForOtherThingsThanProcessorsAreNotOnABusyCore) {
  Made made = BusyCore();
  made.servers[1].lacked = 0.05;
  EXPECT_EQ(First(made).cause, "server-work");
  for (const Finding& finding : Explain(made.Take()).findings) {
    EXPECT_NE(finding.cause, "busy-processors");
  }
}

TEST(WhyTest, WhereNobodyTellsWhatThreadsWaitedForABusyCoreIsLessCertain) {
  Made made = BusyCore();
  made.without = {"process_processor_wait_seconds_total"};
  const Verdict verdict = Explain(made.Take());
  const auto found =
      std::find_if(verdict.findings.begin(), verdict.findings.end(),
                   [](const Finding& finding) { return finding.cause == "busy-processors"; });
  ASSERT_NE(found, verdict.findings.end()) << FormatVerdict(verdict);
  EXPECT_LT(found->weight.value_or(1), found->share / 2);
  EXPECT_THAT(found->what, HasSubstr("disk"));
  // Calls that wait without a thread count as worked for.
  made.servers[1].waiting_calls = 3;
  for (const Finding& finding : Explain(made.Take()).findings) {
    EXPECT_NE(finding.cause, "busy-processors");
  }
}

// The same times of calls, but the processors did work for them.
TEST(WhyTest, ServerThatWorksLongIsNotOnABusyCore) {
  Made made = BusyCore();
  made.servers[1].processors = 1.3;
  made.servers[1].lacked = 0.1;
  EXPECT_EQ(First(made).cause, "server-work");
  EXPECT_EQ(First(made).culprit, "b:7000");
}

TEST(WhyTest, QueueWhileProcessorsAreLeftWantsThreads) {
  Made made;
  WaitsForCalls(&made, "gather");
  MadeServer& server = made.servers[1];
  server.queue = 4e-3;
  server.work = 1.2e-3;
  server.threads = 1;
  server.processors = 1.1;
  ExpectFirst(made, "few-server-threads", "b:7000");
  EXPECT_THAT(First(made).advice, HasSubstr("--threads"));
}

// What a machine shows on which many programs run: calls wait for a thread, while none of them has
// anything to do but to wake up.
TEST(WhyTest, CallsThatWaitForIdleThreadsWaitForProcessors) {
  Made made;
  WaitsForCalls(&made, "gather");
  MadeServer& server = made.servers[1];
  server.queue = 4e-3;
  server.lacked = 5;
  ExpectFirst(made, "busy-processors", "b:7000");
  server.lacked = 0;
  for (const Finding& finding : Explain(made.Take()).findings) {
    EXPECT_NE(finding.cause, "few-server-threads");
  }
}

TEST(WhyTest, FullReplyMemory) {
  Made made;
  WaitsForCalls(&made, "gather");
  made.servers[0].memory = 30e-3;
  made.servers[0].refused = 200;
  ExpectFirst(made, "reply-memory", "a:7000");
}

TEST(WhyTest, SlowSync) {
  Made made;
  for (MadeServer& server : made.servers) server.pushes = 200;
  for (MadeRank& rank : made.ranks) {
    rank.computing = 0.2;
    rank.waiting = 0.1;
  }
  made.servers[1].sync = 30e-3;
  made.servers[1].push_seconds = 35e-3;
  ExpectFirst(made, "slow-sync", "part 0 at b:7000");
}

TEST(WhyTest, PushesThatWaitForOtherThingsAreNoSlowSync) {
  Made made;
  for (MadeRank& rank : made.ranks) rank.computing = 0.2;
  made.servers[1].pushes = 2000;
  made.servers[1].sync = 2e-3;  // two fifths of the time
  made.servers[1].push_seconds = 35e-3;
  for (const Finding& finding : Explain(made.Take()).findings) {
    EXPECT_NE(finding.cause, "slow-sync");
  }
}

TEST(WhyTest, StragglerThatComputesLong) {
  Made made;
  made.ranks[0].computing = 0.4;
  made.ranks[0].meeting = 0.55;
  made.ranks[1].meeting = 0.005;
  ExpectFirst(made, "straggler", "rank 1");
  EXPECT_THAT(First(made).what, HasSubstr("its computing is long"));
}

// Their figures are not one rank's: with --logical-ranks a process prints those of each.
TEST(WhyTest, RanksOfOneProcessAreToldApart) {
  Made made;
  made.one_process = true;
  made.ranks[0].computing = 0.4;
  made.ranks[0].meeting = 0.55;
  made.ranks[1].meeting = 0.005;
  ExpectFirst(made, "straggler", "rank 1");
  EXPECT_THAT(First(made).what, HasSubstr("its computing is long"));
}

// Its own calls are slow, those of the others to the same servers are not: the servers are well.
TEST(WhyTest, StragglerWhoseCallsAloneAreSlow) {
  Made made;
  made.ranks[0].computing = 0.2;
  made.ranks[0].meeting = 0.75;
  MadeRank& slow = made.ranks[1];
  slow.computing = 0.2;
  slow.waiting = 0.78;
  slow.meeting = 0.005;
  slow.busy["gather"] = 0.97;
  slow.slower_calls = 8;
  ExpectFirst(made, "straggler", "rank 1");
  EXPECT_THAT(First(made).what, HasSubstr("its minibatches come late"));
  EXPECT_THAT(First(made).evidence, Contains(HasSubstr("8.0 times as long")));
  for (const Finding& finding : Explain(made.Take()).findings) {
    EXPECT_THAT(finding.cause, Not(AnyOf("delay", "narrow-link"))) << finding.what;
  }
}

// Calls of all ranks are slow there: the server is named, not the rank that it holds up most.
TEST(WhyTest, ServerThatHoldsUpOneRankMostIsNamedFirst) {
  Made made = Delayed();
  made.ranks[0].waiting = 0.55;
  made.ranks[0].meeting = 0.2;
  made.ranks[0].computing = 0.25;
  ExpectFirst(made, "delay", "b:7000");
}

TEST(WhyTest, OneRankOfSeveralThatWaitsAsksForTheOthersPorts) {
  Made made;
  made.ranks[0].computing = 0.4;
  made.ranks[0].meeting = 0.55;
  Evidence evidence = made.Take();
  evidence.trainers.resize(1);
  const Verdict verdict = Explain(evidence);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].cause, "straggler");
  EXPECT_THAT(verdict.findings[0].advice, HasSubstr("--trainer"));
}

TEST(WhyTest, TooFewSampleThreads) {
  Made made;
  WaitsForCalls(&made, "sample");
  ExpectFirst(made, "few-sample-threads", "rank 0");
}

TEST(WhyTest, SamplingWithoutProcessorsWantsProcessorsAndNoThreads) {
  Made made;
  WaitsForCalls(&made, "sample");
  for (MadeRank& rank : made.ranks) {
    rank.lacked = 3;
    rank.usable = rank.processors;
  }
  ExpectFirst(made, "trainer-processors", "rank 0");
}

// The stage is as busy, but with waiting for a server.
TEST(WhyTest, SamplingThatADelayHoldsUpWantsNoThreads) {
  Made made = Delayed();
  WaitsForCalls(&made, "sample");
  ExpectFirst(made, "delay", "b:7000");
}

Made Cold() {
  Made made;
  WaitsForCalls(&made, "gather");
  for (MadeRank& rank : made.ranks) {
    rank.remote = 6000;
    rank.again = 300;
  }
  for (MadeServer& server : made.servers) server.calls = 15000;  // some are always under way
  return made;
}

TEST(WhyTest, ColdCache) { ExpectFirst(Cold(), "cold-cache", "rank 0"); }

TEST(WhyTest, CachesOfRanksOfOneProcessAreToldApart) {
  Made made = Cold();
  made.one_process = true;
  made.ranks[1].remote = made.ranks[1].again = 60000;  // not cold
  ExpectFirst(made, "cold-cache", "rank 0");
}

TEST(WhyTest, TrainerThatDoesNotTellFirstFetchesIsNamed) {
  Made made = Cold();
  made.without = {"halograph_trainer_cache_fetched_rows_total"};
  const Verdict verdict = Explain(made.Take());
  EXPECT_THAT(verdict.unknown, Contains(HasSubstr("cache_fetched_rows")));
}

// Few rows are fetched where a cache gives the same row to many steps, and steps wait for them all
// the same.
TEST(WhyTest, CacheIsColdHoweverManyRowsItHas) {
  Made made = Cold();
  for (MadeRank& rank : made.ranks) rank.cache = 600000;
  ExpectFirst(made, "cold-cache", "rank 0");
}

TEST(WhyTest, CacheWithoutRoomIsSmallAndNotCold) {
  Made made = Cold();
  made.ranks[0].again = made.ranks[1].again = 5000;
  const Verdict verdict = Explain(made.Take());
  EXPECT_EQ(FindingOf(verdict, "cold-cache"), nullptr) << FormatVerdict(verdict);
  const Finding* const preparing = FindingOf(verdict, "preparing");
  ASSERT_NE(preparing, nullptr) << FormatVerdict(verdict);
  EXPECT_THAT(preparing->evidence, Contains(HasSubstr("5,000 rows again")));
}

// A cold cache asks all servers for much.
TEST(WhyTest, ColdCacheComesBeforeWhatAllServersLack) {
  Made made = Cold();
  for (MadeServer& server : made.servers) {
    server.lacked = 10;
    server.queue = 2e-3;
  }
  ExpectFirst(made, "cold-cache", "rank 0");
  made.servers[0].lacked = 0;
  made.servers[0].queue = 0.02e-3;
  ExpectFirst(made, "busy-processors", "b:7000");
}

TEST(WhyTest, ColdCacheBehindADelayIsTheDelay) {
  Made made = Delayed();
  for (MadeRank& rank : made.ranks) rank.again = 0;
  ExpectFirst(made, "delay", "b:7000");
}

TEST(WhyTest, ShortWaitsComeBehindComputing) {
  Made made = Delayed();
  for (MadeRank& rank : made.ranks) {
    rank.waiting = 0.1;
    rank.computing = 0.86;
  }
  const Verdict verdict = Explain(made.Take());
  ASSERT_EQ(verdict.findings.front().cause, "computing");
  EXPECT_EQ(verdict.findings.at(1).cause, "delay");
}

TEST(WhyTest, WithoutTrainersServersAreJudgedByTheirCalls) {
  Made made = BusyCore();
  made.asks_trainers = false;
  const Verdict verdict = Explain(made.Take());
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].cause, "busy-processors");
  EXPECT_FALSE(verdict.findings[0].step_seconds);
  EXPECT_THAT(verdict.unknown, Contains(HasSubstr("--trainer HOST:PORT")));
  EXPECT_THAT(FormatVerdict(verdict), HasSubstr("of the time of calls"));
}

TEST(WhyTest, WithoutTrainersADelayIsToldByEmptyCalls) {
  Made made = Delayed();
  made.asks_trainers = false;
  ExpectFirst(made, "delay", "b:7000");
  EXPECT_LT(First(made).share, 0.95);  // the rest is the server's
}

TEST(WhyTest, StagesAreThoseThatTheTrainerHasInTheOrderOfAStep) {
  Made made;
  WaitsForCalls(&made, "new stage");
  for (MadeRank& rank : made.ranks) rank.busy["compact"] = 0.2;
  const Finding finding = First(made);
  EXPECT_EQ(finding.cause, "preparing");
  EXPECT_THAT(finding.what, HasSubstr("stage new stage bounds them"));
  EXPECT_THAT(
      finding.evidence,
      Contains(HasSubstr("schedule 1 %, sample 30 %, compact 20 %, gather 35 %, new stage 95 %")));
}

TEST(WhyTest, MetricsThatNobodyTellsAreNamed) {
  Made made = BusyCore();
  made.without = {"process_cpu_seconds_total", "process_processor_wait_seconds_total"};
  const Verdict verdict = Explain(made.Take());
  for (const Finding& finding : verdict.findings) EXPECT_NE(finding.cause, "busy-processors");
  EXPECT_THAT(verdict.unknown, Contains(HasSubstr("process_cpu_seconds_total")));
}

TEST(WhyTest, NobodyAnswered) {
  Evidence evidence;
  evidence.servers.push_back({.address = "a:7000", .error = "UNAVAILABLE: gone"});
  const Verdict verdict = Explain(evidence);
  EXPECT_FALSE(verdict.answered);
  EXPECT_THAT(verdict.unknown, Contains(HasSubstr("a:7000 did not answer")));
}

TEST(WhyTest, ServerThatTrainersCallAndNobodyAskedIsNamed) {
  const Made made;
  Evidence evidence = made.Take();
  evidence.servers.pop_back();
  EXPECT_THAT(Explain(evidence).unknown, Contains(HasSubstr("trainers call b:7000")));
}

TEST(WhyTest, RestartedAndOlderServersAreToldOf) {
  const Made made;
  Evidence evidence = made.Take();
  evidence.servers[0].restarted = true;
  evidence.servers[1].without_metrics = true;
  const auto unknown = Explain(evidence).unknown;
  EXPECT_THAT(unknown, Contains(HasSubstr("a:7000 was restarted")));
  EXPECT_THAT(unknown, Contains(HasSubstr("b:7000 tells no metrics (an older version)")));
}

TEST(WhyTest, WhatDidNotFitIsNotKnown) {
  Evidence evidence = Made().Take();
  evidence.servers[1].left_out = {"metric grpc_server_call_duration_seconds (900 series)"};
  EXPECT_THAT(Explain(evidence).unknown,
              Contains(HasSubstr("b:7000 had no room in its answer for: metric grpc_server_call")));
}

TEST(WhyTest, NamesOfOthersAreEscaped) {
  Evidence evidence;
  evidence.servers.push_back({.address = "a:7000", .error = "\x1b[2Jgone"});
  EXPECT_THAT(FormatVerdict(Explain(evidence)), Not(HasSubstr("\x1b")));
}

TrainerReading Read(double at, double uptime, int64_t steps) {
  TrainerReading reading{.address = "t:1", .at_seconds = at, .rank = 3, .uptime_seconds = uptime};
  reading.metrics["halograph_trainer_steps_total"].series.push_back(
      {.value = static_cast<double>(steps)});
  return reading;
}

TEST(ReadingsTest, EvidenceIsTheDifferenceOfTwo) {
  const Evidence evidence = ToEvidence({}, {}, {Read(10, 100, 40)}, {Read(15, 105, 60)});
  ASSERT_EQ(evidence.trainers.size(), 1U);
  EXPECT_EQ(evidence.trainers[0].seconds, 5);
  EXPECT_EQ(evidence.trainers[0].rank, 3);
  EXPECT_FALSE(evidence.trainers[0].restarted);
  EXPECT_EQ(evidence.trainers[0].metrics.Counter("halograph_trainer_steps_total"), 20);
}

TEST(ReadingsTest, ProcessThatBeganAgainIsNotCompared) {
  const Evidence evidence = ToEvidence({}, {}, {Read(10, 100, 40)}, {Read(15, 2, 60)});
  EXPECT_TRUE(evidence.trainers[0].restarted);
  EXPECT_FALSE(Explain(evidence).answered);
}

TEST(ReadingsTest, ProcessesAreToldApartByWhenTheyBegan) {
  // Long after: it ran for longer than the first one did when it was asked.
  EXPECT_TRUE(ToEvidence({}, {}, {Read(10, 10, 40)}, {Read(610, 360, 60)}).trainers[0].restarted);
  // The second answer was slow to come.
  EXPECT_FALSE(
      ToEvidence({}, {}, {Read(10, 100, 40)}, {Read(12, 100.1, 60)}).trainers[0].restarted);
}

TEST(ReadingsTest, FiguresOutOfBoundsAreNotTold) {
  const StatusOr<TrainerReading> reading = ReadTrainerStatus(
      R"({"program": "halograph-train", "world_size": 2000000000, "rank": -7, "epoch": 1e300,
          "step": 12, "metrics": []})",
      "t:1");
  ASSERT_TRUE(reading.ok()) << ToString(reading.status());
  EXPECT_EQ(reading->world_size, 0);
  EXPECT_EQ(reading->rank, -1);
  EXPECT_EQ(reading->epoch, 0);
  EXPECT_EQ(reading->step, 12);
}

TEST(ReadingsTest, OneAnswerOfTwoIsNone) {
  TrainerReading gone = Read(15, 105, 60);
  gone.error = Unavailable("gone");
  const Evidence evidence = ToEvidence({}, {}, {Read(10, 100, 40)}, {gone});
  EXPECT_THAT(evidence.trainers[0].error, HasSubstr("gone"));
}

TEST(ReadingsTest, PagesOfOtherProgramsAndGarbageAreErrors) {
  EXPECT_FALSE(ReadTrainerStatus("no JSON", "t:1").ok());
  EXPECT_FALSE(ReadTrainerStatus("[]", "t:1").ok());
  EXPECT_FALSE(ReadTrainerStatus(R"({"program": "halograph-train"})", "t:1").ok());
  EXPECT_THAT(Message(ReadTrainerStatus("{}", "t:1").status()), HasSubstr("--http-listen"));
}

TEST(MetricValuesTest, ReadsNumbersAndTextOfTrainersAndServers) {
  const Json metrics = Json::parse(R"([
    {"name": "calls_seconds", "kind": "HISTOGRAM", "bounds": [0.1, 1], "series": [
      {"labels": [{"name": "m", "value": "a"}], "count": "4", "sum": 2.5, "counts": ["1", 2, "1"]}]},
    {"name": "up", "kind": "GAUGE", "series": [{"labels": [], "value": "Infinity"}]}])");
  const auto values = ReadMetricValues(metrics, "t:1");
  ASSERT_TRUE(values.ok());
  const MetricChange change({}, *values);
  const auto calls = change.Histogram("calls_seconds", {{"m", "a"}});
  ASSERT_TRUE(calls);
  EXPECT_EQ(calls->count, 4);
  EXPECT_DOUBLE_EQ(calls->sum, 2.5);
  EXPECT_NEAR(*calls->Quantile(0.5), 0.55, 1e-9);
  EXPECT_FALSE(change.Counter("gone"));
  EXPECT_THAT(change.missing(), Contains("gone"));
}

TEST(MetricValuesTest, GarbageIsAnErrorOrNothing) {
  EXPECT_FALSE(ReadMetricValues(Json::parse(R"({"a": 1})"), "t:1").ok());
  EXPECT_FALSE(ReadMetricValues(Json::parse("[7]"), "t:1").ok());
  const auto values = ReadMetricValues(
      Json::parse(R"([{"name": "x", "bounds": [1], "series": [{"count": -3, "counts": [1]}, 5]}])"),
      "t:1");
  ASSERT_TRUE(values.ok());
  const MetricChange change({}, *values);
  EXPECT_EQ(change.Histogram("x")->count, 0);
}

TEST(MetricValuesTest, CounterThatBeganAgainIsNotNegative) {
  MetricValues before;
  before["x"].series.push_back({.value = 9});
  MetricValues after;
  after["x"].series.push_back({.value = 2});
  EXPECT_EQ(MetricChange(before, after).Counter("x"), 0);
}

}  // namespace
}  // namespace halograph::ctl
