// Writes pieces of any size and address to a file that takes nothing but whole blocks from block
// boundaries in memory (FileSystem::Write::kDirect). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/aligned_bytes.h"
#include "common/base/status.h"
#include "common/state/env.h"

namespace halograph {

class BlockWriter {
 public:
  // Memory for what has to be copied: it goes to the file when so much has come together.
  static constexpr size_t kStagedBytes = size_t{4} << 20;

  BlockWriter() : staging_(kStagedBytes) {}

  // As WritableFile::WriteAt, by one or more calls of it. Requires that `offset`, and all pieces
  // together, are multiples of 4096. Whole blocks that begin on a boundary both in the file and in
  // memory are written from where they lie; the rest is copied.
  [[nodiscard]] Status WriteAt(WritableFile& file, int64_t offset,
                               std::span<const std::span<const std::byte>> pieces);

 private:
  // How many bytes of `piece` can go as they are.
  [[nodiscard]] size_t WholeBlocks(std::span<const std::byte> piece) const;
  void CloseRun();
  [[nodiscard]] Status Flush(WritableFile& file, int64_t* offset);

  const AlignedBytes staging_;
  std::vector<std::span<const std::byte>> ready_;  // whole blocks
  size_t run_ = 0;  // where in staging_ the copies begin that are not in ready_ yet
  size_t end_ = 0;  // of the copies
};

}  // namespace halograph
