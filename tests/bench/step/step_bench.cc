// The computation of one training step of GraphSAGE: forward, loss, backward; without sampling,
// gathering of features and the optimizer. Minibatches are sampled from an R-MAT graph, features
// and labels are random. Rounds are interleaved; ratios are medians over rounds of the ratio within
// a round. Variants:
//   fused      a Function a layer (trainer/kernels/sage_layer.h)
//   prepared   the same, with what the threads that prepare minibatches make for it: rows of the
//              first layer, and blocks by source (trainer/pipeline/layer_blocks.h)
//   bf16       as prepared, with --precision bf16
//   widened    the same with products of float32, as on a processor without fast ones of bfloat16
//   malloc     as fused, with the memory of tensors from libtorch's own allocator, not the pool
//   composed   libtorch's operations and its own allocator: two products a layer, ReLU, dropout by
//              libtorch's generator
//   products   nothing but the dense products that `fused` makes, by libtorch
//   limit      what a dense computation cannot be faster than (step_limit.h)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/CPUAllocator.h>
#include <nlohmann/json.hpp>

#include "common/program/program.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "tests/bench/rounds.h"
#include "tests/bench/sampling/rmat_csc_options.h"
#include "tests/bench/step/step_limit.h"
#include "trainer/kernels/aggregate.h"
#include "trainer/kernels/product_kernel.h"
#include "trainer/kernels/sage_layer.h"
#include "trainer/pipeline/layer_blocks.h"
#include "trainer/pipeline/layer_inputs.h"
#include "trainer/torch/tensor_pool.h"
#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

struct Options {
  RmatCscOptions graph;
  std::vector<int32_t> fanouts = {5, 10, 15};
  int64_t batch = 1000;
  int64_t features = 100;
  int64_t hidden = 256;
  int64_t classes = 47;
  double dropout = 0.5;
  int threads = 1;
  int rounds = 9;
  int minibatches = 3;
};

enum Variant : int {
  kFused,
  kPrepared,
  kBf16,
  kWidened,
  kMalloc,
  kComposed,
  kProducts,
  kLimit,
  kVariants
};
constexpr std::array<const char*, kVariants> kNames = {"fused",  "prepared", "bf16",     "widened",
                                                       "malloc", "composed", "products", "limit"};

struct Batch {
  Minibatch minibatch;
  torch::Tensor inputs;
  torch::Tensor rows;       // [self, mean] of the first layer
  torch::Tensor bf16_rows;  // the same
  LayerBlocks blocks;
  torch::Tensor labels;
  std::vector<StepLimit> limit;  // one
};

class Step {
 public:
  explicit Step(const Options& options) : options_(options) {
    torch::manual_seed(options.graph.seed);
    const auto depth = static_cast<int64_t>(options.fanouts.size());
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t in = k == 0 ? options.features : options.hidden;
      const int64_t out = k + 1 == depth ? options.classes : options.hidden;
      const auto scaled = [&](torch::IntArrayRef sizes) {
        return (torch::randn(sizes) / std::sqrt(static_cast<double>(in))).requires_grad_();
      };
      layers_.push_back({scaled({out, in}), scaled({out, in}), scaled({out})});
    }
  }

  void Run(Variant variant, const Batch& batch) {
    if (variant == kProducts) return Products(batch);
    if (variant == kLimit) return batch.limit.front().Run();
    if (variant == kWidened) UseProductKernel(widened_.kernel);
    torch::Tensor h = batch.inputs;
    for (size_t k = 0; k < layers_.size(); ++k) {
      const bool last = k + 1 == layers_.size();
      const size_t at = layers_.size() - 1 - k;
      const Block& block = batch.minibatch.layers[at].blocks.front();
      if (variant == kPrepared || variant == kBf16 || variant == kWidened) {
        const bool narrow = variant != kPrepared;
        LayerOutput output = Output(k, last);
        if (variant == kBf16 && !last && ProductKernelInUse().has_pairs()) {
          output.precision = Precision::kBf16;
        }
        h = k == 0 ? SageLayerOfRows(narrow ? batch.bf16_rows : batch.rows, layers_[k], output)
                   : SageLayer(h, block, &batch.blocks.layers[at].transposed.front(), layers_[k],
                               output, narrow ? Precision::kBf16 : Precision::kFloat32);
      } else if (variant == kComposed) {
        h = Composed(k, last, h, block);
      } else {
        h = SageLayer(h, block, layers_[k], Output(k, last));
      }
    }
    torch::nn::functional::cross_entropy(h, batch.labels).backward();
    UseProductKernel(nullptr);
    for (const SageWeights& layer : layers_) {
      for (torch::Tensor weight : {layer.self, layer.neighbor, layer.bias}) {
        weight.mutable_grad() = torch::Tensor();
      }
    }
  }

 private:
  LayerOutput Output(size_t k, bool last) {
    if (last) return {};
    return {.relu = true, .dropout = Dropout::Of(options_.dropout, ++draws_, k)};
  }

  torch::Tensor Composed(size_t k, bool last, const torch::Tensor& h, const Block& block) {
    const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
    const SageWeights& layer = layers_[k];
    torch::Tensor z = torch::linear(h.narrow(0, 0, rows), layer.self, layer.bias) +
                      torch::linear(Aggregate(h, block, Aggregation::kMean), layer.neighbor);
    if (last) return z;
    z = torch::relu(z);
    if (options_.dropout == 0) return z;
    const double kept = 1 - options_.dropout;
    return z * torch::empty_like(z).bernoulli_(kept, generator_).div_(kept);
  }

  void Products(const Batch& batch) const {
    const torch::NoGradGuard no_grad;
    for (size_t k = 0; k < layers_.size(); ++k) {
      const Block& block = batch.minibatch.layers[layers_.size() - 1 - k].blocks.front();
      const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
      const int64_t in = layers_[k].self.size(1), out = layers_[k].self.size(0);
      const torch::Tensor x = torch::empty({rows, 2 * in + 16}).narrow(1, 0, 2 * in).fill_(1);
      const torch::Tensor weights = torch::ones({out, 2 * in});
      const torch::Tensor z = torch::mm(x, weights.t());
      (void)torch::mm(z.t(), x);
      if (k > 0) (void)torch::mm(z, weights);
    }
  }

  const Options& options_;
  std::vector<SageWeights> layers_;
  torch::Generator generator_ = at::make_generator<at::CPUGeneratorImpl>(1);
  uint64_t draws_ = 0;
  const ProductChoice widened_ = *ChooseProducts({}, "float32");
};

torch::Tensor RowsOfFirstLayer(const Batch& batch, Precision precision) {
  FeatureMatrix features(batch.inputs.size(0), batch.inputs.size(1));
  std::copy_n(batch.inputs.data_ptr<float>(), batch.inputs.numel(), features.values().data());
  SelfAndMean made = MakeSelfAndMean(batch.minibatch.layers.back().blocks.front(), features,
                                     features, precision, nullptr);
  const int64_t rows = made.rows.rows(), stride = made.rows.cols();
  const auto type = precision == Precision::kBf16 ? torch::kBFloat16 : torch::kFloat32;
  return torch::from_blob(made.rows.Release(), {rows, stride}, FeatureMatrix::Free, type)
      .narrow(1, 0, made.cols);
}

std::vector<Batch> MakeBatches(const Options& options) {
  const RmatCsc graph = MakeRmatCsc(options.graph);
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, options.fanouts, false);
  std::vector<Batch> batches(static_cast<size_t>(options.minibatches));
  for (size_t i = 0; i < batches.size(); ++i) {
    CounterRng rng(SubKey(options.graph.seed, i));
    std::vector<int64_t> seeds;
    for (int64_t n = 0; n < options.batch; ++n) {
      seeds.push_back(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph.nodes))));
    }
    Batch& batch = batches[i];
    const Status status = sampler.Sample(
        {.seeds = {{.ids = seeds}}, .batch_seed = i, .spec = &spec}, &workspace, &batch.minibatch);
    if (!status.ok()) throw std::runtime_error(std::string(Message(status)));
    const auto inputs = static_cast<int64_t>(batch.minibatch.nodes[0].size());
    const auto rows = static_cast<int64_t>(batch.minibatch.layers[0].blocks[0].indptr.size()) - 1;
    batch.inputs = torch::rand({inputs, options.features});
    batch.rows = RowsOfFirstLayer(batch, Precision::kFloat32);
    batch.bf16_rows = RowsOfFirstLayer(batch, Precision::kBf16);
    batch.blocks =
        *MakeLayerBlocks(graph.schema, batch.minibatch, BlockForm::kSampled, BySource::kAboveFirst);
    batch.labels = torch::randint(options.classes, {rows});
    std::vector<int64_t> widths(options.fanouts.size() + 1, options.hidden);
    widths.front() = options.features;
    widths.back() = options.classes;
    batch.limit.emplace_back(batch.minibatch, widths);
  }
  return batches;
}

void Measure(const Options& options, const std::string& command) {
  at::set_num_threads(options.threads);
  c10::Allocator* const own_allocator = c10::GetCPUAllocator();
  PoolTensors();
  const std::vector<Batch> batches = MakeBatches(options);
  Step step(options);
  std::array<Rounds, kVariants> rounds;
  std::array<std::vector<double>, kVariants> page_faults;
  for (int round = -1; round < options.rounds; ++round) {  // the first warms up
    for (int variant = 0; variant < kVariants; ++variant) {
      if (variant == kMalloc || variant == kComposed) c10::SetCPUAllocator(own_allocator);
      Rounds warm;
      size_t batch = 0;
      const double faults =
          AddRound([&] { step.Run(static_cast<Variant>(variant), batches[batch++]); },
                   static_cast<int>(batches.size()), round < 0 ? &warm : &rounds[variant]);
      if (round >= 0) page_faults[variant].push_back(faults);
      PoolTensors();
    }
  }
  for (int variant = 0; variant < kVariants; ++variant) {
    const nlohmann::json facts = {{"variant", kNames[variant]},
                                  {"threads", options.threads},
                                  {"seed", options.graph.seed},
                                  {"input_nodes", batches[0].inputs.size(0)},
                                  {"sampled_edges", batches[0].minibatch.sampled_edges},
                                  {"page_faults", Summary(page_faults[variant])}};
    std::puts(LineOf(command, facts, rounds[variant], "fused", rounds[kFused]).dump().c_str());
  }
}

void AddOptions(OptionTable& rows, Options* options) {
  AddRmatCscOptions(rows, &options->graph);
  rows.Add("fanouts", &options->fanouts, "from the seeds outward");
  rows.Add("batch", &options->batch, "seeds").AtLeast(1);
  rows.Add("features", &options->features, "columns of the inputs").AtLeast(1);
  rows.Add("hidden", &options->hidden, "width of the hidden layers").AtLeast(1);
  rows.Add("classes", &options->classes, "columns of the output").AtLeast(1);
  rows.Add("dropout", &options->dropout, "share of hidden values left out").Range(0, 0.99);
  rows.Add("threads", &options->threads, "threads that compute").Range(1, 256);
  rows.Add("rounds", &options->rounds, "of which medians are taken").Range(1, 1000);
  rows.Add("minibatches", &options->minibatches, "a round and variant").Range(1, 100);
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program(
      "step_bench",
      "The computation of one training step of GraphSAGE; prints a JSON line a variant.");
  Options options;
  AddOptions(program.options(), &options);
  program.Run([&] {
    Measure(options, CommandLine("step_bench", argc, argv));
    return OkStatus();
  });
  return program.Main(argc, argv);
}
