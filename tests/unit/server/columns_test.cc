// ColumnSums and Extract without a wire: against the kernel over the whole graph.
#include <algorithm>
#include <thread>

#include <gmock/gmock.h>

#include "common/sampling/kernel/add_column_sums.h"
#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/extract_edges.h"
#include "server/handlers/column_sums.h"
#include "server/handlers/extract.h"
#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

using testing::HasSubstr;

constexpr char kPaperCites[] = "paper:cites:paper";
constexpr char kAuthorWrites[] = "author:writes:paper";
constexpr const char* kRelations[] = {kPaperCites, kAuthorWrites};

class ColumnsHandlerTest : public ServedTest {
 protected:
  ColumnSumsHandler Sums(const ServedGraph& graph, int64_t limit = kLimit) {
    return {&graph, &workspaces_, limit};
  }
  // Some destinations at a time, as there are few edges.
  ExtractHandler Edges(const ServedGraph& graph, int64_t limit = kLimit) {
    return {&graph, &workspaces_, limit, 1};
  }

  ColumnEdges Whole(const std::string& relation) const {
    const auto found = FindColumnRelation(*all_, relation);
    EXPECT_TRUE(found.ok()) << found.status();
    return found->edges;
  }
  ColumnSums Expected(const std::string& relation, std::span<const int64_t> destinations,
                      ColumnValue value) {
    ColumnSums sums;
    ColumnWorkspace workspace;
    EXPECT_TRUE(SumColumns(Whole(relation), destinations, value, &workspace, &sums).ok());
    return sums;
  }

  static constexpr int kMostCalls = 5000;

  // Asks again from where each answer ends, as a client does. Counts the calls.
  std::vector<ColumnSums> SumAll(const ColumnSumsHandler& handler, wire::ColumnSumsRequest request,
                                 int* calls) {
    std::vector<ColumnSums> all(request.groups.size());
    for (size_t first = 0; first < all.size() && ++*calls < kMostCalls;) {
      const auto answers = handler.Answer(request);
      EXPECT_TRUE(answers.ok()) << answers.status();
      if (!answers.ok() || answers->empty()) return all;
      ExpectWithin(*answers, request.max_bytes, wire::ColumnSumsGroupBytes);
      for (size_t g = 0; g < answers->size(); ++g) {
        const auto [sources, sums, wide, more, deltas] = (*answers)[g].shape();
        EXPECT_EQ(deltas, request.groups[g].source_deltas);
        EXPECT_FALSE(more && g + 1 < answers->size());
        ColumnSums& to = all[first + g];
        to.sources.insert(to.sources.end(), sources.begin(), sources.end());
        to.sums.insert(to.sums.end(), sums.begin(), sums.end());
      }
      const size_t done = answers->size() - (answers->back().more ? 1 : 0);
      first += done;
      request.groups.erase(request.groups.begin(), request.groups.begin() + std::ssize(*answers));
      if (!answers->back().more) continue;
      wire::ColumnSumsGroup rest = asked_[first];
      rest.from_source = all[first].sources.back() + 1;
      request.groups.insert(request.groups.begin(), rest);
    }
    return all;
  }

  // The same of edges.
  std::vector<ExtractAnswer> ExtractAll(const ExtractHandler& handler, wire::ExtractRequest request,
                                        int* calls) {
    std::vector<ExtractAnswer> all(request.groups.size());
    for (size_t first = 0; first < all.size() && ++*calls < kMostCalls;) {
      const auto answers = handler.Answer(request);
      EXPECT_TRUE(answers.ok()) << answers.status();
      if (!answers.ok() || answers->empty()) return all;
      ExpectWithin(*answers, request.max_bytes, wire::ExtractGroupBytes);
      for (const ExtractAnswer& answer : *answers) {
        wire::ExtractGroup& group = request.groups.front();
        Append(answer, &all[first]);
        group.destinations.erase(group.destinations.begin(),
                                 group.destinations.begin() + std::ssize(answer.counts));
        group.degrees_of.erase(group.degrees_of.begin(),
                               group.degrees_of.begin() + std::ssize(answer.other_degrees));
        if (!group.destinations.empty() || !group.degrees_of.empty()) break;
        request.groups.erase(request.groups.begin());
        ++first;
      }
    }
    return all;
  }

  template <typename Answer, typename Bytes>
  static void ExpectWithin(const std::vector<Answer>& answers, int64_t limit, const Bytes& bytes) {
    size_t all = 0;
    for (const Answer& answer : answers) all += bytes(answer.shape());
    if (limit > 0) {
      EXPECT_LE(all, static_cast<size_t>(limit));
    }
  }
  static void Append(const ExtractAnswer& more, ExtractAnswer* all) {
    const auto append = [](const auto& from, auto* to) {
      to->insert(to->end(), from.begin(), from.end());
    };
    append(more.counts, &all->counts);
    append(more.columns, &all->columns);
    append(more.edge_ids, &all->edge_ids);
    append(more.degrees, &all->degrees);
    append(more.other_degrees, &all->other_degrees);
  }

  // Every third source of a relation.
  std::vector<int64_t> Columns(const std::string& relation) const {
    std::vector<int64_t> columns;
    for (int64_t id = 0; id < Whole(relation).num_sources; id += 3) columns.push_back(id);
    return columns;
  }

  ColumnWorkspaces workspaces_;
  std::vector<wire::ColumnSumsGroup> asked_;
};

TEST_F(ColumnsHandlerTest, SumsOfPartsAddUpToTheKernelsOverTheWholeGraph) {
  for (const char* relation : kRelations) {
    for (const ColumnValue value : {ColumnValue::kOne, ColumnValue::kDegreeShare}) {
      std::vector<ColumnSums> parts(3);
      for (int part = 0; part < 3; ++part) {
        const auto served = Open({part});
        const auto answers = Sums(*served).Answer(
            {.groups = {{relation, static_cast<uint32_t>(value), Owned(NodeType("paper"), part)}}});
        ASSERT_TRUE(answers.ok()) << answers.status();
        ASSERT_EQ(answers->size(), 1U);
        EXPECT_FALSE(answers->front().more);
        parts[part] = answers->front().sums;
      }
      ColumnSums total;
      const std::vector<ColumnSumsView> views = {{parts[0].sources, parts[0].sums},
                                                 {parts[1].sources, parts[1].sums},
                                                 {parts[2].sources, parts[2].sums}};
      ASSERT_TRUE(AddColumnSums(relation, Whole(relation).num_sources, views, &total).ok());
      EXPECT_EQ(total, Expected(relation, All(NodeType("paper")), value));
    }
  }
}

TEST_F(ColumnsHandlerTest, CutSumsAddUpToTheWholeWithinTheLimit) {
  for (const char* relation : kRelations) {
    asked_.push_back({relation, 1, All(NodeType("paper"))});
    asked_.push_back({relation, 0, {}});
    asked_.push_back({relation, 0, {}, wire::ColumnPage{1, 5, Whole(relation).num_sources - 2}});
  }
  int calls = 0;
  const auto whole = SumAll(Sums(*all_), {.groups = asked_}, &calls);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(whole[0], Expected(kPaperCites, asked_[0].destinations, ColumnValue::kDegreeShare));
  for (const bool deltas : {false, true}) {
    for (wire::ColumnSumsGroup& group : asked_) group.source_deltas = deltas;
    for (const int64_t limit : {32, 50, 300, 1000}) {
      calls = 0;
      EXPECT_EQ(SumAll(Sums(*all_), {.groups = asked_, .max_bytes = limit}, &calls), whole)
          << limit;
      EXPECT_GT(calls, 1);
      EXPECT_EQ(SumAll(Sums(*all_, limit), {.groups = asked_}, &calls), whole) << limit;
    }
  }
}

// What a message has no room for as ids, it has as differences; and no more than that.
TEST_F(ColumnsHandlerTest, SourcesAsDifferencesLeaveNoRoomUnused) {
  const std::vector<int64_t> papers = All(NodeType("paper"));
  const auto answer = [&](bool deltas, int64_t limit) {
    wire::ColumnSumsGroup group{kPaperCites, 0, papers};
    group.source_deltas = deltas;
    const auto answers = Sums(*all_).Answer({.groups = {group}, .max_bytes = limit});
    EXPECT_TRUE(answers.ok()) << answers.status();
    return answers->front();
  };
  const ColumnSumsAnswer whole = answer(true, 0);
  const auto bytes = static_cast<int64_t>(wire::ColumnSumsGroupBytes(whole.shape()));
  const auto as_ids = static_cast<int64_t>(wire::ColumnSumsGroupBytes(answer(false, 0).shape()));
  EXPECT_GT(as_ids - bytes, 2 * std::ssize(whole.sums.sources)) << "one byte each and not four";
  const int64_t limit = bytes + wire::kColumnSumsGroupOverhead;
  EXPECT_FALSE(answer(true, limit).more);
  EXPECT_TRUE(answer(false, limit).more);
  EXPECT_TRUE(answer(true, bytes - wire::kColumnSumsGroupOverhead).more);
}

// Differences of several bytes, which are counted as they are.
TEST_F(ColumnsHandlerTest, SourcesThatAreFarApartStayWithinTheLimit) {
  std::unique_ptr<TestFolder> folder;
  const auto path =
      WriteGraphInto(&folder, RandomTypedGraph({.seed = 8, .parts = 1, .nodes = 20000}));
  auto set = PartitionSet::Open(path, {}, VerifyLevel::kHeaders);
  ASSERT_TRUE(set.ok()) << set.status();
  const ServedGraph graph(std::move(set).value());
  asked_.push_back({kPaperCites, 0, {2, 500, 501, 700, 4000, 9000, 9100, 9200, 9300, 9400}});
  asked_.back().source_deltas = true;
  int calls = 0;
  const auto whole = SumAll(Sums(graph), {.groups = asked_}, &calls);
  const std::vector<int64_t>& sources = whole[0].sources;
  ASSERT_GT(sources.size(), 20U);
  EXPECT_GT(sources.back(), 128 * std::ssize(sources)) << "two bytes each, for the most part";
  for (const int64_t limit : {50, 60, 80, 100}) {
    calls = 0;
    EXPECT_EQ(SumAll(Sums(graph), {.groups = asked_, .max_bytes = limit}, &calls), whole) << limit;
    EXPECT_GT(calls, 1) << limit;
  }
}

TEST_F(ColumnsHandlerTest, APageHasTheOutDegreesOfItsPartCountedOnce) {
  for (const char* relation : kRelations) {
    const ColumnSumsHandler handler = Sums(*all_);
    for (int part = 0; part < 3; ++part) {
      const ColumnSums all = Expected(relation, Owned(NodeType("paper"), part), ColumnValue::kOne);
      ColumnSums found;
      const int64_t sources = Whole(relation).num_sources;
      for (int64_t begin = 0; begin < sources; begin += 17) {
        const wire::ColumnPage page{static_cast<uint32_t>(part), begin,
                                    std::min(sources, begin + 17)};
        const auto answers = handler.Answer({.groups = {{relation, 0, {}, page}}});
        ASSERT_TRUE(answers.ok()) << answers.status();
        const auto shape = answers->front().shape();
        found.sources.insert(found.sources.end(), shape.sources.begin(), shape.sources.end());
        found.sums.insert(found.sums.end(), shape.sums.begin(), shape.sums.end());
      }
      EXPECT_EQ(found, all);
      EXPECT_EQ(handler.out_degrees().times_counted(), part + 1);
    }
  }
}

TEST_F(ColumnsHandlerTest, AnAsymmetryIsOneSumOfAWholePartReadEachTime) {
  const auto sources = Whole(kPaperCites).num_sources;
  const auto group = [&](uint32_t part, int64_t from_source) {
    return wire::ColumnSumsGroup{
        kPaperCites, 2, {}, wire::ColumnPage{part, 0, sources}, from_source};
  };
  for (uint32_t part = 0; part < 3; ++part) {
    const auto served = Open({static_cast<int>(part)});
    const ColumnSumsHandler handler = Sums(*served);
    const auto answers = handler.Answer({.groups = {group(part, 0), group(part, 1)}});
    ASSERT_TRUE(answers.ok()) << answers.status();
    ASSERT_EQ(answers->size(), 2U);
    const auto expected = SumAsymmetry(Whole(kPaperCites), static_cast<int>(part));
    ASSERT_TRUE(expected.ok() && *expected != 0) << expected.status();
    EXPECT_EQ((*answers)[0].sums, (ColumnSums{{0}, {*expected}}));
    EXPECT_EQ((*answers)[1].sums, ColumnSums()) << "behind the only source";
    EXPECT_FALSE((*answers)[0].more || (*answers)[1].more);
    EXPECT_EQ(handler.out_degrees().times_counted(), 0);
  }
  // One a message, where there is no room for two.
  for (uint32_t part = 0; part < 3; ++part) asked_.push_back(group(part, 0));
  int calls = 0;
  const auto whole = SumAll(Sums(*all_), {.groups = asked_}, &calls);
  EXPECT_EQ(SumAll(Sums(*all_), {.groups = asked_, .max_bytes = 40}, &calls), whole);
  EXPECT_EQ(calls, 4);
  EXPECT_THAT(Sums(*all_).Answer({.groups = asked_, .max_bytes = 21}).status(),
              testing::Property(&Status::code, absl::StatusCode::kResourceExhausted));
  CancelToken token;
  token.Cancel();
  asked_.push_back({kPaperCites, 0, {}});
  for (const wire::ColumnSumsGroup& each : asked_) {
    EXPECT_TRUE(
        absl::IsCancelled(Sums(*all_).Answer({.groups = {each}}, {.cancel = &token}).status()));
  }
}

TEST_F(ColumnsHandlerTest, WhatIsAskedAtOnceIsAnsweredAlikeAndPagesAreCountedOnce) {
  const ColumnSumsHandler handler = Sums(*all_);
  const ExtractHandler extract = Edges(*all_);
  const std::vector<int64_t> papers = All(NodeType("paper"));
  const wire::ColumnSumsRequest sums{
      .groups = {{kPaperCites, 0, {}, wire::ColumnPage{2, 0, Whole(kPaperCites).num_sources}},
                 {kPaperCites, 1, papers}}};
  const wire::ExtractRequest edges{
      .groups = {{kPaperCites, papers, Columns(kPaperCites), false, {}}}};
  constexpr int kThreads = 4;
  std::vector<ColumnSums> found(kThreads);
  std::vector<std::vector<int32_t>> columns(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto added = handler.Answer(sums);
      if (added.ok()) found[t] = added->back().sums;
      const auto extracted = extract.Answer(edges);
      if (extracted.ok()) columns[t] = extracted->back().columns;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(handler.out_degrees().times_counted(), 1);
  const ColumnSums expected = Expected(kPaperCites, papers, ColumnValue::kDegreeShare);
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(found[t], expected);
    EXPECT_FALSE(columns[t].empty());
    EXPECT_EQ(columns[t], columns[0]);
  }
}

TEST_F(ColumnsHandlerTest, EdgesAndDegreesAreTheKernels) {
  for (const int part : {0, 2}) {
    const auto served = Open({part});
    for (const char* relation : kRelations) {
      for (const bool edge_ids : {false, true}) {
        const std::vector<int64_t> nodes = Owned(NodeType("paper"), part);
        const auto answers = Edges(*served).Answer(
            {.groups = {{relation, nodes, Columns(relation), edge_ids, nodes}}});
        ASSERT_TRUE(answers.ok()) << answers.status();
        ASSERT_EQ(answers->size(), 1U);
        const ExtractAnswer& answer = answers->front();
        ExtractedEdges expected;
        ColumnWorkspace workspace;
        ASSERT_TRUE(ExtractEdges(Whole(relation), nodes, Columns(relation), {.edge_ids = edge_ids},
                                 &workspace, &expected)
                        .ok());
        EXPECT_EQ(answer.columns, expected.columns);
        EXPECT_EQ(answer.edge_ids, expected.edge_ids);
        EXPECT_EQ(answer.degrees, expected.degrees);
        EXPECT_EQ(answer.other_degrees, expected.degrees);
        ASSERT_EQ(answer.counts.size(), nodes.size());
        for (size_t i = 0; i < nodes.size(); ++i) {
          EXPECT_EQ(answer.counts[i], expected.offsets[i + 1] - expected.offsets[i]);
        }
      }
    }
  }
}

TEST_F(ColumnsHandlerTest, CutEdgesAddUpToTheWholeWithinTheLimit) {
  wire::ExtractRequest request;
  for (const char* relation : kRelations) {
    const std::vector<int64_t> papers = All(NodeType("paper"));
    request.groups.push_back({relation, papers, Columns(relation), true, {}});
    request.groups.push_back({relation, {}, {}, false, papers});
    request.groups.push_back({relation, papers, Columns(relation), false, papers});
    request.groups.push_back({relation, {}, {}, false, {}});
  }
  int calls = 0;
  const auto whole = ExtractAll(Edges(*all_), request, &calls);
  EXPECT_EQ(calls, 1);
  int64_t most = 0;  // edges of one node
  for (const uint32_t count : whole[0].counts) most = std::max<int64_t>(most, count);
  for (const int64_t limit : {most * 10 + 50, int64_t{1000}, int64_t{5000}}) {
    calls = 0;
    request.max_bytes = limit;
    const auto cut = ExtractAll(Edges(*all_), request, &calls);
    EXPECT_GT(calls, 1);
    for (size_t g = 0; g < whole.size(); ++g) {
      EXPECT_EQ(cut[g].counts, whole[g].counts);
      EXPECT_EQ(cut[g].columns, whole[g].columns);
      EXPECT_EQ(cut[g].edge_ids, whole[g].edge_ids);
      EXPECT_EQ(cut[g].degrees, whole[g].degrees);
      EXPECT_EQ(cut[g].other_degrees, whole[g].other_degrees);
    }
  }
}

TEST_F(ColumnsHandlerTest, ADestinationThatDoesNotFitIsRefusedWithAdvice) {
  const std::vector<int64_t> papers = All(NodeType("paper"));
  const ColumnSums all = Expected(kPaperCites, papers, ColumnValue::kOne);
  const auto status =
      Edges(*all_)
          .Answer({.groups = {{kPaperCites, papers, all.sources, true, {}}}, .max_bytes = 40})
          .status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  for (const char* text : {kPaperCites, "node of global id", "edges from the",
                           "message of 40 bytes", "--max-message-bytes", "fewer nodes a layer"}) {
    EXPECT_THAT(Message(status), HasSubstr(text));
  }
  const auto sums =
      Sums(*all_).Answer({.groups = {{kPaperCites, 0, papers}}, .max_bytes = 20}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(sums)) << sums;
}

TEST_F(ColumnsHandlerTest, WhatIsNotHereOrCannotBeIsRefused) {
  const auto served = Open({0});
  const int64_t foreign = all_->book().NodeRange(NodeType("paper"), 2).begin;
  const int64_t sources = Whole(kPaperCites).num_sources;
  const auto sums = [&](const wire::ColumnSumsGroup& group) {
    return Sums(*served).Answer({.groups = {{kPaperCites, 0, {}}, group}}).status();
  };
  const auto edges = [&](const wire::ExtractGroup& group) {
    return Edges(*served).Answer({.groups = {{kPaperCites, {}, {}, false, {}}, group}}).status();
  };
  EXPECT_TRUE(absl::IsNotFound(sums({"paper:likes:paper", 0, {}})));
  EXPECT_TRUE(absl::IsNotFound(edges({"paper:likes:paper", {}, {}, false, {}})));
  Status status = sums({kPaperCites, 0, {foreign}});
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("owned by part 2"));
  EXPECT_TRUE(absl::IsOutOfRange(edges({kPaperCites, {foreign}, {}, false, {}})));
  EXPECT_TRUE(absl::IsOutOfRange(edges({kPaperCites, {}, {}, false, {foreign}})));
  const int64_t own = all_->book().NodeRange(NodeType("paper"), 0).begin;
  EXPECT_TRUE(absl::IsOutOfRange(edges({kPaperCites, {own}, {sources}, false, {}})));
  EXPECT_TRUE(absl::IsInvalidArgument(edges({kPaperCites, {own}, {4, 4}, false, {}})));
  EXPECT_TRUE(absl::IsInvalidArgument(sums({kPaperCites, 3, {own}})));
  EXPECT_TRUE(absl::IsOutOfRange(sums({kPaperCites, 0, {own}, {}, -1})));
  for (const wire::ColumnPage page :
       {wire::ColumnPage{1, 0, 1}, {0, 0, sources + 1}, {0, -1, 1}, {0, 2, 1}, {1U << 31, 0, 1}}) {
    EXPECT_TRUE(absl::IsOutOfRange(sums({kPaperCites, 0, {}, page}))) << page.part;
  }
  const wire::ColumnPage page{0, 0, sources};
  EXPECT_TRUE(absl::IsInvalidArgument(sums({kPaperCites, 1, {}, page})));
  EXPECT_TRUE(absl::IsInvalidArgument(sums({kPaperCites, 0, {own}, page})));
  EXPECT_TRUE(sums({kPaperCites, 0, {}, page}).ok());
  EXPECT_TRUE(sums({kPaperCites, 2, {}, page}).ok());
  EXPECT_THAT(Message(sums({kPaperCites, 3, {}, page})), HasSubstr("older version"));
  // An asymmetry: of a page alone, of all sources, of a part that is here and one node type.
  for (const wire::ColumnSumsGroup& group :
       {wire::ColumnSumsGroup{kPaperCites, 2, {}},
        {kPaperCites, 2, {own}},
        {kPaperCites, 2, {own}, page},
        {kPaperCites, 2, {}, wire::ColumnPage{0, 1, sources}},
        {kPaperCites, 2, {}, wire::ColumnPage{0, 0, sources - 1}}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(sums(group))) << sums(group);
  }
  EXPECT_TRUE(absl::IsOutOfRange(sums({kPaperCites, 2, {}, wire::ColumnPage{1, 0, sources}})));
  status = sums({kAuthorWrites, 2, {}, wire::ColumnPage{0, 0, Whole(kAuthorWrites).num_sources}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("one node type to another"));
}

TEST_F(ColumnsHandlerTest, RequestsThatAreTooManyOrOfAServerOfFeaturesAreRefused) {
  wire::ColumnSumsRequest sums;
  wire::ExtractRequest edges;
  EXPECT_TRUE(Sums(*all_).Answer(sums)->empty());
  EXPECT_TRUE(Edges(*all_).Answer(edges)->empty());
  const auto features = Open({1}, {.topology = false});
  EXPECT_THAT(Message(Sums(*features).Answer(sums).status()), HasSubstr("--serve all"));
  EXPECT_THAT(Message(Edges(*features).Answer(edges).status()), HasSubstr("--serve all"));
  sums.max_bytes = -1;
  EXPECT_TRUE(absl::IsInvalidArgument(Sums(*all_).Answer(sums).status()));
  sums.groups.resize(kMaxColumnGroups + 1);
  edges.groups.resize(kMaxColumnGroups + 1);
  EXPECT_THAT(Message(Sums(*all_).Answer(sums).status()), HasSubstr("split it"));
  EXPECT_THAT(Message(Edges(*all_).Answer(edges).status()), HasSubstr("split it"));
}

}  // namespace
}  // namespace halograph::server
