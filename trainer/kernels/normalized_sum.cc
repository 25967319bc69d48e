#include "trainer/kernels/normalized_sum.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "trainer/blocks/self_and_mean.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/dense_products.h"
#include "trainer/kernels/device_sums.h"

namespace halograph {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// Exact for counts, so that those give the bits of integers.
torch::Tensor ReciprocalRoots(const std::vector<double>& degrees) {
  torch::Tensor scales = torch::empty({static_cast<int64_t>(degrees.size())}, torch::kFloat32);
  auto* out = scales.data_ptr<float>();
  for (const double degree : degrees) *out++ = 1 / std::sqrt(static_cast<float>(degree + 1));
  return scales;
}

// Of the destinations.
std::vector<double> InDegrees(const Block& block) {
  const size_t rows = block.indptr.size() - 1;
  CheckFactors(block.indices.size(), rows, block.coefficients, block.degrees);
  if (!block.degrees.empty()) return {block.degrees.begin(), block.degrees.begin() + rows};
  std::vector<double> degrees(rows);
  for (size_t v = 0; v < rows; ++v) {
    const int64_t begin = block.indptr[v], end = block.indptr[v + 1];
    degrees[v] = block.coefficients.empty()
                     ? static_cast<double>(end - begin)
                     : std::accumulate(block.coefficients.begin() + begin,
                                       block.coefficients.begin() + end, 0.0);
  }
  return degrees;
}

// A row as float32: itself, or made in `room`.
const float* WideRow(const float* row, int64_t /*cols*/, std::vector<float>* /*room*/) {
  return row;
}
const float* WideRow(const uint16_t* row, int64_t cols, std::vector<float>* room) {
  room->resize(static_cast<size_t>(cols));
  WidenBf16(row, cols, room->data());
  return room->data();
}

// Throws unless degrees that a block gives are those of all of its sources.
void CheckDegreesOfSources(int64_t degrees, int64_t num_sources) {
  TORCH_CHECK(degrees == num_sources, "the block has degrees of ", degrees, " nodes and ",
              num_sources, " sources: the propagation divides by those of all");
}

// Either way: row i of the result is out_scales[i] * (scales[i] rows[i] + the sum over those that
// are picked of scales[p] rows[p]). Row i itself is there for i below `own_rows`.
template <typename Rows>
struct Propagation {
  Picked<Rows> picked;
  const float* scales;
  const float* out_scales;
  int64_t own_rows;

  // Rows [begin, end); `out` begins with the first of them. `room`: used again.
  void Fill(int64_t begin, int64_t end, const MutableRows& out, std::vector<float>* room) const {
    ScaledSumOfRows(picked.From(begin), scales, {}, 0, 0, end - begin, out);
    for (int64_t i = begin; i < end; ++i) {
      const float factor = out_scales[i];
      float* to = out.data + (i - begin) * out.stride;
      if (i < own_rows) {
        const float own_scale = scales[i] * factor;
        const float* own = WideRow(RowAt(picked.rows, i), picked.cols, room);
        for (int64_t c = 0; c < picked.cols; ++c) to[c] = to[c] * factor + own[c] * own_scale;
      } else {
        for (int64_t c = 0; c < picked.cols; ++c) to[c] *= factor;
      }
    }
  }
};

// Fills the rows of `out`, of float32, or of bfloat16, rounded once.
template <typename Rows>
void SumRows(const Propagation<Rows>& propagation, const torch::Tensor& out) {
  at::parallel_for(0, out.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    std::vector<float> room;
    if (!IsBf16(out)) {
      return propagation.Fill(begin, end, RowsFrom(MutableRowsOf(out), begin), &room);
    }
    NarrowAsMade(out.size(1), begin, end, MutableBf16RowsOf(out),
                 [&](int64_t first, int64_t rows, const MutableRows& to) {
                   propagation.Fill(first, first + rows, to, &room);
                 });
  });
}

class NormalizedSumFunction : public torch::autograd::Function<NormalizedSumFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const BlockTensors& block, const DegreeScales& scales) {
    context->save_for_backward({block.indptr, block.indices, scales.sources, scales.destinations});
    KeepRestOf(context, block);
    context->saved_data["type"] = static_cast<int64_t>(h.scalar_type());
    const int64_t rows = block.num_destinations();
    torch::Tensor out = RowsWithRoom(rows, h.size(1));
    const auto sum = [&](const auto& picked) {
      SumRows(Propagation<decltype(picked.rows)>{picked, scales.sources.data_ptr<float>(),
                                                 scales.destinations.data_ptr<float>(), rows},
              out);
    };
    IsBf16(h) ? sum(PickBy(block, ConstBf16RowsOf(h), h.size(1))) : sum(PickBy(block, h));
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const int64_t num_sources = saved[2].size(0);
    const torch::Tensor grad = grads[0].stride(1) == 1 ? grads[0] : grads[0].contiguous();
    TransposedBlock own;
    const TransposedBlock& by_source =
        GivenOrMade(KeptBlock(context, saved[0], saved[1]), num_sources, &own);
    torch::Tensor grad_h =
        torch::empty({num_sources, grad.size(1)},
                     static_cast<torch::ScalarType>(context->saved_data["type"].toInt()));
    SumRows(Propagation<ConstRows>{PickBy(by_source, grad), saved[3].data_ptr<float>(),
                                   saved[2].data_ptr<float>(), grad.size(0)},
            grad_h);
    return {grad_h, torch::Tensor(), torch::Tensor()};
  }
};

torch::Tensor ReciprocalRootsOf(const torch::Tensor& degrees) {
  return (degrees + 1).to(torch::kFloat32).sqrt().reciprocal();
}

// Of the destinations.
torch::Tensor InDegreesOnDevice(const BlockOnDevice& block) {
  if (block.degrees.defined()) return block.degrees.narrow(0, 0, block.num_destinations());
  if (!block.coefficients.defined()) return DegreesOf(block);
  return SumOfEdges(block.coefficients.unsqueeze(1), block).squeeze(1);
}

// Of each source the times that it is listed, or the sum of the coefficients of these edges.
torch::Tensor ListedOnDevice(const BlockOnDevice& block, int64_t num_sources) {
  if (block.coefficients.defined()) return CoefficientsBySource(block, num_sources);
  const torch::Tensor ones = torch::ones({block.num_edges()}, block.indices.options());
  return torch::zeros({num_sources}, ones.options()).index_add(0, block.indices, ones);
}

// As ScalesByDegree, on the block's device.
DegreeScales ScalesOnDevice(const BlockOnDevice& block, const BlockOnDevice* outer,
                            int64_t num_sources) {
  const torch::Tensor destinations = ReciprocalRootsOf(InDegreesOnDevice(block));
  if (block.degrees.defined()) {
    CheckDegreesOfSources(block.degrees.size(0), num_sources);
    return {ReciprocalRootsOf(block.degrees), destinations};
  }
  if (outer != nullptr) return {ReciprocalRootsOf(InDegreesOnDevice(*outer)), destinations};
  const int64_t own = block.num_destinations();
  const torch::Tensor listed = ListedOnDevice(block, num_sources);
  return {torch::cat({destinations, ReciprocalRootsOf(listed.narrow(0, own, num_sources - own))}),
          destinations};
}

}  // namespace

DegreeScales ScalesByDegree(const Block& block, const Block* outer, int64_t num_sources) {
  const std::vector<double> destinations = InDegrees(block);
  if (!block.degrees.empty()) {
    CheckDegreesOfSources(static_cast<int64_t>(block.degrees.size()), num_sources);
    return {ReciprocalRoots({block.degrees.begin(), block.degrees.end()}),
            ReciprocalRoots(destinations)};
  }
  if (outer != nullptr) return {ReciprocalRoots(InDegrees(*outer)), ReciprocalRoots(destinations)};
  std::vector<double> sources(static_cast<size_t>(num_sources));
  for (size_t e = 0; e < block.indices.size(); ++e) {
    sources[block.indices[e]] += block.coefficients.empty() ? 1 : block.coefficients[e];
  }
  std::copy(destinations.begin(), destinations.end(), sources.begin());
  return {ReciprocalRoots(sources), ReciprocalRoots(destinations)};
}

torch::Tensor NormalizedSum(const torch::Tensor& h, const Block& block, const DegreeScales& scales,
                            const TransposedBlock* by_source) {
  TORCH_CHECK(h.dim() == 2 && (h.scalar_type() == torch::kFloat32 || IsBf16(h)) &&
                  h.device().is_cpu() && (h.size(1) <= 1 || h.stride(1) == 1),
              "NormalizedSum needs a matrix of float32 or bfloat16 on the CPU, row after row");
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  TORCH_CHECK(scales.sources.size(0) == h.size(0) && scales.destinations.size(0) == rows,
              "NormalizedSum: scales of ", scales.sources.size(0), " sources and ",
              scales.destinations.size(0), " destinations for ", h.size(0), " and ", rows);
  return NormalizedSumFunction::apply(h, TensorsOf(block, by_source), scales);
}

torch::Tensor NormalizedByDegree(const torch::Tensor& h, const BlockRef& block,
                                 const BlockRef& outer) {
  if (block.on_device == nullptr) {
    return NormalizedSum(h, *block.block, ScalesByDegree(*block.block, outer.block, h.size(0)),
                         block.by_source);
  }
  const DegreeScales scales = ScalesOnDevice(*block.on_device, outer.on_device, h.size(0));
  const torch::Tensor scaled = h.to(torch::kFloat32) * scales.sources.unsqueeze(1);
  const torch::Tensor own = scaled.narrow(0, 0, block.on_device->num_destinations());
  return (SumOfSources(scaled, *block.on_device) + own) * scales.destinations.unsqueeze(1);
}

torch::Tensor ComposedNormalizedSum(const torch::Tensor& h, const Block& block,
                                    const DegreeScales& scales) {
  const ComposedBlock edges = ComposedBlockOf(block, h.device());
  const int64_t rows = edges.degrees.size(0);
  const torch::Tensor scaled = h * scales.sources.unsqueeze(1);
  return (SumOfSourcesBy(edges, scaled) + scaled.narrow(0, 0, rows)) *
         scales.destinations.unsqueeze(1);
}

}  // namespace halograph
