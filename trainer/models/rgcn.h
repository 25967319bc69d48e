// R-GCN (Schlichtkrull, Kipf, Bloem, van den Berg, Titov, Welling 2018, equation 2), on the blocks
// of a minibatch, with N_r(v) the sampled sources of v by relation r:
//   h_v <- ReLU(W_0 h_v + sum over r of W_r (mean of h_u over u in N_r(v)) + b)
// the last layer without ReLU. Relations without edges into v add nothing. W_r is, by the options:
//   full matrices     one a relation
//   bases             W_r = sum over b of a_rb V_b (equation 3): few parameters for many relations
//   block-diagonal    W_r = diag(Q_r1, ..., Q_rB) (equation 4)
// What comes around a hidden layer (hidden_layer.h) has parameters of its own for each node type.
// For any graph: h has the rows of all node types, made equally wide by input_projection.h. Knows
// no libtorch.
#pragma once

#include <cstdint>
#include <memory>

#include "trainer/models/layer_options.h"
#include "trainer/models/registry.h"

namespace halograph {

struct RgcnOptions final : ModelOptions, LayerOptions {
  int64_t bases = 0;  // 0: none
  // 0: none. A layer whose widths it does not divide (the first, of inputs of another width, and
  // the last) takes the largest number below that divides both.
  int64_t blocks = 0;

  RgcnOptions() { hidden = 64; }  // the width of learnt inputs too, unless --embed says another

  void AddRows(OptionTable& table) override {
    AddLayerRows(table);
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
    if (bases > 0) needs.form = BlockForm::kByDestination;
    return needs;
  }
  // InvalidArgument: --bases beside --blocks; blocks that do not divide --hidden.
  [[nodiscard]] Status Validate() const override {
    if (blocks > 0 && bases > 0) return InvalidArgument("give --bases or --blocks, not both");
    if (blocks == 0 || hidden % blocks == 0) return OkStatus();
    return InvalidArgument("--blocks {} does not divide --hidden {}", blocks, hidden);
  }
};

[[nodiscard]] std::shared_ptr<Model> MakeRgcn(const RgcnOptions& options, const ModelShape& shape);

}  // namespace halograph
