#include "trainer/models/rgcn_layer.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "trainer/kernels/aggregate.h"
#include "trainer/kernels/basis_layer.h"
#include "trainer/kernels/finish_rows.h"
#include "trainer/kernels/linear_layer.h"
#include "trainer/kernels/relational_aggregate.h"

namespace halograph {
namespace {

// Keeps `value` for as long as a backward pass through `out` may come.
template <typename T>
void KeepFor(const torch::Tensor& out, std::shared_ptr<T> value) {
  if (value != nullptr && out.requires_grad()) out.register_hook([value](const torch::Tensor&) {});
}

// The largest number up to `wanted`, one at least, that divides both.
int64_t BlocksOf(int64_t wanted, int64_t in, int64_t out) {
  const int64_t common = std::gcd(in, out);
  int64_t blocks = std::min(std::max<int64_t>(wanted, 1), common);
  while (common % blocks != 0) --blocks;
  return blocks;
}

template <typename T>
T ValueOrThrow(StatusOr<T> value) {
  TORCH_CHECK(value.ok(), Message(value.status()));
  return *std::move(value);
}

// As it was made before the step; else it is made, and `own` has it.
const RelationalBlock& ByDestination(const EdgesInto& into, std::shared_ptr<RelationalBlock>* own) {
  if (into.by_destination != nullptr) return *into.by_destination;
  *own = std::make_shared<RelationalBlock>(ValueOrThrow(GroupByRelation(into.edges)));
  return **own;
}

// Of the relations that lead into the nodes.
torch::Tensor RowsOfRelations(const torch::Tensor& coefficients, const EdgesInto& into) {
  if (into.on_device.empty()) {
    return coefficients.index_select(0, torch::tensor(into.relations, torch::kInt64));
  }
  std::vector<torch::Tensor> rows;  // no index has to go to the device
  for (const int64_t relation : into.relations) rows.push_back(coefficients[relation]);
  return torch::stack(rows);
}

// Products of matrices on a device, of that precision: [batch, rows, in] by [batch, in, out].
torch::Tensor Products(const torch::Tensor& rows, const torch::Tensor& matrices,
                       Precision precision) {
  if (precision == Precision::kFloat32) return torch::bmm(rows, matrices);
  return torch::bmm(rows.to(torch::kBFloat16), matrices.to(torch::kBFloat16)).to(torch::kFloat32);
}

// Row v: the mean of the rows of v's sources by the relation. `rows`: of the sources.
torch::Tensor MeanOf(const torch::Tensor& rows, const RelationOnDevice& relation) {
  return Aggregate(rows, BlockRef{.on_device = relation.block}, Aggregation::kMean);
}
torch::Tensor SourcesOf(const torch::Tensor& h, const RelationOnDevice& relation) {
  return h.narrow(0, relation.sources.first, relation.sources.count);
}

// rows W^T of a block-diagonal W, [blocks, out / blocks, in / blocks].
torch::Tensor ByBlocks(const torch::Tensor& rows, const torch::Tensor& matrix,
                       Precision precision) {
  const int64_t blocks = matrix.size(0);
  const torch::Tensor cut = rows.view({rows.size(0), blocks, -1}).transpose(0, 1);
  return Products(cut, matrix.transpose(1, 2), precision)
      .transpose(0, 1)
      .reshape({rows.size(0), -1});
}

// The last two dimensions are those of matrices.
torch::Tensor GlorotValues(torch::IntArrayRef sizes) {
  torch::Tensor values = torch::empty(sizes);
  const int64_t rows = sizes[sizes.size() - 2], cols = sizes[sizes.size() - 1];
  for (torch::Tensor& matrix : values.view({-1, rows, cols}).unbind(0)) {
    torch::nn::init::xavier_uniform_(matrix);
  }
  return values;
}

}  // namespace

RgcnLayerImpl::RgcnLayerImpl(int64_t relations, int64_t in, int64_t out, const RgcnOptions& options,
                             Precision precision)
    : precision_(precision), self_(register_module("self", torch::nn::Linear(in, out))) {
  if (options.bases > 0) {
    coefficients_ = register_parameter("coefficients", GlorotValues({relations, options.bases}));
    bases_ = register_parameter("bases", GlorotValues({options.bases, out, in}));
  } else {
    const int64_t blocks = BlocksOf(options.blocks, in, out);
    matrices_ = register_parameter("relations",
                                   GlorotValues({relations, blocks, out / blocks, in / blocks}));
  }
}

torch::Tensor RgcnLayerImpl::forward(const torch::Tensor& h, const LayerNodes& nodes,
                                     const EdgesInto& into, const LayerOutput& output) {
  if (into.edges.empty()) {
    return LinearLayer(h.narrow(0, nodes.first, nodes.count), self_->weight, self_->bias, output,
                       precision_);
  }
  if (!into.on_device.empty()) return OnDevice(h, nodes, into, output);
  if (bases_.defined()) return ByBases(h, nodes.first, into, output);
  return ByRelation(h, nodes, into, output);
}

torch::Tensor RgcnLayerImpl::OnDevice(const torch::Tensor& h, const LayerNodes& nodes,
                                      const EdgesInto& into, const LayerOutput& output) {
  torch::Tensor z = LinearLayer(h.narrow(0, nodes.first, nodes.count), self_->weight,
                                torch::Tensor(), {}, precision_);
  std::vector<torch::Tensor> means;
  for (const RelationOnDevice& relation : into.on_device) {
    means.push_back(MeanOf(SourcesOf(h, relation), relation));
  }
  if (bases_.defined()) {
    const torch::Tensor by_relation = torch::stack(means).view({std::ssize(means), -1});
    const torch::Tensor by_basis = torch::mm(RowsOfRelations(coefficients_, into).t(), by_relation)
                                       .view({bases_.size(0), nodes.count, -1});
    const torch::Tensor sums = Products(by_basis, bases_.transpose(1, 2), precision_);
    return FinishRows(z + sums.sum(0), self_->bias, output);
  }
  for (size_t i = 0; i < means.size(); ++i) {
    z = z + ByBlocks(means[i], matrices_[into.relations[i]], precision_);
  }
  return FinishRows(z, self_->bias, output);
}

// In one pass over all relations.
torch::Tensor RgcnLayerImpl::ByBases(const torch::Tensor& h, int64_t first, const EdgesInto& into,
                                     const LayerOutput& output) {
  std::shared_ptr<RelationalBlock> own;
  const RelationalBlock& block = ByDestination(into, &own);
  const torch::Tensor coefficients = RowsOfRelations(coefficients_, into);
  if (precision_ == Precision::kFloat32) {
    torch::Tensor out =
        RelationalLayer(h, block, {coefficients, bases_, self_->weight, self_->bias}, first, output,
                        into.by_source);
    KeepFor(out, own);
    return out;
  }
  const torch::Tensor rows = RelationalAggregate(h, block, coefficients, first, into.by_source);
  KeepFor(rows, own);
  const torch::Tensor side_by_side =
      torch::cat({bases_.permute({1, 0, 2}).reshape({bases_.size(1), -1}), self_->weight}, 1);
  return LinearLayer(rows, side_by_side, self_->bias, output, precision_);
}

// One product a relation, of the destinations alone that it has edges into.
torch::Tensor RgcnLayerImpl::ByRelation(const torch::Tensor& h, const LayerNodes& nodes,
                                        const EdgesInto& into, const LayerOutput& output) {
  std::shared_ptr<RelationGroups> own;
  if (into.by_relation == nullptr) {
    own = std::make_shared<RelationGroups>(ValueOrThrow(GroupWithinRelations(into.edges)));
  }
  const RelationGroups& groups = own != nullptr ? *own : *into.by_relation;
  torch::Tensor out =
      GroupedLayer(h, groups, into.relations, {matrices_, self_->weight, self_->bias}, nodes,
                   output, precision_, into.by_source);
  KeepFor(out, own);
  return out;
}

OneHotLayerImpl::OneHotLayerImpl(int64_t relations, int64_t cols, const RgcnOptions& options)
    : bases_(options.bases > 0 ? options.bases : relations), cols_(cols) {
  if (options.bases == 0) return;
  coefficients_ = register_parameter("coefficients", GlorotValues({relations, bases_}));
}

torch::Tensor OneHotLayerImpl::forward(const torch::Tensor& rows, const LayerNodes& nodes,
                                       const EdgesInto& into, const LayerOutput& output) {
  torch::Tensor sums;
  if (into.edges.empty()) {
    sums = Own(rows, nodes).contiguous();
  } else if (!into.on_device.empty()) {
    sums = Own(rows, nodes);
    for (size_t i = 0; i < into.on_device.size(); ++i) {
      const RelationOnDevice& relation = into.on_device[i];
      sums = sums + MeanOf(OfRelation(SourcesOf(rows, relation), into.relations[i]), relation);
    }
  } else {
    std::shared_ptr<RelationalBlock> own;
    BasisWeights weights{.bases = bases_};
    if (coefficients_.defined()) {
      weights.coefficients = RowsOfRelations(coefficients_, into);
    } else {
      weights.basis_of = into.relations;
    }
    sums = BasisLayer(rows, ByDestination(into, &own), weights, nodes.first, into.by_source);
    KeepFor(sums, own);
  }
  return FinishRows(sums, torch::zeros({cols_}, sums.options()), output);
}

torch::Tensor OneHotLayerImpl::OfRelation(const torch::Tensor& rows, int64_t relation) const {
  if (!coefficients_.defined()) return rows.narrow(1, relation * cols_, cols_);
  const torch::Tensor by_basis = rows.narrow(1, 0, bases_ * cols_).view({-1, bases_, cols_});
  return (by_basis * coefficients_[relation].view({1, bases_, 1})).sum(1);
}

}  // namespace halograph
