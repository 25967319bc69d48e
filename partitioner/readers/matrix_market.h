// Reads MatrixMarket's coordinate format (.mtx), as text or gzip: a banner, comments (`%`), the
// size line `rows columns entries`, then one entry a line, `i j` or `i j value`, ids from 1.
#pragma once

#include <filesystem>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// One node type and one relation: entry (i, j) is an edge i -> j, edge id = number of the entry,
// from 0. The nodes are the rows; original ids are those of the file, from 1. The values of a real
// matrix become the edge feature `value` as float64, those of an integer one as int64; a pattern
// has none. A symmetric file holds the lower triangle: the relation is `symmetric`, so that its
// reverses follow (ApplyEdgeOptions); with `undirected`, which would double them, it is refused.
//   NotFound         no such file
//   Unimplemented    an array, a complex, hermitian or skew-symmetric matrix, or another object
//                    than a matrix: the word, and what can be read
//   InvalidArgument  a banner or size line that is none; a matrix that is not square; a line that
//                    is no entry; an entry above the diagonal of a symmetric matrix; more or fewer
//                    entries than the size line says (each with file:line); `undirected` and
//                    symmetric
//   OutOfRange       an id of 0, or beyond the size (file:line)
//   DataLoss         damaged gzip, or the file changed meanwhile
[[nodiscard]] StatusOr<Dataset> ReadMatrixMarket(const std::filesystem::path& path, bool undirected,
                                                 Scratch* scratch);

}  // namespace halograph
