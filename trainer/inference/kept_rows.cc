#include "trainer/inference/kept_rows.h"

#include <bit>
#include <utility>

#include "common/storage/row_gather.h"

namespace halograph {
namespace {

constexpr int64_t kLineValues = 16;  // of 64 bytes
constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));

int64_t StrideOf(int64_t cols) {
  if (cols < kLineValues) return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(cols)));
  return (cols + kLineValues - 1) / kLineValues * kLineValues;
}

std::vector<const std::byte*> WhereRowsAre(const KeptTable& table, std::span<const int64_t> nodes) {
  std::vector<const std::byte*> where;
  where.reserve(nodes.size());
  for (const int64_t node : nodes) where.push_back(table.Row(node));
  return where;
}

}  // namespace

StatusOr<KeptTable> KeptTable::Make(int64_t rows, int64_t cols, ScratchSpace& scratch,
                                    std::string_view what) {
  KeptTable table;
  table.cols_ = cols;
  table.stride_ = StrideOf(cols);
  HG_ASSIGN_OR_RETURN(table.values_, scratch.Take(BytesOf(rows, cols), what));
  return table;
}

int64_t KeptTable::BytesOf(int64_t rows, int64_t cols) {
  return cols == 0 ? 0 : rows * StrideOf(cols) * kFloatBytes;
}

const std::byte* KeptTable::Row(int64_t node) const {
  return values_.bytes().data() + node * stride_ * kFloatBytes;
}

void KeptTable::Put(int64_t first, const torch::Tensor& rows) {
  float* const to = values_.As<float>().data() + first * stride_;
  torch::from_blob(to, rows.sizes(), {stride_, 1}, torch::kFloat32).copy_(rows);
}

void KeptTable::Gather(std::span<const int64_t> ids, std::byte* to) const {
  GatherStridedRows(values_.bytes().data(), static_cast<size_t>(cols_ * kFloatBytes),
                    static_cast<size_t>(stride_ * kFloatBytes), ids, {}, to);
}

void KeptRows::Fill(const BatchRecipe& recipe, InputRows input_rows, Step* chunk) const {
  const auto& nodes = chunk->minibatch.nodes;
  chunk->features.clear();
  if (input_rows == InputRows::kSelfAndMean) {  // of one node type
    const Block& block = chunk->minibatch.layers.front().blocks.front();
    const KeptTable& of_self = own.front().cols() > 0 ? own.front() : shared.front();
    const auto sources = WhereRowsAre(shared.front(), nodes.front());
    const auto destinations =
        WhereRowsAre(of_self, std::span(nodes.front()).first(block.indptr.size() - 1));
    chunk->self_and_mean.push_back(
        MakeSelfAndMean(block, NodeRows(destinations, of_self.cols(), Precision::kFloat32),
                        NodeRows(sources, shared.front().cols(), Precision::kFloat32),
                        Precision::kFloat32, recipe.pool));
    chunk->features.resize(nodes.size());
    return;
  }
  for (size_t type = 0; type < nodes.size(); ++type) {
    if (nodes[type].empty()) {
      chunk->features.emplace_back();
      continue;
    }
    FeatureMatrix matrix(std::ssize(nodes[type]), shared[type].cols());
    shared[type].Gather(nodes[type], matrix.bytes().data());
    chunk->features.push_back(std::move(matrix));
  }
}

}  // namespace halograph
