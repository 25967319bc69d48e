#include "partitioner/readers/edge_array.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "common/storage/integers.h"
#include "partitioner/readers/input_tensor.h"

namespace halograph {
namespace {

struct MappedEdges {
  std::filesystem::path path;  // the input's; `array` may be a rewritten copy
  NpyArray array;
  FileStamp stamp;
  EdgeEnds ends;
  int64_t count = 0;
  // Elements from one edge to the next, and from a source to its destination.
  int64_t stride = 1;
  int64_t destination_offset = 0;

  [[nodiscard]] std::string Where(int64_t edge) const {
    return fmt::format("{}: edge {}", path.string(), edge);
  }
};

[[nodiscard]] bool Beyond(int64_t id, int64_t count) {
  return static_cast<uint64_t>(id) >= static_cast<uint64_t>(count);
}

class ArrayCursor : public EdgeCursor {
 public:
  explicit ArrayCursor(std::shared_ptr<const MappedEdges> edges) : edges_(std::move(edges)) {}

  StatusOr<bool> Next(EdgeChunk* chunk) override {
    const MappedEdges& edges = *edges_;
    const int64_t size = std::min<int64_t>(kEdgeChunk, edges.count - next_);
    chunk->sources.resize(size);
    chunk->destinations.resize(size);
    chunk->ids.resize(size);
    WithIntegerType(edges.array.dtype(), [&](auto zero) {
      const auto* source =
          reinterpret_cast<const decltype(zero)*>(edges.array.data().data()) + next_ * edges.stride;
      const auto* destination = source + edges.destination_offset;
      for (int64_t i = 0; i < size; ++i) {
        chunk->sources[i] = static_cast<int64_t>(source[i * edges.stride]);
        chunk->destinations[i] = static_cast<int64_t>(destination[i * edges.stride]);
      }
    });
    for (int64_t i = 0; i < size; ++i) {
      chunk->ids[i] = next_ + i;
      if (Beyond(chunk->sources[i], edges.ends.sources) ||
          Beyond(chunk->destinations[i], edges.ends.destinations)) {
        return CheckEdge(edges.ends, chunk->sources[i], chunk->destinations[i],
                         edges.Where(next_ + i), edges.array.dtype() == DType::kUInt64);
      }
    }
    next_ += size;
    return size > 0;
  }

 private:
  std::shared_ptr<const MappedEdges> edges_;
  int64_t next_ = 0;
};

class ArraySource : public EdgeSource {
 public:
  explicit ArraySource(std::shared_ptr<const MappedEdges> edges) : edges_(std::move(edges)) {}

  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    HG_RETURN_IF_ERROR(CheckUnchanged(edges_->path, edges_->stamp));
    edges_->array.file().Advise(MappedFile::Access::kSequential);
    return std::make_unique<ArrayCursor>(edges_);
  }
  int64_t max_edges() const override { return edges_->count; }

 private:
  std::shared_ptr<const MappedEdges> edges_;
};

}  // namespace

EdgeEnds EndsOf(const Dataset& dataset, const InputRelation& relation) {
  EdgeEnds ends;
  ends.source_type = relation.source;
  ends.destination_type = relation.destination;
  ends.sources = dataset.node_types[dataset.NodeTypeIndex(relation.source)].count;
  ends.destinations = dataset.node_types[dataset.NodeTypeIndex(relation.destination)].count;
  return ends;
}

Status CheckEdge(const EdgeEnds& ends, int64_t source, int64_t destination,
                 const std::string& where, bool from_unsigned) {
  const auto error = [&](std::string_view end, int64_t id, int64_t count, const std::string& type) {
    return OutOfRange(
        "{}: {} {} is beyond the {} nodes of type `{}`", where, end,
        from_unsigned ? fmt::format("{}", static_cast<uint64_t>(id)) : fmt::format("{}", id), count,
        type);
  };
  if (Beyond(source, ends.sources)) {
    return error("source", source, ends.sources, ends.source_type);
  }
  if (Beyond(destination, ends.destinations)) {
    return error("destination", destination, ends.destinations, ends.destination_type);
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<const EdgeSource>> OpenEdgeArray(const std::filesystem::path& path,
                                                          EdgeArrayForm form, EdgeEnds ends,
                                                          Scratch* scratch) {
  auto edges = std::make_shared<MappedEdges>();
  edges->path = path;
  HG_ASSIGN_OR_RETURN(edges->stamp, FileStamp::Of(path));
  HG_ASSIGN_OR_RETURN(edges->array, OpenInputArray(path, "edges", scratch));
  const NpyArray& array = edges->array;
  const bool by_rows = form == EdgeArrayForm::kRows;
  const std::vector<int64_t>& shape = array.shape();
  if (shape.size() != 2 || shape[by_rows ? 0 : 1] != 2) {
    return InvalidArgument("{}: edges have shape ({}), expected {}", path.string(),
                           fmt::join(shape, ", "),
                           by_rows ? "(2, E): sources, then destinations" : "(E, 2)");
  }
  if (!IsInteger(array.dtype())) {
    return InvalidArgument("{}: edges hold {}, but ids are integers", path.string(),
                           DTypeName(array.dtype()));
  }
  edges->ends = std::move(ends);
  edges->count = shape[by_rows ? 1 : 0];
  const bool apart = by_rows != array.fortran_order();  // all sources lie before all destinations
  edges->stride = apart ? 1 : 2;
  edges->destination_offset = apart ? edges->count : 1;
  return std::shared_ptr<const EdgeSource>(std::make_shared<ArraySource>(std::move(edges)));
}

}  // namespace halograph
