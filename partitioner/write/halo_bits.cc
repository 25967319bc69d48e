#include "partitioner/write/halo_bits.h"

#include <algorithm>
#include <bit>

#include "partitioner/write/npy_appender.h"

namespace halograph {
namespace {

constexpr size_t kBlock = 4096;  // ids written at a time

StatusOr<int64_t> WriteBits(const std::filesystem::path& path, const std::vector<uint64_t>& bits) {
  HG_ASSIGN_OR_RETURN(NpyAppender out, NpyAppender::Create(path, DType::kInt64));
  std::vector<int64_t> ids;
  int64_t count = 0;
  const auto write = [&] {
    count += static_cast<int64_t>(ids.size());
    const Status status = out.Append(std::span<const int64_t>(ids));
    ids.clear();
    return status;
  };
  for (size_t w = 0; w < bits.size(); ++w) {
    for (uint64_t word = bits[w]; word != 0; word &= word - 1) {
      ids.push_back(static_cast<int64_t>(w * 64) + std::countr_zero(word));
    }
    if (ids.size() >= kBlock) HG_RETURN_IF_ERROR(write());
  }
  HG_RETURN_IF_ERROR(write());
  HG_RETURN_IF_ERROR(out.Close());
  return count;
}

}  // namespace

HaloBits::HaloBits(const WriteContext& context) : context_(context) {
  for (const InputNodeType& type : context.dataset.node_types) {
    bits_.emplace_back(static_cast<size_t>(type.count + 63) / 64, 0);
  }
  own_.resize(bits_.size());
}

void HaloBits::Begin(int part) {
  part_ = part;
  cut_edges_ = 0;
  for (size_t type = 0; type < bits_.size(); ++type) {
    const auto& bounds = context_.numbering.boundaries()[type];
    own_[type] = {bounds[static_cast<size_t>(part)], bounds[static_cast<size_t>(part) + 1]};
    std::fill(bits_[type].begin(), bits_[type].end(), 0);
  }
}

StatusOr<HaloCounts> HaloBits::Write() const {
  HaloCounts counts;
  counts.cut_edges = cut_edges_;
  for (size_t type = 0; type < bits_.size(); ++type) {
    const std::string folder = NodeFolder(context_.dataset.node_types[type].name);
    HG_ASSIGN_OR_RETURN(
        const int64_t halo,
        WriteBits(context_.PartFolder(part_) / folder / "halo_ids.npy", bits_[type]));
    counts.halo_nodes.push_back(halo);
  }
  return counts;
}

}  // namespace halograph
