// What a model's forward and backward pass cannot be faster than: its dense products, by the
// project's kernels, and its gathers of rows, both ways, over memory that is there already.
// Activations, softmax, scores, dropout and normalisation are not in it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/sampling/minibatch.h"
#include "tests/bench/step/bare_products.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/blocks/gather_rows.h"

namespace halograph {

class ModelLimit {
 public:
  // Rows of `cols` values are gathered over the block, and back to `sources` if `back`.
  void AddGather(const Block& block, int64_t sources, int64_t cols, bool back) {
    const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
    const auto kept = std::make_shared<const Block>(block);
    Add(rows, kept->indptr, kept->indices, cols, torch::ones({sources, cols}), kept);
    if (!back) return;
    const auto by_source = std::make_shared<const TransposedBlock>(
        Transpose(block.indptr.data(), rows, block.indices.data(), sources));
    Add(sources, by_source->indptr, by_source->destinations, cols, torch::ones({rows, cols}),
        by_source);
  }

  // [rows, in] times [in, out], the gradient of the second, and of the first if `back`.
  void AddProduct(int64_t rows, int64_t in, int64_t out, bool back) {
    const auto ones = [](int64_t of, int64_t cols) { return RowsWithRoom(of, cols).fill_(1); };
    const torch::Tensor x = ones(rows, in), weights = ones(out, in), turned = ones(in, out);
    const torch::Tensor z = ones(rows, out), x_grad = ones(rows, in);
    const torch::Tensor parts = torch::ones({4, out, PaddedStride(in)}).narrow(2, 0, in);
    products_.push_back([=] {
      BareProduct(x, {}, turned, z);
      BareTransposedProduct(z, {}, x, parts);
      if (back) BareProduct(z, {}, weights, x_grad);
    });
  }

  void Run() const {
    RunProducts();
    for (const auto& step : gathers_) step();
  }
  void RunProducts() const {
    for (const auto& step : products_) step();
  }

 private:
  void Add(int64_t rows, const std::vector<int64_t>& indptr, const std::vector<int32_t>& indices,
           int64_t cols, const torch::Tensor& from, std::shared_ptr<const void> keeper) {
    const torch::Tensor out = torch::ones({rows, cols});
    const PickedRows picked = {indptr.data(), indices.data(), ConstRowsOf(from), cols};
    gathers_.push_back([=, keeper = std::move(keeper)] {
      at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
        ScaledSumOfRows(picked, nullptr, {}, 0, begin, end, MutableRowsOf(out));
      });
      (void)from;  // keeps the rows alive
    });
  }

  std::vector<std::function<void()>> products_, gathers_;
};

}  // namespace halograph
