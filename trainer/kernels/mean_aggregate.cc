#include "trainer/kernels/mean_aggregate.h"

#include "trainer/kernels/block_tensors.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/blocks/gather_rows.h"

namespace halograph {
namespace {

class MeanFunction : public torch::autograd::Function<MeanFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const torch::Tensor& indptr, const torch::Tensor& indices) {
    CheckLayerInput(h, "MeanAggregate");
    context->save_for_backward({indptr, indices});
    context->saved_data["num_sources"] = h.size(0);
    const int64_t rows = indptr.size(0) - 1;
    torch::Tensor out = torch::empty({rows, h.size(1)}, h.options().requires_grad(false));
    const PickedRows picked = {indptr.data_ptr<int64_t>(), indices.data_ptr<int32_t>(),
                               ConstRowsOf(h), h.size(1)};
    const MutableRows means = MutableRowsOf(out);
    at::parallel_for(0, rows, kRowGrain,
                     [&](int64_t begin, int64_t end) { MeanOfRows(picked, begin, end, means); });
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const int64_t num_sources = context->saved_data["num_sources"].toInt();
    const torch::Tensor grad_out = grads[0].contiguous();
    const TransposedBlock by_source = Transpose(saved[0].data_ptr<int64_t>(), saved[0].size(0) - 1,
                                                saved[1].data_ptr<int32_t>(), num_sources);
    torch::Tensor grad_h = torch::empty({num_sources, grad_out.size(1)}, grad_out.options());
    const PickedRows picked = {by_source.indptr.data(), by_source.destinations.data(),
                               ConstRowsOf(grad_out), grad_out.size(1)};
    const MutableRows sums = MutableRowsOf(grad_h);
    at::parallel_for(0, num_sources, kRowGrain, [&](int64_t begin, int64_t end) {
      ScaledSumOfRows(picked, by_source.reciprocals.data(), {}, 0, begin, end, sums);
    });
    return {grad_h, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor MeanAggregate(const torch::Tensor& h, const Block& block) {
  const BlockTensors tensors = TensorsOf(block);
  return MeanFunction::apply(h, tensors.indptr, tensors.indices);
}

}  // namespace halograph
