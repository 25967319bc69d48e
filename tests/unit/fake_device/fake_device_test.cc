// What the fake device computes is what the CPU computes, forward and backward, in any order.
#include "tests/support/fake_device/fake_device.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "tests/support/fake_device/bits.h"
#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

INSTANTIATE_TEST_SUITE_P(Orders, FakeOrdersTest, testing::ValuesIn(FakeOrder::All()), NameOfOrder);

// Of the host, and the same for the CPU's run and the device's.
class Inputs {
 public:
  // Copied to the device, with a gradient.
  torch::Tensor Weights(at::IntArrayRef sizes, torch::Device device) {
    return Floats(sizes).to(device).requires_grad_();
  }
  torch::Tensor Floats(at::IntArrayRef sizes) { return torch::randn(sizes, generator_); }
  torch::Tensor Indices(int64_t below, at::IntArrayRef sizes) {
    return torch::randint(below, sizes, generator_, torch::kLong);
  }

 private:
  at::Generator generator_ = at::detail::createCPUGenerator(5);
};

// The results, and the gradients of a weighted sum of them.
Tensors WithGradients(const Tensors& results, const Tensors& inputs) {
  torch::Tensor sum = torch::zeros({}, results.front().options());
  for (size_t i = 0; i < results.size(); ++i) {
    sum = sum + (results[i] * results[i]).sum() * static_cast<double>(i + 1);
  }
  Tensors all = results;
  for (const auto& gradient : torch::autograd::grad({sum}, inputs)) all.push_back(gradient);
  return all;
}

TEST_P(FakeOrdersTest, ProductsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto a = inputs.Weights({7, 5}, device);
    const auto b = inputs.Weights({5, 9}, device);
    const auto bias = inputs.Weights({9}, device);
    const auto batches = inputs.Weights({3, 4, 5}, device);
    return WithGradients({a.matmul(b), torch::addmm(bias, a, b), torch::linear(a, b.t(), bias),
                          batches.matmul(b), a.mv(b.select(1, 2)), a.t().mm(a)},
                         {a, b, bias, batches});
  });
}

TEST_P(FakeOrdersTest, PointwiseOperationsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto a = inputs.Weights({6, 8}, device);
    const auto b = inputs.Weights({8}, device);
    auto in_place = a * 2;
    in_place.add_(b).mul_(0.5).relu_();
    return WithGradients({a + b, a - 3, a * b, a / (b * b + 1), a.exp(), (a * a + 1).log(),
                          a.tanh(), a.sigmoid(), a.relu(), torch::leaky_relu(a, 0.2), torch::elu(a),
                          torch::where(a > b, a, b), a.clamp(-1, 1), torch::maximum(a, b),
                          a.abs().sqrt(), a.pow(3), in_place, a.masked_fill(a.lt(0), 7.0)},
                         {a, b});
  });
}

TEST_P(FakeOrdersTest, ReductionsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto a = inputs.Weights({33, 17}, device);
    Tensors results = WithGradients({a.sum(), a.sum(0), a.mean(1), a.amax(1), std::get<0>(a.max(1)),
                                     a.norm(), a.var(0), a.logsumexp(1)},
                                    {a});
    for (const auto& more : {a.argmax(1), a.gt(0).sum(), a.gt(9).any(), a.detach().max()}) {
      results.push_back(more);
    }
    return results;
  });
}

TEST_P(FakeOrdersTest, SoftmaxAndLossesHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    namespace F = torch::nn::functional;
    Inputs inputs;
    const auto scores = inputs.Weights({12, 4}, device);
    const auto classes = inputs.Indices(4, {12}).to(device);
    const auto wanted = inputs.Floats({12, 4}).sigmoid().to(device);
    return WithGradients(
        {scores.softmax(1), scores.log_softmax(1), torch::nll_loss(scores.log_softmax(1), classes),
         F::cross_entropy(scores, classes), F::binary_cross_entropy_with_logits(scores, wanted),
         F::mse_loss(scores, wanted)},
        {scores});
  });
}

TEST_P(FakeOrdersTest, IndexedReadsAndWritesHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto table = inputs.Weights({10, 3}, device);
    const auto rows = inputs.Weights({20, 3}, device);
    const auto ids = inputs.Indices(10, {20}).to(device);
    const auto wide = ids.unsqueeze(1).expand({20, 3});
    const auto zeros = torch::zeros_like(table);
    return WithGradients(
        {table.index_select(0, ids), torch::embedding(table, ids), table.index({ids}),
         table.index_put({ids}, rows, true), zeros.index_add(0, ids, rows), table.gather(0, wide),
         zeros.scatter_add(0, wide, rows), table.index_select(0, ids.to(torch::kInt)),
         table.index({inputs.Indices(10, {4})})},
        {table, rows});
  });
}

TEST_P(FakeOrdersTest, ViewsAndJoinsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto a = inputs.Weights({6, 4}, device);
    const auto b = inputs.Weights({2, 4}, device);
    auto written = torch::zeros({6, 4}, a.options().requires_grad(false));
    written.narrow(0, 1, 2).copy_(b.detach());
    written.t().select(0, 3).fill_(5);
    const auto halves = a.chunk(2, 1);
    return WithGradients(
        {torch::cat({a, b}), torch::stack({b, b * 2}, 1), a.narrow(0, 2, 3), a.t().reshape({-1}),
         a.view({3, 8}), halves[0] * halves[1], a.unfold(0, 3, 2), a.flip({0}), b.repeat({2, 2}),
         a.t().contiguous(), written * a},
        {a, b});
  });
}

TEST_P(FakeOrdersTest, SortsAndRunningSumsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto ids = inputs.Indices(5, {40}).to(device);
    const auto sorted = ids.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
    const auto a = inputs.Weights({5, 6}, device);
    Tensors results =
        WithGradients({a.cumsum(0), std::get<0>(a.sort(1)), std::get<0>(a.topk(2, 1))}, {a});
    const auto starts = std::get<0>(sorted).diff().ne(0).to(torch::kLong);
    const auto places = torch::arange(39, starts.options());
    for (const auto& more : {std::get<0>(sorted), std::get<1>(sorted), ids.cumsum(0),
                             std::get<0>((places * starts).cummax(0))}) {
      results.push_back(more);
    }
    return results;
  });
}

TEST_P(FakeOrdersTest, SegmentReductionsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto rows = inputs.Weights({9, 3}, device);
    const auto lengths = torch::tensor({4, 0, 3, 2}).to(device);
    const auto offsets = torch::tensor({0, 4, 4, 7, 9}).to(device);
    Tensors results;
    for (const auto* const how : {"sum", "mean", "max"}) {
      results.push_back(torch::segment_reduce(rows, how, lengths, {}, {}, 0, true, 0));
      results.push_back(torch::segment_reduce(rows, how, {}, {}, offsets, 0, true, 0));
      // It looks at the lengths before it begins.
      results.push_back(torch::segment_reduce(rows, how, lengths, {}, {}, 0, false, 0));
    }
    return WithGradients(results, {rows});
  });
}

TEST_P(FakeOrdersTest, ConversionsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto a = inputs.Weights({4, 6}, device);
    const auto raw = torch::arange(24, torch::kInt).reshape({4, 6});
    Tensors results =
        WithGradients({a.to(torch::kDouble), a.to(torch::kBFloat16).to(torch::kFloat)}, {a});
    results.push_back(a.detach().to(torch::kHalf));
    results.push_back((a.detach() * 10).to(torch::kInt));
    results.push_back(a.detach().gt(0));
    results.push_back(raw.to(device, torch::kFloat));
    results.push_back(raw.t().to(device));
    results.push_back(torch::empty({4, 6}, a.options().requires_grad(false)).copy_(raw));
    return results;
  });
}

TEST_P(FakeOrdersTest, ResultsWhoseSizesHangOnValuesHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const auto ids = inputs.Indices(6, {30}).to(device);
    const auto values = inputs.Floats({30}).to(device);
    const auto mask = ids.gt(2);
    const auto unique = torch::_unique2(ids, true, true, true);
    auto masked = values.clone();
    masked.index_put_({mask}, values.index({mask}) * 2);
    return {ids.sub(3).nonzero(),
            std::get<0>(unique),
            std::get<1>(unique),
            std::get<2>(unique),
            values.masked_select(mask),
            values.index({mask}),
            masked,
            torch::bincount(ids),
            values.repeat_interleave(ids),
            std::get<0>(torch::unique_consecutive(ids))};
  });
}

TEST_P(FakeOrdersTest, NewTensorsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    const auto options = torch::TensorOptions(device);
    auto grown = torch::full({2}, 3.0, options);
    grown.resize_({400}).narrow(0, 2, 398).fill_(4);
    auto out = torch::empty({0}, options);
    torch::add_out(out, grown, grown);
    return {torch::zeros({3}, options),
            torch::ones({2, 2}, options),
            torch::eye(3, options),
            torch::arange(2, 17, 3, options),
            torch::linspace(0, 1, 7, options),
            grown,
            out,
            torch::empty({0, 4}, options),
            torch::scalar_tensor(7, options).add(1)};
  });
}

TEST_P(FakeOrdersTest, OperationsOnListsOfTensorsHaveTheBitsOfTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    Inputs inputs;
    const Tensors some = {inputs.Floats({4}).to(device), inputs.Floats({2, 3}).to(device)};
    at::_foreach_mul_(some, 3.0);
    Tensors results = at::_foreach_add(some, some);
    results.insert(results.end(), some.begin(), some.end());
    return results;
  });
}

TEST_P(FakeOrdersTest, AModuleMovesThereAndIsTrainedByAdamAsOnTheCpu) {
  ExpectBitsOfCpu([](torch::Device device) -> Tensors {
    torch::manual_seed(7);  // of the initial weights, which are drawn on the CPU
    Inputs inputs;
    torch::nn::Linear first(6, 8);
    torch::nn::BatchNorm1d norm(8);
    torch::nn::Linear last(8, 3);
    std::vector<torch::Tensor> weights;
    const auto move = [&](torch::nn::Module& module) {
      module.to(device);
      for (const auto& weight : module.parameters()) weights.push_back(weight);
    };
    move(*first);
    move(*norm);
    move(*last);
    torch::optim::Adam adam(weights, torch::optim::AdamOptions(0.01).weight_decay(0.1));
    Tensors results;
    for (int step = 0; step < 4; ++step) {
      const auto x = inputs.Floats({10, 6}).to(device);
      const auto y = inputs.Indices(3, {10}).to(device);
      adam.zero_grad();
      const auto scores = last->forward(norm->forward(first->forward(x)).relu());
      const auto loss = torch::nn::functional::cross_entropy(scores, y);
      loss.backward();
      adam.step();
      results.push_back(loss);
    }
    results.insert(results.end(), weights.begin(), weights.end());
    results.push_back(norm->running_var);
    return results;
  });
}

}  // namespace
}  // namespace halograph
