// ReadTopologyReply and ReadTaskSetReply (proto/halograph/v1/graph.proto), written by servers and
// read by clients. Their data are sent out of mapped files and read where they arrived: neither
// side copies them here. The bytes are exactly what generated code writes and reads. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "proto/wire/reader.h"

namespace halograph::wire {

// Bytes of a reply, in order; they point into it.
struct BytesField {
  std::vector<std::span<const std::byte>> runs;
  size_t size = 0;  // of them together
};

struct TopologyReply {
  int64_t file_bytes = 0;
  BytesField data;
};

// DataLoss if the bytes are no such message.
[[nodiscard]] StatusOr<TopologyReply> ReadTopologyReply(Pieces pieces);

// What stands before the data of a ReadTopologyReply takes at most this many bytes.
inline constexpr size_t kTopologyReplyHeaderBytes = 32;
// Writes it; `data_bytes` of data follow right behind. Gives the end.
[[nodiscard]] std::byte* PutTopologyReplyHeader(int64_t file_bytes, size_t data_bytes,
                                                std::byte* out);

struct TensorField {
  std::string name;
  uint32_t dtype = 0;  // as v1.DType
  std::vector<int64_t> shape;
  BytesField data;
};

struct TaskSetReply {
  int64_t total_rows = 0;
  int64_t rows = 0;
  std::vector<TensorField> arrays;
};

// DataLoss if the bytes are no such message, or hold more than `max_arrays` arrays or one with more
// than two extents.
[[nodiscard]] StatusOr<TaskSetReply> ReadTaskSetReply(Pieces pieces, size_t max_arrays);

// What stands before the arrays of a ReadTaskSetReply.
[[nodiscard]] std::string TaskSetReplyHeader(int64_t total_rows, int64_t rows);
// What stands before the data of one array; `data_bytes` of data follow right behind.
[[nodiscard]] std::string TaskSetArrayHeader(std::string_view name, uint32_t dtype,
                                             std::span<const int64_t> shape, size_t data_bytes);

}  // namespace halograph::wire
