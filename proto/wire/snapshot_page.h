// ReadSnapshotReply (proto/halograph/v1/kv.proto), written and read by hand: images are copied once
// on either side. The bytes are exactly what generated code writes and reads. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "proto/wire/reader.h"

namespace halograph::wire {

// As v1.SnapshotPlace.
struct PagePlace {
  uint32_t file = 0;
  int64_t offset = 0;
  uint64_t section = 0;
  uint64_t row = 0;
  bool operator==(const PagePlace&) const = default;
};

// What a reply holds beside rows and images.
struct PageEnd {
  std::optional<PagePlace> next = {};
  std::optional<int64_t> step = {};
};

// Bytes that PutSnapshotPage writes, at most.
[[nodiscard]] size_t SnapshotPageBytes(size_t rows, size_t image_bytes);
// Gives the end.
[[nodiscard]] std::byte* PutSnapshotPage(std::span<const int64_t> rows,
                                         std::span<const std::byte> images, const PageEnd& end,
                                         std::byte* out);

struct SnapshotPage {
  std::vector<int64_t> rows;
  std::vector<std::byte> images;
  PageEnd end;
};
// DataLoss if the bytes are no such message.
[[nodiscard]] StatusOr<SnapshotPage> ReadSnapshotPage(Pieces pieces);

}  // namespace halograph::wire
