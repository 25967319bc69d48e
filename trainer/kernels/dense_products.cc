#include "trainer/kernels/dense_products.h"

#include "trainer/kernels/bf16_product.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/product_kernel.h"

namespace halograph {
namespace {

int64_t TotalCols(torch::TensorList weights) {
  int64_t cols = 0;
  for (const torch::Tensor& part : weights) cols += part.size(1);
  return cols;
}

// W^T, [in, out], with room.
torch::Tensor PackTransposed(torch::TensorList weights) {
  const int64_t out = weights.front().size(0);
  const torch::Tensor packed = RowsWithRoom(TotalCols(weights), out);
  MutableRows rows = MutableRowsOf(packed);
  for (const torch::Tensor& part : weights) {
    TransposeMatrix(ConstRowsOf(part.contiguous()), out, part.size(1), rows);
    rows.data += part.size(1) * rows.stride;
  }
  return packed;
}

// W, [out, in], with room.
torch::Tensor Pack(torch::TensorList weights) {
  torch::Tensor packed = RowsWithRoom(weights.front().size(0), TotalCols(weights));
  torch::cat_out(packed, weights, 1);
  return packed;
}

// Rows [begin, begin + rows) as float32, with room.
torch::Tensor WidenedRows(const ConstBf16Rows& x, int64_t begin, int64_t rows, int64_t cols) {
  torch::Tensor widened = RowsWithRoom(rows, cols);
  const MutableRows out = MutableRowsOf(widened);
  for (int64_t r = 0; r < rows; ++r) {
    WidenBf16(x.data + (begin + r) * x.stride, cols, out.data + r * out.stride);
  }
  return widened;
}

// As bfloat16, with a zero behind an odd number of columns.
torch::Tensor NarrowedRows(const ConstRows& matrix, int64_t rows, int64_t cols) {
  torch::Tensor narrowed = RowsWithRoom(rows, cols, Precision::kBf16);
  NarrowRows(matrix, cols, 0, rows, MutableBf16RowsOf(narrowed));
  return narrowed;
}

ConstPairs PairsOf(const ConstBf16Rows& rows) {
  return {reinterpret_cast<const uint32_t*>(rows.data), rows.stride / 2};
}

// A matrix of pairs has their bits in values of float32.
ConstPairs PairsOf(const torch::Tensor& pairs) {
  const ConstRows rows = ConstRowsOf(pairs);
  return {reinterpret_cast<const uint32_t*>(rows.data), rows.stride};
}

template <typename Rows>
torch::Tensor PairedRows(const Rows& matrix, int64_t rows, int64_t cols) {
  torch::Tensor pairs = RowsWithRoom((rows + 1) / 2, cols);
  const MutableRows out = MutableRowsOf(pairs);
  PairRows(matrix, rows, cols, {reinterpret_cast<uint32_t*>(out.data), out.stride});
  return pairs;
}

ForwardProduct ForwardOfFloats(const torch::Tensor& x, torch::TensorList weights) {
  return [left = ConstRowsOf(x), in = x.size(1), out = weights.front().size(0),
          packed = PackTransposed(weights)](int64_t begin, int64_t end, const MutableRows& z) {
    Multiply({{left.data + begin * left.stride, left.stride}, end - begin, in}, ConstRowsOf(packed),
             out, z);
  };
}

ForwardProduct ForwardWidened(const torch::Tensor& x, torch::TensorList weights) {
  return [left = ConstBf16RowsOf(x), in = x.size(1), out = weights.front().size(0),
          packed = PackTransposed(weights)](int64_t begin, int64_t end, const MutableRows& z) {
    const torch::Tensor rows = WidenedRows(left, begin, end - begin, in);
    Multiply({ConstRowsOf(rows), end - begin, in}, ConstRowsOf(packed), out, z);
  };
}

// W^T as pairs along its rows, [in / 2, out]: pairs of a row of W are transposed as a whole.
torch::Tensor PackPairsTransposed(torch::TensorList weights) {
  const int64_t out = weights.front().size(0), in = TotalCols(weights);
  const torch::Tensor narrowed = NarrowedRows(ConstRowsOf(Pack(weights)), out, in);
  const ConstPairs pairs = PairsOf(ConstBf16RowsOf(narrowed));
  torch::Tensor packed = RowsWithRoom(EvenCols(in) / 2, out);
  TransposeMatrix({reinterpret_cast<const float*>(pairs.data), pairs.stride}, out, EvenCols(in) / 2,
                  MutableRowsOf(packed));
  return packed;
}

ForwardProduct ForwardOfPairs(const torch::Tensor& x, torch::TensorList weights,
                              const ProductKernel& kernel) {
  return [kernel, left = PairsOf(ConstBf16RowsOf(x)), pairs = EvenCols(x.size(1)) / 2,
          out = weights.front().size(0),
          packed = PackPairsTransposed(weights)](int64_t begin, int64_t end, const MutableRows& z) {
    kernel.multiply({{left.data + begin * left.stride, left.stride},
                     end - begin,
                     pairs,
                     PairsOf(packed),
                     out,
                     z});
  };
}

// Of float32 rows of x, whose row `row` and column `first` is at x.data.
void AddProducts(const BackwardRows& rows, const ConstRows& x, const ConstRows& packed) {
  const int64_t cols = rows.last - rows.first;
  AddTransposedProduct(rows.dz, x, cols, rows.w_part);
  if (rows.x_grad.data == nullptr) return;
  Multiply(rows.dz, {packed.data + rows.first, packed.stride}, cols, rows.x_grad);
}

BackwardProducts BackwardOfFloats(const torch::Tensor& x, const torch::Tensor& packed) {
  return [left = ConstRowsOf(x), packed](const BackwardRows& rows) {
    AddProducts(rows, {left.data + rows.row * left.stride + rows.first, left.stride},
                ConstRowsOf(packed));
  };
}

BackwardProducts BackwardWidened(const torch::Tensor& x, const torch::Tensor& packed) {
  return [left = ConstBf16RowsOf(x), packed](const BackwardRows& rows) {
    const torch::Tensor widened = WidenedRows({left.data + rows.first, left.stride}, rows.row,
                                              rows.dz.rows, rows.last - rows.first);
    AddProducts(rows, ConstRowsOf(widened), ConstRowsOf(packed));
  };
}

BackwardProducts BackwardOfPairs(const torch::Tensor& x, const torch::Tensor& packed,
                                 const ProductKernel& kernel) {
  torch::Tensor w_pairs;  // W as pairs of its rows, [out / 2, in]
  if (packed.size(0) > 0) {
    const int64_t out = packed.size(0), in = packed.size(1);
    w_pairs = PairedRows(ConstRowsOf(packed), out, in);
  }
  return [kernel, left = ConstBf16RowsOf(x), w_pairs](const BackwardRows& rows) {
    const int64_t count = rows.dz.rows, out = rows.dz.cols, cols = rows.last - rows.first;
    torch::Tensor narrowed;
    ConstBf16Rows dz = rows.narrow_dz;
    if (dz.data == nullptr && rows.x_grad.data != nullptr) {
      narrowed = NarrowedRows(rows.dz.values, count, out);
      dz = ConstBf16RowsOf(narrowed);
    }
    const torch::Tensor dz_pairs =
        dz.data == nullptr ? PairedRows(rows.dz.values, count, out) : PairedRows(dz, count, out);
    const torch::Tensor x_pairs = PairedRows(
        ConstBf16Rows{left.data + rows.row * left.stride + rows.first, left.stride}, count, cols);
    kernel.add_transposed(
        {PairsOf(dz_pairs), out, (count + 1) / 2, PairsOf(x_pairs), cols, rows.w_part});
    if (rows.x_grad.data == nullptr) return;
    const ConstPairs weights = PairsOf(w_pairs);
    kernel.multiply({PairsOf(dz),
                     count,
                     EvenCols(out) / 2,
                     {weights.data + rows.first, weights.stride},
                     cols,
                     rows.x_grad});
  };
}

// Whether these are rows that a kernel can read as they are.
bool HasRoom(const torch::Tensor& matrix) {
  const int64_t rows = matrix.size(0), cols = matrix.size(1), stride = matrix.stride(0);
  const bool side_by_side = cols == 1 || matrix.stride(1) == 1;
  if (matrix.scalar_type() == torch::kBFloat16) {
    // Whole pairs in each row: of zeros behind odd columns nobody knows.
    return side_by_side && cols % 2 == 0 && stride % 2 == 0 && matrix.storage_offset() % 2 == 0;
  }
  const auto values = static_cast<int64_t>(matrix.storage().nbytes() / sizeof(float));
  return side_by_side && stride >= RoomForColumns(cols) &&
         matrix.storage_offset() + rows * stride <= values;
}

}  // namespace

torch::Tensor RowsWithRoom(int64_t rows, int64_t cols, Precision precision) {
  const bool narrow = precision == Precision::kBf16;
  torch::Tensor whole = torch::empty({rows, PaddedStride(cols, precision)},
                                     narrow ? torch::kBFloat16 : torch::kFloat32);
  if (narrow && cols % 2 != 0) whole.narrow(1, cols, 1).zero_();
  return whole.narrow(1, 0, cols);
}

torch::Tensor WithRoom(const torch::Tensor& matrix) {
  if (HasRoom(matrix)) return matrix;
  const bool narrow = matrix.scalar_type() == torch::kBFloat16;
  return RowsWithRoom(matrix.size(0), matrix.size(1),
                      narrow ? Precision::kBf16 : Precision::kFloat32)
      .copy_(matrix);
}

void NarrowRows(const ConstRows& from, int64_t cols, int64_t begin, int64_t end,
                const MutableBf16Rows& to) {
  for (int64_t row = begin; row < end; ++row) {
    NarrowToBf16(from.data + row * from.stride, cols, to.data + row * to.stride);
  }
}

ConstBf16Rows ConstBf16RowsOf(const torch::Tensor& matrix) {
  return {reinterpret_cast<const uint16_t*>(matrix.data_ptr<at::BFloat16>()), matrix.stride(0)};
}

MutableBf16Rows MutableBf16RowsOf(const torch::Tensor& matrix) {
  return {reinterpret_cast<uint16_t*>(matrix.data_ptr<at::BFloat16>()), matrix.stride(0)};
}

ForwardProduct MakeForwardProduct(const torch::Tensor& x, torch::TensorList weights) {
  TORCH_CHECK(TotalCols(weights) == x.size(1), "a layer of ", TotalCols(weights),
              " inputs was given rows of ", x.size(1));
  if (x.scalar_type() == torch::kFloat32) return ForwardOfFloats(x, weights);
  const ProductKernel& kernel = ProductKernelInUse();
  return kernel.has_pairs() ? ForwardOfPairs(x, weights, kernel) : ForwardWidened(x, weights);
}

BackwardProducts MakeBackwardProducts(const torch::Tensor& x, torch::TensorList weights,
                                      bool x_wanted) {
  const torch::Tensor packed = x_wanted ? Pack(weights) : torch::empty({0, x.size(1)});
  if (x.scalar_type() == torch::kFloat32) return BackwardOfFloats(x, packed);
  const ProductKernel& kernel = ProductKernelInUse();
  return kernel.has_pairs() ? BackwardOfPairs(x, packed, kernel) : BackwardWidened(x, packed);
}

}  // namespace halograph
