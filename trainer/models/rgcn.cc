#include "trainer/models/rgcn.h"

#include <utility>
#include <vector>

#include "trainer/kernels/linear_layer.h"
#include "trainer/models/hidden_layer.h"
#include "trainer/models/input_projection.h"
#include "trainer/models/model.h"
#include "trainer/models/rgcn_layer.h"

namespace halograph {
namespace {

// Fixed for a run: where each relation goes from and to.
struct RelationEnds {
  int source = 0;
  int destination = 0;
};

class Rgcn final : public Model {
 public:
  Rgcn(const RgcnOptions& options, const ModelShape& shape)
      : one_hot_(options.input == RgcnInput::kFeatureless),
        input_dropout_(options.input_dropout),
        inputs_(register_module("inputs", InputProjection(shape.input_dims, options.hidden))),
        embedding_dim_(shape.layers == 1 ? inputs_->width() : options.hidden),
        layers_(register_module("layers", torch::nn::ModuleList())),
        hidden_(register_module("hidden", torch::nn::ModuleList())) {
    const auto relations = static_cast<int>(shape.schema->relations.size());
    const size_t types = shape.input_dims.size();
    for (int r = 0; r < relations; ++r) {
      ends_.push_back({shape.schema->SourceType(r), shape.schema->DestinationType(r)});
    }
    for (int64_t k = 0; k < shape.layers; ++k) {
      const bool last = k + 1 == shape.layers;
      dims_.push_back(last ? shape.output_dim : options.hidden);
      const bool own_rows = k == 0 && one_hot_;
      // What it reads of the node itself.
      const int64_t in = own_rows ? dims_[0] : k == 0 ? inputs_->width() : options.hidden;
      if (own_rows) {
        CheckWidth(options.RowDim(relations));
        layers_->push_back(OneHotLayer(relations, dims_[0], options));
      } else {
        layers_->push_back(RgcnLayer(relations, in, dims_.back(), options, shape.precision));
      }
      for (size_t type = 0; !last && type < types; ++type) {
        hidden_->push_back(HiddenLayer(options, Activation::kRelu, shape.precision, in,
                                       options.hidden, hidden_->size()));
      }
    }
  }

  std::vector<torch::Tensor> ForwardLayer(size_t k, const LayerInput& input) override {
    const StackedRows h = Stacked(k, input);
    const std::vector<int64_t>& counts = input.layer->num_destinations;
    std::vector<torch::Tensor> out(counts.size());
    for (size_t type = 0; type < counts.size(); ++type) {
      if (counts[type] > 0) out[type] = LayerOfType(k, type, h, input);
    }
    return out;
  }
  std::vector<torch::Tensor> EmbedLayer(const LayerInput& input) override {
    const StackedRows h = Stacked(layers_->size() - 1, input);
    const std::vector<int64_t>& counts = input.layer->num_destinations;
    std::vector<torch::Tensor> rows(counts.size());
    for (size_t type = 0; type < counts.size(); ++type) {
      if (counts[type] > 0) rows[type] = h.Of(type, counts[type]);
    }
    return rows;
  }
  int64_t embedding_dim() const override { return embedding_dim_; }
  size_t num_layers() const override { return layers_->size(); }
  int64_t layer_dim(size_t layer) const override { return dims_[layer]; }

 private:
  // The rows that layer `k` reads.
  StackedRows Stacked(size_t k, const LayerInput& input) {
    return k == 0 ? inputs_(Dropped(input)) : StackedRows::Of(input.nodes);
  }

  std::vector<torch::Tensor> Dropped(const LayerInput& input) const {
    std::vector<torch::Tensor> nodes = input.nodes;
    for (size_t type = 0; type < nodes.size(); ++type) {
      const auto dropout = Dropout::Of(input_dropout_, input.draws, kInputDraws + type);
      if (dropout.dropped == 0 || !nodes[type].defined()) continue;
      nodes[type] = Drop(nodes[type].to(torch::kFloat32), dropout);
    }
    return nodes;
  }

  void CheckWidth(int64_t wanted) const {
    TORCH_CHECK(layers_->is_empty() && dims_.size() == 1 && inputs_->width() == wanted,
                "one-hot inputs: rows are ", inputs_->width(), " wide, and ", wanted,
                " is what the bases and the node itself take");
  }

  torch::Tensor LayerOfType(size_t k, size_t type, const StackedRows& h, const LayerInput& input) {
    const size_t types = input.layer->num_destinations.size();
    const LayerNodes nodes = {h.first[type], input.layer->num_destinations[type]};
    HiddenLayerImpl* const around =
        k + 1 < layers_->size() ? hidden_[k * types + type]->as<HiddenLayer>() : nullptr;
    const EdgesInto into = Into(type, h, input);
    const LayerOutput output = around == nullptr ? LayerOutput{} : around->OfFormula(input.draws);
    const bool own_rows = k == 0 && one_hot_;
    torch::Tensor out = own_rows
                            ? layers_[k]->as<OneHotLayer>()->forward(h.rows, nodes, into, output)
                            : layers_[k]->as<RgcnLayer>()->forward(h.rows, nodes, into, output);
    if (around == nullptr) return out;
    const torch::Tensor own =
        own_rows ? layers_[k]->as<OneHotLayer>()->Own(h.rows, nodes) : h.Of(type, nodes.count);
    return around->Finish(out, own, input.draws);
  }

  EdgesInto Into(size_t type, const StackedRows& h, const LayerInput& input) const {
    EdgesInto into;
    if (const LayerBlocks::Layer* const made = input.made; made != nullptr) {
      if (!made->by_relation.empty()) into.by_relation = &made->by_relation[type];
      if (!made->by_destination.empty()) into.by_destination = &made->by_destination[type];
      const bool of_types = input.on_device == nullptr && !made->transposed.empty();
      if (of_types) into.by_source = &made->transposed[type];
    }
    const std::vector<Block>& blocks = input.layer->blocks;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const RelationEnds& ends = ends_[blocks[i].relation];
      if (ends.destination != static_cast<int>(type)) continue;
      const int64_t first = h.first[ends.source];
      into.relations.push_back(blocks[i].relation);
      into.edges.push_back({&blocks[i], first});
      if (input.on_device == nullptr) continue;
      into.on_device.push_back(
          {&input.on_device->blocks[i], {first, h.first[ends.source + 1] - first}});
    }
    return into;
  }

  const bool one_hot_;
  const double input_dropout_;
  InputProjection inputs_;
  const int64_t embedding_dim_;
  std::vector<int64_t> dims_;  // by layer: columns of what it gives
  torch::nn::ModuleList layers_;
  torch::nn::ModuleList hidden_;    // HiddenLayer, one a node type and layer but the last
  std::vector<RelationEnds> ends_;  // by relation
};

}  // namespace

std::shared_ptr<Model> MakeRgcn(const RgcnOptions& options, const ModelShape& shape) {
  return std::make_shared<Rgcn>(options, shape);
}

}  // namespace halograph
