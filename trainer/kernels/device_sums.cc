#include "trainer/kernels/device_sums.h"

#include <limits>

namespace halograph {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// Row i: the sum of rows[picks[p]] over p in [bounds[i], bounds[i + 1]), each times factors[p], if
// there are factors.
torch::Tensor SumOfPicked(const torch::Tensor& rows, const torch::Tensor& picks,
                          const torch::Tensor& bounds, const torch::Tensor& factors = {}) {
  const int64_t count = bounds.size(0) - 1;
  if (picks.size(0) == 0 || count == 0) return torch::zeros({count, rows.size(1)}, rows.options());
  constexpr int64_t kSum = 0;
  TorchOptional<torch::Tensor> weights;
  if (factors.defined()) weights = factors;
  return std::get<0>(at::embedding_bag(rows.contiguous(), picks, bounds,
                                       /*scale_grad_by_freq=*/false, kSum, /*sparse=*/false,
                                       /*per_sample_weights=*/weights,
                                       /*include_last_offset=*/true));
}

torch::Tensor EdgesInOrder(const BlockOnDevice& block) {
  return torch::arange(block.num_edges(), block.indices.options());
}

// Of a source: the sum of rows[picks[p]] over its edges p.
torch::Tensor SumBySource(const torch::Tensor& rows, const torch::Tensor& picks,
                          const BlockOnDevice& block, const torch::Tensor& factors = {}) {
  TORCH_CHECK(block.by_source_indptr.defined(), "a block on a device has no form by source");
  return SumOfPicked(rows, picks, block.by_source_indptr, factors);
}

const BlockOnDevice& Kept(AutogradContext* context) {
  return *reinterpret_cast<const BlockOnDevice*>(context->saved_data["block"].toInt());
}
void Keep(AutogradContext* context, const BlockOnDevice& block) {
  context->saved_data["block"] = reinterpret_cast<int64_t>(&block);
}

// By source the rows of edges are those of their destinations.
class SumOfSourcesFunction : public torch::autograd::Function<SumOfSourcesFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const BlockOnDevice& block) {
    Keep(context, block);
    return SumOfPicked(h, block.indices, block.indptr, block.coefficients);
  }
  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const BlockOnDevice& block = Kept(context);
    torch::Tensor factors;
    if (block.coefficients.defined()) {
      factors = block.coefficients.index_select(0, block.by_source_edges);
    }
    return {SumBySource(grads[0], block.by_source_destinations, block, factors), torch::Tensor()};
  }
};

class RowsOfSourcesFunction : public torch::autograd::Function<RowsOfSourcesFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const BlockOnDevice& block) {
    Keep(context, block);
    return h.index_select(0, block.indices);
  }
  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const BlockOnDevice& block = Kept(context);
    return {SumBySource(grads[0], block.by_source_edges, block), torch::Tensor()};
  }
};

class RowsOfDestinationsFunction : public torch::autograd::Function<RowsOfDestinationsFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const BlockOnDevice& block) {
    Keep(context, block);
    return h.index_select(0, block.destinations);
  }
  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const BlockOnDevice& block = Kept(context);
    return {SumOfPicked(grads[0], EdgesInOrder(block), block.indptr), torch::Tensor()};
  }
};

class SumOfEdgesFunction : public torch::autograd::Function<SumOfEdgesFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& edges,
                               const BlockOnDevice& block) {
    Keep(context, block);
    return SumOfPicked(edges, EdgesInOrder(block), block.indptr);
  }
  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    return {grads[0].index_select(0, Kept(context).destinations), torch::Tensor()};
  }
};

// Of the words of a counter-based draw (common/base/rng.h), which int64 holds: products and sums
// wrap around, and shifts to the right bring zeros.
torch::Tensor ShiftedRight(const torch::Tensor& words, int64_t bits) {
  return words.bitwise_right_shift(bits).bitwise_and((int64_t{1} << (64 - bits)) - 1);
}
torch::Tensor Mixed(torch::Tensor words) {
  words = (words ^ ShiftedRight(words, 30)) * static_cast<int64_t>(0xbf58476d1ce4e5b9ULL);
  words = (words ^ ShiftedRight(words, 27)) * static_cast<int64_t>(0x94d049bb133111ebULL);
  return words ^ ShiftedRight(words, 31);
}
// kGolden * (n + 1) of n in [0, count).
torch::Tensor Steps(int64_t count, const torch::TensorOptions& options) {
  return torch::arange(1, count + 1, options) * static_cast<int64_t>(kGolden);
}

}  // namespace

torch::Tensor SumOfSources(const torch::Tensor& h, const BlockOnDevice& block) {
  return SumOfSourcesFunction::apply(h, block);
}

torch::Tensor RowsOfSources(const torch::Tensor& h, const BlockOnDevice& block) {
  return RowsOfSourcesFunction::apply(h, block);
}

torch::Tensor RowsOfDestinations(const torch::Tensor& h, const BlockOnDevice& block) {
  return RowsOfDestinationsFunction::apply(h, block);
}

torch::Tensor SumOfEdges(const torch::Tensor& edges, const BlockOnDevice& block) {
  return SumOfEdgesFunction::apply(edges, block);
}

torch::Tensor LargestOfEdges(const torch::Tensor& edges, const BlockOnDevice& block) {
  const double least = -std::numeric_limits<double>::infinity();
  return at::segment_reduce(edges.detach(), "max", /*lengths=*/{}, /*indices=*/{},
                            /*offsets=*/block.indptr.to(torch::kInt64), /*axis=*/0,
                            /*unsafe=*/true, /*initial=*/least);
}

torch::Tensor DegreesOf(const BlockOnDevice& block) {
  const int64_t rows = block.num_destinations();
  return block.indptr.narrow(0, 1, rows) - block.indptr.narrow(0, 0, rows);
}

torch::Tensor ReciprocalsOf(const BlockOnDevice& block) {
  if (!block.degrees.defined()) {
    return DegreesOf(block).clamp_min(1).to(torch::kFloat32).reciprocal();
  }
  const torch::Tensor degrees = block.degrees.narrow(0, 0, block.num_destinations());
  return torch::where(degrees > 0, degrees.reciprocal(), torch::zeros({}, degrees.options()));
}

torch::Tensor CoefficientsBySource(const BlockOnDevice& block, int64_t num_sources) {
  const torch::Tensor values = block.coefficients.unsqueeze(1);
  if (block.by_source_indptr.defined()) {
    return SumBySource(values, block.by_source_edges, block).squeeze(1);
  }
  // A stable sort is the block by source.
  const auto [sources, edges] =
      block.indices.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
  const torch::Tensor bounds =
      torch::searchsorted(sources, torch::arange(num_sources + 1, sources.options()), true);
  return SumOfPicked(values, edges.to(torch::kInt32), bounds).squeeze(1);
}

torch::Tensor KeptPlacesOn(const torch::Device& device, const Dropout& dropout, int64_t rows,
                           int64_t cols) {
  const auto options = torch::TensorOptions(torch::kInt64).device(device);
  const int64_t quads = (cols + 3) / 4;
  const torch::Tensor row_keys = Mixed(Steps(rows, options) + static_cast<int64_t>(dropout.key));
  const torch::Tensor bits = Mixed(row_keys.unsqueeze(1) + Steps(quads, options).unsqueeze(0));
  std::vector<torch::Tensor> columns;
  for (const int64_t column : {0, 1, 2, 3}) {
    columns.push_back(bits.bitwise_right_shift(16 * column).bitwise_and(0xffff) >=
                      static_cast<int64_t>(dropout.dropped));
  }
  return torch::stack(columns, 2).view({rows, 4 * quads}).narrow(1, 0, cols);
}

torch::Tensor DropOnDevice(const torch::Tensor& values, const Dropout& dropout) {
  if (dropout.dropped == 0) return values;
  const torch::Tensor kept = KeptPlacesOn(values.device(), dropout, values.size(0), values.size(1));
  return torch::where(kept, values * dropout.scale(), torch::zeros({}, values.options()));
}

torch::Tensor FinishOnDevice(const torch::Tensor& z, const LayerOutput& output) {
  return output.relu ? DropOnDevice(torch::relu(z), output.dropout) : z;
}

}  // namespace halograph
