// The messages of column sums and extracted edges: what is written by hand is, byte for byte, what
// generated code writes, and each reads the other's.
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "halograph/v1/graph.pb.h"
#include "proto/wire/column_sums.h"
#include "proto/wire/extract.h"
#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

constexpr int kColumnRounds = 300;
constexpr int64_t kManyNodes = int64_t{1} << 40;

template <typename Out = int64_t, typename Repeated>
std::vector<Out> Values(const Repeated& repeated) {
  return std::vector<Out>(repeated.begin(), repeated.end());
}

class GeneratedColumnsTest : public testing::Test {
 protected:
  bool Coin() { return rng_.NextBounded(2) == 0; }
  // Of any number of bits.
  uint64_t Number(uint64_t bits) { return rng_.NextBounded(uint64_t{1} << rng_.NextBounded(bits)); }
  template <typename Field>
  void Fill(size_t most, uint64_t bits, Field* field) {
    for (uint64_t left = rng_.NextBounded(most + 1); left > 0; --left) field->Add(Number(bits));
  }
  // Whether the hand-written bytes are those of the generated message, which is read in two pieces.
  template <typename Message, typename Read>
  auto ReadCut(const Message& generated, Read read) {
    const std::string message = generated.SerializeAsString();
    const CutMessage cut(message, {message.size() / 3});
    return read(cut.pieces());
  }

  CounterRng rng_{Mix(29)};
};

TEST_F(GeneratedColumnsTest, ColumnSumsRequests) {
  for (int round = 0; round < kColumnRounds; ++round) {
    v1::ColumnSumsRequest generated;
    if (Coin()) generated.set_max_bytes(static_cast<int64_t>(Number(40)));
    for (uint64_t g = rng_.NextBounded(4); g > 0; --g) {
      v1::ColumnSumsGroup* group = generated.add_groups();
      group->set_relation("paper:cites:paper");
      group->set_value(static_cast<v1::ColumnSumsGroup::Value>(Number(9)));
      Fill(5, 60, group->mutable_destinations());
      if (Coin()) {
        v1::ColumnSumsGroup::Page* page = group->mutable_page();
        if (Coin()) page->set_part(static_cast<uint32_t>(Number(20)));
        if (Coin()) page->set_source_begin(static_cast<int64_t>(Number(60)));
        if (Coin()) page->set_source_end(Coin() ? -1 : static_cast<int64_t>(Number(60)));
      }
      if (Coin()) group->set_from_source(static_cast<int64_t>(Number(60)));
      group->set_source_deltas(Coin());
    }
    const auto request =
        ReadCut(generated, [](Pieces pieces) { return ReadColumnSumsRequest(pieces, 100); });
    ASSERT_TRUE(request.ok()) << request.status();
    std::vector<ColumnSumsGroupView> views;
    for (const ColumnSumsGroup& group : request->groups) {
      views.push_back({group.relation, group.value, group.destinations, group.page,
                       group.from_source, group.source_deltas});
    }
    ASSERT_EQ(WriteColumnSumsRequest(views, request->max_bytes), generated.SerializeAsString());
  }
}

TEST_F(GeneratedColumnsTest, ColumnSumsReplies) {
  for (int round = 0; round < kColumnRounds; ++round) {
    v1::ColumnSumsReply generated;
    std::vector<ColumnSumsExpected> expected;
    std::vector<bool> wide, deltas;
    std::vector<std::vector<int64_t>> sources;
    for (uint64_t g = rng_.NextBounded(4); g > 0; --g) {
      v1::ColumnSumsGroupReply* group = generated.add_groups();
      wide.push_back(Coin());
      deltas.push_back(Coin());
      sources.emplace_back();
      const auto begin = static_cast<int64_t>(Number(20));
      int64_t next = begin;
      for (uint64_t left = rng_.NextBounded(40); left > 0; --left) {
        next += static_cast<int64_t>(Number(wide.back() ? 33 : 10));
        if (deltas.back()) {
          const int64_t last = sources.back().empty() ? 0 : sources.back().back();
          group->add_source_deltas(static_cast<uint64_t>(next - last));
        } else if (wide.back()) {
          group->add_sources64(static_cast<uint64_t>(next));
        } else {
          group->add_sources32(static_cast<uint32_t>(next));
        }
        sources.back().push_back(next);
        group->add_sums(1 + Number(60));
        ++next;
      }
      if (g == 1 && group->sums_size() > 0) group->set_more(Coin());
      expected.push_back({wide.back() ? kManyNodes : 1 << 30, begin, next + 1});
    }
    std::vector<ColumnSumsGroupReply> groups;
    const Status status = ReadCut(
        generated, [&](Pieces pieces) { return ReadColumnSumsReply(pieces, expected, &groups); });
    ASSERT_TRUE(status.ok()) << status;
    std::string written;
    for (size_t g = 0; g < groups.size(); ++g) {
      ASSERT_EQ(groups[g].sources, sources[g]);
      const ColumnSumsGroupShape shape{groups[g].sources, groups[g].sums, wide[g], groups[g].more,
                                       deltas[g]};
      std::string bytes(ColumnSumsGroupBytes(shape), '\0');
      auto* const begin = reinterpret_cast<std::byte*>(bytes.data());
      ASSERT_EQ(PutColumnSumsGroup(shape, begin), begin + bytes.size());
      written += bytes;
    }
    ASSERT_EQ(written, generated.SerializeAsString());
  }
}

TEST_F(GeneratedColumnsTest, ExtractRequests) {
  for (int round = 0; round < kColumnRounds; ++round) {
    v1::ExtractRequest generated;
    std::vector<std::vector<int64_t>> columns;
    if (Coin()) generated.set_max_bytes(static_cast<int64_t>(Number(40)));
    for (uint64_t g = rng_.NextBounded(4); g > 0; --g) {
      v1::ExtractGroup* group = generated.add_groups();
      group->set_relation("author:writes:paper");
      columns.emplace_back();
      Fill(5, 60, group->mutable_destinations());
      // Few and far apart as ids, many that are near as differences: the writer's choice too.
      const bool deltas = Coin();
      int64_t column = 0;
      for (uint64_t left = deltas ? 20 : rng_.NextBounded(3); left > 0; --left) {
        const auto difference = static_cast<int64_t>(1 + Number(deltas ? 10 : 60));
        column += difference;
        columns.back().push_back(column);
        if (deltas) {
          group->add_column_deltas(static_cast<uint64_t>(difference));
        } else {
          group->add_columns(static_cast<uint64_t>(column));
        }
      }
      if (deltas) group->add_columns(UINT64_MAX);
      group->set_edge_ids(Coin());
      Fill(5, 60, group->mutable_degrees_of());
    }
    const auto request =
        ReadCut(generated, [](Pieces pieces) { return ReadExtractRequest(pieces, 100); });
    ASSERT_TRUE(request.ok()) << request.status();
    std::vector<ExtractGroupView> views;
    for (const ExtractGroup& group : request->groups) {
      ASSERT_EQ(group.columns, columns[views.size()]);
      views.push_back({group.relation, group.destinations, group.columns, group.edge_ids,
                       group.degrees_of, true});
    }
    ASSERT_EQ(WriteExtractRequest(views, request->max_bytes), generated.SerializeAsString());
  }
}

TEST_F(GeneratedColumnsTest, ExtractReplies) {
  for (int round = 0; round < kColumnRounds; ++round) {
    v1::ExtractReply generated;
    std::vector<ExtractExpected> expected;
    for (uint64_t g = rng_.NextBounded(4); g > 0; --g) {
      v1::ExtractGroupReply* group = generated.add_groups();
      const bool edge_ids = Coin();
      for (uint64_t left = rng_.NextBounded(20); left > 0; --left) {
        const uint64_t count = Number(6);
        group->add_counts(static_cast<uint32_t>(count));
        group->add_degrees(count + Number(40));
        for (uint64_t e = 0; e < count; ++e) {
          group->add_columns(static_cast<uint32_t>(Number(20)));
          if (edge_ids) group->add_edge_ids(Number(50));
        }
      }
      Fill(10, 40, group->mutable_other_degrees());
      expected.push_back({.destinations = static_cast<size_t>(group->counts_size()),
                          .columns = 1 << 20,
                          .edges = int64_t{1} << 50,
                          .edge_ids = edge_ids,
                          .degrees_of = static_cast<size_t>(group->other_degrees_size())});
    }
    std::vector<ExtractGroupReply> groups;
    const Status status = ReadCut(
        generated, [&](Pieces pieces) { return ReadExtractReply(pieces, expected, &groups); });
    ASSERT_TRUE(status.ok()) << status;
    std::string written;
    for (const ExtractGroupReply& group : groups) {
      const auto columns = Values<int32_t>(group.columns);
      const auto degrees = Values(group.degrees);
      const auto other_degrees = Values(group.other_degrees);
      const ExtractGroupShape shape{group.counts, columns, group.edge_ids, degrees, other_degrees};
      std::string bytes(ExtractGroupBytes(shape), '\0');
      auto* const begin = reinterpret_cast<std::byte*>(bytes.data());
      ASSERT_EQ(PutExtractGroup(shape, begin), begin + bytes.size());
      written += bytes;
    }
    ASSERT_EQ(written, generated.SerializeAsString());
  }
}

}  // namespace
}  // namespace halograph::wire
