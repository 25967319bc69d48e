// The small files of an OGB raw folder, and the paths of its parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

[[nodiscard]] bool FileExists(const std::filesystem::path& path);

// num-node-list.csv.gz and num-edge-list.csv.gz: the count of the one graph.
//   NotFound, InvalidArgument (not one integer), Unimplemented (several graphs)
[[nodiscard]] StatusOr<int64_t> ReadGraphCount(const std::filesystem::path& path);

// A table of a header and one row: (column, cell), in file order. Unimplemented for more rows.
[[nodiscard]] StatusOr<std::vector<std::pair<std::string, std::string>>> ReadHeaderAndRow(
    const std::filesystem::path& path);
// The columns whose cell is True; InvalidArgument for a cell that is neither True nor False.
[[nodiscard]] StatusOr<std::vector<std::string>> ReadTrueColumns(const std::filesystem::path& path);

// Feature `feat` of <kind>-feat.csv.gz and `<x>` of each <kind>_<x>.csv.gz in `folder`, by name.
// `kind`: node or edge. `what`: as CheckRows.
[[nodiscard]] StatusOr<std::vector<InputTensor>> ReadOgbFeatures(
    const std::filesystem::path& folder, const std::string& kind, int64_t rows,
    const std::string& what, Scratch* scratch);

// Edges of one relation from <folder>/edge.csv.gz, their features, and the count in
// num-edge-list.csv.gz checked. The relation's name and ends are set already.
[[nodiscard]] Status ReadOgbRelation(const std::filesystem::path& folder, const Dataset& dataset,
                                     Scratch* scratch, InputRelation* relation);

}  // namespace halograph
