// The dtype that float features are stored and sent in, where the user asks for one:
// --feature-dtype. A dataset's tensors then have a spec.dtype of their own beside that of their
// array, and whoever writes or compares rows makes them with StoreRow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// What the user may ask for. kInput: each feature stays what it is in the input.
enum class FeatureDType { kInput, kFloat32, kFloat16, kBFloat16, kInt8 };
inline constexpr std::string_view kFeatureDTypeWords[] = {"input", "float32", "float16", "bfloat16",
                                                          "int8"};
[[nodiscard]] std::string_view ToString(FeatureDType dtype);
// InvalidArgument naming the word and those that exist.
[[nodiscard]] StatusOr<FeatureDType> FeatureDTypeOf(std::string_view word);

// Gives every float feature of nodes and edges the dtype (int8 is scaled_int8, with a scale a row),
// where its rows become smaller by it. Others stay: integers, labels, features that are as small
// already, and edge features named in `keep`, of which tables of sampling are made.
// Returns the narrowed ones, "node paper / feat".
std::vector<std::string> NarrowFeatures(FeatureDType dtype, const std::vector<std::string>& keep,
                                        Dataset* dataset);

// Writes a row of the tensor's array as spec.row_bytes() bytes of spec.dtype. `file_row`: its
// number in the file, for messages.
//   InvalidArgument  a number that spec.dtype cannot hold (file, row, column, number), with what
//                    to do instead
[[nodiscard]] Status StoreRow(const InputTensor& tensor, const std::byte* row, int64_t file_row,
                              std::byte* out);

}  // namespace halograph
