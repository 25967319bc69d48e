// What narrow features save: bytes and time of a pull from a server, of a gather from mapped files,
// and of making float32 of the rows, against the same rows in float32. In turns in one process.
//   feature_dtype_bench SERVER_PROGRAM [ROUNDS]
// Writes a graph of 500,000 nodes with 100 floats each in four dtypes, serves it by
// SERVER_PROGRAM in a process of its own, and gets 100,000 random rows. Prints one JSON line.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "client/open/open_stores.h"
#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "common/storage/file.h"
#include "common/storage/widen_rows.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/pull/child_process.h"
#include "tests/support/graph_fixture.h"
#include "tests/support/local_stores.h"

namespace halograph {
namespace {

constexpr int64_t kNodes = 500'000;
constexpr int64_t kDim = 100;
constexpr int64_t kRows = 100'000;
constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                             DType::kScaledInt8};
constexpr size_t kKinds = std::size(kDTypes);

StatusOr<std::filesystem::path> WriteGraph(const std::filesystem::path& folder) {
  CounterRng rng(Mix(1));
  std::vector<float> values(static_cast<size_t>(kNodes * kDim));
  for (float& value : values) value = static_cast<float>(rng.NextDouble() - 0.5);
  TestGraphSpec spec;
  spec.node_types = {
      {.name = "node", .owners = std::vector<int>(static_cast<size_t>(kNodes), 0), .features = {}}};
  const TestTensor wide = MakeTensor("float32", values, kDim);
  for (const DType dtype : kDTypes) {
    spec.node_types[0].features.push_back(
        dtype == DType::kFloat32 ? wide : Narrowed(wide, std::string(DTypeName(dtype)), dtype));
  }
  spec.relations = {
      {.source = "node", .name = "edge", .destination = "node", .edges = {{0, 1}}, .features = {}}};
  return WriteTestGraph(spec, folder / "graph");
}

// Seconds of one round.
struct Round {
  double remote = 0;  // pull from the server, and float32 of it
  double local = 0;   // the same from mapped files
  double widen = 0;   // float32 of rows that are here
};

class Bench {
 public:
  Bench(RowStore* remote, RowStore* local) : remote_(remote), local_(local) {
    CounterRng rng(Mix(2));
    for (int64_t& id : ids_) id = static_cast<int64_t>(rng.NextBounded(kNodes));
  }

  [[nodiscard]] StatusOr<Round> Measure(DType dtype) {
    const size_t bytes = RowBytes(dtype, kDim) * static_cast<size_t>(kRows);
    const bool wide = dtype == DType::kFloat32;
    std::byte* const stored = wide ? reinterpret_cast<std::byte*>(rows_.data()) : stored_.data();
    Round round;
    for (auto [store, seconds] : {std::pair{remote_, &round.remote}, {local_, &round.local}}) {
      const Stopwatch watch;
      CallContext context;
      HG_RETURN_IF_ERROR(store->Pull({.tensor = {false, "node", std::string(DTypeName(dtype))},
                                      .ids = ids_,
                                      .out = {stored, bytes}},
                                     context));
      const Stopwatch widening;
      if (!wide) WidenRows({dtype, kDim, stored}, kRows, rows_.data(), kDim);
      round.widen = wide ? 0 : widening.Seconds();
      *seconds = watch.Seconds();
    }
    return round;
  }

 private:
  RowStore* const remote_;
  RowStore* const local_;
  std::vector<int64_t> ids_ = std::vector<int64_t>(kRows);
  std::vector<std::byte> stored_ = std::vector<std::byte>(kRows * kDim * 4);
  std::vector<float> rows_ = std::vector<float>(kRows * kDim);
};

// Medians, and medians of the ratio to float32 within a round.
Json Report(const std::vector<std::vector<Round>>& rounds) {
  Json kinds = Json::array();
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const auto median = [&](double Round::*field, bool ratio) {
      std::vector<double> values;
      for (const std::vector<Round>& round : rounds) {
        values.push_back(round[kind].*field / (ratio ? round[0].*field : 1.0));
      }
      return Median(std::move(values));
    };
    kinds.push_back({{"dtype", DTypeName(kDTypes[kind])},
                     {"bytes", kRows * static_cast<int64_t>(RowBytes(kDTypes[kind], kDim))},
                     {"remote_ms", 1e3 * median(&Round::remote, false)},
                     {"remote_times_float32", median(&Round::remote, true)},
                     {"local_ms", 1e3 * median(&Round::local, false)},
                     {"local_times_float32", median(&Round::local, true)},
                     {"widen_ms", 1e3 * median(&Round::widen, false)}});
  }
  return kinds;
}

Status Run(const std::string& server_program, int rounds) {
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder,
                      TemporaryFolder::Create(std::filesystem::temp_directory_path() /
                                              "halograph-feature-dtype-bench"));
  HG_ASSIGN_OR_RETURN(const std::filesystem::path graph, WriteGraph(folder.path()));
  const ChildProcess server(
      {server_program, "--graph", graph.string(), "--part", "all", "--listen", "127.0.0.1:0"});
  if (server.address().empty()) return FailedPrecondition("{} did not start", server_program);
  RemoteOptions options;
  options.servers = {server.address()};
  HG_ASSIGN_OR_RETURN(const Stores remote, OpenStores({.remote = options}));
  HG_ASSIGN_OR_RETURN(const Stores local, OpenLocalStores(graph, VerifyLevel::kHeaders, 0));
  Bench bench(remote.rows.get(), local.rows.get());
  std::vector<std::vector<Round>> measured;
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    std::vector<Round> of_kinds;
    for (const DType dtype : kDTypes) {
      HG_ASSIGN_OR_RETURN(const Round seconds, bench.Measure(dtype));
      of_kinds.push_back(seconds);
    }
    if (round >= 0) measured.push_back(std::move(of_kinds));
  }
  const Json report = {{"bench", "feature_dtype"},
                       {"cpu", CpuModel()},
                       {"build", BuildVersion()},
                       {"rows", kRows},
                       {"dim", kDim},
                       {"rounds", rounds},
                       {"dtypes", Report(measured)}};
  fmt::print("{}\n", report.dump());
  return OkStatus();
}

int Main(int argc, char** argv) {
  const int rounds = argc == 3 ? std::atoi(argv[2]) : 15;
  if (argc < 2 || argc > 3 || rounds < 1) {
    fmt::print(stderr, "usage: feature_dtype_bench SERVER_PROGRAM [ROUNDS]\n");
    return 2;
  }
  const Status status = Run(argv[1], rounds);
  if (!status.ok()) fmt::print(stderr, "feature_dtype_bench: {}\n", ToString(status));
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) { return halograph::Main(argc, argv); }
