// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/kernels/basis_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/basis_rows.cc"
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

// to += weight * from, of `width` values. Requires width >= lanes of `d`.
template <class D>
HWY_ATTR void AddScaled(D d, const float* from, float weight, int64_t width, float* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto weights = hn::Set(d, weight);
  int64_t c = 0;
  for (; c + lanes <= width; c += lanes) {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, from + c), weights, hn::LoadU(d, to + c)), d, to + c);
  }
  if (c == width) return;
  // A vector that ends with the row, of which the last values are new.
  const int64_t at = width - lanes;
  const auto before = hn::LoadU(d, to + at);
  const auto sum = hn::MulAdd(hn::LoadU(d, from + at), weights, before);
  const auto done = hn::FirstN(d, static_cast<size_t>(c - at));
  hn::StoreU(hn::IfThenElse(done, before, sum), d, to + at);
}

HWY_ATTR float Reciprocal(const BasisGroups& of, int64_t group) {
  if (of.degrees == nullptr) {
    return 1.0F / static_cast<float>(of.indptr[group + 1] - of.indptr[group]);
  }
  return of.degrees[group] > 0 ? 1.0F / of.degrees[group] : 0.0F;
}

// What edge e of a group counts. Without coefficients nothing is read of the edge.
template <bool kWithCoefficients>
HWY_INLINE float ShareOf(const float* edge_coefficients, int64_t e, float reciprocal) {
  if constexpr (kWithCoefficients) return edge_coefficients[e] * reciprocal;
  return reciprocal;
}

// Calls `use(basis, weight)` for each basis that the group takes, with what a source counts in it.
template <class Use>
HWY_ATTR void ForEachBasis(const BasisGroups& of, int64_t group, float reciprocal, const Use& use) {
  const int32_t relation = of.relations[group];
  if (of.coefficients == nullptr) return use(of.basis_of[relation], reciprocal);
  const float* const coefficients = of.coefficients + relation * of.bases;
  for (int64_t b = 0; b < of.bases; ++b) use(b, coefficients[b] * reciprocal);
}

template <bool kWithCoefficients>
HWY_ATTR void AddBy(const BasisGroups& of, const ConstRows& rows, int64_t begin, int64_t end,
                    const MutableRows& out) {
  WithTagFor(of.cols, [&](auto d) HWY_ATTR {
    for (int64_t v = begin; v < end; ++v) {
      float* const to = out.data + v * out.stride;
      for (int64_t group = of.groups[v]; group < of.groups[v + 1]; ++group) {
        const float reciprocal = Reciprocal(of, group);
        for (int64_t e = of.indptr[group]; e < of.indptr[group + 1]; ++e) {
          const float* const row = rows.data + of.sources[e] * rows.stride;
          const float share = ShareOf<kWithCoefficients>(of.edge_coefficients, e, reciprocal);
          ForEachBasis(of, group, share, [&](int64_t basis, float weight) HWY_ATTR {
            AddScaled(d, row + basis * of.cols, weight, of.cols, to);
          });
        }
      }
    }
  });
}

template <bool kWithCoefficients>
HWY_ATTR void AddBackBy(const BasisGroups& of, const GroupsOfSources& by_source,
                        const ConstRows& grad, int64_t begin, int64_t end,
                        const MutableRows& rows_grad) {
  WithTagFor(of.cols, [&](auto d) HWY_ATTR {
    for (int64_t u = begin; u < end; ++u) {
      float* const to = rows_grad.data + u * rows_grad.stride;
      for (int64_t e = by_source.indptr[u]; e < by_source.indptr[u + 1]; ++e) {
        const int64_t group = by_source.groups[e];
        const float* const row = grad.data + by_source.destinations[group] * grad.stride;
        const float share =
            ShareOf<kWithCoefficients>(by_source.edge_coefficients, e, Reciprocal(of, group));
        ForEachBasis(of, group, share, [&](int64_t basis, float weight) HWY_ATTR {
          AddScaled(d, row, weight, of.cols, to + basis * of.cols);
        });
      }
    }
  });
}

template <bool kWithCoefficients>
HWY_ATTR void AddProductsBy(const BasisGroups& of, const ConstRows& rows, const ConstRows& grad,
                            int64_t begin, int64_t end, float* coefficients_grad) {
  WithTagFor(of.cols, [&](auto d) HWY_ATTR {
    for (int64_t v = begin; v < end; ++v) {
      const float* const of_out = grad.data + v * grad.stride;
      for (int64_t group = of.groups[v]; group < of.groups[v + 1]; ++group) {
        const float reciprocal = Reciprocal(of, group);
        float* const to = coefficients_grad + of.relations[group] * of.bases;
        for (int64_t e = of.indptr[group]; e < of.indptr[group + 1]; ++e) {
          const float* const row = rows.data + of.sources[e] * rows.stride;
          const float share = ShareOf<kWithCoefficients>(of.edge_coefficients, e, reciprocal);
          for (int64_t b = 0; b < of.bases; ++b) {
            to[b] += share * InnerProduct(d, row + b * of.cols, of_out, of.cols);
          }
        }
      }
    }
  });
}

HWY_ATTR void Add(const BasisGroups& of, const ConstRows& rows, int64_t begin, int64_t end,
                  const MutableRows& out) {
  if (of.edge_coefficients == nullptr) return AddBy<false>(of, rows, begin, end, out);
  AddBy<true>(of, rows, begin, end, out);
}
HWY_ATTR void AddBack(const BasisGroups& of, const GroupsOfSources& by_source,
                      const ConstRows& grad, int64_t begin, int64_t end,
                      const MutableRows& rows_grad) {
  if (of.edge_coefficients == nullptr) {
    return AddBackBy<false>(of, by_source, grad, begin, end, rows_grad);
  }
  AddBackBy<true>(of, by_source, grad, begin, end, rows_grad);
}
HWY_ATTR void AddProducts(const BasisGroups& of, const ConstRows& rows, const ConstRows& grad,
                          int64_t begin, int64_t end, float* coefficients_grad) {
  if (of.edge_coefficients == nullptr) {
    return AddProductsBy<false>(of, rows, grad, begin, end, coefficients_grad);
  }
  AddProductsBy<true>(of, rows, grad, begin, end, coefficients_grad);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Add);
HWY_EXPORT(AddBack);
HWY_EXPORT(AddProducts);

void AddBasisRows(const BasisGroups& of, const ConstRows& rows, int64_t begin, int64_t end,
                  const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(Add)(of, rows, begin, end, out);
}

void AddBasisRowsBackward(const BasisGroups& of, const GroupsOfSources& by_source,
                          const ConstRows& grad, int64_t begin, int64_t end,
                          const MutableRows& rows_grad) {
  HWY_DYNAMIC_DISPATCH(AddBack)(of, by_source, grad, begin, end, rows_grad);
}

void AddCoefficientsGradient(const BasisGroups& of, const ConstRows& rows, const ConstRows& grad,
                             int64_t begin, int64_t end, float* coefficients_grad) {
  HWY_DYNAMIC_DISPATCH(AddProducts)(of, rows, grad, begin, end, coefficients_grad);
}

}  // namespace halograph
#endif  // HWY_ONCE
