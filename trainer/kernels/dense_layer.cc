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
  const torch::Tensor& grad;  // contiguous
  int64_t rows;
  int64_t out;
  const uint64_t* mask;
  float scale;
  int64_t in;
  const BackwardProducts& products;
  bool of_pairs;  // these
  int64_t rows_at_once;
  MutableRows x_grad;   // or none
  MutableRows w_parts;  // [kChunks * out, in], zeros at first
  float* bias_parts;    // [kChunks, out], zeros at first

  // Rows of one chunk, columns [first, last) of x and W. The gradient of the product is made of a
  // few rows at a time and never as a whole.
  void Chunk(int64_t chunk, int64_t first, int64_t last) const;

 private:
  // Of a few rows; those that are not needed have no rows.
  struct Scratch {
    torch::Tensor wide;             // the gradient of `out`, of bfloat16, as float32
    torch::Tensor product, narrow;  // that of the product
    torch::Tensor sums;             // of its columns
  };
  [[nodiscard]] bool of_bf16() const { return grad.scalar_type() == torch::kBFloat16; }
  [[nodiscard]] ConstBf16Rows NarrowGrad(int64_t row) const {
    const ConstBf16Rows rows_of = ConstBf16RowsOf(grad);
    return {rows_of.data + row * rows_of.stride, rows_of.stride};
  }
  // Rows of `grad` from `row` on; those of bfloat16 are widened.
  [[nodiscard]] ConstRows WideGrad(int64_t row, int64_t count, const Scratch& scratch) const;
  // The gradient of the product, `dz` of `part`, and its sums.
  void MakeProductGradient(const Scratch& scratch, BackwardRows* part) const;
};

ConstRows Backward::WideGrad(int64_t row, int64_t count, const Scratch& scratch) const {
  if (!of_bf16()) {
    const ConstRows values = ConstRowsOf(grad);
    return {values.data + row * values.stride, values.stride};
  }
  const ConstBf16Rows from = NarrowGrad(row);
  const MutableRows to = MutableRowsOf(scratch.wide);
  for (int64_t r = 0; r < count; ++r) {
    WidenBf16(from.data + r * from.stride, out, to.data + r * to.stride);
  }
  return ConstRowsOf(scratch.wide);
}

void Backward::MakeProductGradient(const Scratch& scratch, BackwardRows* part) const {
  const int64_t row = part->row, count = part->dz.rows;
  float* const sums = scratch.sums.data_ptr<float>();
  if (mask == nullptr) {
    part->dz.values = WideGrad(row, count, scratch);
    std::fill_n(sums, out, 0.0F);
    for (int64_t r = 0; r < count; ++r) {
      AddValues(part->dz.values.data + r * part->dz.values.stride, out, sums);
    }
    return;
  }
  part->dz.mask = mask + row * MaskWords(out);
  const auto make = [&](const auto& from, const auto& to) {
    ReluEpilogueBackward(from, out, part->dz.mask, scale, 0, count, to, sums);
  };
  if (!of_pairs) {
    make(WideGrad(row, count, scratch), MutableRowsOf(scratch.product));
    part->dz.values = ConstRowsOf(scratch.product);
    return;
  }
  const MutableBf16Rows to = MutableBf16RowsOf(scratch.narrow);
  of_bf16() ? make(NarrowGrad(row), to) : make(WideGrad(row, count, scratch), to);
  part->narrow_dz = ConstBf16RowsOf(scratch.narrow);
}

void Backward::Chunk(int64_t chunk, int64_t first, int64_t last) const {
  const auto some = [&](bool needed, Precision precision = Precision::kFloat32) {
    return RowsWithRoom(needed ? rows_at_once : 0, out, precision);
  };
  const bool masked = mask != nullptr;
  const Scratch scratch = {some(of_bf16()), some(masked && !of_pairs),
                           some(masked && of_pairs, Precision::kBf16),
                           torch::empty({out}, torch::kFloat32)};
  const int64_t end = (chunk + 1) * rows / kChunks;
  const MutableRows w_part = {w_parts.data + chunk * out * w_parts.stride + first, w_parts.stride};
  for (int64_t row = chunk * rows / kChunks; row < end; row += rows_at_once) {
    BackwardRows part = {.dz = {{}, std::min(rows_at_once, end - row), out},
                         .narrow_dz = {},
                         .row = row,
                         .first = first,
                         .last = last,
                         .w_part = w_part,
                         .x_grad = x_grad};
    if (x_grad.data != nullptr) part.x_grad.data += row * x_grad.stride + first;
    MakeProductGradient(scratch, &part);
    if (first == 0) AddValues(scratch.sums.data_ptr<float>(), out, bias_parts + chunk * out);
    products(part);
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
  const bool narrow = output.precision == Precision::kBf16;
  DenseResult result = {torch::empty({rows, out}, narrow ? torch::kBFloat16 : torch::kFloat32), {}};
  if (output.relu && mask_wanted) {
    result.mask = torch::empty({rows, MaskWords(out)}, torch::kInt64);
  }
  const int64_t rows_at_once = RowsForwardAtOnce(x);
  const int64_t blocks = (rows + rows_at_once - 1) / rows_at_once;
  at::parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    const torch::Tensor wide = RowsWithRoom(narrow ? rows_at_once : 0, out);
    for (int64_t block = first; block < last; ++block) {
      const int64_t begin = block * rows_at_once, end = std::min(rows, begin + rows_at_once);
      if (make_rows) make_rows(begin, end);
      const MutableRows z =
          narrow ? MutableRowsOf(wide) : RowsFrom(MutableRowsOf(result.out), begin);
      multiply(begin, end, z);
      FinishInPlace(z, biases, output, begin, end, result.mask);
      if (!narrow) continue;
      const MutableBf16Rows to = MutableBf16RowsOf(result.out);
      NarrowRows(ConstRowsOf(wide), out, 0, end - begin, {to.data + begin * to.stride, to.stride});
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
  const Backward backward = {whole,
                             rows,
                             out,
                             WordsOf(mask),
                             scale,
                             in,
                             products,
                             StaysNarrow(x),
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
