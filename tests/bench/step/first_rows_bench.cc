// The first layer's rows [self, mean] of a minibatch, as a thread that prepares minibatches makes
// them of float32 features in a mapped file. Minibatches are sampled from an R-MAT graph, which is
// not measured. Rounds are interleaved; ratios are medians over rounds of the ratio within a round.
// Variants:
//   gathered         rows of all input nodes are copied first, as Pull does, and then aggregated
//   in place         aggregated where they are (RowStore::InPlace)
//   gathered, bf16; in place, bf16   the same with --precision bf16
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/stores.h"
#include "common/program/program.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/storage/row_gather.h"
#include "tests/bench/rounds.h"
#include "tests/bench/sampling/rmat_csc_options.h"
#include "trainer/pipeline/layer_inputs.h"

namespace halograph {
namespace {

struct Options {
  RmatCscOptions graph;
  std::string folder = "/tmp";
  std::vector<int32_t> fanouts = {5, 10, 15};
  int64_t batch = 1000;
  int64_t features = 100;
  int rounds = 15;
  int minibatches = 4;
};

constexpr std::array kNames = {"gathered", "in place", "gathered, bf16", "in place, bf16"};

// Random features in a file that goes away with this.
class MappedFeatures {
 public:
  MappedFeatures(const std::string& folder, int64_t rows, int64_t cols)
      : path_(folder + "/first_rows_bench." + std::to_string(getpid())),
        boundaries_{0, rows},
        row_bytes_(static_cast<size_t>(cols) * sizeof(float)),
        bytes_(static_cast<size_t>(rows) * row_bytes_) {
    std::ofstream file(path_, std::ios::binary);
    CounterRng rng(Mix(1));
    std::vector<float> row(static_cast<size_t>(cols));
    for (int64_t i = 0; i < rows; ++i) {
      for (float& value : row) value = static_cast<float>(rng.NextBounded(1U << 20));
      file.write(reinterpret_cast<const char*>(row.data()),
                 static_cast<std::streamsize>(row_bytes_));
    }
    file.close();
    const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    ::close(descriptor);
    if (!file || data_ == MAP_FAILED) throw std::runtime_error("cannot write and map " + path_);
  }
  ~MappedFeatures() {
    ::munmap(data_, bytes_);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  MappedFeatures(const MappedFeatures&) = delete;
  MappedFeatures& operator=(const MappedFeatures&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data_), bytes_};
  }
  size_t row_bytes() const { return row_bytes_; }
  RowsInPlace in_place() const { return {boundaries_, {bytes().data()}, row_bytes_}; }

 private:
  const std::string path_;
  const std::vector<int64_t> boundaries_;
  const size_t row_bytes_;
  const size_t bytes_;
  void* data_ = nullptr;
};

std::vector<Minibatch> Sample(const Options& options, const RmatCsc& graph) {
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, options.fanouts, false);
  std::vector<Minibatch> minibatches(static_cast<size_t>(options.minibatches));
  for (size_t i = 0; i < minibatches.size(); ++i) {
    CounterRng rng(SubKey(options.graph.seed, i));
    std::vector<int64_t> seeds;
    for (int64_t n = 0; n < options.batch; ++n) {
      seeds.push_back(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph.nodes))));
    }
    const Status status = sampler.Sample(
        {.seeds = {{.ids = seeds}}, .batch_seed = i, .spec = &spec}, &workspace, &minibatches[i]);
    if (!status.ok()) throw std::runtime_error(std::string(Message(status)));
  }
  return minibatches;
}

void Make(const Options& options, const MappedFeatures& stored, const Minibatch& minibatch,
          bool in_place, Precision precision) {
  const std::vector<int64_t>& nodes = minibatch.nodes[0];
  const Block& block = minibatch.layers.back().blocks.front();
  if (in_place) {
    std::vector<const std::byte*> rows(nodes.size());
    stored.in_place().Find(nodes, rows);
    const NodeRows read(rows, options.features, Precision::kFloat32);
    (void)MakeSelfAndMean(block, read, read, precision, nullptr);
    return;
  }
  FeatureMatrix copy(std::ssize(nodes), options.features);
  GatherRows(stored.bytes(), stored.row_bytes(), 0, nodes, copy.bytes().data());
  (void)MakeSelfAndMean(block, copy, copy, precision, nullptr);
}

void Measure(const Options& options, const std::string& command) {
  const RmatCsc graph = MakeRmatCsc(options.graph);
  const MappedFeatures stored(options.folder, graph.nodes, options.features);
  const std::vector<Minibatch> minibatches = Sample(options, graph);
  std::array<Rounds, kNames.size()> rounds;
  for (int round = -1; round < options.rounds; ++round) {  // the first warms up
    for (size_t variant = 0; variant < kNames.size(); ++variant) {
      size_t next = 0;
      Rounds warm_up;
      AddRound(
          [&] {
            const Precision precision = variant >= 2 ? Precision::kBf16 : Precision::kFloat32;
            Make(options, stored, minibatches[next++], variant % 2 == 1, precision);
          },
          options.minibatches, round < 0 ? &warm_up : &rounds[variant]);
    }
  }
  for (size_t variant = 0; variant < kNames.size(); ++variant) {
    const nlohmann::json line = LineOf(
        command, {{"variant", kNames[variant]}, {"input_nodes", minibatches[0].nodes[0].size()}},
        rounds[variant], "gathered", rounds[0]);
    std::puts(line.dump().c_str());
  }
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("first_rows_bench",
                  "The first layer's rows of a minibatch; prints a JSON line a variant.");
  Options options;
  OptionTable& rows = program.options();
  AddRmatCscOptions(rows, &options.graph);
  rows.Add("folder", &options.folder, "where the file of features is written").ValueName("FOLDER");
  rows.Add("fanouts", &options.fanouts, "from the seeds outward");
  rows.Add("batch", &options.batch, "seeds").AtLeast(1);
  rows.Add("features", &options.features, "columns of the inputs").AtLeast(1);
  rows.Add("rounds", &options.rounds, "of which medians are taken").Range(1, 1000);
  rows.Add("minibatches", &options.minibatches, "a round and variant").Range(1, 100);
  program.Run([&] {
    Measure(options, CommandLine("first_rows_bench", argc, argv));
    return OkStatus();
  });
  return program.Main(argc, argv);
}
