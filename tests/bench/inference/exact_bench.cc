// Exact inference of GraphSAGE over a whole partition folder, against what nobody can do without:
// reading features and edges once a layer, and the layers' products. Beside it, as what the layers
// ask for too, one read of a row for each edge.
//   once      rows of all nodes front to back, edges front to back, products of [nodes, 2 in]
//   by_edge   the same, and the means of the sources' rows (Aggregate)
// One thread computes; threads that prepare are --sample-threads. Figures as one line of JSON.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/base/stopwatch.h"
#include "common/program/program.h"
#include "common/storage/npy.h"
#include "trainer/inference/exact.h"
#include "trainer/kernels/aggregate.h"
#include "trainer/kernels/linear_layer.h"
#include "trainer/launch/resolve.h"
#include "trainer/models/sage.h"
#include "trainer/run/prepare.h"

namespace halograph {
namespace {

struct Options {
  std::string graph;
  std::string scratch = ".";
  int64_t memory = int64_t{1} << 30;
  int64_t layers = 2;
  int64_t hidden = 256;
  int threads = 1;
  int sample_threads = 1;
  int64_t chunk_nodes = 0;
};

// The most memory of the process that is no file's, looked at every few milliseconds.
class PeakMemory {
 public:
  PeakMemory()
      : thread_([this] {
          while (!done_) {
            peak_ = std::max<int64_t>(peak_, Now());
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  ~PeakMemory() { Stop(); }
  int64_t Stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return peak_;
  }
  static int64_t Now() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8)) * 1024;
    }
    return 0;
  }

 private:
  std::atomic<bool> done_{false};
  std::atomic<int64_t> peak_{0};
  std::thread thread_;
};

// Reads whole words, front to back, as fast as memory gives them.
double SumOf(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  const auto* const words = reinterpret_cast<const uint64_t*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(uint64_t); ++i) sum += words[i];
  return static_cast<double>(sum & 0xffffU);
}

// All arrays of that name below the graph, front to back.
double ReadArrays(const std::string& graph, const std::string& name) {
  double sum = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(graph)) {
    if (entry.path().filename() != name) continue;
    const NpyArray array = *NpyArray::Open(entry.path());
    sum += SumOf(array.data());
  }
  return sum;
}

// Of all threads, which another program does not lengthen as it does seconds.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Floor {
  double rows = 0, edges = 0, products = 0, gathers = 0;  // seconds
  double sum = 0;                                         // so that nothing is left out
};

// A layer's share. `in`, `out`: its widths.
void AddLayer(const Options& options, const Schema& schema, int64_t in, int64_t out, Floor* floor) {
  const int64_t nodes = schema.node_types.front().count;
  const int64_t degree = schema.relations.front().count / nodes;
  const torch::Tensor all = torch::rand({nodes, in});
  Stopwatch watch;
  floor->sum +=
      SumOf({static_cast<const std::byte*>(all.data_ptr()), static_cast<size_t>(all.nbytes())});
  floor->rows += watch.Seconds();
  watch = Stopwatch();
  floor->sum += ReadArrays(options.graph, "indices.npy") + ReadArrays(options.graph, "indptr.npy");
  floor->edges += watch.Seconds();
  constexpr int64_t kRows = 16384;
  const torch::Tensor weight = torch::rand({out, 2 * in}), bias = torch::rand({out});
  const torch::Tensor rows = torch::rand({kRows, 2 * in});
  Block block{0, {0}, {}};
  const torch::Tensor drawn = torch::randint(nodes, {kRows * degree}, torch::kInt32);
  block.indices.assign(drawn.data_ptr<int32_t>(), drawn.data_ptr<int32_t>() + drawn.numel());
  for (int64_t i = 1; i <= kRows; ++i) block.indptr.push_back(i * degree);
  for (int64_t done = 0; done < nodes; done += kRows) {
    watch = Stopwatch();
    floor->sum += LinearLayer(rows, weight, bias)[0][0].item<double>();
    floor->products += watch.Seconds();
    watch = Stopwatch();
    floor->sum += Aggregate(all, block, Aggregation::kMean)[0][0].item<double>();
    floor->gathers += watch.Seconds();
  }
}

template <typename T>
void Must(const T& status) {
  if (!status.ok()) throw std::runtime_error(ToString(status));
}

std::unique_ptr<Session> Open(const Options& options, StopSignal& stop) {
  auto session = std::make_unique<Session>();
  TrainOptions& train = session->options;
  train.graph = options.graph;
  train.verify = VerifyLevel::kHeaders;
  train.layers = options.layers;
  train.fanouts.assign(static_cast<size_t>(options.layers), kFullNeighborhood);
  train.threads = options.threads;
  train.sample_threads = options.sample_threads;
  auto sage = std::make_shared<SageOptions>();
  sage->hidden = options.hidden;
  train.model = "sage";
  train.model_options = std::move(sage);
  Resolve(&train);
  Must(Validate(train));
  SetUpComputation();
  SetUpThread(train);
  session->stop = &stop;
  RunInputs inputs;
  Must(Prepare(*session, &inputs));
  Must(MakeModel(*session, inputs));
  return session;
}

Status Run(const Options& options) {
  auto stop = *StopSignal::Install();
  const auto session = Open(options, *stop);
  const Schema& schema = session->stores.graph->info().schema;
  const torch::NoGradGuard no_grad;
  const NodeRange nodes(0, session->stores.graph->info().book.NodeBoundaries(0));
  const int64_t before = PeakMemory::Now();
  PeakMemory peak;
  ScratchSpace scratch(ScratchMemory(options.memory), options.scratch);
  double sum = 0;
  const double cpu_before = CpuSeconds();
  const Stopwatch watch;
  const auto figures = InferExactly(
      *session, {.memory = options.memory, .chunk_nodes = options.chunk_nodes}, ExactRows::kOutputs,
      nodes, std::vector{0}, scratch, [&](const std::vector<torch::Tensor>& rows, Step&) {
        sum += rows[0][0][0].item<double>();
        return OkStatus();
      });
  const double seconds = watch.Seconds();
  const double cpu_seconds = CpuSeconds() - cpu_before;
  Must(figures.status());
  const int64_t most = peak.Stop() - before;
  Floor floor;
  for (size_t layer = 0; layer < session->model->num_layers(); ++layer) {
    const int64_t in =
        layer == 0 ? session->input_dims.front() : session->model->layer_dim(layer - 1);
    AddLayer(options, schema, in, session->model->layer_dim(layer), &floor);
  }
  const double once = floor.rows + floor.edges + floor.products;
  nlohmann::json result = {{"nodes", schema.node_types.front().count},
                           {"edges", schema.relations.front().count},
                           {"layers", options.layers},
                           {"hidden", options.hidden},
                           {"memory", options.memory},
                           {"peak_anonymous_bytes", most},
                           {"exact_s", seconds},
                           {"exact_cpu_s", cpu_seconds},
                           {"exact", figures->ToJson()},
                           {"rows_s", floor.rows},
                           {"edges_s", floor.edges},
                           {"products_s", floor.products},
                           {"gathers_s", floor.gathers},
                           {"ratio_once", seconds / once},
                           {"ratio_by_edge", seconds / (once + floor.gathers)},
                           {"sums", sum + floor.sum}};
  std::printf("%s\n", result.dump().c_str());
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  // As halograph-train does (trainer/launch/start.h): libgomp reads it as it is loaded.
  if (getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 0);
    execv("/proc/self/exe", argv);
  }
  Program program("exact_bench",
                  "Exact inference against reading rows and edges once a layer plus the products");
  Options options;
  OptionTable& rows = program.options();
  rows.Add("graph", &options.graph, "partition folder of one node type").Required();
  rows.Add("scratch", &options.scratch, "folder for rows that memory does not hold");
  rows.AddBytes("memory", &options.memory, "as halograph-train infer has it");
  rows.Add("layers", &options.layers, "layers");
  rows.Add("hidden", &options.hidden, "width of hidden layers");
  rows.Add("threads", &options.threads, "threads that compute");
  rows.Add("sample-threads", &options.sample_threads, "threads that prepare chunks");
  rows.Add("chunk-nodes", &options.chunk_nodes, "nodes of a chunk; 0: as memory allows");
  program.Run([&] { return Run(options); });
  return program.Main(argc, argv);
}
