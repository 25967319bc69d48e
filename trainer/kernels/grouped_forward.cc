// The groups of a relation ascend by destination. So the destinations are cut into parts that
// threads own: a part has a range of the groups of each relation, whose means are made, multiplied
// and added to its rows while they are in a cache.
#include <algorithm>

#include "trainer/blocks/self_and_mean.h"
#include "trainer/kernels/dense_tiles.h"
#include "trainer/kernels/finish_rows.h"
#include "trainer/kernels/grouped_parts.h"
#include "trainer/kernels/layer_epilogue.h"

namespace halograph {
namespace {

// Rows that are multiplied together, as dense_layer.cc has them, as an average over relations and
// parts. None takes more than twice as many.
constexpr int64_t kGroupedRows = 96;

// The nodes' own rows, as they are multiplied.
torch::Tensor OwnRows(const torch::Tensor& h, const LayerNodes& nodes, Precision precision) {
  const torch::Tensor own = h.detach().narrow(0, nodes.first, nodes.count);
  if (precision == Precision::kFloat32) return WithRoom(own);
  torch::Tensor narrow = RowsWithRoom(own.size(0), own.size(1), Precision::kBf16);
  at::parallel_for(0, own.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    NarrowRows(ConstRowsOf(own), own.size(1), begin, end, MutableBf16RowsOf(narrow));
  });
  return narrow;
}

struct Forward {
  const GroupTensors& groups;
  const PickedRows picked;  // what means are made of
  const torch::Tensor& means;
  const Diagonal diagonal;
  ForwardProduct own_product;
  std::vector<ForwardProduct> products;
  MutableRows z;

  // Means of groups [begin, end).
  void FillMeans(int64_t begin, int64_t end) const;
  // Adds W mean of groups [begin, end) of a relation to the rows of their destinations.
  void AddMessages(int64_t relation, int64_t begin, int64_t end, const MutableRows& messages) const;
  // Rows [begin, end) of the product.
  void Rows(int64_t begin, int64_t end, const MutableRows& messages) const;
};

void Forward::FillMeans(int64_t begin, int64_t end) const {
  if (means.scalar_type() == torch::kFloat32) {
    MeanOfRows(picked, begin, end, MutableRowsOf(means));
    return;
  }
  // Blocks that lie as they do in the sources' rows are one.
  const int64_t blocks = means.size(1) == picked.cols ? 1 : diagonal.blocks;
  const int64_t cols = picked.cols / blocks, step = means.size(1) / blocks;
  const MutableBf16Rows out = MutableBf16RowsOf(means);
  PickedRows some = picked;
  some.cols = cols;
  for (int64_t b = 0; b < blocks; ++b, some.rows.data += cols) {
    MeanOfRows(some, begin, end, MutableBf16Rows{out.data + b * step, out.stride});
  }
}

void Forward::AddMessages(int64_t relation, int64_t begin, int64_t end,
                          const MutableRows& messages) const {
  FillMeans(begin, end);
  for (int64_t b = 0; b < diagonal.blocks; ++b) {
    products[static_cast<size_t>(relation * diagonal.blocks + b)](
        begin, end, {messages.data + b * diagonal.out, messages.stride});
  }
  const int64_t cols = diagonal.blocks * diagonal.out;
  for (int64_t group = begin; group < end; ++group) {
    const float* const message = messages.data + (group - begin) * messages.stride;
    float* const row = z.data + groups.destination()[group] * z.stride;
    for (int64_t c = 0; c < cols; ++c) row[c] += message[c];
  }
}

void Forward::Rows(int64_t begin, int64_t end, const MutableRows& messages) const {
  for (int64_t row = begin; row < end; row += kGroupedRows) {
    own_product(row, std::min(end, row + kGroupedRows), {z.data + row * z.stride, z.stride});
  }
  for (int64_t r = 0; r < groups.num_relations(); ++r) {
    const int64_t first = groups.FirstFrom(r, begin), last = groups.FirstFrom(r, end);
    const EvenParts pieces = {last - first, 2 * kGroupedRows};
    for (int64_t piece = 0; piece < pieces.parts(); ++piece) {
      AddMessages(r, first + pieces.begin(piece), first + pieces.begin(piece + 1), messages);
    }
  }
}

// Parts of the destinations: so many that a relation has kGroupedRows groups in each on average,
// and enough for the threads. No value depends on them.
int64_t DestinationParts(const GroupTensors& groups, int64_t rows) {
  int64_t relations = 0;
  for (int64_t r = 0; r < groups.num_relations(); ++r) {
    if (groups.first(r) < groups.first(r + 1)) ++relations;
  }
  const int64_t taken = relations == 0 ? rows : groups.num_groups() / relations;
  const int64_t parts =
      std::max<int64_t>((taken + kGroupedRows - 1) / kGroupedRows, 4 * at::get_num_threads());
  return std::clamp<int64_t>(parts, 1, std::max<int64_t>(rows / 16, 1));
}

}  // namespace

GroupedRows GroupedForward(const torch::Tensor& h, const GroupTensors& groups,
                           const GroupedWeights& weights, const LayerNodes& nodes,
                           const LayerOutput& output, Precision precision, bool mask_wanted) {
  const Diagonal diagonal(weights.matrices);
  const int64_t cols = weights.self.size(0);
  const torch::Tensor biases = weights.bias.contiguous();
  GroupedRows rows = {torch::empty({nodes.count, cols}, torch::kFloat32),
                      {},
                      precision == Precision::kFloat32
                          ? RowsOfBlocks(groups.num_groups(), diagonal.blocks, diagonal.in)
                          : PairsOfBlocks(groups.num_groups(), diagonal.blocks, diagonal.in),
                      OwnRows(h, nodes, precision)};
  if (output.relu && mask_wanted) {
    rows.mask = torch::empty({nodes.count, MaskWords(cols)}, torch::kInt64);
  }
  const Forward layer = {
      groups,
      PickBy(groups.edges, h),
      rows.means,
      diagonal,
      MakeForwardProduct(rows.own, {weights.self}),
      ProductsOfRelations<ForwardProduct>(groups, rows.means, weights.matrices,
                                          [](const torch::Tensor& x, const torch::Tensor& w) {
                                            return MakeForwardProduct(x, {w});
                                          }),
      MutableRowsOf(rows.out)};
  const int64_t parts = DestinationParts(groups, nodes.count);
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    const torch::Tensor messages = RowsOfBlocks(2 * kGroupedRows, diagonal.blocks, diagonal.out);
    for (int64_t part = first; part < last; ++part) {
      const int64_t begin = part * nodes.count / parts, end = (part + 1) * nodes.count / parts;
      layer.Rows(begin, end, MutableRowsOf(messages));
      FinishInPlace(RowsFrom(layer.z, begin), biases, output, begin, end, rows.mask);
    }
  });
  return rows;
}

}  // namespace halograph
