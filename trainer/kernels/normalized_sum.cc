#include "trainer/kernels/normalized_sum.h"

#include <cmath>
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

torch::Tensor ReciprocalRoots(const std::vector<int64_t>& degrees) {
  torch::Tensor scales = torch::empty({static_cast<int64_t>(degrees.size())}, torch::kFloat32);
  auto* out = scales.data_ptr<float>();
  for (const int64_t degree : degrees) *out++ = 1 / std::sqrt(static_cast<float>(degree + 1));
  return scales;
}

std::vector<int64_t> InDegrees(const Block& block) {
  std::vector<int64_t> degrees(block.indptr.size() - 1);
  for (size_t v = 0; v < degrees.size(); ++v) degrees[v] = block.indptr[v + 1] - block.indptr[v];
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

// Either way: row i of the result is out_scales[i] * (scales[i] rows[i] + the sum over those that
// are picked of scales[p] rows[p]). Row i itself is there for i below `own_rows`.
template <typename Rows>
struct Propagation {
  Picked<Rows> picked;
  const float* scales;
  const float* out_scales;
  int64_t own_rows;

  // Rows [begin, end); `out` begins with the first of them.
  void Fill(int64_t begin, int64_t end, const MutableRows& out) const {
    ScaledSumOfRows(Picked<Rows>{picked.indptr + begin, picked.indices, picked.rows, picked.cols},
                    scales, {}, 0, 0, end - begin, out);
    std::vector<float> room;
    for (int64_t i = begin; i < end; ++i) {
      const float factor = out_scales[i];
      float* to = out.data + (i - begin) * out.stride;
      if (i < own_rows) {
        const float own_scale = scales[i] * factor;
        const float* own = WideRow(RowAt(picked.rows, i), picked.cols, &room);
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
    if (!IsBf16(out)) return propagation.Fill(begin, end, RowsFrom(MutableRowsOf(out), begin));
    NarrowAsMade(out.size(1), begin, end, MutableBf16RowsOf(out),
                 [&](int64_t first, int64_t rows, const MutableRows& to) {
                   propagation.Fill(first, first + rows, to);
                 });
  });
}

class NormalizedSumFunction : public torch::autograd::Function<NormalizedSumFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const BlockTensors& block, const DegreeScales& scales) {
    context->save_for_backward({block.indptr, block.indices, scales.sources, scales.destinations});
    KeepBySource(context, block);
    context->saved_data["type"] = static_cast<int64_t>(h.scalar_type());
    const int64_t rows = block.num_destinations();
    torch::Tensor out = RowsWithRoom(rows, h.size(1));
    const auto sum = [&](const auto& picked) {
      SumRows(Propagation<decltype(picked.rows)>{picked, scales.sources.data_ptr<float>(),
                                                 scales.destinations.data_ptr<float>(), rows},
              out);
    };
    IsBf16(h)
        ? sum(PickedBf16Rows{block.indptr.data_ptr<int64_t>(), block.indices.data_ptr<int32_t>(),
                             ConstBf16RowsOf(h), h.size(1)})
        : sum(PickBy(block, h));
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const int64_t num_sources = saved[2].size(0);
    const torch::Tensor grad = grads[0].stride(1) == 1 ? grads[0] : grads[0].contiguous();
    TransposedBlock own;
    const TransposedBlock& by_source =
        GivenOrMade({saved[0], saved[1], KeptBySource(context)}, num_sources, &own);
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

// As ScalesByDegree, on the block's device.
DegreeScales ScalesOnDevice(const BlockOnDevice& block, const BlockOnDevice* outer,
                            int64_t num_sources) {
  const torch::Tensor degrees = DegreesOf(block);
  const torch::Tensor destinations = ReciprocalRootsOf(degrees);
  if (outer != nullptr) return {ReciprocalRootsOf(DegreesOf(*outer)), destinations};
  const int64_t own = block.num_destinations();
  const torch::Tensor ones = torch::ones({block.num_edges()}, block.indices.options());
  const torch::Tensor listed =
      torch::zeros({num_sources}, ones.options()).index_add(0, block.indices, ones);
  return {torch::cat({destinations, ReciprocalRootsOf(listed.narrow(0, own, num_sources - own))}),
          destinations};
}

}  // namespace

DegreeScales ScalesByDegree(const Block& block, const Block* outer, int64_t num_sources) {
  const std::vector<int64_t> destinations = InDegrees(block);
  if (outer != nullptr) return {ReciprocalRoots(InDegrees(*outer)), ReciprocalRoots(destinations)};
  std::vector<int64_t> sources(static_cast<size_t>(num_sources));
  for (const int32_t source : block.indices) ++sources[source];
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
  const ComposedBlock edges = ComposedBlockOf(block.indptr, block.indices, h.device());
  const int64_t rows = edges.degrees.size(0);
  const torch::Tensor scaled = h * scales.sources.unsqueeze(1);
  const torch::Tensor sums =
      SumByRow(scaled.index_select(0, edges.sources), edges.destinations, rows);
  return (sums + scaled.narrow(0, 0, rows)) * scales.destinations.unsqueeze(1);
}

}  // namespace halograph
