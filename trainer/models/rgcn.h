// R-GCN (Schlichtkrull, Kipf, Bloem, van den Berg, Titov, Welling 2018, equation 2), on the blocks
// of a minibatch, with N_r(v) the sampled sources of v by relation r:
//   h_v <- ReLU(W_0 h_v + sum over r of W_r (mean of h_u over u in N_r(v)) + b)
// the last layer without ReLU. Relations without edges into v add nothing. W_r is, by the options:
//   full matrices     one a relation
//   bases             W_r = sum over b of a_rb V_b (equation 3): few parameters for many relations
//   block-diagonal    W_r = diag(Q_r1, ..., Q_rB) (equation 4)
// What comes around a hidden layer (hidden_layer.h) has parameters of its own for each node type.
// For any graph: h has the rows of all node types, made equally wide by input_projection.h.
//
// With --rgcn-input featureless the first layer is that of a graph without features: its inputs are
// one-hot. Then V_b h_u is a column of V_b, which no other node has, and W_0 h_v one of W_0:
//   h_v <- ReLU(s_v + sum over r of sum over b of a_rb (mean of V_b[u] over u in N_r(v)))
// So a node's row holds V_0[u], ..., V_{B-1}[u] and s_u side by side, (B + 1) * hidden values, and
// is learnt as rows of --embed are (trainer/embeddings). B is --bases; with 0 it is the number of
// relations of the graph, each with a basis of its own, and a = 1. There is no bias: s_v is one.
// That layer multiplies no matrices, and reads nothing else of the nodes. Rows begin as columns of
// Glorot's matrices of all nodes by hidden. --residual adds s_v. Knows no libtorch.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "trainer/models/layer_options.h"
#include "trainer/models/registry.h"

namespace halograph {

// What the first layer reads.
enum class RgcnInput : uint8_t {
  kRows,         // the rows of nodes: features, or learnt
  kFeatureless,  // one-hot inputs
};

struct RgcnOptions final : ModelOptions, LayerOptions {
  static constexpr std::string_view kOneHot = "--rgcn-input featureless";

  RgcnInput input = RgcnInput::kRows;
  int64_t bases = 0;  // 0: none
  // 0: none. A layer whose widths it does not divide (the first, of inputs of another width, and
  // the last) takes the largest number below that divides both.
  int64_t blocks = 0;

  RgcnOptions() { hidden = 64; }  // the width of learnt inputs too, unless --embed says another

  void AddRows(OptionTable& table) override {
    AddLayerRows(table);
    table
        .AddChoice("rgcn-input", &input,
                   {{"rows", RgcnInput::kRows}, {"featureless", RgcnInput::kFeatureless}},
                   "what the first layer reads: rows (features, or learnt by --embed), or "
                   "featureless (one-hot inputs: each node has columns of its own of that layer's "
                   "matrices, which are learnt)")
        .AllRanks();
    table.Add("bases", &bases, "matrices that those of all relations are sums of")
        .Range(0, 1 << 12)
        .DefaultText("0: each relation has its own")
        .AllRanks();
    table.Add("blocks", &blocks, "blocks on the diagonal of a relation's matrix, zeros elsewhere")
        .Range(0, 1 << 12)
        .DefaultText("0: whole matrices")
        .AllRanks();
  }
  ModelNeeds NeedsOf(const ModelNeeds& kind) const override {
    ModelNeeds needs = kind;
    if (input == RgcnInput::kFeatureless) needs.form = BlockForm::kFirstByDestination;
    if (bases > 0) needs.form = BlockForm::kByDestination;
    return needs;
  }
  // InvalidArgument: --blocks beside --bases or one-hot inputs; blocks that do not divide --hidden.
  [[nodiscard]] Status Validate() const override {
    if (blocks > 0 && bases > 0) return InvalidArgument("give --bases or --blocks, not both");
    if (blocks > 0 && input == RgcnInput::kFeatureless) {
      return InvalidArgument(
          "--blocks {} and --rgcn-input featureless: its first layer has no matrices to cut into "
          "blocks; leave one of them out, or give --bases",
          blocks);
    }
    if (blocks == 0 || hidden % blocks == 0) return OkStatus();
    return InvalidArgument("--blocks {} does not divide --hidden {}", blocks, hidden);
  }

  std::string_view OwnInputsBy() const override {
    return input == RgcnInput::kFeatureless ? kOneHot : std::string_view();
  }
  std::string_view OffersOwnInputsBy() const override {
    return input == RgcnInput::kFeatureless ? std::string_view() : kOneHot;
  }
  // Of a node, in a graph of so many relations.
  [[nodiscard]] int64_t RowDim(int64_t relations) const {
    return ((bases > 0 ? bases : relations) + 1) * hidden;
  }
  StatusOr<std::vector<LearntType>> OwnInputs(const Schema& schema) const override {
    const int64_t dim = RowDim(std::ssize(schema.relations));
    if (dim > kMaxTensorDim) {
      return InvalidArgument(
          "--rgcn-input featureless: a node's row has {} bases and itself, --hidden {} values "
          "each: {} in all, and {} is the most; give {} or a smaller --hidden",
          dim / hidden - 1, hidden, dim, kMaxTensorDim, bases > 0 ? "fewer --bases" : "--bases");
    }
    int64_t nodes = 0;
    for (const NodeType& type : schema.node_types) nodes += type.count;
    const double bound = std::sqrt(6.0 / static_cast<double>(nodes + hidden));
    std::vector<LearntType> types;
    types.reserve(schema.node_types.size());
    for (int i = 0; i < std::ssize(schema.node_types); ++i) types.push_back({i, dim, bound});
    return types;
  }
};

[[nodiscard]] std::shared_ptr<Model> MakeRgcn(const RgcnOptions& options, const ModelShape& shape);

}  // namespace halograph
