#include "trainer/kernels/mean_aggregate.h"

#include <vector>

namespace halograph {
namespace {

// Rows that one thread takes at a time: small enough to even out degrees.
constexpr int64_t kGrain = 64;

struct Csc {
  const int64_t* indptr;
  const int32_t* indices;
  int64_t rows;
};

Csc ViewOf(const torch::Tensor& indptr, const torch::Tensor& indices) {
  return {indptr.data_ptr<int64_t>(), indices.data_ptr<int32_t>(), indptr.size(0) - 1};
}

void AddRow(const float* source, float scale, int64_t dim, float* sum) {
  for (int64_t d = 0; d < dim; ++d) sum[d] += scale * source[d];
}

void MeanForward(const Csc& csc, const float* h, int64_t dim, float* out) {
  at::parallel_for(0, csc.rows, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* sum = out + row * dim;
      const int64_t degree = csc.indptr[row + 1] - csc.indptr[row];
      for (int64_t edge = csc.indptr[row]; edge < csc.indptr[row + 1]; ++edge) {
        AddRow(h + csc.indices[edge] * dim, 1.0F, dim, sum);
      }
      const float scale = degree > 0 ? 1.0F / static_cast<float>(degree) : 0.0F;
      for (int64_t d = 0; d < dim; ++d) sum[d] *= scale;
    }
  });
}

// Per source the destinations that it is listed at, ascending.
struct Transposed {
  std::vector<int64_t> indptr;
  std::vector<int32_t> destinations;
};

Transposed Transpose(const Csc& csc, int64_t num_sources) {
  Transposed t{std::vector<int64_t>(num_sources + 1),
               std::vector<int32_t>(csc.indptr[csc.rows] - csc.indptr[0])};
  for (int64_t edge = csc.indptr[0]; edge < csc.indptr[csc.rows]; ++edge) {
    ++t.indptr[csc.indices[edge] + 1];
  }
  for (int64_t source = 0; source < num_sources; ++source) {
    t.indptr[source + 1] += t.indptr[source];
  }
  std::vector<int64_t> next(t.indptr.begin(), t.indptr.end() - 1);
  for (int64_t row = 0; row < csc.rows; ++row) {
    for (int64_t edge = csc.indptr[row]; edge < csc.indptr[row + 1]; ++edge) {
      t.destinations[next[csc.indices[edge]]++] = static_cast<int32_t>(row);
    }
  }
  return t;
}

void MeanBackward(const Csc& csc, const float* grad_out, int64_t dim, int64_t num_sources,
                  float* grad_h) {
  const Transposed t = Transpose(csc, num_sources);
  at::parallel_for(0, num_sources, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t source = begin; source < end; ++source) {
      for (int64_t i = t.indptr[source]; i < t.indptr[source + 1]; ++i) {
        const int64_t row = t.destinations[i];
        const auto degree = static_cast<float>(csc.indptr[row + 1] - csc.indptr[row]);
        AddRow(grad_out + row * dim, 1.0F / degree, dim, grad_h + source * dim);
      }
    }
  });
}

class MeanFunction : public torch::autograd::Function<MeanFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const torch::Tensor& indptr, const torch::Tensor& indices) {
    TORCH_CHECK(h.dim() == 2 && h.is_contiguous() && h.scalar_type() == torch::kFloat32,
                "MeanAggregate needs a contiguous float32 matrix");
    context->save_for_backward({indptr, indices});
    context->saved_data["num_sources"] = h.size(0);
    const Csc csc = ViewOf(indptr, indices);
    torch::Tensor out = torch::zeros({csc.rows, h.size(1)}, h.options().requires_grad(false));
    MeanForward(csc, h.data_ptr<float>(), h.size(1), out.data_ptr<float>());
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const int64_t num_sources = context->saved_data["num_sources"].toInt();
    const torch::Tensor grad_out = grads[0].contiguous();
    torch::Tensor grad_h = torch::zeros({num_sources, grad_out.size(1)}, grad_out.options());
    MeanBackward(ViewOf(saved[0], saved[1]), grad_out.data_ptr<float>(), grad_out.size(1),
                 num_sources, grad_h.data_ptr<float>());
    return {grad_h, torch::Tensor(), torch::Tensor()};
  }
};

template <typename T>
torch::Tensor View(const std::vector<T>& values, torch::ScalarType type) {
  return torch::from_blob(const_cast<T*>(values.data()), {static_cast<int64_t>(values.size())},
                          type);
}

}  // namespace

torch::Tensor MeanAggregate(const torch::Tensor& h, const Block& block) {
  return MeanFunction::apply(h, View(block.indptr, torch::kInt64),
                             View(block.indices, torch::kInt32));
}

}  // namespace halograph
