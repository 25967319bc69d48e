#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/storage/json.h"
#include "common/ui/assets.h"
#include "common/ui/figures.h"
#include "common/ui/html.h"
#include "common/ui/render.h"
#include "common/ui/status_reader.h"

namespace halograph::ui {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kHostile = "<b onclick=\"x\">'&{{tables}}</b>";

Histogram Latency(std::vector<int64_t> counts) {
  return {.bounds = {0.001, 0.01, 0.1, 1}, .counts = std::move(counts)};
}

ServerFigures Server(const std::string& address, std::vector<int> parts, Histogram latency) {
  ServerFigures server;
  server.address = address;
  server.identity = "9f";
  server.graph = "papers";
  server.phase = "serving";
  server.num_parts = 2;
  server.recent_seconds = 60;
  for (const int part : parts) server.parts.push_back({.part = part});
  server.methods.resize(1);
  server.methods[0].name = "GraphService/Sample";
  server.methods[0].calls = 600;
  server.methods[0].latency = std::move(latency);
  return server;
}

UiData TwoServers() {
  UiData data;
  data.servers = {Server("a:1", {0}, Latency({50, 50, 0, 0, 0})),
                  Server("b:1", {1}, Latency({50, 50, 0, 0, 0}))};
  data.servers[0].self = true;
  return data;
}

// The rows of the table `id` of a page.
std::string Rows(const std::string& page, const std::string& id) {
  const size_t begin = page.find("<tbody id=\"" + id + "-rows\"");
  if (begin == std::string::npos) return "";
  return page.substr(begin, page.find("</tbody>", begin) - begin);
}

TEST(EscapeTest, MarkupControlCharactersAndBrokenUtf8StayText) {
  EXPECT_EQ(Escape("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  EXPECT_EQ(Escape("a\x1b[31m\xff"), "a\\x1b[31m\\xff");
}

TEST(EscapeTest, WhatIsLongIsCut) { EXPECT_LT(Escape(std::string(100'000, 'x')).size(), 2000U); }

TEST(ShowTest, FiguresAreShort) {
  EXPECT_EQ(ShowCount(12345), "12,345");
  EXPECT_EQ(ShowCount(0.25), "0.2");
  EXPECT_EQ(ShowCount(1'234'000), "1.23 M");
  EXPECT_EQ(ShowBytes(1536), "1.5 KiB");
  EXPECT_EQ(ShowSeconds(0.00042), "420 \u00b5s");
  EXPECT_EQ(ShowSeconds(0.0125), "12.5 ms");
  EXPECT_EQ(ShowSeconds(-1), "-");
}

TEST(QuantileTest, IsLinearWithinABucketAndTheLastBoundAboveAll) {
  EXPECT_DOUBLE_EQ(Quantile(Latency({0, 100, 0, 0, 0}), 0.5), 0.0055);
  EXPECT_DOUBLE_EQ(Quantile(Latency({100, 0, 0, 0, 0}), 1), 0.001);
  EXPECT_DOUBLE_EQ(Quantile(Latency({0, 0, 0, 0, 5}), 0.5), 1);
  EXPECT_DOUBLE_EQ(Quantile(Latency({0, 0, 0, 0, 0}), 0.5), -1);
  EXPECT_DOUBLE_EQ(Quantile({}, 0.5), -1);
}

TEST(QuantileTest, SumsHaveTheBoundsOfBoth) {
  Histogram sum;
  Add({.bounds = {1, 3}, .counts = {1, 2, 3}}, sum);
  Add({.bounds = {2, 3}, .counts = {10, 20, 30}}, sum);
  Add({.bounds = {1}, .counts = {1}}, sum);  // not a histogram
  EXPECT_THAT(sum.bounds, ElementsAre(1, 2, 3));
  EXPECT_THAT(sum.counts, ElementsAre(1, 10, 22, 33));
}

TEST(SpeedsTest, TheServerBehindADelayIsSlowAndNoOtherIs) {
  UiData data = TwoServers();
  data.servers.push_back(Server("c:1", {1}, Latency({0, 0, 100, 0, 0})));
  const std::vector<Speed> speeds = Speeds(data.servers);
  EXPECT_FALSE(speeds[0].slow);
  EXPECT_FALSE(speeds[1].slow);
  EXPECT_TRUE(speeds[2].slow);
  EXPECT_NEAR(speeds[2].ratio, 0.0991 / 0.00982, 0.1);
  EXPECT_THAT(Problems(data), ElementsAre(HasSubstr("c:1 is slow")));
  EXPECT_THAT(Rows(RenderPage(data), "servers"), HasSubstr("10.1 slow"));
}

TEST(SpeedsTest, WhatOperatorsAskDoesNotCount) {
  UiData data = TwoServers();
  data.servers[1].methods.push_back(data.servers[1].methods[0]);
  data.servers[1].methods[1].name = "AdminService/Stats";
  data.servers[1].methods[1].latency = Latency({0, 0, 0, 100, 0});
  EXPECT_THAT(Problems(data), IsEmpty());
}

TEST(ProblemsTest, HealthyServersHaveNone) {
  EXPECT_THAT(Problems(TwoServers()), IsEmpty());
  EXPECT_THAT(RenderPage(TwoServers()), HasSubstr("No problem found."));
}

TEST(ProblemsTest, APartThatNobodyServesIsNamed) {
  UiData data = TwoServers();
  data.servers[1].error = "UNAVAILABLE: connection refused";
  data.servers[1].parts.clear();
  EXPECT_THAT(Problems(data), ElementsAre(HasSubstr("Nobody serves part 1"),
                                          HasSubstr("b:1 gives no figures: UNAVAILABLE")));
  EXPECT_THAT(Rows(RenderPage(data), "partitions"), HasSubstr(">nobody<"));
  EXPECT_THAT(Rows(RenderPage(data), "servers"), HasSubstr("does not answer"));
}

TEST(ProblemsTest, AServerAloneSaysHowToSeeAllAndBlamesNobody) {
  UiData data = TwoServers();
  data.servers.pop_back();
  data.why_alone = "Start with --peers to see all servers.";
  EXPECT_THAT(Problems(data), IsEmpty());
  const std::string page = RenderPage(data);
  EXPECT_THAT(page, HasSubstr("Start with --peers to see all servers."));
  EXPECT_THAT(Rows(page, "partitions"), HasSubstr("not by this server"));
}

TEST(ProblemsTest, BoundsAndStateAreNamed) {
  UiData data = TwoServers();
  ServerFigures& server = data.servers[1];
  server.phase = "recovering";
  server.pools = {{.name = "work", .threads = 2, .queued = 240, .queue_limit = 256}};
  server.request_memory = 10;
  server.request_memory_limit = 100;
  server.reply_memory = 95;
  server.reply_memory_limit = 100;
  server.tensors.resize(1);
  server.tensors[0].name = "node/emb";
  server.tensors[0].refused = "the disk is full";
  server.logs.resize(1);
  server.logs[0].refuses_pushes = true;
  EXPECT_THAT(Problems(data),
              ElementsAre(HasSubstr("not ready: recovering"),
                          HasSubstr("node/emb of part 0 takes no pushes: the disk is full"),
                          HasSubstr("part 0 takes no pushes"), HasSubstr("\"work\" is at 94 %"),
                          HasSubstr("reply memory is at 95 %")));
}

TEST(ProblemsTest, AServerOfAnotherGraphIsNamedAndCountsNowhere) {
  const UiData data = ReadUiData(Json::parse(R"({"servers": [
    {"address": "a:1", "self": true, "error": "", "stats": {"identity": "9f", "num_parts": 1,
      "parts": [0], "unix_seconds": 5, "recent_seconds": 60, "metrics": [1]}},
    {"address": "b:1", "error": "it serves another graph", "stats": {"identity": "aa",
      "graph_name": "other", "num_parts": 7, "parts": [1], "pid": 4, "host_name": "graph-4",
      "recent_seconds": 60, "recent": [{"method": "GraphService/Sample", "calls": "600"}],
      "client_list": [{"host": "stranger", "rank": "1"}],
      "methods": [{"method": "GraphService/Sample", "calls": "600"}]}}]})"));
  EXPECT_THAT(Problems(data), ElementsAre("b:1: it serves another graph."));
  const std::string page = RenderPage(data);
  EXPECT_THAT(Rows(page, "servers"), HasSubstr("another graph"));
  EXPECT_THAT(Rows(page, "servers"), HasSubstr("graph-4 pid 4"));
  EXPECT_THAT(page, HasSubstr("2 of 2")) << "it answers";
  EXPECT_THAT(page, HasSubstr("1 of 1")) << "its parts are not those of the graph";
  EXPECT_THAT(page, Not(HasSubstr("stranger")));
  EXPECT_THAT(Rows(page, "methods"), HasSubstr("class=\"empty\""));
  EXPECT_THAT(ServerSamples(data), Not(HasSubstr("b:1")));
}

TEST(ProblemsTest, AClockThatIsSurelyOffIsNamed) {
  UiData data = TwoServers();
  data.servers[1].clock_seconds_off = -1.2;
  data.servers[1].round_trip_seconds = 0.5;  // off by 0.95 s at least
  EXPECT_THAT(Problems(data), IsEmpty());
  data.servers[1].round_trip_seconds = 0.3;
  EXPECT_THAT(Problems(data), ElementsAre(HasSubstr("The clock of b:1 is 1.2 s behind")));
  data.servers[1].clock_seconds_off = 3600;
  EXPECT_THAT(Problems(data), ElementsAre(HasSubstr("of b:1 is 1 h 00 min ahead of")));
}

TEST(ProblemsTest, AnOlderVersionIsNamedAndHasATimeForCharts) {
  const UiData data = ReadUiData(Json::parse(R"({"servers": [
    {"address": "b:1", "error": "", "here_unix_seconds": 1000.25, "stats": {"identity": "9f",
     "build_version": "0.0.9", "metrics": [], "pid": 0, "unix_seconds": 0}}]})"));
  EXPECT_THAT(Problems(data), ElementsAre(HasSubstr("b:1 is of an older version, 0.0.9")));
  EXPECT_THAT(ServerSamples(data), HasSubstr("data-unix=\"1000.25\""));
  EXPECT_THAT(Rows(RenderPage(data), "servers"), Not(HasSubstr("pid 0")));
}

TEST(ProblemsTest, AServerThatCannotTellItsOwnFiguresSaysWhy) {
  const UiData data = ReadUiData(Json::parse(R"({"servers": [
    {"address": "a:1", "self": true, "error": "its figures cannot be made: x", "stats": null}]})"));
  EXPECT_THAT(Problems(data), ElementsAre(HasSubstr("its figures cannot be made: x")));
  EXPECT_THAT(Rows(RenderPage(data), "servers"), HasSubstr("no figures"));
}

TEST(ProblemsTest, AreBoundedAndSayHowManyAreLeftOut) {
  UiData data;
  data.servers.resize(kMostProblems + 5);
  for (ServerFigures& server : data.servers) server.error = "UNAVAILABLE";
  const std::vector<std::string> problems = Problems(data);
  EXPECT_EQ(problems.size(), kMostProblems + 1);
  EXPECT_EQ(problems.back(), "5 more are not shown.");
}

TEST(PageTest, NamesOfOthersStayTextWhereverTheyStand) {
  UiData data = TwoServers();
  const std::string name(kHostile);
  ServerFigures& server = data.servers[0];
  server.address = server.graph = server.identity = server.phase = server.host = server.version =
      name;
  server.serving = server.methods[0].name = data.servers[1].error = data.why_alone = name;
  server.slow = {{.method = name,
                  .host = name,
                  .rank = name,
                  .request_id = name,
                  .trace_id = name,
                  .status = name}};
  server.callers = {{.host = name, .rank = name}};
  server.tensors.resize(1);
  server.tensors[0].name = server.tensors[0].refused = name;
  const std::string page = RenderPage(data);
  EXPECT_THAT(page, Not(HasSubstr("<b ")));
  EXPECT_THAT(page, HasSubstr("&lt;b onclick=&quot;x&quot;&gt;&#39;&amp;{{tables}}&lt;/b&gt;"));
  UiData trainer;
  trainer.trainer.emplace();
  trainer.trainer->phase = trainer.trainer->host = trainer.trainer->version = name;
  trainer.trainer->stages = {{.name = name}};
  trainer.trainer->pulls = {{.tensor = name, .source = name}};
  trainer.trainer->delays = {{.rank = name}};
  trainer.trainer->servers = {name};
  trainer.trainer->total_steps = 1;
  EXPECT_THAT(RenderPage(trainer), Not(HasSubstr("<b ")));
}

TEST(PageTest, HasEveryTableWithoutAnyServer) {
  const std::string page = RenderPage({});
  for (const char* id : {"servers", "partitions", "methods", "slow", "clients", "tensors", "log"}) {
    EXPECT_THAT(Rows(page, id), HasSubstr("class=\"empty\"")) << id;
  }
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(PageTest, RowsAreBoundedAndSayHowManyAreLeftOut) {
  UiData data = TwoServers();
  data.servers[0].callers.resize(kMostClients + 7);
  data.servers[0].slow.resize(kMostSlowRequests + 8);
  data.servers[0].tensors.resize(kMostRows + 9);
  data.servers[0].num_parts = 1 << 20;
  const std::string page = RenderPage(data);
  EXPECT_THAT(Rows(page, "clients"), HasSubstr("7 more are not shown"));
  EXPECT_THAT(Rows(page, "slow"), HasSubstr("8 more are not shown"));
  EXPECT_THAT(Rows(page, "tensors"), HasSubstr("9 more are not shown"));
  EXPECT_THAT(Rows(page, "partitions"), HasSubstr("1048320 more are not shown"));
  EXPECT_LT(Problems(data).size(), 100U);
}

TEST(PageTest, NewestSlowRequestsAndBusiestClientsComeFirst) {
  UiData data = TwoServers();
  data.servers[0].slow = {{.unix_seconds = 10, .method = "older"}};
  data.servers[1].slow = {{.unix_seconds = 20, .method = "newer"}};
  data.servers[0].callers = {{.host = "calm", .calls = 100, .known_seconds = 100}};
  data.servers[1].callers = {{.host = "busy", .calls = 90, .known_seconds = 10}};
  const std::string page = RenderPage(data);
  EXPECT_LT(page.find(">newer<"), page.find(">older<"));
  EXPECT_LT(page.find(">busy<"), page.find(">calm<"));
}

TEST(PageTest, IsSmallAndLoadsNothingFromOutside) {
  size_t bytes = PageShell().size();
  for (const Asset& asset : Assets()) {
    bytes += asset.bytes.size();
    EXPECT_THAT(PageShell(),
                HasSubstr(asset.path.find("app.") != std::string_view::npos ? asset.path.substr(1)
                                                                            : "ui/"));
    EXPECT_EQ(asset.bytes.find("https://"), std::string_view::npos) << asset.path;
  }
  EXPECT_LT(bytes, 150U << 10);
  EXPECT_THAT(PageShell(), Not(HasSubstr("http")));
  EXPECT_THAT(PageShell(), Not(HasSubstr("style=")));
}

// What /status?cluster answers, as the page reads it.
TEST(StatusReaderTest, ReadsServersWithIntegersAsText) {
  const Json status = Json::parse(R"({"asked_seconds_ago": 0.5, "why_alone": "", "servers": [
    {"address": "a:1", "self": true, "error": "", "stats": {
      "identity": "9f", "graph_name": "papers", "parts": [1], "num_parts": 2, "phase": "serving",
      "unix_seconds": 1000.5, "recent_seconds": 60.0, "request_memory_bytes": "7",
      "methods": [{"method": "GraphService/Sample", "calls": "12", "reply_bytes": "345",
                   "latency": [{"upper_seconds": 0.1, "count": "4"},
                               {"upper_seconds": "Infinity", "count": "1"}]},
                  {"method": "AdminService/Stats", "calls": "99", "latency": []}],
      "recent": [{"method": "GraphService/Sample", "calls": "3", "errors": "1"}],
      "state": [{"part": 1, "lsn": "9", "synced_lsn": "8", "tensors": [
        {"spec": {"type": "node", "name": "emb"}, "first_id": "10", "end_id": "30", "lsn": "9",
         "staleness": "2"}]}],
      "slow_calls": [{"method": "GraphService/Sample", "trace_id": "t1", "answering_seconds": 2}],
      "client_list": [{"host": "h", "rank": "3", "calls": "5", "known_seconds": 2}],
      "metrics": [
        {"name": "halograph_sampling_edges_total", "series": [{"value": 100}, {"value": 11}]},
        {"name": "halograph_server_queued_calls",
         "series": [{"labels": [{"name": "pool", "value": "work"}], "value": 3}]},
        {"name": "halograph_server_queue_limit_calls",
         "series": [{"labels": [{"name": "pool", "value": "work"}], "value": 256}]},
        {"name": "halograph_partition_bytes",
         "series": [{"labels": [{"name": "part", "value": "1"}], "value": 4096}]},
        {"name": "halograph_state_checkpoint_age_seconds",
         "series": [{"labels": [{"name": "part", "value": "1"}], "value": 12}]}]}},
    {"address": "b:1", "self": false, "error": "DEADLINE_EXCEEDED", "stats": null}]})");
  const UiData data = ReadUiData(status);
  ASSERT_EQ(data.servers.size(), 2U);
  const ServerFigures& server = data.servers[0];
  EXPECT_TRUE(server.self);
  EXPECT_EQ(server.address, "a:1");
  EXPECT_EQ(server.total_calls, 12);
  EXPECT_EQ(server.total_sent_bytes, 345);
  EXPECT_EQ(server.total_edges, 111);
  EXPECT_THAT(server.total_latency.counts, ElementsAre(4, 1));
  EXPECT_EQ(server.request_memory, 7);
  ASSERT_EQ(server.pools.size(), 1U);
  EXPECT_EQ(server.pools[0].queued, 3);
  EXPECT_EQ(server.pools[0].queue_limit, 256);
  EXPECT_EQ(server.parts.at(0).bytes, 4096);
  EXPECT_EQ(server.parts.at(0).resident_bytes, -1);
  EXPECT_EQ(server.methods.at(0).errors, 1);
  EXPECT_EQ(server.tensors.at(0).name, "node/emb");
  EXPECT_EQ(server.tensors.at(0).ids, 20);
  EXPECT_EQ(server.tensors.at(0).staleness, 2);
  EXPECT_EQ(server.logs.at(0).synced_lsn, 8);
  EXPECT_EQ(server.logs.at(0).checkpoint_age_seconds, 12);
  EXPECT_EQ(server.slow.at(0).trace_id, "t1");
  EXPECT_EQ(server.callers.at(0).calls, 5);
  EXPECT_EQ(data.servers[1].error, "DEADLINE_EXCEEDED");
}

TEST(StatusReaderTest, ReadsATrainer) {
  const UiData data = ReadUiData(Json::parse(R"({"program": "halograph-train", "phase": "training",
    "rank": 1, "world_size": 4, "servers": ["a:1"], "metrics": [
      {"name": "halograph_trainer_steps_total", "series": [{"value": 10}]},
      {"name": "halograph_trainer_step_seconds", "bounds": [1, 2],
       "series": [{"count": 10, "sum": 12, "counts": [6, 4, 0]}]},
      {"name": "halograph_trainer_stage_seconds_total", "series": [
        {"labels": [{"name": "stage", "value": "train"}, {"name": "state", "value": "busy"}], "value": 9},
        {"labels": [{"name": "stage", "value": "sample"}, {"name": "state", "value": "blocked"}],
         "value": 4}]},
      {"name": "halograph_trainer_pull_rows_total", "series": [
        {"labels": [{"name": "tensor", "value": "node/feat"}, {"name": "source", "value": "cache"}],
         "value": 50}]},
      {"name": "halograph_trainer_loss", "series": [{"value": "NaN"}]}]})"));
  ASSERT_TRUE(data.trainer.has_value());
  const TrainerFigures& trainer = *data.trainer;
  EXPECT_EQ(trainer.total_steps, 10);
  EXPECT_EQ(trainer.step_seconds_sum, 12);
  EXPECT_DOUBLE_EQ(Quantile(trainer.step_seconds, 0.5), 5.0 / 6);
  ASSERT_EQ(trainer.stages.size(), 2U);
  EXPECT_EQ(trainer.stages[0].name, "sample");  // in the order of the pipeline
  EXPECT_EQ(trainer.stages[0].blocked_seconds, 4);
  EXPECT_EQ(trainer.stages[1].busy_seconds, 9);
  EXPECT_EQ(trainer.pulls.at(0).rows, 50);
  const std::string page = RenderPage(data);
  EXPECT_THAT(page, HasSubstr("Trainer, rank 1 of 4"));
  EXPECT_THAT(Rows(page, "stages"), HasSubstr("100 %"));
}

TEST(StatusReaderTest, ARankThatTrainsAloneIsBehindNobody) {
  UiData data;
  data.trainer = TrainerFigures{.delays = {{.rank = "0", .seconds = 0}}};
  EXPECT_THAT(Rows(RenderPage(data), "ranks"), HasSubstr("trains alone"));
  data.trainer->world_size = 2;
  EXPECT_THAT(Rows(RenderPage(data), "ranks"), Not(HasSubstr("trains alone")));
}

TEST(StatusReaderTest, WhatIsMissingOrOfAnotherTypeCountsAsUnknown) {
  for (const char* text :
       {"null", "[]", "{}", R"({"servers": [1, {"stats": {"parts": ["x", -3]}}]})",
        R"({"parts": {}, "metrics": [{"name": "halograph_server_refused_total",
                               "series": [{"value": "many"}, 3]}], "recent": [{"latency": 5}]})",
        R"({"servers": [{"stats": {"num_parts": 1e300, "unix_seconds": "NaN",
                               "methods": [{"calls": "99999999999999999999999"}]}}]})"}) {
    EXPECT_THAT(RenderPage(ReadUiData(Json::parse(text))), HasSubstr("</html>")) << text;
  }
}

}  // namespace
}  // namespace halograph::ui
