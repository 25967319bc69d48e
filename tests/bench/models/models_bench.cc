// Forward and backward of each model on the same blocks, with what the threads that prepare
// minibatches make for it, against its own dense products and gathers of rows alone
// (model_limit.h). Minibatches are sampled from an R-MAT graph, features and labels are random; for
// R-GCN its edges are of several relations. Rounds are interleaved; ratios are medians over rounds
// of the ratio within a round, to `limit` and to `products`, its products alone.
// The models have no dropout but what they are given by --dropout: of hidden layers, and for GAT of
// edges too.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/program/program.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "tests/bench/models/model_limit.h"
#include "tests/bench/rounds.h"
#include "tests/bench/sampling/rmat_csc_options.h"
#include "trainer/blocks/self_loops.h"
#include "trainer/models/model.h"
#include "trainer/pipeline/layer_inputs.h"
#include "trainer/torch/tensor_pool.h"

namespace halograph {
namespace {

struct Options {
  RmatCscOptions graph;
  std::vector<int32_t> fanouts = {5, 10, 15};
  int64_t batch = 1000;
  int64_t features = 100;
  int64_t hidden = 256;
  int64_t heads = 4;
  int64_t classes = 47;
  double dropout = 0.5;
  int threads = 1;
  int rounds = 9;
  Precision precision = Precision::kFloat32;
  std::vector<std::string> cases;  // none: all
};

constexpr int kRelations = 4, kBases = 2;

// A model by its options, and the products and gathers of one of its layers. `k`: from the inputs.
struct Case {
  std::string name;
  std::string kind;
  std::vector<std::pair<std::string, std::string>> options;
};

std::vector<Case> Cases(const Options& options) {
  const auto hidden = std::pair{std::string("hidden"), std::to_string(options.hidden)};
  const auto dropout = std::pair{std::string("dropout"), std::to_string(options.dropout)};
  const auto heads = std::pair{std::string("heads"), std::to_string(options.heads)};
  const auto edges = std::pair{std::string("attention-dropout"), dropout.second};
  return {{"sage", "sage", {hidden, dropout}},
          {"sage-pool", "sage", {hidden, dropout, {"aggregator", "pool"}}},
          {"gcn", "gcn", {hidden, dropout}},
          {"gat", "gat", {hidden, heads, dropout, edges}},
          {"gatv2", "gat", {hidden, heads, dropout, edges, {"gatv2", "true"}}},
          {"sgc", "sgc", {}},
          {"rgcn", "rgcn", {hidden, dropout}},
          {"rgcn-bases", "rgcn", {hidden, dropout, {"bases", std::to_string(kBases)}}}};
}

bool IsRelational(const Case& measured) { return measured.kind == "rgcn"; }

struct Batch {
  Minibatch minibatch;
  torch::Tensor inputs;
  torch::Tensor self_and_mean;
  torch::Tensor labels;
};

torch::ScalarType TypeOf(Precision precision) {
  return precision == Precision::kBf16 ? torch::kBFloat16 : torch::kFloat32;
}

torch::Tensor SelfAndMeanOf(const Batch& batch, Precision precision) {
  FeatureMatrix features(batch.inputs.size(0), batch.inputs.size(1));
  std::copy_n(batch.inputs.data_ptr<float>(), batch.inputs.numel(), features.values().data());
  SelfAndMean made = MakeSelfAndMean(batch.minibatch.layers.back().blocks.front(), features,
                                     features, precision, nullptr);
  const int64_t rows = made.rows.rows(), stride = made.rows.cols();
  return torch::from_blob(made.rows.Release(), {rows, stride}, FeatureMatrix::Free,
                          TypeOf(precision))
      .narrow(1, 0, made.cols);
}

Batch MakeBatch(const Options& options, const RmatCsc& graph) {
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, options.fanouts, false);
  CounterRng rng(SubKey(options.graph.seed, 0));
  std::vector<int64_t> seeds;
  for (int64_t n = 0; n < options.batch; ++n) {
    seeds.push_back(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph.nodes))));
  }
  Batch batch;
  const Status status = sampler.Sample({.seeds = {{.ids = seeds}}, .batch_seed = 1, .spec = &spec},
                                       &workspace, &batch.minibatch);
  if (!status.ok()) throw std::runtime_error(std::string(Message(status)));
  const auto rows = static_cast<int64_t>(batch.minibatch.layers[0].blocks[0].indptr.size()) - 1;
  batch.inputs =
      torch::rand({static_cast<int64_t>(batch.minibatch.nodes[0].size()), options.features});
  batch.self_and_mean = SelfAndMeanOf(batch, options.precision);
  batch.inputs = batch.inputs.to(TypeOf(options.precision));
  batch.labels = torch::randint(options.classes, {rows});
  return batch;
}

Schema OfRelations(const Schema& plain) {
  Schema schema = plain;
  const Relation all = plain.relations.front();
  schema.relations.clear();
  for (int r = 0; r < kRelations; ++r) {
    schema.relations.push_back(all);
    schema.relations.back().name = fmt::format("r{}", r);
  }
  return schema;
}

// The same edges, those of a source all of one relation.
Batch OfRelations(const Batch& plain) {
  Batch batch = plain;
  for (SampledLayer& layer : batch.minibatch.layers) {
    const Block all = std::move(layer.blocks.front());
    layer.blocks.clear();
    for (int r = 0; r < kRelations; ++r) {
      Block block{r, {0}, {}};
      for (size_t v = 0; v + 1 < all.indptr.size(); ++v) {
        for (int64_t e = all.indptr[v]; e < all.indptr[v + 1]; ++e) {
          if (all.indices[e] % kRelations == r) block.indices.push_back(all.indices[e]);
        }
        block.indptr.push_back(static_cast<int64_t>(block.indices.size()));
      }
      layer.blocks.push_back(std::move(block));
    }
  }
  return batch;
}

// What layer k of R-GCN cannot do without: a product a relation of the nodes that it leads into, or
// one of all bases; and the product of the nodes themselves.
void AddRelationalLayer(const std::string& name, const SampledLayer& layer, size_t k, int64_t in,
                        int64_t out, ModelLimit* limit) {
  const bool back = k > 0;
  const int64_t rows = layer.num_destinations.front();
  std::vector<RelationEdges> edges;
  for (const Block& block : layer.blocks) edges.push_back({&block, 0});
  const RelationGroups groups = *GroupWithinRelations(edges);
  limit->AddGather(groups.edges, layer.num_sources.front(), in, back);
  if (name == "rgcn-bases") {
    limit->AddProduct(rows, (kBases + 1) * in, out, true);  // coefficients get a gradient
    return;
  }
  limit->AddProduct(rows, in, out, back);
  for (size_t r = 0; r < edges.size(); ++r) {
    limit->AddProduct(groups.relations[r + 1] - groups.relations[r], in, out, back);
  }
}

// What layer k, from the inputs on, cannot do without.
void AddLayer(const std::string& name, const Block& block, int64_t sources, size_t k, int64_t in,
              int64_t out, ModelLimit* limit) {
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  const bool back = k > 0;  // inputs get no gradient
  if (name == "sage") {     // the first mean is made before the step
    if (back) limit->AddGather(block, sources, in, back);
    limit->AddProduct(rows, 2 * in, out, back);
  } else if (name == "sage-pool") {
    limit->AddProduct(sources, in, in, back);
    limit->AddGather(block, sources, in, true);
    limit->AddProduct(rows, 2 * in, out, true);
  } else if (name == "gcn") {
    limit->AddGather(WithSelfLoops(block), sources, in, back);
    limit->AddProduct(rows, in, out, back);
  } else {
    limit->AddProduct(sources, in, out, back);
    if (name == "gatv2") limit->AddProduct(rows, in, out, back);
    limit->AddGather(WithSelfLoops(block), sources, out, true);
  }
}

ModelLimit LimitOf(const std::string& name, const Options& options, const Batch& batch) {
  ModelLimit limit;
  const size_t depth = batch.minibatch.layers.size();
  for (size_t k = 0; k < depth; ++k) {
    const SampledLayer& layer = batch.minibatch.layers[depth - 1 - k];
    const Block& block = layer.blocks.front();
    const int64_t in = k == 0 ? options.features : options.hidden;
    const int64_t out = k + 1 == depth ? options.classes : options.hidden;
    if (name.starts_with("rgcn")) {
      AddRelationalLayer(name, layer, k, in, out, &limit);
      continue;
    }
    if (name != "sgc") {
      AddLayer(name, block, layer.num_sources.front(), k, in, out, &limit);
      continue;
    }
    limit.AddGather(WithSelfLoops(block), layer.num_sources.front(), options.features, false);
    if (k + 1 == depth) {
      limit.AddProduct(layer.num_destinations.front(), options.features, options.classes, false);
    }
  }
  return limit;
}

void Step(Model& model, const ModelNeeds& needs, const Batch& batch, const LayerBlocks& blocks,
          uint64_t draws) {
  ModelInput input{&batch.minibatch, {batch.inputs}, draws};
  if (needs.input_rows == InputRows::kSelfAndMean) {
    input.nodes = {torch::Tensor()};
    input.self_and_mean = {batch.self_and_mean};
  }
  if (!blocks.layers.empty()) input.blocks = &blocks;
  torch::nn::functional::cross_entropy(model.Forward(input)[0], batch.labels).backward();
  for (torch::Tensor parameter : model.parameters()) parameter.mutable_grad() = torch::Tensor();
}

void Measure(const Case& measured, const Options& options, const Schema& schema, const Batch& batch,
             const std::string& command) {
  const ModelKind& kind = **FindModelKind(measured.kind);
  const auto model_options = kind.options();
  OptionTable rows;
  model_options->AddRows(rows);
  for (const auto& [option, text] : measured.options) {
    const Status set = rows.Set(option, text);
    if (!set.ok()) throw std::runtime_error(std::string(Message(set)));
  }
  const auto model =
      kind.make(*model_options, {.schema = &schema,
                                 .input_dims = {options.features},
                                 .layers = static_cast<int64_t>(options.fanouts.size()),
                                 .output_dim = options.classes,
                                 .precision = options.precision});
  const ModelNeeds needs = model_options->NeedsOf(kind.needs);
  const ModelLimit limit = LimitOf(measured.name, options, batch);
  const LayerBlocks blocks = *MakeLayerBlocks(schema, batch.minibatch, needs.form, needs.by_source);
  Rounds of_model, of_limit, of_products;
  std::vector<double> page_faults;                         // of the model
  for (int round = -1; round < options.rounds; ++round) {  // the first warms up
    Rounds warm;
    AddRound([&] { limit.Run(); }, 1, round < 0 ? &warm : &of_limit);
    AddRound([&] { limit.RunProducts(); }, 1, round < 0 ? &warm : &of_products);
    const double faults =
        AddRound([&] { Step(*model, needs, batch, blocks, static_cast<uint64_t>(round + 2)); }, 1,
                 round < 0 ? &warm : &of_model);
    if (round >= 0) page_faults.push_back(faults);
  }
  const auto line = [&](const char* variant, const Rounds& rounds) {
    const nlohmann::json facts = {{"model", measured.name},
                                  {"variant", variant},
                                  {"threads", options.threads},
                                  {"seed", options.graph.seed},
                                  {"model_page_faults", Summary(page_faults)},
                                  {"input_nodes", batch.inputs.size(0)},
                                  {"sampled_edges", batch.minibatch.sampled_edges}};
    nlohmann::json printed = LineOf(command, facts, rounds, "limit", of_limit);
    printed["wall_times_products"] = Summary(Ratios(rounds.wall_s, of_products.wall_s));
    std::puts(printed.dump().c_str());
  };
  line("limit", of_limit);
  line("products", of_products);
  line("model", of_model);
}

void AddOptions(OptionTable& rows, Options* options) {
  AddRmatCscOptions(rows, &options->graph);
  rows.Add("fanouts", &options->fanouts, "from the seeds outward");
  rows.Add("batch", &options->batch, "seeds").AtLeast(1);
  rows.Add("features", &options->features, "columns of the inputs").AtLeast(1);
  rows.Add("hidden", &options->hidden, "a multiple of --heads").AtLeast(1);
  rows.Add("heads", &options->heads, "of attention").AtLeast(1);
  rows.Add("classes", &options->classes, "columns of the output").AtLeast(1);
  rows.Add("dropout", &options->dropout, "share of hidden values left out").Range(0, 0.99);
  rows.Add("threads", &options->threads, "threads that compute").Range(1, 256);
  rows.Add("rounds", &options->rounds, "of which medians are taken").Range(1, 1000);
  rows.AddChoice("precision", &options->precision,
                 {{"float32", Precision::kFloat32}, {"bf16", Precision::kBf16}},
                 "of the model; the limit is of float32");
  rows.Add("cases", &options->cases, "all by default");
}

void MeasureAll(const Options& options, const std::string& command) {
  PoolTensors();  // as training does
  at::set_num_threads(options.threads);
  torch::manual_seed(options.graph.seed);
  const RmatCsc graph = MakeRmatCsc(options.graph);
  const Batch batch = MakeBatch(options, graph);
  for (const Case& measured : Cases(options)) {
    const auto& asked = options.cases;
    if (asked.empty() || std::find(asked.begin(), asked.end(), measured.name) != asked.end()) {
      if (IsRelational(measured)) {
        Measure(measured, options, OfRelations(graph.schema), OfRelations(batch), command);
      } else {
        Measure(measured, options, graph.schema, batch, command);
      }
    }
  }
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("models_bench",
                  "Forward and backward of each model; prints a JSON line a variant.");
  Options options;
  AddOptions(program.options(), &options);
  program.Run([&] {
    MeasureAll(options, CommandLine("models_bench", argc, argv));
    return OkStatus();
  });
  return program.Main(argc, argv);
}
