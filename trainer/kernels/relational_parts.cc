#include "trainer/kernels/relational_parts.h"

#include <algorithm>

namespace halograph {

torch::Tensor BackToInputs(const BlockTensors& groups, const torch::Tensor& means_grad,
                           const torch::Tensor& self_grad, int64_t first_self,
                           int64_t num_sources) {
  TransposedBlock own;
  const TransposedBlock& by_source = GivenOrMade(groups, num_sources, &own);
  const torch::Tensor grad_h = torch::empty({num_sources, means_grad.size(1)}, torch::kFloat32);
  const MutableRows out = MutableRowsOf(grad_h);
  const PickedRows picked = PickBy(by_source, means_grad);
  const bool has_self = self_grad.defined();
  const ConstRows self = has_self ? ConstRowsOf(self_grad) : ConstRows{};
  const int64_t self_begin = has_self ? first_self : 0;
  const int64_t self_end = has_self ? first_self + self_grad.size(0) : 0;
  // Rows counted from `first` on, so that row 0 has row 0 of `self` in front.
  const auto sum = [&](int64_t first, int64_t self_rows, int64_t begin, int64_t end) {
    if (begin >= end) return;
    PickedRows rest = picked;
    rest.indptr += first;
    ScaledSumOfRows(rest, by_source.reciprocals.data(), self, self_rows, begin - first, end - first,
                    {out.data + first * out.stride, out.stride});
  };
  at::parallel_for(0, num_sources, kRowGrain, [&](int64_t begin, int64_t end) {
    sum(0, 0, begin, std::min(end, self_begin));
    sum(self_begin, self_end - self_begin, std::max(begin, self_begin), end);
  });
  return grad_h;
}

}  // namespace halograph
