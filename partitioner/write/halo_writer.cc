#include "partitioner/write/halo_writer.h"

#include <bit>

#include "common/storage/npy.h"
#include "partitioner/write/mapped_npy.h"

namespace halograph {
namespace {

// Sets the bit of every source outside `own`; returns the number of such edges.
template <typename IdT>
int64_t Mark(std::span<const IdT> sources, const IdRange& own, std::vector<uint64_t>* bits) {
  int64_t cut = 0;
  for (const IdT source : sources) {
    const auto id = static_cast<int64_t>(source);
    if (own.contains(id)) continue;
    ++cut;
    (*bits)[static_cast<size_t>(id) / 64] |= uint64_t{1} << (static_cast<size_t>(id) % 64);
  }
  return cut;
}

StatusOr<int64_t> MarkRelation(const std::filesystem::path& indices_path, const IdRange& own,
                               std::vector<uint64_t>* bits) {
  HG_ASSIGN_OR_RETURN(const NpyArray indices, NpyArray::Open(indices_path));
  indices.file().Advise(MappedFile::Access::kSequential);
  if (indices.dtype() == DType::kUInt32) {
    HG_ASSIGN_OR_RETURN(const auto sources, indices.As<uint32_t>());
    return Mark(sources, own, bits);
  }
  HG_ASSIGN_OR_RETURN(const auto sources, indices.As<int64_t>());
  return Mark(sources, own, bits);
}

StatusOr<int64_t> WriteBits(const std::filesystem::path& path, const std::vector<uint64_t>& bits) {
  int64_t count = 0;
  for (const uint64_t word : bits) count += std::popcount(word);
  HG_ASSIGN_OR_RETURN(MappedNpy out, MappedNpy::Create(path, DType::kInt64, count));
  auto* next = out.As<int64_t>();
  for (size_t w = 0; w < bits.size(); ++w) {
    for (uint64_t word = bits[w]; word != 0; word &= word - 1) {
      *next++ = static_cast<int64_t>(w * 64) + std::countr_zero(word);
    }
  }
  HG_RETURN_IF_ERROR(out.Close());
  return count;
}

}  // namespace

StatusOr<HaloCounts> WriteHalo(const WriteContext& context, int part) {
  HaloCounts counts;
  const std::filesystem::path folder = context.PartFolder(part);
  for (size_t type = 0; type < context.dataset.node_types.size(); ++type) {
    const InputNodeType& input = context.dataset.node_types[type];
    const auto& bounds = context.numbering.boundaries()[type];
    const IdRange own{bounds[static_cast<size_t>(part)], bounds[static_cast<size_t>(part) + 1]};
    std::vector<uint64_t> bits(static_cast<size_t>(input.count + 63) / 64, 0);
    for (const InputRelation& relation : context.dataset.relations) {
      if (relation.source != input.name) continue;
      HG_ASSIGN_OR_RETURN(
          const int64_t cut,
          MarkRelation(folder / EdgeFolder(relation.triple()) / "indices.npy", own, &bits));
      counts.cut_edges += cut;
    }
    HG_ASSIGN_OR_RETURN(const int64_t halo,
                        WriteBits(folder / NodeFolder(input.name) / "halo_ids.npy", bits));
    counts.halo_nodes.push_back(halo);
  }
  return counts;
}

}  // namespace halograph
