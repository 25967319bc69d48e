// Every reader of messages, fed with damaged ones: it gives an error of its own code, or values
// within what was expected; sanitizers see the rest. Fixed seeds.
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "proto/wire/column_sums.h"
#include "proto/wire/extract.h"
#include "proto/wire/pull.h"
#include "proto/wire/push.h"
#include "proto/wire/read_replies.h"
#include "proto/wire/sample_reply.h"
#include "proto/wire/sample_request.h"
#include "proto/wire/snapshot_page.h"
#include "proto/wire/writer.h"
#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

constexpr int kRounds = 20000;

// Flips bits, sets bytes, cuts the end off, repeats or removes a stretch: one to four times.
std::string Damage(std::string message, CounterRng* rng) {
  for (uint64_t left = 1 + rng->NextBounded(4); left > 0 && !message.empty(); --left) {
    const size_t at = rng->NextBounded(message.size());
    const size_t length = rng->NextBounded(std::min<size_t>(9, message.size() - at)) + 1;
    switch (rng->NextBounded(5)) {
      case 0:
        message[at] = static_cast<char>(message[at] ^ (1 << rng->NextBounded(8)));
        break;
      case 1:
        message[at] = static_cast<char>(rng->NextBounded(256));
        break;
      case 2:
        message.resize(at);
        break;
      case 3:
        message.insert(at, message.substr(at, length));
        break;
      default:
        message.erase(at, std::min(length, message.size() - at));
    }
  }
  return message;
}

// `read` gives the status of reading; called for many damaged forms of `message`, in pieces. Some
// are refused with `code`, and no other; the message itself is read.
void Fuzz(const std::string& message, absl::StatusCode code,
          const std::function<Status(Pieces)>& read) {
  const CutMessage whole(message);
  const Status status = read(whole.pieces());
  ASSERT_TRUE(status.ok()) << status;
  CounterRng rng(Mix(17));
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string damaged = Damage(message, &rng);
    std::vector<size_t> cuts = {rng.NextBounded(damaged.size() + 1),
                                rng.NextBounded(damaged.size() + 1)};
    std::sort(cuts.begin(), cuts.end());
    const CutMessage cut(damaged, cuts);
    const Status result = read(cut.pieces());
    if (result.ok()) continue;
    ASSERT_EQ(result.code(), code) << result;
    ++refused;
  }
  EXPECT_GT(refused, kRounds / 10);
  for (size_t size = 0; size < message.size(); ++size) {
    const CutMessage cut(message.substr(0, size));
    const Status result = read(cut.pieces());
    ASSERT_TRUE(result.ok() || result.code() == code) << result;
  }
}

std::vector<int64_t> Ids(int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), int64_t{250});
  return ids;
}

TEST(DamagedMessagesTest, SampleRequest) {
  const std::vector<int64_t> ids = Ids(20);
  const SampleGroupView groups[] = {
      {.relation = "a:b:c", .rule = {.fanout = 10}, .destinations = ids},
      {.relation = "a:b:c",
       .rule = {.fanout = -1, .replace = true, .weight = "w"},
       .destinations = ids,
       .batch_seed = 1,
       .layer = 2,
       .edge_ids = true,
       .weights = true}};
  for (const bool rules : {true, false}) {
    const std::string message =
        WriteSampleRequest({.batch_seed = 3, .layer = 1, .rules = rules, .groups = groups});
    Fuzz(message, absl::StatusCode::kInvalidArgument, [](Pieces pieces) {
      const auto request = ReadSampleRequest(pieces, 4);
      if (!request.ok()) return request.status();
      EXPECT_LE(request->groups.size(), 5U);
      return OkStatus();
    });
  }
}

TEST(DamagedMessagesTest, SampleReply) {
  const std::vector<uint32_t> counts = {2, 0, 200, 3};
  std::string message;
  for (const bool wide : {false, true}) {
    const SampleGroupShape shape{.counts = counts,
                                 .edges = 205,
                                 .wide = wide,
                                 .edge_ids = true,
                                 .weights = true,
                                 .more_edges = wide ? 170U : 0U};
    std::string group(SampleGroupReplyBytes(shape), '\0');
    static_cast<void>(PutSampleGroupReply(shape, reinterpret_cast<std::byte*>(group.data())));
    message += group;
  }
  const SampleGroupExpected narrow{.destinations = 4,
                                   .fanout = 200,
                                   .source_nodes = 1000,
                                   .edges = 1000,
                                   .edge_ids = true,
                                   .weights = true,
                                   .pieces = true};
  SampleGroupExpected wide = narrow;
  wide.source_nodes = int64_t{1} << 40;
  const std::vector<SampleGroupExpected> expected = {narrow, wide};
  std::vector<SampleGroupReply> groups;
  Fuzz(message, absl::StatusCode::kDataLoss, [&](Pieces pieces) {
    HG_RETURN_IF_ERROR(ReadSampleReply(pieces, expected, &groups));
    EXPECT_LE(groups.size(), 2U);
    for (size_t g = 0; g < groups.size(); ++g) {
      const SampleGroupReply& group = groups[g];
      EXPECT_LE(group.counts.size(), 4U);
      EXPECT_LE(group.more_edges, 200U);
      const uint64_t total = std::accumulate(group.counts.begin(), group.counts.end(), uint64_t{0});
      EXPECT_EQ(group.sources.size(), total);
      EXPECT_EQ(group.edge_ids.size(), total);
      EXPECT_EQ(group.weights.size(), total);
      for (const int64_t source : group.sources) {
        EXPECT_TRUE(source >= 0 && source < expected[g].source_nodes);
      }
      for (const int64_t edge : group.edge_ids) EXPECT_TRUE(edge >= 0 && edge < 1000);
    }
    return OkStatus();
  });
}

TEST(DamagedMessagesTest, ColumnSumsRequest) {
  const std::vector<int64_t> ids = Ids(9);
  const std::vector<ColumnSumsGroupView> groups = {
      {.relation = "a:b:c",
       .value = 1,
       .destinations = ids,
       .from_source = 300,
       .source_deltas = true},
      {.relation = "a:b:c", .page = ColumnPage{.part = 1, .source_begin = 2, .source_end = 900}}};
  Fuzz(WriteColumnSumsRequest(groups, 4096), absl::StatusCode::kInvalidArgument,
       [](Pieces pieces) -> Status {
         const auto request = ReadColumnSumsRequest(pieces, 3);
         EXPECT_TRUE(!request.ok() || request->groups.size() <= 4);
         return request.status();
       });
}

// Of one group, whose sources are written as they are given: in no order, if they are in none.
Status ReadDeltas(const std::vector<int64_t>& sources, const ColumnSumsExpected& expected,
                  bool as_ids_too = false) {
  const std::vector<uint64_t> sums(sources.size(), 1);
  std::string message(1000, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  std::byte* out =
      PutColumnSumsGroup({.sources = sources, .sums = sums, .wide = true, .deltas = true}, begin);
  if (as_ids_too) {  // an empty list of them, within the group
    const std::span<const std::byte> body(begin + 2, out);
    std::vector<std::byte> copy(body.begin(), body.end());
    out = PutLength(column_sums_reply::kGroups, copy.size() + 2, begin);
    out = PutLength(column_sums_group_reply::kSources32, 0, PutBytes(std::span(copy), out));
  }
  message.resize(static_cast<size_t>(out - begin));
  const CutMessage cut(message, {message.size() / 2});
  std::vector<ColumnSumsGroupReply> groups;
  HG_RETURN_IF_ERROR(ReadColumnSumsReply(cut.pieces(), {&expected, 1}, &groups));
  EXPECT_EQ(groups.front().sources, sources);
  return OkStatus();
}

TEST(DamagedMessagesTest, SourcesAsDifferencesThatCannotBeAreDataLoss) {
  constexpr int64_t kMost = int64_t{1} << 62;
  const ColumnSumsExpected expected{kMost, 3, kMost};
  EXPECT_TRUE(ReadDeltas({}, expected).ok());
  const Status fits = ReadDeltas({3, 4, 131, 132, int64_t{1} << 40, kMost - 1}, expected);
  EXPECT_TRUE(fits.ok()) << fits;
  const std::vector<std::pair<std::vector<int64_t>, std::string>> wrong = {
      {{2, 5}, "source 2 at position 0, expected one in [3, "},
      {{5, 5}, "source 5 at position 1, expected one in [6, "},     // a difference of 0
      {{7, 6, 9}, "source 6 at position 1, expected one in [8, "},  // past 2^64
      {{7, kMost}, "source 4611686018427387904 at position 1"},     // past the type
      {{7, kMost, std::numeric_limits<int64_t>::min()}, "source 4611686018427387904 at position 1"},
      {{std::numeric_limits<int64_t>::min()}, "source 9223372036854775808 at position 0"},
      {{-1}, "source 18446744073709551615 at position 0"}};
  for (const auto& [sources, text] : wrong) {
    const Status status = ReadDeltas(sources, expected);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(Message(status), testing::HasSubstr(text));
  }
  const ColumnSumsExpected narrow{1000, 3, 1000};
  EXPECT_TRUE(ReadDeltas({4, 8}, narrow).ok());
  const Status both = ReadDeltas({4, 8}, narrow, true);
  EXPECT_TRUE(absl::IsDataLoss(both)) << both;
  EXPECT_THAT(Message(both), testing::HasSubstr("both as ids and as differences"));
}

TEST(DamagedMessagesTest, ColumnSumsReply) {
  const std::vector<int64_t> sources = {3, 7, 8, 250, 900};
  const std::vector<uint64_t> sums = {1, 300, 2, uint64_t{1} << 50, 4};
  std::string message;
  for (const bool more : {false, true}) {  // ids, and then differences
    const ColumnSumsGroupShape shape{sources, sums, false, more, more};
    std::string bytes(ColumnSumsGroupBytes(shape), '\0');
    static_cast<void>(PutColumnSumsGroup(shape, reinterpret_cast<std::byte*>(bytes.data())));
    message += bytes;
  }
  const std::vector<ColumnSumsExpected> expected(2, {1000, 3, 990});
  Fuzz(message, absl::StatusCode::kDataLoss, [&](Pieces pieces) -> Status {
    std::vector<ColumnSumsGroupReply> groups;
    HG_RETURN_IF_ERROR(ReadColumnSumsReply(pieces, expected, &groups));
    EXPECT_LE(groups.size(), 2U);
    for (const ColumnSumsGroupReply& group : groups) {
      EXPECT_EQ(group.sources.size(), group.sums.size());
      EXPECT_TRUE(std::is_sorted(group.sources.begin(), group.sources.end(), std::less_equal<>()));
      for (const int64_t source : group.sources) EXPECT_TRUE(source >= 3 && source < 990);
      for (const uint64_t sum : group.sums) EXPECT_GT(sum, 0U);
      EXPECT_TRUE(!group.more || (!group.sources.empty() && group.sources.back() < 989));
    }
    return OkStatus();
  });
}

// What is in the list is not the reader's business: the kernel refuses columns that do not ascend
// or are no sources.
TEST(DamagedMessagesTest, ColumnsBothAsIdsAndAsDifferencesAreRefused) {
  std::vector<int64_t> columns(9);
  std::iota(columns.begin(), columns.end(), 100);
  const ExtractGroupView view{.relation = "r", .columns = columns, .column_deltas = true};
  std::string message = WriteExtractRequest(std::span(&view, 1), 0);
  const auto read = [&] {
    const CutMessage cut(message, {message.size() / 2});
    return ReadExtractRequest(cut.pieces(), 3);
  };
  const auto whole = read();
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->groups[0].columns, columns);
  const std::string no_column(8, '\xff');
  const size_t at = message.find(no_column);
  ASSERT_NE(at, std::string::npos);
  message[at] = '\x00';  // an id
  EXPECT_TRUE(absl::IsInvalidArgument(read().status())) << read().status();
}

TEST(DamagedMessagesTest, ExtractRequest) {
  const std::vector<int64_t> ids = Ids(9);
  std::vector<int64_t> near(20);
  std::iota(near.begin(), near.end(), 100);
  const std::vector<ExtractGroupView> groups = {
      {.relation = "a:b:c", .destinations = ids, .columns = ids, .edge_ids = true},
      {.relation = "a:b:c", .destinations = ids, .columns = near, .column_deltas = true},
      {.relation = "a:b:c", .degrees_of = ids}};
  Fuzz(WriteExtractRequest(groups, 4096), absl::StatusCode::kInvalidArgument,
       [](Pieces pieces) -> Status {
         const auto request = ReadExtractRequest(pieces, 3);
         EXPECT_TRUE(!request.ok() || request->groups.size() <= 4);
         return request.status();
       });
}

TEST(DamagedMessagesTest, ExtractReply) {
  const std::vector<uint32_t> counts = {2, 0, 3};
  const std::vector<int32_t> columns = {0, 4, 4, 4, 1};
  const std::vector<int64_t> edge_ids = {7, 300, 301, 302, 0};
  const std::vector<int64_t> degrees = {2, 9, 300};
  std::string message;
  for (const bool ids : {false, true}) {
    const std::span<const int64_t> given = ids ? edge_ids : std::span<const int64_t>();
    const ExtractGroupShape shape{counts, columns, given, degrees, degrees};
    std::string bytes(ExtractGroupBytes(shape), '\0');
    static_cast<void>(PutExtractGroup(shape, reinterpret_cast<std::byte*>(bytes.data())));
    message += bytes;
  }
  std::vector<ExtractExpected> expected(
      2, {.destinations = 3, .columns = 5, .edges = 400, .edge_ids = false, .degrees_of = 3});
  expected[1].edge_ids = true;
  Fuzz(message, absl::StatusCode::kDataLoss, [&](Pieces pieces) -> Status {
    std::vector<ExtractGroupReply> groups;
    HG_RETURN_IF_ERROR(ReadExtractReply(pieces, expected, &groups));
    EXPECT_LE(groups.size(), 2U);
    for (size_t g = 0; g < groups.size(); ++g) {
      const ExtractGroupReply& group = groups[g];
      EXPECT_LE(group.counts.size(), 3U);
      EXPECT_EQ(group.degrees.size(), group.counts.size());
      EXPECT_LE(group.other_degrees.size(), group.counts.size() == 3 ? 3U : 0U);
      EXPECT_EQ(group.columns.size(),
                std::accumulate(group.counts.begin(), group.counts.end(), size_t{0}));
      EXPECT_EQ(group.edge_ids.size(), g == 0 ? 0 : group.columns.size());
      for (const uint32_t column : group.columns) EXPECT_LT(column, 5U);
      for (const int64_t id : group.edge_ids) EXPECT_TRUE(id >= 0 && id < 400);
      for (const uint64_t degree : group.degrees) EXPECT_LE(degree, 400U);
      for (const uint64_t degree : group.other_degrees) EXPECT_LE(degree, 400U);
    }
    return OkStatus();
  });
}

TEST(DamagedMessagesTest, PullRequest) {
  Fuzz(WritePullRequest(true, "a:b:c", "feat", Ids(30)), absl::StatusCode::kInvalidArgument,
       [](Pieces pieces) { return ReadPullRequest(pieces).status(); });
}

// Guards around the destination (and the sanitizers) see a write that goes astray.
TEST(DamagedMessagesTest, PushRequest) {
  const std::vector<int64_t> ids = Ids(20);
  const std::vector<std::byte> rows(ids.size() * 8, std::byte{7});
  Fuzz(WritePushRequest({.type = "paper",
                         .name = "emb",
                         .client = 5,
                         .sequence = 6,
                         .step = PushStep{.step = 3, .world_size = 2},
                         .dtype = 1},
                        {.ids = ids, .rows = rows.data(), .row_bytes = 8}),
       absl::StatusCode::kInvalidArgument,
       [](Pieces pieces) { return ReadPushRequest(pieces).status(); });
}

TEST(DamagedMessagesTest, ReadSnapshotReply) {
  const std::vector<int64_t> rows = Ids(20);
  const std::string images(20 * 12, 'i');
  std::string message(SnapshotPageBytes(rows.size(), images.size()), '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  const PageEnd end{.next = PagePlace{1, 1 << 20, 300, 5}, .step = -1};
  message.resize(static_cast<size_t>(
      PutSnapshotPage(rows, std::as_bytes(std::span(images)), end, begin) - begin));
  Fuzz(message, absl::StatusCode::kDataLoss, [](Pieces pieces) {
    const auto page = ReadSnapshotPage(pieces);
    if (!page.ok()) return page.status();
    EXPECT_LE(page->rows.size() * 8 + page->images.size(), 2000U);
    return OkStatus();
  });
}

TEST(DamagedMessagesTest, PullReply) {
  const int64_t shape[] = {5, 3};
  std::string message(kPullReplyHeaderBytes, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  message.resize(static_cast<size_t>(PutPullReplyHeader(1, shape, 60, begin) - begin));
  message += std::string(60, '\x11');
  const int64_t positions[] = {4, 3, 2, 1, 0};
  bool scattered = false;
  Fuzz(message, absl::StatusCode::kDataLoss, [&](Pieces pieces) {
    scattered = !scattered;
    std::vector<std::byte> guarded(62, std::byte{7});
    const Status status = ReadPullReply(
        pieces, {.dtype = 1, .dtype_name = "float32", .shape = shape, .row_bytes = 12},
        scattered ? std::span<const int64_t>(positions) : std::span<const int64_t>(), &guarded[1]);
    EXPECT_EQ(guarded.front(), std::byte{7});
    EXPECT_EQ(guarded.back(), std::byte{7});
    return status;
  });
}

TEST(DamagedMessagesTest, TopologyReply) {
  std::string message(kTopologyReplyHeaderBytes, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  message.resize(static_cast<size_t>(PutTopologyReplyHeader(5000, 100, begin) - begin));
  message += std::string(100, '\xee');
  Fuzz(message, absl::StatusCode::kDataLoss, [&](Pieces pieces) {
    const auto reply = ReadTopologyReply(pieces);
    if (!reply.ok()) return reply.status();
    size_t bytes = 0;
    for (const auto run : reply->data.runs) bytes += run.size();
    EXPECT_EQ(bytes, reply->data.size);
    return OkStatus();
  });
}

TEST(DamagedMessagesTest, TaskSetReply) {
  const int64_t shape[] = {4, 2};
  const std::string message = TaskSetReplyHeader(1000, 4) +
                              TaskSetArrayHeader("seeds", 8, shape, 64) + std::string(64, '\0') +
                              TaskSetArrayHeader("labels", 1, std::span(shape).first(1), 16) +
                              std::string(16, '\x7f');
  Fuzz(message, absl::StatusCode::kDataLoss, [](Pieces pieces) {
    const auto reply = ReadTaskSetReply(pieces, 2);
    if (!reply.ok()) return reply.status();
    EXPECT_LE(reply->arrays.size(), 2U);
    return OkStatus();
  });
}

}  // namespace
}  // namespace halograph::wire
