// A graph as the readers give it to the partitioner: descriptions and handles, never the edges
// or features themselves. Edges come as a stream of bounded chunks, in one or several passes.
// Features lie in mapped files. Ids are input ids: 0 .. count-1 per node type.
//
// Const use is thread-safe; cursors are not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/storage/npy.h"

namespace halograph {

// Edges of one relation, one after the other. ids: original edge ids, ascending over the stream;
// they may have gaps where an option dropped edges.
struct EdgeChunk {
  std::vector<int64_t> sources;
  std::vector<int64_t> destinations;
  std::vector<int64_t> ids;

  void clear() {
    sources.clear();
    destinations.clear();
    ids.clear();
  }
  [[nodiscard]] size_t size() const { return ids.size(); }
};

inline constexpr size_t kEdgeChunk = size_t{1} << 16;  // edges a chunk holds at most

// Names that a homogeneous graph's node type and relation get.
inline constexpr char kHomogeneousNode[] = "node";
inline constexpr char kHomogeneousEdge[] = "edge";

class EdgeCursor {
 public:
  virtual ~EdgeCursor() = default;
  // Overwrites `chunk` with the next edges; false at the end (chunk is then empty). Every id was
  // checked against the node counts: OutOfRange names file, position, id and count otherwise.
  [[nodiscard]] virtual StatusOr<bool> Next(EdgeChunk* chunk) = 0;
};

class EdgeSource {
 public:
  virtual ~EdgeSource() = default;
  // A new pass from the start. DataLoss if the file changed since the first.
  [[nodiscard]] virtual StatusOr<std::unique_ptr<EdgeCursor>> Open() const = 0;
  // Edges that a pass gives at most (before dropping).
  [[nodiscard]] virtual int64_t max_edges() const = 0;
  // Whether a pass gives just as many; else only a pass can tell.
  [[nodiscard]] virtual bool exact() const { return true; }
  // Self-loops that an option dropped from a whole pass, which gave `streamed` edges.
  [[nodiscard]] virtual int64_t DroppedLoops(int64_t /*streamed*/) const { return 0; }
};

// A matrix that lies in a mapped C-order .npy: row r of the tensor is row r / row_divisor there
// (2 where each edge was given its reverse and both share a row).
struct InputTensor {
  TensorSpec spec;
  std::string path;  // the input's file, for messages; array may be a converted copy
  std::shared_ptr<const NpyArray> array;
  int64_t row_divisor = 1;
};

struct InputNodeType {
  std::string name;
  int64_t count = 0;
  std::vector<InputTensor> features;  // by name
  std::shared_ptr<const NpyArray>
      original_ids;  // int64 [count], ascending; null: the input id itself
};

struct InputRelation {
  std::string source, name, destination;  // node type names
  std::shared_ptr<const EdgeSource> edges;
  std::vector<InputTensor> features;  // by name; rows by original edge id
  // The input gives each edge once for both directions. Only readers see it: ApplyEdgeOptions adds
  // the reverses, numbered as --undirected does it.
  bool symmetric = false;

  [[nodiscard]] std::string triple() const { return source + ":" + name + ":" + destination; }
};

// Rows of every array agree; "seeds" is there and holds input ids (int64), checked against the
// counts: [n] are nodes, [n, k] tuples. A pair of a relation holds a source and a destination; a
// wider tuple is only given where both ends are one type. In a homogeneous graph tuples belong to
// the relation. labels and the rest keep the dtype of the input.
struct InputTaskSet {
  std::string set;   // train, valid, test
  std::string type;  // node type or relation triple
  bool edges = false;
  std::vector<InputTensor> arrays;  // "seeds" first, then by name
};

struct InputTask {
  std::string name;
  Json metadata = Json::object();
  std::vector<InputTaskSet> sets;
};

struct Dataset {
  std::string name;
  std::string format;                     // as ReadOptions has it, but never auto
  std::vector<InputNodeType> node_types;  // byte order of names
  std::vector<InputRelation> relations;   // byte order of triples
  std::vector<InputTask> tasks;
  std::shared_ptr<void> scratch;  // keeps temporary files alive; removes them at the end

  [[nodiscard]] int NodeTypeIndex(std::string_view name) const;  // -1 if unknown
};

// Whether the partition folder can have a folder or file for every name. InvalidArgument for a name
// that is too long.
[[nodiscard]] Status CheckNames(const Dataset& dataset);

}  // namespace halograph
