// What the parts of a layer-wise layer cost: a draw without replacement among many candidates, and,
// an edge that is scanned, the column sums and the extraction, beside reading the rows and one
// entry of a table an edge; and what the ids of a layer take on the wire, as ids and as
// differences, with all destinations at one server and with a quarter of them. Layers are those of
// LADIES: each begins with what the one before drew. One thread; rounds are interleaved; what
// counts is thread CPU time, as medians over rounds.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/program/program.h"
#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/extract_edges.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/request.h"
#include "proto/wire/column_sums.h"
#include "proto/wire/extract.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/require.h"
#include "tests/bench/samplers/layer_wise_options.h"

namespace halograph {
namespace {

using Options = LayerWiseBenchOptions;

// Something a round measures: runs it once.
struct Variant {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds = {};
};

void Measure(int rounds, std::vector<Variant>* variants) {
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (Variant& variant : *variants) {
      const double start = ThreadCpu();
      variant.run();
      if (round >= 0) variant.seconds.push_back(ThreadCpu() - start);
    }
  }
}

// ---- draws -------------------------------------------------------------------------------------

enum class Tail { kEqual, kCounts, kSquares };
constexpr std::array<std::pair<Tail, const char*>, 3> kTails = {
    {{Tail::kEqual, "1"}, {Tail::kCounts, "1 / u"}, {Tail::kSquares, "1 / u^2"}}};

std::vector<uint64_t> MakeCandidates(Tail tail, int64_t count, uint64_t seed) {
  std::vector<uint64_t> weights(static_cast<size_t>(count));
  CounterRng rng(Mix(seed));
  for (uint64_t& weight : weights) {
    const double u = 1.0 - rng.NextDouble();
    weight = tail == Tail::kEqual    ? 1
             : tail == Tail::kCounts ? static_cast<uint64_t>(1 / u)
                                     : static_cast<uint64_t>(1 / u / u);
  }
  return weights;
}

void MeasureDraws(const Options& options) {
  fmt::print("\ndraws, ns each: candidates, W, drawn; ns a candidate to sum up W\n");
  for (const int64_t count : {100'000, 1'000'000}) {
    for (const auto& [tail, name] : kTails) {
      const std::vector<uint64_t> weights = MakeCandidates(tail, count, options.graph.seed);
      CandidateSums sums;
      LayerWiseDrawer drawer;
      LayerWisePicks picks;
      uint64_t key = options.graph.seed;
      const std::array<int64_t, 2> drawn = {1024, count / 10};
      std::vector<Variant> variants = {
          {"", [&] { sums.Reset(std::span<const uint64_t>(weights)); }}};
      for (const int64_t nodes : drawn) {
        variants.push_back({"", [&, nodes] { Require(drawer.Draw(sums, nodes, ++key, &picks)); }});
      }
      Measure(options.rounds, &variants);
      for (size_t i = 0; i < drawn.size(); ++i) {
        fmt::print("  {:>8} {:<8} {:>7}: {:6.1f}; {:.2f}\n", count, name, drawn[i],
                   1e9 * Median(variants[i + 1].seconds) / static_cast<double>(drawn[i]),
                   1e9 * Median(variants[0].seconds) / static_cast<double>(count));
      }
    }
  }
}

// ---- layers ------------------------------------------------------------------------------------

class LayerBench {
 public:
  explicit LayerBench(const Options& options)
      : options_(options), graph_(MakeRmatCsc(options.graph)), table_(graph_.nodes, 1) {
    edges_ = {.topology = graph_.topology.data(), .num_sources = graph_.nodes, .relation = "r"};
    CounterRng rng(Mix(options.graph.seed));
    for (int64_t i = 0; i < options.batch; ++i) {
      destinations_.push_back(
          static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph_.nodes))));
    }
    std::sort(destinations_.begin(), destinations_.end());
    destinations_.erase(std::unique(destinations_.begin(), destinations_.end()),
                        destinations_.end());
    fmt::print("\n{} nodes, {} directed edges\n", graph_.nodes, graph_.edges);
  }

  void Run() {
    for (int layer = 0; layer < options_.layers; ++layer) {
      key_ = ColumnKey(LayerKey(options_.graph.seed, layer, 1, 0));
      RunLayer(layer);
      AddPicks();
    }
  }

 private:
  void RunLayer(int layer) {
    WholeLayer(LayerProbability::kDegree);  // columns_ is what extraction is measured with
    int64_t scanned = 0;
    for (const int64_t degree : extracted_.degrees) scanned += degree;
    std::vector<Variant> variants = {
        {"rows alone", [&] { Read([](uint32_t id) { return uint64_t{id}; }); }},
        {"rows, one table read an edge", [&] { Read([&](uint32_t id) { return table_[id]; }); }},
        {"sums of 1", [&] { Sum(ColumnValue::kOne); }},
        {"sums of degree shares", [&] { Sum(ColumnValue::kDegreeShare); }},
        {"weights and draw", [&] { Draw(LayerProbability::kDegree); }},
        {"extraction", [&] { Extract({}); }},
        {"extraction with edge ids", [&] { Extract({.edge_ids = true}); }},
        {"whole layer, count", [&] { WholeLayer(LayerProbability::kCount); }},
        {"whole layer, degree", [&] { WholeLayer(LayerProbability::kDegree); }}};
    Measure(options_.rounds, &variants);
    fmt::print(
        "layer {}: {} destinations, {} edges scanned, {} candidates, {} drawn, {} extracted\n",
        layer, destinations_.size(), scanned, sums_.sources.size(), columns_.size(),
        extracted_.columns.size());
    for (const Variant& variant : variants) {
      std::vector<double> ratios;
      for (size_t r = 0; r < variant.seconds.size(); ++r) {
        ratios.push_back(variant.seconds[r] / variants[1].seconds[r]);
      }
      fmt::print("  {:<30}{:8.3f} ms{:8.2f} ns an edge{:8.2f} times rows and a read\n",
                 variant.name, 1e3 * Median(variant.seconds),
                 1e9 * Median(variant.seconds) / static_cast<double>(scanned), Median(ratios));
    }
    for (const size_t servers : {1, 4}) MeasureWire(servers);
  }

  // A reply of column sums, written and read; and the columns of a request to extract.
  void MeasureWire(size_t servers) {
    std::vector<int64_t> owned;
    for (size_t i = 0; i < destinations_.size(); i += servers) owned.push_back(destinations_[i]);
    ColumnSums sums;
    Require(SumColumns(edges_, owned, ColumnValue::kOne, &workspace_, &sums));
    const wire::ColumnSumsExpected expected{graph_.nodes, 0, graph_.nodes};
    std::vector<std::byte> bytes;
    std::vector<wire::ColumnSumsGroupReply> read;
    const auto send = [&](bool deltas) {
      const wire::ColumnSumsGroupShape shape{sums.sources, sums.sums, false, false, deltas};
      bytes.resize(wire::ColumnSumsGroupBytes(shape));
      static_cast<void>(wire::PutColumnSumsGroup(shape, bytes.data()));
      const std::span<const std::byte> piece(bytes);
      Require(wire::ReadColumnSumsReply({&piece, 1}, {&expected, 1}, &read));
      if (read[0].sources != sums.sources) std::abort();
    };
    std::vector<Variant> variants = {{"", [&] { send(false); }}, {"", [&] { send(true); }}};
    Measure(options_.rounds, &variants);
    const auto pairs = static_cast<double>(sums.sources.size());
    const auto request = [&](bool deltas) {
      const wire::ExtractGroupView view{
          .relation = "r", .columns = columns_, .column_deltas = deltas};
      return wire::WriteExtractRequest({&view, 1}, 0).size();
    };
    for (const bool deltas : {false, true}) {
      send(deltas);
      fmt::print(
          "  {} server{}, {:<12} {} pairs: {:5.2f} bytes, {:5.2f} ns each; {} columns: {} bytes\n",
          servers, servers == 1 ? " " : "s", deltas ? "differences" : "ids", sums.sources.size(),
          static_cast<double>(bytes.size()) / pairs,
          1e9 * Median(variants[deltas ? 1 : 0].seconds) / pairs, columns_.size(), request(deltas));
    }
  }

  template <typename Of>
  void Read(const Of& of) {
    uint64_t sum = 0;
    for (const int64_t v : destinations_) {
      for (int64_t e = graph_.indptr.data()[v]; e < graph_.indptr.data()[v + 1]; ++e) {
        sum += of(graph_.indices.data()[e]);
      }
    }
    sink_ = sum;
  }

  void Sum(ColumnValue value) {
    Require(SumColumns(edges_, destinations_, value, &workspace_, &sums_));
  }

  // By the sums as they are.
  void Draw(LayerProbability probability) {
    weights_ = sums_.sums;
    Require(MakeWeights(probability, weights_));
    candidates_.Reset(std::span<const uint64_t>(weights_));
    Require(drawer_.Draw(candidates_, options_.nodes, key_, &picks_));
  }

  void Extract(const ExtractWanted& wanted) {
    Require(ExtractEdges(edges_, destinations_, columns_, wanted, &workspace_, &extracted_));
  }

  void WholeLayer(LayerProbability probability) {
    Sum(ColumnValueOf(probability));
    Draw(probability);
    columns_.clear();
    for (const int64_t position : picks_.positions) columns_.push_back(sums_.sources[position]);
    std::sort(columns_.begin(), columns_.end());
    Extract({});
  }

  // The next layer's destinations.
  void AddPicks() {
    std::vector<int64_t> all;
    std::set_union(destinations_.begin(), destinations_.end(), columns_.begin(), columns_.end(),
                   std::back_inserter(all));
    destinations_ = std::move(all);
  }

  const Options& options_;
  RmatCsc graph_;
  ColumnEdges edges_;
  std::vector<uint32_t> table_;  // what the bound reads
  volatile uint64_t sink_ = 0;
  std::vector<int64_t> destinations_;  // ascending
  uint64_t key_ = 0;
  ColumnWorkspace workspace_;
  ColumnSums sums_;
  std::vector<uint64_t> weights_;
  CandidateSums candidates_;
  LayerWiseDrawer drawer_;
  LayerWisePicks picks_;
  std::vector<int64_t> columns_;
  ExtractedEdges extracted_;
};

Status RunAll(const Options& options) {
  fmt::print(
      "{} on {}; R-MAT 2^{} nodes, {} edges drawn; batch {}, {} nodes a layer, rounds {}, "
      "seed {}\n",
      BuildVersion(), CpuModel(), options.graph.log2_nodes, options.graph.drawn, options.batch,
      options.nodes, options.rounds, options.graph.seed);
  MeasureDraws(options);
  LayerBench(options).Run();
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("layer_wise_bench", "The parts of layer-wise sampling, each beside its bound");
  Options options;
  OptionTable& rows = program.options();
  AddLayerWiseBenchOptions(rows, &options);
  program.Run([&] { return RunAll(options); });
  return program.Main(argc, argv);
}
