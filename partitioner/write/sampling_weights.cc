#include "partitioner/write/sampling_weights.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/progress.h"
#include "common/sampling/weighted_table.h"
#include "partitioner/write/mapped_npy.h"

namespace halograph {
namespace {

Status CheckWeight(const InputTensor& tensor, const std::string& triple, int64_t edge,
                   double weight) {
  if (weight >= 0 && std::isfinite(weight)) return OkStatus();
  return InvalidArgument(
      "{}: edge {} of relation '{}' has weight {} ('{}'); sampling weights must be finite and at "
      "least 0 (0: never drawn): fix the input, or remove the feature from --sampling-weights",
      tensor.path, edge, triple, weight, tensor.spec.name);
}

// One feature of one partition.
class TableWriter {
 public:
  TableWriter(const InputTensor& tensor, const std::string& triple,
              const std::filesystem::path& part_folder)
      : tensor_(tensor), triple_(triple), part_folder_(part_folder) {}

  // Returns how many nodes have in-edges, but none of positive weight.
  [[nodiscard]] StatusOr<int64_t> Write(Progress* progress) {
    HG_RETURN_IF_ERROR(Open());
    HG_ASSIGN_OR_RETURN(const std::span<const int64_t> indptr, indptr_.As<int64_t>());
    const int64_t nodes = indptr_.rows() - 1;
    int64_t undrawable = 0;
    for (int64_t node = 0; node < nodes; ++node) {
      const int64_t begin = indptr[node];
      const int64_t degree = indptr[node + 1] - begin;
      HG_RETURN_IF_ERROR(ReadWeights(begin, degree));
      builder_.Build(weights_, node, begin, Room());
      undrawable += degree > 0 && Room().drawable[node] == 0 ? 1 : 0;
      if (node % kReleaseNodes == 0) ReleaseBefore(begin);
    }
    progress->Advance(entries_.rows());
    for (MappedNpy* const file : {&entries_, &copies_, &heavy_, &drawable_}) {
      HG_RETURN_IF_ERROR(file->Close());
    }
    return undrawable;
  }

 private:
  static constexpr int64_t kReleaseNodes = 4096;

  [[nodiscard]] Status Open() {
    const std::string folder = EdgeFolder(triple_);
    const std::string& name = tensor_.spec.name;
    HG_ASSIGN_OR_RETURN(indptr_, NpyArray::Open(part_folder_ / folder / "indptr.npy"));
    HG_ASSIGN_OR_RETURN(ids_, NpyArray::Open(part_folder_ / folder / "original_ids.npy"));
    HG_ASSIGN_OR_RETURN(values_, NpyArray::Open(part_folder_ / FeatureFile(folder, name)));
    const int64_t edges = ids_.rows();
    const auto path = [&](std::string_view array) {
      return part_folder_ / WeightTableFile(folder, name, array);
    };
    HG_ASSIGN_OR_RETURN(entries_, MappedNpy::Create(path("entries"), DType::kUInt32, edges, 2, 2));
    HG_ASSIGN_OR_RETURN(copies_, MappedNpy::Create(path("weights"), DType::kFloat64, edges));
    HG_ASSIGN_OR_RETURN(heavy_,
                        MappedNpy::Create(path("heavy"), DType::kUInt64, edges / kHeavyDegree,
                                          sizeof(HeavyEdges) / sizeof(uint64_t), 2));
    HG_ASSIGN_OR_RETURN(drawable_,
                        MappedNpy::Create(path("drawable"), DType::kUInt32, indptr_.rows() - 1));
    return OkStatus();
  }

  [[nodiscard]] WeightTableRoom Room() const {
    return {.entries = entries_.As<AliasEntry>(),
            .weights = copies_.As<double>(),
            .heavy = heavy_.As<HeavyEdges>(),
            .drawable = drawable_.As<uint32_t>()};
  }
  void ReleaseBefore(int64_t edge) {
    entries_.ReleaseBefore(edge);
    copies_.ReleaseBefore(edge);
    heavy_.ReleaseBefore(edge / kHeavyDegree);
  }

  // Weights of one node's in-edges, checked.
  [[nodiscard]] Status ReadWeights(int64_t begin, int64_t degree) {
    HG_ASSIGN_OR_RETURN(const std::span<const int64_t> ids, ids_.As<int64_t>());
    if (degree > kMaxWeightedDegree) {
      return InvalidArgument(
          "relation '{}': a node has {} in-edges, but weighted sampling supports at most {}",
          triple_, degree, kMaxWeightedDegree);
    }
    weights_.resize(static_cast<size_t>(degree));
    ConvertToDouble(tensor_.spec.dtype,
                    values_.data().data() + static_cast<size_t>(begin) * values_.row_bytes(),
                    weights_.size(), weights_.data());
    for (size_t i = 0; i < weights_.size(); ++i) {
      HG_RETURN_IF_ERROR(
          CheckWeight(tensor_, triple_, ids[begin + static_cast<int64_t>(i)], weights_[i]));
    }
    const double sum = SumOfWeights(weights_);
    if (sum <= kMaxWeightSum) return OkStatus();
    return InvalidArgument(
        "{}: the weights '{}' of the in-edges that share a destination with edge {} of relation "
        "'{}' add up to {}, more than 2^1023: scale them down",
        tensor_.path, tensor_.spec.name, ids[begin], triple_, sum);
  }

  const InputTensor& tensor_;
  const std::string triple_;
  const std::filesystem::path part_folder_;
  NpyArray indptr_, ids_, values_;
  MappedNpy entries_, copies_, heavy_, drawable_;
  std::vector<double> weights_;  // of one node
  WeightTableBuilder builder_;
};

}  // namespace

Status MarkSamplingWeights(const std::vector<std::string>& names, Dataset* dataset) {
  std::set<std::string> known;
  for (const std::string& name : names) {
    bool found = false;
    for (InputRelation& relation : dataset->relations) {
      for (InputTensor& tensor : relation.features) {
        known.insert(tensor.spec.name);
        if (tensor.spec.name != name) continue;
        if (tensor.spec.dim != 1) {
          return InvalidArgument(
              "{}: feature '{}' of relation '{}' has {} columns; a sampling weight has one",
              tensor.path, name, relation.triple(), tensor.spec.dim);
        }
        tensor.spec.sampling = true;
        found = true;
      }
    }
    if (!found) {
      return NotFound(
          "--sampling-weights: no relation has an edge feature '{}'; existing features: {}", name,
          known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
    }
  }
  return OkStatus();
}

int64_t WeightTableBytes(const InputRelation& relation, int64_t edges, int64_t nodes) {
  const auto tables = std::count_if(relation.features.begin(), relation.features.end(),
                                    [](const InputTensor& tensor) { return tensor.spec.sampling; });
  return tables *
         (edges * int64_t{sizeof(AliasEntry) + sizeof(double)} +
          edges / kHeavyDegree * int64_t{sizeof(HeavyEdges)} + nodes * int64_t{sizeof(uint32_t)});
}

StatusOr<int64_t> WriteWeightTables(const WriteContext& context, int relation) {
  const InputRelation& input = context.dataset.relations[static_cast<size_t>(relation)];
  int64_t undrawable = 0;
  for (const InputTensor& tensor : input.features) {
    if (!tensor.spec.sampling) continue;
    Progress progress(fmt::format("sampling tables by {} of {}", tensor.spec.name, input.triple()),
                      input.edges->max_edges());
    for (int part = 0; part < context.num_parts(); ++part) {
      HG_ASSIGN_OR_RETURN(
          const int64_t of_part,
          TableWriter(tensor, input.triple(), context.PartFolder(part)).Write(&progress));
      undrawable += of_part;
    }
  }
  return undrawable;
}

}  // namespace halograph
