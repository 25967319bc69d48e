#include "common/state/engine/log/block_writer.h"

#include <algorithm>
#include <cstring>

namespace halograph {
namespace {

constexpr size_t kBlock = AlignedBytes::kAlignment;
static_assert(BlockWriter::kStagedBytes % kBlock == 0);

}  // namespace

size_t BlockWriter::WholeBlocks(std::span<const std::byte> piece) const {
  const bool at_boundary = (end_ - run_) % kBlock == 0;
  const bool aligned = reinterpret_cast<uintptr_t>(piece.data()) % kBlock == 0;
  return at_boundary && aligned ? piece.size() / kBlock * kBlock : 0;
}

void BlockWriter::CloseRun() {
  if (end_ > run_) ready_.push_back(staging_.span().subspan(run_, end_ - run_));
  run_ = end_;
}

Status BlockWriter::Flush(WritableFile& file, int64_t* offset) {
  CloseRun();
  if (ready_.empty()) return OkStatus();
  HG_RETURN_IF_ERROR(file.WriteAt(*offset, ready_));
  for (const auto& piece : ready_) *offset += static_cast<int64_t>(piece.size());
  ready_.clear();
  run_ = end_ = 0;
  return OkStatus();
}

Status BlockWriter::WriteAt(WritableFile& file, int64_t offset,
                            std::span<const std::span<const std::byte>> pieces) {
  ready_.clear();
  run_ = end_ = 0;
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      size_t taken = WholeBlocks(piece);
      if (taken > 0) {
        CloseRun();
        ready_.push_back(piece.first(taken));
      } else {
        if (end_ == kStagedBytes) HG_RETURN_IF_ERROR(Flush(file, &offset));
        taken = std::min(piece.size(), kStagedBytes - end_);
        std::memcpy(staging_.data() + end_, piece.data(), taken);
        end_ += taken;
      }
      piece = piece.subspan(taken);
    }
  }
  return Flush(file, &offset);
}

}  // namespace halograph
