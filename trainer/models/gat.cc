#include "trainer/models/gat.h"

#include "trainer/blocks/self_loops.h"
#include "trainer/kernels/attention.h"
#include "trainer/kernels/dynamic_attention.h"
#include "trainer/kernels/linear_layer.h"
#include "trainer/models/layered_model.h"

namespace halograph {
namespace {

// Heads stand side by side in the rows of W, each `width` rows.
class GatHopImpl : public torch::nn::Module {
 public:
  GatHopImpl(int64_t in_dim, int64_t heads_of_hop, int64_t width, bool gatv2)
      : heads(heads_of_hop),
        projection(Glorot("projection", heads * width, in_dim)),
        destination(gatv2 ? Glorot("destination", heads * width, in_dim) : torch::Tensor()),
        source_vector(Glorot("source_vector", heads, width)),
        destination_vector(gatv2 ? torch::Tensor() : Glorot("destination_vector", heads, width)) {}

  // Once it is known how wide the output is.
  void AddBias(int64_t width) { bias = register_parameter("bias", torch::zeros({width})); }

  const int64_t heads;
  const torch::Tensor projection;          // W
  const torch::Tensor destination;         // W_dst, of GATv2
  const torch::Tensor source_vector;       // a_src; a of GATv2
  const torch::Tensor destination_vector;  // a_dst, of GAT
  torch::Tensor bias;

 private:
  torch::Tensor Glorot(const char* name, int64_t rows, int64_t cols) {
    torch::Tensor made = register_parameter(name, torch::empty({rows, cols}));
    torch::nn::init::xavier_uniform_(made);
    return made;
  }
};
TORCH_MODULE(GatHop);

// W^T a of each head, [heads, in]: its product with a row is a's product with the projected row,
// without a matrix of the projected rows' size on the way back.
torch::Tensor FoldedVectors(const torch::Tensor& vectors, const torch::Tensor& projection) {
  const int64_t heads = vectors.size(0), width = vectors.size(1);
  return torch::bmm(vectors.unsqueeze(1), projection.view({heads, width, -1})).squeeze(1);
}

class Gat final : public LayeredModel {
 public:
  Gat(const GatOptions& options, const ModelShape& shape)
      : LayeredModel(options, shape, Activation::kElu),
        gatv2_(options.gatv2),
        attention_dropout_(options.attention_dropout),
        negative_slope_(options.negative_slope),
        layers_(register_module("layers", torch::nn::ModuleList())) {
    for (size_t k = 0; k < num_layers(); ++k) {
      const int64_t heads = last(k) ? options.output_heads : options.heads;
      GatHop hop(InDim(k), heads, last(k) ? OutDim(k) : OutDim(k) / heads, gatv2_);
      hop->AddBias(OutDim(k));
      layers_->push_back(hop);
    }
  }

 private:
  torch::Tensor Layer(const torch::Tensor& h, const LayerPlace& at,
                      const LayerOutput& /*output*/) override {
    const auto& hop = *layers_[at.layer]->as<GatHop>();
    // Inputs may have to be copied for a product: once for all of them.
    const torch::Tensor rows = h.requires_grad() || !h.device().is_cpu() ? h : WithRoom(h);
    const torch::Tensor projected =
        LinearLayer(rows, hop.projection, torch::Tensor(), {}, precision());
    const torch::Tensor attended = gatv2_ ? AttendDynamically(rows, projected, hop, at)
                                          : AttendAdditively(rows, projected, hop, at);
    if (!last(at.layer)) return attended + hop.bias;
    return attended.view({at.num_destinations(), hop.heads, OutDim(at.layer)}).mean(1) + hop.bias;
  }

  torch::Tensor AttendAdditively(const torch::Tensor& h, const torch::Tensor& projected,
                                 const GatHopImpl& hop, const LayerPlace& at) const {
    const torch::Tensor vectors =
        torch::cat({FoldedVectors(hop.source_vector, hop.projection),
                    FoldedVectors(hop.destination_vector, hop.projection)});
    const torch::Tensor scores = LinearLayer(h, vectors, torch::Tensor(), {}, precision());
    const torch::Tensor of_destinations = scores.narrow(0, 0, at.num_destinations());
    const AttentionInput input{
        .projected = projected,
        .source_scores = scores.narrow(1, 0, hop.heads).contiguous(),
        .destination_scores = of_destinations.narrow(1, hop.heads, hop.heads).contiguous(),
        .negative_slope = negative_slope_,
        .dropout = DropoutOf(at)};
    return OverLoops(at, [&](const auto& block) { return Attend(input, block); });
  }
  torch::Tensor AttendDynamically(const torch::Tensor& h, const torch::Tensor& projected,
                                  const GatHopImpl& hop, const LayerPlace& at) const {
    const torch::Tensor destinations = LinearLayer(
        h.narrow(0, 0, at.num_destinations()), hop.destination, torch::Tensor(), {}, precision());
    const DynamicAttentionInput input{.sources = projected,
                                      .destinations = destinations,
                                      .vector = hop.source_vector,
                                      .negative_slope = negative_slope_,
                                      .dropout = DropoutOf(at)};
    return OverLoops(at, [&](const auto& block) { return DynamicAttend(input, block); });
  }
  // What `attend` makes of the block with self loops, wherever that is.
  template <typename Attention>
  static torch::Tensor OverLoops(const LayerPlace& at, const Attention& attend) {
    const BlockRef& looped = at.looped;
    if (looped.on_device != nullptr) return attend(*looped.on_device);
    if (looped.block != nullptr) return attend(TensorsOf(*looped.block, looped.by_source));
    return attend(OwnTensorsOf(WithSelfLoops(*at.block.block)));
  }
  Dropout DropoutOf(const LayerPlace& at) const {
    return Dropout::Of(attention_dropout_, at.draws, kAttentionDraws + at.layer);
  }

  const bool gatv2_;
  const double attention_dropout_;
  const double negative_slope_;
  torch::nn::ModuleList layers_;
};

}  // namespace

std::shared_ptr<Model> MakeGat(const GatOptions& options, const ModelShape& shape) {
  return std::make_shared<Gat>(options, shape);
}

}  // namespace halograph
