#include "trainer/kernels/dense_layer.h"

#include <algorithm>

#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/finish_rows.h"
#include "trainer/kernels/layer_epilogue.h"
#include "trainer/kernels/product.h"
#include "trainer/kernels/product_kernel.h"

namespace halograph {
namespace {

// Rows that are computed together: multiples of a tile's, of a word's of a product (product.cc) and
// of a group of pairs (bf16_product.h), and few enough for the second cache. Those of bfloat16 are
// half as long, unless they are widened.
bool StaysNarrow(const torch::Tensor& x) {
  return x.scalar_type() == torch::kBFloat16 && ProductKernelInUse().has_pairs();
}
constexpr int64_t kNarrowRows = 384;
static_assert(kNarrowRows % (2 * kPairGroup) == 0, "pairs of rows are summed in whole groups");
// Forward, few rows are shared out among all threads: a cut changes no bit there.
int64_t RowsForwardAtOnce(const torch::Tensor& x) {
  constexpr int64_t kLeast = 32;  // two of AMX's tiles, several of the others
  const int64_t threads = at::get_num_threads();
  const int64_t share = (x.size(0) + threads - 1) / threads;
  const int64_t most = StaysNarrow(x) ? kNarrowRows : 96;
  return std::clamp((share + kLeast - 1) / kLeast * kLeast, kLeast, most);
}
int64_t RowsBackwardAtOnce(const torch::Tensor& x) { return StaysNarrow(x) ? kNarrowRows : 192; }

// Gradients of weights and bias are summed over as many chunks of rows, each in order, and then
// these in order, whatever the number of threads.
constexpr int64_t kChunks = 4;

void AddValues(const float* values, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] += values[i];
}

// What DenseBackward is about, as plain rows.
struct Backward {
  ConstRows grad;
  int64_t rows;
  int64_t out;
  const uint64_t* mask;
  float scale;
  int64_t in;
  const BackwardProducts& products;
  int64_t rows_at_once;
  MutableRows x_grad;   // or none
  MutableRows w_parts;  // [kChunks * out, in], zeros at first
  float* bias_parts;    // [kChunks, out], zeros at first

  // Rows of one chunk, columns [first, last) of x and W. The gradient of the product is made of a
  // few rows at a time and never as a whole.
  void Chunk(int64_t chunk, int64_t first, int64_t last) const;
};

void Backward::Chunk(int64_t chunk, int64_t first, int64_t last) const {
  const int64_t words = MaskWords(out), end = (chunk + 1) * rows / kChunks;
  const torch::Tensor z = torch::empty({rows_at_once, PaddedStride(out)}, torch::kFloat32);
  const torch::Tensor sums = torch::empty({out}, torch::kFloat32);
  const MutableRows w_part = {w_parts.data + chunk * out * w_parts.stride + first, w_parts.stride};
  float* bias_part = bias_parts + chunk * out;
  for (int64_t row = chunk * rows / kChunks; row < end; row += rows_at_once) {
    LeftFactor left = {{grad.data + row * grad.stride, grad.stride},
                       std::min(rows_at_once, end - row),
                       out,
                       mask == nullptr ? nullptr : mask + row * words};
    if (mask != nullptr) {
      ReluEpilogueBackward(left.values, out, left.mask, scale, 0, left.rows, MutableRowsOf(z),
                           sums.data_ptr<float>());
      left.values = ConstRowsOf(z);
    } else {
      sums.zero_();
      for (int64_t r = 0; r < left.rows; ++r) {
        AddValues(left.values.data + r * left.values.stride, out, sums.data_ptr<float>());
      }
    }
    if (first == 0) AddValues(sums.data_ptr<float>(), out, bias_part);
    MutableRows x_rows = x_grad;
    if (x_rows.data != nullptr) x_rows.data += row * x_rows.stride + first;
    products({left, row, first, last, w_part, x_rows});
  }
}

// Parts that the columns are cut into, so that chunks times parts keep the threads busy. Each part
// makes the gradient of the product anew.
int64_t ColumnParts(int64_t cols, int64_t threads) {
  if (kChunks % threads == 0) return 1;
  return std::clamp<int64_t>(threads, 1, (cols + 63) / 64);
}

}  // namespace

DenseResult DenseForward(const torch::Tensor& x, const MakeRows& make_rows,
                         torch::TensorList weights, const torch::Tensor& bias,
                         const LayerOutput& output, bool mask_wanted) {
  const int64_t rows = x.size(0), out = bias.size(0);
  const ForwardProduct multiply = MakeForwardProduct(x, weights);
  const torch::Tensor biases = bias.contiguous();
  DenseResult result = {torch::empty({rows, out}, torch::kFloat32), {}};
  if (output.relu && mask_wanted) {
    result.mask = torch::empty({rows, MaskWords(out)}, torch::kInt64);
  }
  const MutableRows z = MutableRowsOf(result.out);
  const int64_t rows_at_once = RowsForwardAtOnce(x);
  const int64_t blocks = (rows + rows_at_once - 1) / rows_at_once;
  at::parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      const int64_t begin = block * rows_at_once, end = std::min(rows, begin + rows_at_once);
      if (make_rows) make_rows(begin, end);
      multiply(begin, end, {z.data + begin * z.stride, z.stride});
      FinishInPlace(result.out, biases, output, begin, end, result.mask);
    }
  });
  return result;
}

DenseGradients DenseBackward(const torch::Tensor& grad, const torch::Tensor& mask, float scale,
                             const torch::Tensor& x, torch::TensorList weights, bool x_wanted) {
  const torch::Tensor whole = grad.contiguous();
  const int64_t rows = x.size(0), in = x.size(1), out = whole.size(1);
  const torch::Tensor w_parts = torch::zeros({kChunks * out, PaddedStride(in)}, torch::kFloat32);
  const torch::Tensor bias_parts = torch::zeros({kChunks, out}, torch::kFloat32);
  const BackwardProducts products = MakeBackwardProducts(x, weights, x_wanted);
  DenseGradients grads;
  MutableRows x_grad;
  if (x_wanted) {
    grads.x = RowsWithRoom(rows, in);
    x_grad = MutableRowsOf(grads.x);
  }
  const Backward backward = {ConstRowsOf(whole),
                             rows,
                             out,
                             WordsOf(mask),
                             scale,
                             in,
                             products,
                             RowsBackwardAtOnce(x),
                             x_grad,
                             MutableRowsOf(w_parts),
                             bias_parts.data_ptr<float>()};
  const int64_t parts = ColumnParts(in, at::get_num_threads());
  const int64_t groups = (in + kColumnGroup - 1) / kColumnGroup;
  at::parallel_for(0, kChunks * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t part = item % parts;
      backward.Chunk(item / parts, part * groups / parts * kColumnGroup,
                     std::min(in, (part + 1) * groups / parts * kColumnGroup));
    }
  });
  int64_t column = 0;
  for (const torch::Tensor& matrix : weights) {
    grads.weights.push_back(torch::empty({out, matrix.size(1)}, torch::kFloat32));
    torch::Tensor& sum = grads.weights.back();
    const torch::Tensor of_chunks =
        w_parts.narrow(1, column, matrix.size(1)).view({kChunks, out, matrix.size(1)});
    sum.copy_(of_chunks[0]);
    for (int64_t chunk = 1; chunk < kChunks; ++chunk) sum += of_chunks[chunk];
    column += matrix.size(1);
  }
  grads.bias = bias_parts[0].clone();
  for (int64_t chunk = 1; chunk < kChunks; ++chunk) grads.bias += bias_parts[chunk];
  return grads;
}

}  // namespace halograph
