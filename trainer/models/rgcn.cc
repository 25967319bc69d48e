#include "trainer/models/rgcn.h"

#include <numeric>
#include <utility>
#include <vector>

#include "trainer/kernels/finish_rows.h"
#include "trainer/kernels/grouped_layer.h"
#include "trainer/kernels/linear_layer.h"
#include "trainer/kernels/relational_aggregate.h"
#include "trainer/models/hidden_layer.h"
#include "trainer/models/input_projection.h"
#include "trainer/models/model.h"

namespace halograph {
namespace {

// The relations into one node type, of one layer of a minibatch.
struct EdgesInto {
  std::vector<int64_t> relations;    // indices in the schema
  std::vector<RelationEdges> edges;  // one each
  // What was made of them before the step; null: nothing.
  const RelationGroups* by_relation = nullptr;
  const RelationalBlock* by_destination = nullptr;
  const TransposedBlock* by_source = nullptr;
};

// Fixed for a run: where each relation goes from and to.
struct RelationEnds {
  int source = 0;
  int destination = 0;
};

// Keeps `value` for as long as a backward pass through `out` may come.
template <typename T>
void KeepFor(const torch::Tensor& out, std::shared_ptr<T> value) {
  if (value != nullptr && out.requires_grad()) out.register_hook([value](const torch::Tensor&) {});
}

// To the nearest bfloat16, where that is the precision. The gradient goes through as it is.
torch::Tensor Rounded(const torch::Tensor& rows, Precision precision) {
  if (precision == Precision::kFloat32) return rows;
  const torch::Tensor exact = rows.detach();
  return rows + (exact.to(torch::kBFloat16).to(torch::kFloat32) - exact);
}

// The largest number up to `wanted`, one at least, that divides both.
int64_t BlocksOf(int64_t wanted, int64_t in, int64_t out) {
  const int64_t common = std::gcd(in, out);
  int64_t blocks = std::min(std::max<int64_t>(wanted, 1), common);
  while (common % blocks != 0) --blocks;
  return blocks;
}

// The parameters of a layer: W_0, b, and W_r of every relation r of the schema.
class RgcnLayerImpl : public torch::nn::Module {
 public:
  RgcnLayerImpl(int64_t relations, int64_t in, int64_t out, const RgcnOptions& options,
                Precision precision)
      : precision_(precision), self_(register_module("self", torch::nn::Linear(in, out))) {
    if (options.bases > 0) {
      coefficients_ = Glorot("coefficients", {relations, options.bases});
      bases_ = Glorot("bases", {options.bases, out, in});
    } else {
      const int64_t blocks = BlocksOf(options.blocks, in, out);
      matrices_ = Glorot("relations", {relations, blocks, out / blocks, in / blocks});
    }
  }

  // Of the nodes of one type, which are the first `count` of `h` from `first` on.
  torch::Tensor forward(const torch::Tensor& h, int64_t first, int64_t count, const EdgesInto& into,
                        const LayerOutput& output) {
    if (into.edges.empty()) {
      const torch::Tensor own = Rounded(h.narrow(0, first, count), precision_);
      return LinearLayer(own, self_->weight, self_->bias, output);
    }
    if (bases_.defined()) return ByBases(h, first, into, output);
    return ByRelation(h, first, count, into, output);
  }

 private:
  // The last two dimensions are those of matrices.
  torch::Tensor Glorot(const std::string& name, torch::IntArrayRef sizes) {
    torch::Tensor parameter = register_parameter(name, torch::empty(sizes));
    const torch::NoGradGuard no_grad;
    const int64_t rows = sizes[sizes.size() - 2], cols = sizes[sizes.size() - 1];
    for (torch::Tensor& matrix : parameter.view({-1, rows, cols}).unbind(0)) {
      torch::nn::init::xavier_uniform_(matrix);
    }
    return parameter;
  }

  // In one pass over all relations.
  torch::Tensor ByBases(const torch::Tensor& h, int64_t first, const EdgesInto& into,
                        const LayerOutput& output) {
    std::shared_ptr<RelationalBlock> own;
    if (into.by_destination == nullptr) {
      own = std::make_shared<RelationalBlock>(ValueOrThrow(GroupByRelation(into.edges)));
    }
    const RelationalBlock& block = own != nullptr ? *own : *into.by_destination;
    const torch::Tensor coefficients =
        coefficients_.index_select(0, torch::tensor(into.relations, torch::kInt64));
    if (precision_ == Precision::kFloat32) {
      torch::Tensor out =
          RelationalLayer(h, block, {coefficients, bases_, self_->weight, self_->bias}, first,
                          output, into.by_source);
      KeepFor(out, own);
      return out;
    }
    const torch::Tensor rows = RelationalAggregate(h, block, coefficients, first, into.by_source);
    KeepFor(rows, own);
    const torch::Tensor side_by_side =
        torch::cat({bases_.permute({1, 0, 2}).reshape({bases_.size(1), -1}), self_->weight}, 1);
    return FinishRows(torch::linear(Rounded(rows, precision_), side_by_side), self_->bias, output);
  }

  // One product a relation, of the destinations alone that it has edges into.
  torch::Tensor ByRelation(const torch::Tensor& h, int64_t first, int64_t count,
                           const EdgesInto& into, const LayerOutput& output) {
    std::shared_ptr<RelationGroups> own;
    if (into.by_relation == nullptr) {
      own = std::make_shared<RelationGroups>(ValueOrThrow(GroupWithinRelations(into.edges)));
    }
    const RelationGroups& groups = own != nullptr ? *own : *into.by_relation;
    torch::Tensor out =
        GroupedLayer(h, groups, into.relations, {matrices_, self_->weight, self_->bias},
                     {first, count}, output, precision_, into.by_source);
    KeepFor(out, own);
    return out;
  }

  template <typename T>
  static T ValueOrThrow(StatusOr<T> value) {
    TORCH_CHECK(value.ok(), Message(value.status()));
    return *std::move(value);
  }

  const Precision precision_;
  torch::nn::Linear self_{nullptr};
  torch::Tensor coefficients_, bases_;  // [relations, bases], [bases, out, in]; or
  torch::Tensor matrices_;              // [relations, blocks, out / blocks, in / blocks]
};
TORCH_MODULE(RgcnLayer);

class Rgcn final : public Model {
 public:
  Rgcn(const RgcnOptions& options, const ModelShape& shape)
      : input_dropout_(options.input_dropout),
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
      const int64_t in = k == 0 ? inputs_->width() : options.hidden;
      dims_.push_back(last ? shape.output_dim : options.hidden);
      layers_->push_back(RgcnLayer(relations, in, dims_.back(), options, shape.precision));
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

  torch::Tensor LayerOfType(size_t k, size_t type, const StackedRows& h, const LayerInput& input) {
    const size_t types = input.layer->num_destinations.size();
    const int64_t count = input.layer->num_destinations[type];
    HiddenLayerImpl* const around =
        k + 1 < layers_->size() ? hidden_[k * types + type]->as<HiddenLayer>() : nullptr;
    torch::Tensor out = layers_[k]->as<RgcnLayer>()->forward(
        h.rows, h.first[type], count, Into(type, *input.layer, h, input.made),
        around == nullptr ? LayerOutput{} : around->OfFormula(input.draws));
    return around == nullptr ? out : around->Finish(out, h.Of(type, count), input.draws);
  }

  EdgesInto Into(size_t type, const SampledLayer& layer, const StackedRows& h,
                 const LayerBlocks::Layer* made) const {
    EdgesInto into;
    if (made != nullptr) {
      if (!made->by_relation.empty()) into.by_relation = &made->by_relation[type];
      if (!made->by_destination.empty()) into.by_destination = &made->by_destination[type];
      if (!made->transposed.empty()) into.by_source = &made->transposed[type];
    }
    for (const Block& block : layer.blocks) {
      const RelationEnds& ends = ends_[block.relation];
      if (ends.destination != static_cast<int>(type)) continue;
      into.relations.push_back(block.relation);
      into.edges.push_back({&block, h.first[ends.source]});
    }
    return into;
  }

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
