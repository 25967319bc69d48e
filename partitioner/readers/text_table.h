// Reads CSV without a header, plain or gzip, once, and writes it as .npy in the scratch folder,
// with bounded memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/edge_array.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// Lines "source,destination"; blank lines are skipped, ids checked here.
//   NotFound         no such file
//   InvalidArgument  a line that is not two integers (file:line)
//   OutOfRange       an id beyond its count (file:line)
//   DataLoss         damaged gzip, or the file changed meanwhile
[[nodiscard]] StatusOr<std::shared_ptr<const EdgeSource>> ConvertEdgeTable(
    const std::filesystem::path& path, EdgeEnds ends, Scratch* scratch);

// A table of numbers: int64 if every cell is an integer, else float32; an empty cell is NaN. One
// column gives rank 1. The dtype is known only at the end, so a table whose first float comes late
// is read twice. InvalidArgument (file:line) for a cell that is no number and for a line with
// another number of cells than the first; else as above.
[[nodiscard]] StatusOr<InputTensor> ConvertMatrix(const std::filesystem::path& path,
                                                  std::string name, Scratch* scratch);

// A small table of text, cell by cell; InvalidArgument beyond `max_rows`.
[[nodiscard]] StatusOr<std::vector<std::vector<std::string>>> ReadTextTable(
    const std::filesystem::path& path, size_t max_rows);

// The whole of `text`, blanks around it aside, as an integer.
[[nodiscard]] bool ParseInteger(std::string_view text, int64_t* value);

}  // namespace halograph
