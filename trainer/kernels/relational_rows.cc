// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/kernels/relational_rows.h"

#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/relational_rows.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "trainer/kernels/weighted_rows-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

HWY_ATTR void SumGroups(const GroupedBases& bases, const ConstRows& rows, int64_t cols,
                        int64_t begin, int64_t end, const MutableRows& out) {
  WithTagFor(cols, [&](auto d) HWY_ATTR {
    const std::vector<SumVector> plan = PlanSum(d, bases.bases, cols, 0, cols);
    for (int64_t v = begin; v < end; ++v) {
      const int64_t first = bases.groups[v];
      const SumOfRows sum = {rows.data + first * rows.stride,
                             rows.stride,
                             nullptr,
                             bases.coefficients,
                             bases.bases,
                             bases.relations + first,
                             bases.groups[v + 1] - first};
      SumByPlan(d, sum, plan, out.data + v * out.stride);
    }
  });
}

HWY_ATTR void SumGroupsBack(const GroupedBases& bases, const ConstRows& rows, int64_t cols,
                            const ConstRows& grad, int64_t begin, int64_t end,
                            const MutableRows& rows_grad, float* coefficients_grad) {
  WithTagFor(cols, [&](auto d) HWY_ATTR {
    const std::vector<SumVector> plan = PlanSum(d, 1, cols, 0, 0);
    for (int64_t v = begin; v < end; ++v) {
      const float* by_basis = grad.data + v * grad.stride;
      for (int64_t group = bases.groups[v]; group < bases.groups[v + 1]; ++group) {
        const int64_t place = bases.relations[group] * bases.bases;
        const float* row = rows.data + group * rows.stride;
        for (int64_t b = 0; b < bases.bases; ++b) {
          coefficients_grad[place + b] += InnerProduct(d, row, by_basis + b * cols, cols);
        }
        if (rows_grad.data == nullptr) continue;
        const SumOfRows sum = {by_basis, cols,    nullptr,    bases.coefficients + place,
                               1,        nullptr, bases.bases};
        SumByPlan(d, sum, plan, rows_grad.data + group * rows_grad.stride);
      }
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(SumGroups);
HWY_EXPORT(SumGroupsBack);

void SumGroupsByBasis(const GroupedBases& bases, const ConstRows& rows, int64_t cols, int64_t begin,
                      int64_t end, const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(SumGroups)(bases, rows, cols, begin, end, out);
}

void SumGroupsByBasisBackward(const GroupedBases& bases, const ConstRows& rows, int64_t cols,
                              const ConstRows& grad, int64_t begin, int64_t end,
                              const MutableRows& rows_grad, float* coefficients_grad) {
  HWY_DYNAMIC_DISPATCH(SumGroupsBack)
  (bases, rows, cols, grad, begin, end, rows_grad, coefficients_grad);
}

}  // namespace halograph
#endif  // HWY_ONCE
