// Reads a PullReply (proto/halograph/v1/kv.proto) straight into the rows of a destination, from
// pieces cut anywhere: no protobuf object, no copy of the rows but the one into place. Unknown
// fields are skipped. Not thread-safe; one reader a reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"

namespace halograph {

class PullReplyReader {
 public:
  // Expects `rows` rows of `spec`. Row i goes to destination + positions[i] * row_bytes, or to
  // destination + i * row_bytes if `positions` is empty. Borrowed: spec, positions, destination.
  PullReplyReader(const TensorSpec& spec, int64_t rows, std::span<const int64_t> positions,
                  std::byte* destination);

  // The next bytes of the message. DataLoss: not a PullReply, or of another dtype, shape or size
  // than expected (found and expected are named). Nothing is written outside the rows expected.
  [[nodiscard]] Status Consume(std::span<const std::byte> piece);

  // After the last piece. DataLoss if the message is cut or lacks dtype, shape or rows.
  [[nodiscard]] Status Finish() const;

 private:
  enum class State { kTag, kVarint, kLength, kShape, kSkip, kRows };

  [[nodiscard]] Status Byte(uint8_t byte);
  // True once `byte` ended the varint in value_.
  [[nodiscard]] StatusOr<bool> AddToVarint(uint8_t byte);
  [[nodiscard]] Status StartField();
  [[nodiscard]] Status EndVarint();
  [[nodiscard]] Status StartBytes();
  [[nodiscard]] Status AddShape(uint64_t extent);
  [[nodiscard]] Status CheckHeader() const;
  size_t Scatter(std::span<const std::byte> piece);

  const TensorSpec& spec_;
  const int64_t rows_;
  const std::span<const int64_t> positions_;
  std::byte* const destination_;

  State state_ = State::kTag;
  uint32_t field_ = 0;
  uint32_t wire_type_ = 0;
  uint64_t value_ = 0;  // of the varint being read
  int shift_ = 0;       // bits of it read so far
  uint64_t left_ = 0;   // bytes left of a packed shape, a skipped field or the rows
  uint64_t dtype_ = 0;  // 0: not seen
  std::vector<uint64_t> shape_;
  bool rows_seen_ = false;
  int64_t row_ = 0;        // being written
  size_t row_offset_ = 0;  // bytes of it written
};

}  // namespace halograph
