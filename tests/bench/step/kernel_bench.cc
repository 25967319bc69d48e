// The kernels of trainer/kernels against compositions of libtorch's operations and against bare
// reads, on random blocks of the shape of a training step's, with the trainer's pool of tensors.
// Rounds are interleaved; ratios are medians over rounds of the ratio within a round, to the first
// variant of a case. Cases:
//   attention          Attend forward and backward; composed: ComposedAttend; prepared: Attend with
//                      the block by source, as threads that prepare minibatches make it
//                      (its ratio is to `fused`); dropout: with half of the weights left out
//   attention-forward  the same without backward
//   dynamic-attention  DynamicAttend forward and backward; composed: ComposedDynamicAttend
//   epilogue           bias and ReLU of the rows of both hidden layers, with their mask; dropout:
//   and
//                      half of the values left out; nothing: only the copy that all make first
//   relational         a layer of R-GCN forward and backward, with grouping; layer:
//                      RelationalLayer; aggregate: RelationalAggregate and libtorch's product;
//                      relations: the mean kernel and libtorch's product once a relation
//   mean-100           the mean of rows of 100, forward, on the block of the first layer; gather:
//                      one value read from every cache line of every row that is picked
//   mean-256           the same with rows of 256 on the block of the second layer
//   sum, max           forward and backward; composed: ComposedAggregate
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/rng.h"
#include "common/program/program.h"
#include "tests/bench/rounds.h"
#include "trainer/blocks/gather_rows.h"
#include "trainer/kernels/aggregate.h"
#include "trainer/kernels/attention.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/dynamic_attention.h"
#include "trainer/kernels/layer_epilogue.h"
#include "trainer/kernels/relational_aggregate.h"
#include "trainer/torch/tensor_pool.h"
#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

struct Shape {
  int64_t destinations;
  int64_t sources;
  int64_t edges;
};

struct Options {
  Shape first = {18600, 116000, 259000};  // the block of the features
  Shape second = {2930, 18600, 22100};    // that of the hidden rows
  int64_t hidden = 256;
  int64_t heads = 4;
  int64_t relations = 8;
  int64_t bases = 4;
  int threads = 1;
  int rounds = 15;
  uint64_t seed = 1;
  std::vector<std::string> cases;     // none: all
  std::vector<std::string> variants;  // none: all
};

// A variant finds in the cache what it left there itself, as a layer finds what the layer before it
// wrote, rather than what another variant left.
constexpr int kRunsInARow = 3;

struct Variant {
  std::string name;
  std::function<void()> run;
};
struct Case {
  std::string name;
  std::vector<Variant> variants;
};

// A block numbered as sampling does: destinations first, then sources as edges first meet them.
// Other edges meet one of the sources before at random.
Block MakeBlock(const Shape& shape, uint64_t seed) {
  CounterRng rng(Mix(seed));
  Block block;
  block.indptr.push_back(0);
  int64_t met = shape.destinations;
  for (int64_t v = 0; v < shape.destinations; ++v) {
    const int64_t end = (v + 1) * shape.edges / shape.destinations;
    while (static_cast<int64_t>(block.indices.size()) < end) {
      const auto edges_left = static_cast<uint64_t>(shape.edges) - block.indices.size();
      const bool fresh = rng.NextBounded(edges_left) < static_cast<uint64_t>(shape.sources - met);
      block.indices.push_back(static_cast<int32_t>(
          fresh ? met++ : static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(met)))));
    }
    block.indptr.push_back(end);
  }
  return block;
}

// The edges of a block dealt out to relations at random.
std::vector<Block> Split(const Block& block, int64_t relations, uint64_t seed) {
  CounterRng rng(Mix(seed));
  std::vector<Block> parts(static_cast<size_t>(relations));
  for (Block& part : parts) part.indptr.push_back(0);
  for (size_t v = 0; v + 1 < block.indptr.size(); ++v) {
    for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
      parts[rng.NextBounded(static_cast<uint64_t>(relations))].indices.push_back(block.indices[e]);
    }
    for (Block& part : parts) part.indptr.push_back(static_cast<int64_t>(part.indices.size()));
  }
  return parts;
}

torch::Tensor Leaf(torch::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); }

// Backward with a gradient of ones, made beforehand; leaves no gradient behind.
void Back(const torch::Tensor& out, const torch::Tensor& grad,
          const std::vector<torch::Tensor>& leaves) {
  out.backward(grad);
  for (torch::Tensor leaf : leaves) leaf.mutable_grad() = torch::Tensor();
}

Case AttentionCase(const Options& options, const Block& block, bool backward) {
  const std::vector<torch::Tensor> leaves = {Leaf({options.second.sources, options.hidden}),
                                             Leaf({options.second.sources, options.heads}),
                                             Leaf({options.second.destinations, options.heads})};
  const torch::Tensor grad = torch::ones({options.second.destinations, options.hidden});
  const auto by_source = std::make_shared<const TransposedBlock>(
      Transpose(block.indptr.data(), options.second.destinations, block.indices.data(),
                options.second.sources));
  const auto variant = [=, &block](auto attend) {
    return [=, &block] {
      const torch::AutoGradMode mode(backward);
      const torch::Tensor out = attend(AttentionInput{leaves[0], leaves[1], leaves[2]}, block);
      if (backward) Back(out, grad, leaves);
    };
  };
  const auto fused = [](const auto& input, const Block& of) { return Attend(input, of); };
  std::vector<Variant> variants = {{"fused", variant(fused)},
                                   {"composed", variant(ComposedAttend)}};
  if (backward) {
    const auto dropout = [](AttentionInput input, const Block& of) {
      input.dropout = Dropout::Of(0.5, 1, 1);
      return Attend(input, of);
    };
    variants.push_back({"dropout", variant(dropout)});
    const auto prepared = [by_source](const auto& input, const Block& of) {
      return Attend(input, of, by_source.get());
    };
    variants.push_back({"prepared", variant(prepared)});
  }
  return {backward ? "attention" : "attention-forward", variants};
}

// GATv2's, over the same shapes.
Case DynamicAttentionCase(const Options& options, const Block& block) {
  const int64_t width = options.hidden / options.heads;
  const std::vector<torch::Tensor> leaves = {Leaf({options.second.sources, options.hidden}),
                                             Leaf({options.second.destinations, options.hidden}),
                                             Leaf({options.heads, width})};
  const torch::Tensor grad = torch::ones({options.second.destinations, options.hidden});
  const auto variant = [=, &block](auto attend) {
    return [=, &block] {
      Back(attend(DynamicAttentionInput{leaves[0], leaves[1], leaves[2]}, block), grad, leaves);
    };
  };
  const auto fused = [](const auto& input, const Block& of) { return DynamicAttend(input, of); };
  return {"dynamic-attention",
          {{"fused", variant(fused)}, {"composed", variant(ComposedDynamicAttend)}}};
}

// The epilogue of the hidden layers of a step, a few rows at a time, which are in a cache as a
// product leaves them. The first variant does nothing but put them there.
Case EpilogueCase(const Options& options) {
  constexpr int64_t kRows = 96;
  const int64_t cols = options.hidden;
  const int64_t rows = options.first.destinations + options.second.destinations;
  const torch::Tensor product = torch::randn({kRows, cols}), bias = torch::randn({cols});
  const torch::Tensor z = torch::empty({rows, cols});
  const torch::Tensor mask = torch::empty({rows, MaskWords(cols)}, torch::kInt64);
  const auto variant = [=](bool finish, double p) {
    const Dropout dropout = Dropout::Of(p, 1, 1);
    return [=] {
      auto* const bits = reinterpret_cast<uint64_t*>(mask.data_ptr<int64_t>());
      at::parallel_for(0, rows, kRows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row += kRows) {
          const int64_t last = std::min(row + kRows, end);
          std::memcpy(z.data_ptr<float>() + row * cols, product.data_ptr<float>(),
                      static_cast<size_t>((last - row) * cols) * sizeof(float));
          if (!finish) continue;
          ReluEpilogue(RowsFrom(MutableRowsOf(z), row), cols, bias.data_ptr<float>(), dropout, row,
                       last, bits);
        }
      });
    };
  };
  return {"epilogue",
          {{"nothing", variant(false, 0)},
           {"relu", variant(true, 0)},
           {"dropout", variant(true, 0.5)}}};
}

Case RelationalCase(const Options& options, const std::vector<Block>& blocks) {
  const int64_t width = options.hidden, rows = options.second.destinations;
  const torch::Tensor h = Leaf({options.second.sources, width});
  const RelationalWeights weights = {Leaf({options.relations, options.bases}),
                                     Leaf({options.bases, width, width}), Leaf({width, width}),
                                     Leaf({width})};
  const torch::Tensor grad = torch::ones({rows, width});
  const std::vector<torch::Tensor> leaves = {h, weights.coefficients, weights.bases, weights.self,
                                             weights.bias};
  const auto grouped = [&blocks] {
    std::vector<RelationEdges> edges;
    for (const Block& block : blocks) edges.push_back({&block, 0});
    return GroupByRelation(edges).value();
  };
  const auto layer = [=] {
    const RelationalBlock block = grouped();
    Back(RelationalLayer(h, block, weights, 0, {}), grad, leaves);
  };
  const auto aggregate = [=] {
    const RelationalBlock block = grouped();
    const torch::Tensor matrices =
        torch::cat({weights.bases.transpose(1, 2).reshape({-1, width}), weights.self.t()});
    const torch::Tensor x = RelationalAggregate(h, block, weights.coefficients, 0);
    Back(torch::addmm(weights.bias, x, matrices), grad, leaves);
  };
  const auto by_relation = [=, &blocks] {
    const torch::Tensor matrices =
        torch::mm(weights.coefficients, weights.bases.view({weights.bases.size(0), -1}))
            .view({-1, width, width});
    torch::Tensor out = torch::linear(h.narrow(0, 0, rows), weights.self, weights.bias);
    for (size_t r = 0; r < blocks.size(); ++r) {
      const torch::Tensor mean = Aggregate(h, blocks[r], Aggregation::kMean);
      out = out + torch::linear(mean, matrices[static_cast<int64_t>(r)]);
    }
    Back(out, grad, leaves);
  };
  return {"relational", {{"layer", layer}, {"aggregate", aggregate}, {"relations", by_relation}}};
}

// One value of every cache line of the picked rows.
template <int64_t kCols>
uint32_t TouchRows(const PickedRows& picked, int64_t begin, int64_t end) {
  uint32_t sum = 0;
  for (int64_t e = picked.indptr[begin]; e < picked.indptr[end]; ++e) {
    const float* row = picked.rows.data + picked.indices[e] * kCols;
    const auto read = [&](int64_t column) {
      uint32_t bits;
      std::memcpy(&bits, row + column, sizeof(bits));
      sum += bits;
    };
#pragma GCC unroll 16
    for (int64_t column = 0; column < kCols; column += 16) read(column);
    read(kCols - 1);
  }
  return sum;
}

template <int64_t kCols>
Case MeanCase(const std::string& name, const Block& block, int64_t sources) {
  const torch::Tensor h = torch::randn({sources, kCols});
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  const torch::Tensor out = torch::empty({rows, kCols});
  const PickedRows picked = {
      block.indptr.data(), block.indices.data(), {h.data_ptr<float>(), kCols}, kCols};
  const auto mean = [=] {
    at::parallel_for(0, rows, 64, [&](int64_t begin, int64_t end) {
      MeanOfRows(picked, begin, end, {out.data_ptr<float>(), kCols});
    });
  };
  const auto gather = [=] {
    at::parallel_for(0, rows, 64, [&](int64_t begin, int64_t end) {
      volatile uint32_t sink = TouchRows<kCols>(picked, begin, end);
      (void)sink;
      (void)h;  // keeps the rows alive
    });
  };
  return {name, {{"kernel", mean}, {"gather", gather}}};
}

Case AggregateCase(const Options& options, const Block& block, Aggregation how) {
  const torch::Tensor h = Leaf({options.second.sources, options.hidden});
  const torch::Tensor grad = torch::ones({options.second.destinations, options.hidden});
  const auto variant = [=, &block](auto aggregate) {
    return [=, &block] { Back(aggregate(h, block, how), grad, {h}); };
  };
  const auto fused = [](const auto& rows, const Block& of, Aggregation by) {
    return Aggregate(rows, of, by);
  };
  return {how == Aggregation::kSum ? "sum" : "max",
          {{"fused", variant(fused)}, {"composed", variant(ComposedAggregate)}}};
}

void Measure(const Case& measured, const Options& options, const std::string& command) {
  std::vector<Rounds> rounds(measured.variants.size());
  for (int round = -2; round < options.rounds; ++round) {  // the first two warm up
    for (size_t i = 0; i < rounds.size(); ++i) {
      Rounds warm;
      AddRound(measured.variants[i].run, kRunsInARow, round < 0 ? &warm : &rounds[i]);
    }
  }
  for (size_t i = 0; i < rounds.size(); ++i) {
    const nlohmann::json facts = {{"case", measured.name},
                                  {"variant", measured.variants[i].name},
                                  {"threads", options.threads},
                                  {"seed", options.seed}};
    std::puts(LineOf(command, facts, rounds[i], "first", rounds[0]).dump().c_str());
  }
}

bool Asked(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

void MeasureAll(const Options& options, const std::string& command) {
  PoolTensors();  // as training does
  at::set_num_threads(options.threads);
  torch::manual_seed(options.seed);
  const Block first = MakeBlock(options.first, options.seed);
  const Block second = MakeBlock(options.second, options.seed + 1);
  const std::vector<Block> relations = Split(second, options.relations, options.seed + 2);
  for (Case measured :
       {AttentionCase(options, second, true), AttentionCase(options, second, false),
        DynamicAttentionCase(options, second), EpilogueCase(options),
        RelationalCase(options, relations), MeanCase<100>("mean-100", first, options.first.sources),
        MeanCase<256>("mean-256", second, options.second.sources),
        AggregateCase(options, second, Aggregation::kSum),
        AggregateCase(options, second, Aggregation::kMax)}) {
    std::erase_if(measured.variants,
                  [&](const Variant& variant) { return !Asked(options.variants, variant.name); });
    if (Asked(options.cases, measured.name)) Measure(measured, options, command);
  }
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("kernel_bench",
                  "The kernels of models against compositions; prints a JSON line a variant.");
  Options options;
  OptionTable& rows = program.options();
  rows.Add("hidden", &options.hidden, "a multiple of --heads").AtLeast(1);
  rows.Add("heads", &options.heads, "of attention").AtLeast(1);
  rows.Add("relations", &options.relations, "that the second block is split into").AtLeast(1);
  rows.Add("bases", &options.bases, "of the relations' weights").AtLeast(1);
  rows.Add("threads", &options.threads, "threads that compute").Range(1, 256);
  rows.Add("rounds", &options.rounds, "of which medians are taken").Range(1, 1000);
  rows.Add("seed", &options.seed, "of blocks and values");
  rows.Add("cases", &options.cases, "all by default");
  rows.Add("variants", &options.variants, "all by default");
  program.Run([&] {
    MeasureAll(options, CommandLine("kernel_bench", argc, argv));
    return OkStatus();
  });
  return program.Main(argc, argv);
}
