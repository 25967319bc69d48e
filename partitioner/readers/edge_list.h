// Reads edge lists as text or gzip, as SNAP publishes them: two integers per line, separated by
// blanks, tabs or commas. Further columns become edge features if they are given names; else they
// are dropped, with a warning. Blank lines and comments (`#`, `%`) are ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

struct EdgeListOptions {
  int64_t num_nodes = -1;            // ids are 0..num_nodes-1; -1: the distinct ids that occur
  std::vector<std::string> columns;  // names of the features in the third column and after it
  int64_t skip_lines = 0;            // before the first edge: a header
  // Nobody said that the file is an edge list: it is refused where its lines look like another
  // format. Else only the banner of a MatrixMarket file is.
  bool guessed = false;
};

// One node type and one relation; edge id = number of the edge line, from 0. With `num_nodes` >= 0
// ids are 0..num_nodes-1; else the nodes are the distinct ids that occur, in ascending order, and
// original_ids keeps them (null if they are 0..n-1 anyway). Features: EdgeColumns.
// Memory: 9/64 byte for each id up to the largest (ids below 2^31), 8 bytes for each distinct id
// above that.
//   NotFound         no such file
//   InvalidArgument  a line that is not two integers, or a negative one (file:line, and what it
//                    looks like); a column that is no number (file:line); no edge at all and no
//                    num_nodes; the first line that is not skipped is MatrixMarket's banner;
//                    `guessed`, and counts as in a METIS or MatrixMarket file, or, without
//                    `columns`, whole numbers that differ in how many stand in a line, as in
//                    adjacency lists (what it looks like, what to do)
//   OutOfRange       an id of num_nodes or more (file:line, id and count)
//   DataLoss         damaged gzip, or the file changed meanwhile
[[nodiscard]] StatusOr<Dataset> ReadEdgeList(const std::filesystem::path& path,
                                             const EdgeListOptions& options, Scratch* scratch);

}  // namespace halograph
