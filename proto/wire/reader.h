// Reads the bytes of one message where they lie: consecutive pieces, cut anywhere. Knows varints,
// fixed numbers, lengths and unknown fields; what the fields mean is the business of the messages'
// own readers in this folder.
//
// A reader that meets bytes that are no message has failed: every later read gives zero, nothing is
// left, and NextTag ends the loop. So readers of messages check failed() once, at the end. Nothing
// is read outside the pieces, and no memory is taken. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/wire/fields.h"

namespace halograph::wire {

// The bytes of one message as they arrived: consecutive pieces, cut anywhere, not aligned.
using Pieces = std::span<const std::span<const std::byte>>;

class Reader {
 public:
  // Borrows the pieces.
  explicit Reader(Pieces pieces);

  // Of the message being read: the whole one, or the innermost entered.
  [[nodiscard]] size_t left() const { return static_cast<size_t>(end_ - at_) + beyond_; }
  [[nodiscard]] bool failed() const { return failed_; }
  void Fail();

  // The tag of the next field; 0 at the message's end and after a failure.
  [[nodiscard]] uint32_t NextTag();
  [[nodiscard]] uint64_t Varint();
  [[nodiscard]] uint64_t Fixed64();
  [[nodiscard]] uint32_t Fixed32();
  // Of the bytes that follow; fails if they are not all left.
  [[nodiscard]] size_t Length();
  // A length and so many bytes.
  [[nodiscard]] std::string Text();
  // Requires bytes <= left().
  void Bytes(void* out, size_t bytes);
  void Skip(size_t bytes);
  // The field that `tag` began. Fails for a tag that none has.
  void SkipField(uint32_t tag);
  // The next bytes that lie together, at most `most`; moves behind them. Empty if none is left.
  [[nodiscard]] std::span<const std::byte> Run(size_t most);
  // All of the next `bytes`, which must be left, as runs that point into the pieces.
  [[nodiscard]] std::vector<std::span<const std::byte>> Runs(size_t bytes);

  // A length and a message of that many bytes: `body` reads it by NextTag until that gives 0.
  template <typename Body>
  void Message(Body body) {
    const size_t length = Length();
    const size_t outer = Enter(length);
    body();
    Leave(outer);
  }

  // A packed field of uint32, behind those that `out` has; larger values lose their upper bits, as
  // in generated code. Most take one byte: those are read eight at a time.
  void PackedUint32(std::vector<uint32_t>* out);
  // A packed field of varints, behind those that `out` has, until `out` has more than `most`: those
  // left are skipped.
  void PackedInt64(std::vector<int64_t>* out, size_t most) {
    Message([&] {
      while (left() > 0 && out->size() <= most) out->push_back(static_cast<int64_t>(Varint()));
    });
  }
  // A packed field of numbers of T's size, in the order of the machine (little-endian), behind
  // those that `out` has.
  template <typename T>
  void PackedFixed(std::vector<T>* out) {
    const size_t length = Length();
    if (length % sizeof(T) != 0) return Fail();
    const size_t before = out->size();
    out->resize(before + length / sizeof(T));
    Bytes(out->data() + before, length);
  }

  // A packed field of ids of 4 bytes, behind those that `out` has.
  void PackedNarrow(std::vector<int64_t>* out);
  // A packed field of varints, behind those that `out` has.
  void PackedUint64(std::vector<uint64_t>* out) {
    Message([&] {
      while (left() > 0) out->push_back(Varint());
    });
  }
  // The next id of those that travel as their differences (writer.h), behind those that `out` has.
  // Ids that do not ascend, or pass 2^63, come out as one that is not above the last (or, of the
  // first, as negative): who checks that they ascend has found all that can be wrong.
  void DeltaId(std::vector<int64_t>* out) {
    const uint64_t last = out->empty() ? 0 : static_cast<uint64_t>(out->back());
    out->push_back(static_cast<int64_t>(last + Varint()));
  }
  // A packed field of such ids.
  void PackedDeltas(std::vector<int64_t>* out) {
    Message([&] {
      while (left() > 0) DeltaId(out);
    });
  }

 private:
  // Goes over to the next piece; false if nothing is left.
  bool Refill();
  [[nodiscard]] uint64_t SlowVarint();
  void SkipGroup(uint32_t field, int depth);
  void SkipField(uint32_t tag, int depth);
  // Makes the next `length` bytes, which must be left, the message; gives what is left behind them.
  [[nodiscard]] size_t Enter(size_t length);
  void Leave(size_t outer);

  // What lies together and is of the message: [at_, end_). Behind it, the message has `beyond_`
  // bytes in later pieces, or else the piece has `rest_` bytes that are not the message's.
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  size_t beyond_ = 0;
  size_t rest_ = 0;
  Pieces pieces_;  // that follow
  bool failed_ = false;
};

}  // namespace halograph::wire
