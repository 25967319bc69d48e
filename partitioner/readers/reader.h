// Opens an input of any format. Each format is one function in one file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

enum class EdgePolicy { kKeep, kDrop };

// What --format takes beside auto.
inline constexpr std::string_view kInputFormats[] = {"graphbolt", "ogb", "edgelist", "matrixmarket",
                                                     "metis"};

// How edges are taken; written into GRAPH/manifest.json, so that verify reads alike.
struct ReadOptions {
  std::string format = "auto";  // or one of kInputFormats
  // Adds (v, u) for each (u, v). Where both ends have one type: original edge ids become 2i for
  // edge i as given and 2i + 1 for its reverse (as OGB's add_inverse_edge), and both have the
  // features of edge i. A self-loop is its own reverse: it is edge 2i alone. Else a relation
  // `dst:rev_<name>:src` is added, whose edge i is the reverse of edge i, with its features;
  // InvalidArgument if the input has that relation already. An input that lists both directions
  // has each edge twice then. Task sets stay as they are: no seed is added for a reverse edge.
  bool undirected = false;
  // Gives a self-loop a reverse too, as folders have it whose manifest does not say otherwise.
  bool reverse_loops = false;
  // Dropped in the stream, of relations within one type; the other edges keep their ids.
  EdgePolicy self_loops = EdgePolicy::kKeep;
  EdgePolicy duplicates =
      EdgePolicy::kKeep;   // dropped where in-edges are grouped: the first id stays
  int64_t num_nodes = -1;  // edgelist: ids are 0..n-1; -1: the distinct ids that occur
  std::vector<std::string> edge_columns;  // edgelist: features in the columns after the second
  int64_t skip_lines = 0;                 // edgelist: lines before the first edge
  std::string task;                       // ogb: name of the split folder if there are several
  std::filesystem::path scratch;          // folder for temporary files; must exist

  // Without scratch; edge_columns and skip_lines only where they are given, reverse_loops only
  // beside undirected.
  [[nodiscard]] Json ToJson() const;
  [[nodiscard]] static StatusOr<ReadOptions> FromJson(const Json& value, std::string_view where);
};

// Of all types together. No graph has more, and sums of bytes a node and partition fit 63 bits.
inline constexpr int64_t kMaxNodes = int64_t{1} << 40;

// auto: a folder by the files in it; a file by its first line, MatrixMarket or else an edge list.
// A file that looks like another format by its content is refused, with the format. Reads
// descriptions, checks files against them, converts what cannot be mapped (text, CSV,
// Fortran order) to temporary .npy files under options.scratch with bounded memory.
//   NotFound           a file is missing
//   InvalidArgument    a description with a wrong or missing field (file and field), rows that do
//                      not match a count, a format that cannot be told (what was looked for), more
//                      than kMaxNodes nodes, a name that is too long (CheckNames)
//   OutOfRange         a seed or edge id beyond its count (file and position)
//   Unimplemented      torch (.pt) files: what to convert them to
[[nodiscard]] StatusOr<Dataset> OpenDataset(const std::filesystem::path& input,
                                            const ReadOptions& options);

}  // namespace halograph
