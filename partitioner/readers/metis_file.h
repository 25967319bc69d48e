// Reads the graph files of METIS (also of KaHIP and Chaco; manual of METIS 5.1, section 4.5), as
// text or gzip. The first line is `nodes edges [fmt [ncon]]`; node i is line i after it, and a node
// without edges is an empty line; lines that start with `%` are comments.
#pragma once

#include <filesystem>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// One node type and one relation: an entry j on line i is an edge j -> i, edge id = number of the
// entry in the file, from 0. Every edge is listed at both of its ends, so nothing is doubled; a
// self-loop is listed once. Original ids are those of the file, from 1. Edge weights become the
// edge feature `weight` (int64). Sizes and weights of nodes are skipped, with a warning.
// Memory: a table of fixed size (SymmetryCheck), and the longest line.
//   NotFound         no such file
//   InvalidArgument  a first line that is none; a line that is not as `fmt` says; a weight of an
//                    edge below 1; an entry whose edge is not listed at its other end, or with
//                    another weight (line and number of the entry); more or fewer nodes or edges
//                    than the first line says
//   OutOfRange       an id of 0, or beyond the number of nodes (file:line, number of the entry)
//   DataLoss         damaged gzip, or the file changed meanwhile
[[nodiscard]] StatusOr<Dataset> ReadMetisFile(const std::filesystem::path& path, Scratch* scratch);

}  // namespace halograph
