// Graph attention networks on the blocks of a minibatch. With heads of their own W and a, N(v) the
// sampled in-neighbours of v and v itself:
//   h_v <- ELU(sum over u in N(v) of alpha_uv W h_u + b)       alpha_uv: softmax over N(v) of e_uv
//   e_uv = LeakyReLU(a_src W h_u + a_dst W h_v)                 (Velickovic et al. 2018, equation
//   3) e_uv = a LeakyReLU(W h_u + W_dst h_v)       with --gatv2   (Brody et al. 2022, equation 7)
// The heads of a hidden layer stand side by side, and share its width; those of the last layer are
// averaged, and it has no ELU. Dropout leaves out inputs of layers, --attention-dropout edges, for
// each head apart. For graphs of one node type and one relation. Knows no libtorch.
#pragma once

#include <cstdint>
#include <memory>

#include "trainer/models/layer_options.h"
#include "trainer/models/registry.h"

namespace halograph {

struct GatOptions final : ModelOptions, LayerOptions {
  int64_t heads = 8;         // of hidden layers
  int64_t output_heads = 1;  // of the last layer
  bool gatv2 = false;
  double attention_dropout = 0;
  double negative_slope = 0.2;  // of LeakyReLU

  void AddRows(OptionTable& table) override {
    AddLayerRows(table);
    table.Add("heads", &heads, "heads of a hidden layer, which share its width evenly")
        .Range(1, 1 << 10)
        .AllRanks();
    table.Add("output-heads", &output_heads, "heads of the last layer, which are averaged")
        .Range(1, 1 << 10)
        .AllRanks();
    table.Add("gatv2", &gatv2, "score by GATv2's formula").AllRanks();
    table
        .Add("attention-dropout", &attention_dropout,
             "share of a layer's edges that a step leaves out, of each head")
        .AtLeast(0)
        .Below(1)
        .AllRanks();
    table.Add("negative-slope", &negative_slope, "slope below 0 of the scores' LeakyReLU")
        .Range(0, 1)
        .AllRanks();
  }
  // Of a model without hidden layers too: --layers may change, the heads stay.
  Status Validate() const override {
    if (heads >= 1 && hidden % heads == 0) return OkStatus();
    return InvalidArgument(
        "--heads is {}, which does not divide --hidden {}: each head takes a "
        "share of the width",
        heads, hidden);
  }
};

[[nodiscard]] std::shared_ptr<Model> MakeGat(const GatOptions& options, const ModelShape& shape);

}  // namespace halograph
