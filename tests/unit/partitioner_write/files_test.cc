#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "common/storage/npy.h"
#include "partitioner/write/bucket_sorter.h"
#include "partitioner/write/buckets.h"
#include "partitioner/write/mapped_npy.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- mapped npy ---------------------------------------------------------------------------

std::vector<int64_t> ReadBack(const std::filesystem::path& path) {
  const auto array = NpyArray::Open(path);
  EXPECT_TRUE(array.ok()) << array.status();
  const auto values = array->As<int64_t>();
  EXPECT_TRUE(values.ok()) << values.status();
  return {values->begin(), values->end()};
}

// Lets no file of this process grow beyond `bytes` while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    previous_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    rlimit limit = previous_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }

 private:
  rlimit previous_{};
  void (*previous_handler_)(int);
};

TEST(MappedNpyTest, WhatIsWrittenInAnyOrderIsReadBack) {
  const TestFolder folder;
  const auto path = folder.path() / "deep" / "er" / "ids.npy";
  auto npy = MappedNpy::Create(path, DType::kInt64, 4);
  ASSERT_TRUE(npy.ok()) << npy.status();
  for (const int i : {3, 0, 2, 1}) npy->As<int64_t>()[i] = i * 10;
  ASSERT_TRUE(npy->Close().ok());
  EXPECT_THAT(ReadBack(path), ElementsAre(0, 10, 20, 30));
}

TEST(MappedNpyTest, DataOfAMatrixIsAlignedAndHasItsShape) {
  const TestFolder folder;
  auto npy = MappedNpy::Create(folder.path() / "m.npy", DType::kFloat32, 3, 5, 2);
  ASSERT_TRUE(npy.ok()) << npy.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(npy->data()) % 64, 0U);
  EXPECT_EQ(npy->row_bytes(), 20U);
  ASSERT_TRUE(npy->Close().ok());
  const auto array = NpyArray::Open(folder.path() / "m.npy");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape(), ElementsAre(3, 5));
}

TEST(MappedNpyTest, NoRowsIsAFileToo) {
  const TestFolder folder;
  auto npy = MappedNpy::Create(folder.path() / "none.npy", DType::kInt64, 0);
  ASSERT_TRUE(npy.ok()) << npy.status();
  ASSERT_TRUE(npy->Close().ok());
  EXPECT_THAT(ReadBack(folder.path() / "none.npy"), ElementsAre());
}

TEST(MappedNpyTest, ReleasedRowsKeepWhatWasWritten) {
  const TestFolder folder;
  constexpr int64_t kRows = 4 << 20;  // 32 MiB: several releases
  auto npy = MappedNpy::Create(folder.path() / "ids.npy", DType::kInt64, kRows);
  ASSERT_TRUE(npy.ok()) << npy.status();
  for (int64_t row = 0; row < kRows; ++row) {
    npy->As<int64_t>()[row] = row * 3;
    if (row % 4096 == 0) npy->ReleaseBefore(row);
  }
  ASSERT_TRUE(npy->Close().ok());
  const std::vector<int64_t> values = ReadBack(folder.path() / "ids.npy");
  for (int64_t row = 0; row < kRows; ++row) ASSERT_EQ(values[row], row * 3);
}

TEST(MappedNpyTest, ExistingFileIsNotTouched) {
  const TestFolder folder;
  ASSERT_TRUE(WriteNpy<int64_t>(folder.path() / "ids.npy", std::vector<int64_t>{7}).ok());
  const auto npy = MappedNpy::Create(folder.path() / "ids.npy", DType::kInt64, 1);
  EXPECT_TRUE(absl::IsAlreadyExists(npy.status())) << npy.status();
  EXPECT_THAT(ReadBack(folder.path() / "ids.npy"), ElementsAre(7));
}

TEST(MappedNpyTest, NoRoomIsResourceExhaustedAndNamesPathAndBytes) {
  const TestFolder folder;
  const FileSizeLimit limit(rlim_t{1} << 20);
  const auto npy = MappedNpy::Create(folder.path() / "large.npy", DType::kInt64, 1 << 20);
  EXPECT_TRUE(absl::IsResourceExhausted(npy.status())) << npy.status();
  EXPECT_THAT(Message(npy.status()), HasSubstr("large.npy"));
  EXPECT_THAT(Message(npy.status()), HasSubstr("8.0 MiB"));
}

// ---- bucket sorter ------------------------------------------------------------------------
// Edges through buckets into rows, against a plain sort: any store, any bound on memory, ids of
// more than 32 bits, hubs, parallel edges, self-loops.

constexpr int64_t kNodes = 60;

struct Edge {
  int64_t source, destination, id;
};

// Ids ascend with gaps, some of them beyond 32 bits; node 7 has a third of the in-edges.
std::vector<Edge> MakeEdges(int64_t count, uint64_t seed) {
  CounterRng rng(seed);
  std::vector<Edge> edges;
  int64_t id = 0;
  for (int64_t i = 0; i < count; ++i) {
    id += 1 + static_cast<int64_t>(rng.NextBounded(i % 50 == 49 ? uint64_t{5} << 30 : 3));
    const bool hub = rng.NextBounded(3) == 0;
    edges.push_back({static_cast<int64_t>(rng.NextBounded(kNodes)),
                     hub ? 7 : static_cast<int64_t>(rng.NextBounded(kNodes)), id});
  }
  return edges;
}

struct Files {
  std::vector<int64_t> indptr, ids, halo;
  std::vector<int64_t> sources;
  int64_t duplicates = 0;
  bool operator==(const Files&) const = default;
};

Files Reference(const std::vector<Edge>& edges, const IdRange& own, bool drop) {
  Files files;
  files.indptr = {0};
  std::set<int64_t> halo;
  for (int64_t v = own.begin; v < own.end; ++v) {
    std::set<int64_t> seen;
    for (const Edge& edge : edges) {
      if (edge.destination != v) continue;
      const bool repeats = !seen.insert(edge.source).second;
      files.duplicates += repeats ? 1 : 0;
      if (repeats && drop) continue;
      files.sources.push_back(edge.source);
      files.ids.push_back(edge.id);
      if (!own.contains(edge.source)) halo.insert(edge.source);
    }
    files.indptr.push_back(static_cast<int64_t>(files.ids.size()));
  }
  files.halo.assign(halo.begin(), halo.end());
  return files;
}

template <typename T>
std::vector<int64_t> ReadValues(const std::filesystem::path& path) {
  const auto array = NpyArray::Open(path);
  EXPECT_TRUE(array.ok()) << array.status();
  const auto values = *array->As<T>();
  return {values.begin(), values.end()};
}

struct Case {
  int64_t width, sort_edges, buffer_records;
  bool on_disk, drop;
};

template <typename SourceT>
class BucketSorterTest : public testing::Test {
 protected:
  BucketSorterTest() {
    builder_.Nodes("node", kNodes).Edges("node", "edge", "node", {});
    Assignment assignment;
    assignment.owners.emplace_back(kNodes, uint16_t{0});
    // Partition 1 owns nothing; ids are dealt out in order.
    for (size_t v = 20; v < kNodes; ++v) assignment.owners[0][v] = 2;
    numbering_.emplace(*Renumbering::Create(builder_.dataset(), std::move(assignment), 3));
  }

  // What the files of every partition hold.
  std::vector<Files> Write(const std::vector<Edge>& edges, const Case& c) {
    const std::filesystem::path folder = folder_.path() / std::to_string(runs_++);
    const WriteOptions options;
    const WriteContext context{builder_.dataset(), *numbering_, folder, options};
    std::unique_ptr<BucketStore> store = MakeMemoryBuckets();
    if (c.on_disk) store = *MakeFileBuckets(folder / "scratch" / "edges");
    const BucketRanges ranges(numbering_->boundaries()[0], c.width);
    std::vector<BucketedEdges> buckets(ranges.size());
    BucketWriter<SourceT> writer(store.get(), store->Add(ranges.size()), buckets, c.buffer_records);
    for (const Edge& edge : edges) {
      const size_t bucket = ranges.Find(edge.destination);
      const auto row = static_cast<uint32_t>(edge.destination - ranges.start(bucket));
      EXPECT_TRUE(writer.Add(bucket, static_cast<SourceT>(edge.source), row, edge.id).ok());
    }
    EXPECT_TRUE(writer.FlushAll().ok());
    HaloBits halo(context);
    SourceSet seen(kNodes);
    BucketSorter<SourceT> sorter(store.get(), c.sort_edges);
    std::vector<Files> result;
    for (int part = 0; part < 3; ++part) {
      halo.Begin(part);
      const std::filesystem::path to = context.PartFolder(part);
      auto out = CscWriter<SourceT>::Create(to, {c.drop, 0, &seen, &halo});
      EXPECT_TRUE(out.ok()) << out.status();
      for (size_t b = ranges.first(part); b < ranges.first(part + 1); ++b) {
        const Status sorted = sorter.Sort(b, buckets[b], ranges.range(b).size(), &*out);
        EXPECT_TRUE(sorted.ok()) << sorted;
      }
      EXPECT_TRUE(out->Close().ok());
      EXPECT_TRUE(halo.Write().ok());
      result.push_back({.indptr = ReadValues<int64_t>(to / "indptr.npy"),
                        .ids = ReadValues<int64_t>(to / "original_ids.npy"),
                        .halo = ReadValues<int64_t>(to / "nodes/node/halo_ids.npy"),
                        .sources = ReadValues<SourceT>(to / "indices.npy"),
                        .duplicates = out->duplicates()});
    }
    return result;
  }

  TestFolder folder_;
  DatasetBuilder builder_;
  std::optional<Renumbering> numbering_;
  int runs_ = 0;
};

using SourceTypes = testing::Types<uint32_t, int64_t>;
TYPED_TEST_SUITE(BucketSorterTest, SourceTypes);

TYPED_TEST(BucketSorterTest, RowsAreThoseOfAPlainSort) {
  for (const int64_t count : {0, 1, 40, 700}) {
    const std::vector<Edge> edges = MakeEdges(count, static_cast<uint64_t>(count));
    for (const Case& c : {Case{100, 1000, 64, false, false}, Case{1, 1000, 1, true, false},
                          Case{7, 30, 3, true, true}, Case{13, 1, 5, false, true},
                          Case{60, 50, 64, true, false}, Case{60, 5, 2, true, true}}) {
      SCOPED_TRACE(testing::Message()
                   << count << " edges, width " << c.width << ", sorts " << c.sort_edges);
      const std::vector<Files> found = this->Write(edges, c);
      EXPECT_EQ(found[0], Reference(edges, {0, 20}, c.drop));
      EXPECT_EQ(found[1], Reference(edges, {20, 20}, c.drop));
      EXPECT_EQ(found[2], Reference(edges, {20, kNodes}, c.drop));
    }
  }
}

TEST(BucketRangesTest, EveryIdIsInOneBucketOfItsPartition) {
  for (const auto& bounds : {std::vector<int64_t>{0, 0, 5, 5, 6, 100000, 100000},
                             std::vector<int64_t>{0, 3, 4, 5, 70001}, std::vector<int64_t>{0, 0}}) {
    for (const int64_t width : {int64_t{1}, int64_t{3}, int64_t{4096}, int64_t{1} << 32}) {
      const BucketRanges ranges(bounds, width);
      for (int64_t id = 0; id < bounds.back(); ++id) {
        const size_t bucket = ranges.Find(id);
        ASSERT_TRUE(ranges.range(bucket).contains(id)) << id << ", width " << width;
        ASSERT_LE(ranges.range(bucket).size(), width);
      }
      for (size_t p = 0; p + 1 < bounds.size(); ++p) {
        const size_t first = ranges.first(static_cast<int>(p));
        const size_t end = ranges.first(static_cast<int>(p) + 1);
        if (bounds[p] == bounds[p + 1]) {
          EXPECT_EQ(first, end);
          continue;
        }
        EXPECT_EQ(ranges.start(first), bounds[p]);
        EXPECT_EQ(ranges.range(end - 1).end, bounds[p + 1]);
      }
    }
  }
}

// 2^20 sources: tables up to 4096 of them, bits above.
TEST(SourceSetTest, AgreesWithASetAtAnyDegree) {
  constexpr int64_t kSources = int64_t{1} << 20;
  SourceSet seen(kSources);
  for (const int64_t degree : {1, 2, 100, 4096, 4097, 20000, 3}) {
    CounterRng rng(static_cast<uint64_t>(degree));
    std::set<int64_t> wanted;
    seen.Begin(degree);
    for (int64_t i = 0; i < degree; ++i) {
      const auto source =
          static_cast<int64_t>(rng.NextBounded(i % 3 == 0 ? static_cast<uint64_t>(kSources) : 300));
      ASSERT_EQ(seen.Insert(source), wanted.insert(source).second) << degree;
    }
    EXPECT_EQ(seen.Insert(kSources - 1), wanted.insert(kSources - 1).second);
  }
}

}  // namespace
}  // namespace halograph
