// Opens .npy files of the input as InputTensor. They are mapped where they lie if possible, else
// rewritten once in the scratch folder, block by block.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// A mapped .npy as any numpy wrote it, in either storage order, with elements that can be read in
// place: one of foreign byte order or alignment is rewritten. Errors as NpyArray::Open.
[[nodiscard]] StatusOr<NpyArray> OpenInputArray(const std::filesystem::path& path,
                                                std::string_view name, Scratch* scratch);

// A matrix of any dtype, C order afterwards.
//   NotFound            no such file
//   DataLoss            not a .npy, or truncated
//   FailedPrecondition  dtype or rank that is not supported
//   InvalidArgument     no columns
[[nodiscard]] StatusOr<InputTensor> MapTensor(const std::filesystem::path& path, std::string name,
                                              Scratch* scratch);

// Node ids: an integer array, int64 in C order afterwards. InvalidArgument for other dtypes,
// OutOfRange for an id of 2^63 or more (file and row).
[[nodiscard]] StatusOr<InputTensor> MapIds(const std::filesystem::path& path, std::string name,
                                           Scratch* scratch);

// InvalidArgument with both numbers and `what` the rows stand for ("nodes of type `paper`").
[[nodiscard]] Status CheckRows(const InputTensor& tensor, int64_t rows, std::string_view what);

// An InputTensor over an array that is already as it should be. `path`: of the input's file.
[[nodiscard]] InputTensor MakeTensor(std::string name, const std::filesystem::path& path,
                                     NpyArray array);

}  // namespace halograph
