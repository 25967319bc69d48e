// Goes matrix by matrix over pieces of its groups. For these, rows of the product's gradient are
// picked by destination, with their bits of the mask.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "trainer/kernels/finish_rows.h"
#include "trainer/kernels/grouped_parts.h"
#include "trainer/kernels/layer_epilogue.h"

namespace halograph {
namespace {

// Rows that are multiplied together, as dense_layer.cc has them.
constexpr int64_t kGroupedRowsBack = 192;

// The gradient of a matrix is summed over as many chunks of its rows, each in order, and these in
// order, whatever the number of threads; over one if it has few.
constexpr int64_t kMatrixChunks = 4;
constexpr int64_t kFewRows = 1024;

// A piece of the rows of one matrix: of the groups of a relation, or of the nodes themselves.
struct Chunk {
  int64_t relation;  // -1: the nodes themselves
  int64_t begin, end;
};

// `rows` rows from `first` on.
void AddChunks(int64_t relation, int64_t first, int64_t rows, std::vector<Chunk>* chunks) {
  const int64_t parts = rows < kFewRows ? std::min<int64_t>(rows, 1) : kMatrixChunks;
  for (int64_t part = 0; part < parts; ++part) {
    chunks->push_back({relation, first + part * rows / parts, first + (part + 1) * rows / parts});
  }
}

// A gradient of a product, and bits where it is not zero, or null.
struct GradientRows {
  ConstRows values;
  const uint64_t* mask;
};

struct BackwardOfGroups {
  const GroupTensors& groups;
  const Diagonal diagonal;
  const int64_t out, in;
  GradientRows z;
  const BackwardProducts own_products;
  std::vector<BackwardProducts> products;
  MutableRows own_grad, means_grad;  // or none

  // Fills `w_part`: the gradient of the chunk's matrix, [out / blocks rows a block, in / blocks].
  void Run(const Chunk& chunk, const MutableRows& w_part) const;

 private:
  // Rows of `z` by the destinations of groups [begin, end), into `values` and `mask`.
  void Pick(int64_t begin, int64_t end, const MutableRows& values, uint64_t* mask) const;
};

void BackwardOfGroups::Pick(int64_t begin, int64_t end, const MutableRows& values,
                            uint64_t* mask) const {
  const int64_t words = MaskWords(out);
  for (int64_t group = begin; group < end; ++group) {
    const int64_t v = groups.destination()[group];
    std::memcpy(values.data + (group - begin) * values.stride, z.values.data + v * z.values.stride,
                static_cast<size_t>(out) * sizeof(float));
    if (z.mask == nullptr) continue;
    std::memcpy(mask + (group - begin) * words, z.mask + v * words,
                static_cast<size_t>(words) * sizeof(uint64_t));
  }
}

void BackwardOfGroups::Run(const Chunk& chunk, const MutableRows& w_part) const {
  const bool own = chunk.relation < 0;
  const int64_t words = MaskWords(out);
  const torch::Tensor picked = RowsWithRoom(own ? 0 : kGroupedRowsBack, out);
  std::vector<uint64_t> bits(own ? 0 : static_cast<size_t>(kGroupedRowsBack * words));
  for (int64_t row = chunk.begin; row < chunk.end; row += kGroupedRowsBack) {
    const int64_t end = std::min(chunk.end, row + kGroupedRowsBack);
    LeftFactor dz = {ConstRowsOf(picked), end - row, out,
                     z.mask == nullptr ? nullptr : bits.data()};
    if (own) {
      dz.values = {z.values.data + row * z.values.stride, z.values.stride};
      if (z.mask != nullptr) dz.mask = z.mask + row * words;
      const MutableRows x_grad = {
          own_grad.data == nullptr ? nullptr : own_grad.data + row * own_grad.stride,
          own_grad.stride};
      own_products({dz, {}, row, 0, in, w_part, x_grad});
      continue;
    }
    Pick(row, end, MutableRowsOf(picked), bits.data());
    if (diagonal.blocks > 1) dz.mask = nullptr;  // a block's bits are not words of their own
    dz.cols = diagonal.out;
    for (int64_t b = 0; b < diagonal.blocks; ++b) {
      dz.values.data = ConstRowsOf(picked).data + b * diagonal.out;
      MutableRows x_grad = means_grad;
      if (x_grad.data != nullptr) x_grad.data += row * x_grad.stride + b * diagonal.in;
      products[static_cast<size_t>(chunk.relation * diagonal.blocks + b)](
          {dz,
           {},
           row,
           0,
           diagonal.in,
           {w_part.data + b * diagonal.out * w_part.stride, w_part.stride},
           x_grad});
    }
  }
}

// Fills the gradients of matrices out of those of their chunks, which are summed in order.
void SumChunks(const GroupTensors& groups, const std::vector<Chunk>& chunks,
               const std::vector<torch::Tensor>& parts, const torch::Tensor& matrices,
               const torch::Tensor& self, GroupedGradients* grads) {
  const Diagonal diagonal(matrices);
  grads->self = torch::zeros(self.sizes(), torch::kFloat32);
  if (groups.num_groups() > 0) grads->matrices = torch::zeros(matrices.sizes(), torch::kFloat32);
  std::vector<size_t> first;  // chunk of each matrix
  for (size_t c = 0; c < chunks.size(); ++c) {
    if (c == 0 || chunks[c].relation != chunks[c - 1].relation) first.push_back(c);
  }
  first.push_back(chunks.size());
  at::parallel_for(0, static_cast<int64_t>(first.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    for (auto m = static_cast<size_t>(begin); m < static_cast<size_t>(end); ++m) {
      const int64_t relation = chunks[first[m]].relation;
      torch::Tensor sum = relation < 0 ? grads->self
                                       : grads->matrices[groups.matrix(relation)].view(
                                             {diagonal.blocks * diagonal.out, diagonal.in});
      sum.copy_(parts[first[m]]);
      for (size_t c = first[m] + 1; c < first[m + 1]; ++c) sum += parts[c];
    }
  });
}

// All chunks of all matrices, those of a matrix one after the other.
std::vector<Chunk> AllChunks(const GroupTensors& groups, int64_t nodes) {
  std::vector<Chunk> chunks;
  AddChunks(-1, 0, nodes, &chunks);
  for (int64_t r = 0; r < groups.num_relations(); ++r) {
    AddChunks(r, groups.first(r), groups.first(r + 1) - groups.first(r), &chunks);
  }
  return chunks;
}

// The gradient of each chunk's matrix; a chunk is run by whichever thread is free.
std::vector<torch::Tensor> RunChunks(const BackwardOfGroups& layer,
                                     const std::vector<Chunk>& chunks) {
  const Diagonal& diagonal = layer.diagonal;
  std::vector<torch::Tensor> parts(chunks.size());
  std::atomic<size_t> next = 0;
  at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      for (size_t c = next++; c < chunks.size(); c = next++) {
        const bool own = chunks[c].relation < 0;
        parts[c] = RowsWithRoom(own ? layer.out : diagonal.blocks * diagonal.out,
                                own ? layer.in : diagonal.in);
        parts[c].zero_();
        layer.Run(chunks[c], MutableRowsOf(parts[c]));
      }
    }
  });
  return parts;
}

}  // namespace

GroupedGradients GroupedBackward(const torch::Tensor& grad, const GroupedRows& rows, float scale,
                                 const GroupTensors& groups, const torch::Tensor& matrices,
                                 const torch::Tensor& self, bool inputs_wanted) {
  const Diagonal diagonal(matrices);
  const FinishGradients finish = FinishBackward(grad, rows.mask, scale);
  GroupedGradients grads;
  grads.bias = finish.bias;
  MutableRows own_grad, means_grad;
  if (inputs_wanted) {
    grads.means = RowsOfBlocks(groups.num_groups(), diagonal.blocks, diagonal.in);
    grads.own = RowsWithRoom(rows.own.size(0), rows.own.size(1));
    own_grad = MutableRowsOf(grads.own);
    means_grad = MutableRowsOf(grads.means);
  }
  const BackwardOfGroups layer = {
      groups,
      diagonal,
      self.size(0),
      self.size(1),
      {ConstRowsOf(finish.product), WordsOf(rows.mask)},
      MakeBackwardProducts(rows.own, {self}, inputs_wanted),
      ProductsOfRelations<BackwardProducts>(
          groups, rows.means, matrices,
          [inputs_wanted](const torch::Tensor& x, const torch::Tensor& w) {
            return MakeBackwardProducts(x, {w}, inputs_wanted);
          }),
      own_grad,
      means_grad};
  const std::vector<Chunk> chunks = AllChunks(groups, rows.own.size(0));
  SumChunks(groups, chunks, RunChunks(layer, chunks), matrices, self, &grads);
  return grads;
}

}  // namespace halograph
