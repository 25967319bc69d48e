#include "proto/wire/snapshot_page.h"

#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

// Of a place, and what stands before it.
constexpr size_t kPlaceBytes = 2 + 4 * (1 + kLongestVarint);

void ReadPlace(Reader& in, PagePlace* place) {
  using enum WireType;
  namespace f = snapshot_place;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kFile, kVarint):
        place->file = static_cast<uint32_t>(in.Varint());
        break;
      case Tag(f::kOffset, kVarint):
        place->offset = static_cast<int64_t>(in.Varint());
        break;
      case Tag(f::kSection, kVarint):
        place->section = in.Varint();
        break;
      case Tag(f::kRow, kVarint):
        place->row = in.Varint();
        break;
      default:
        in.SkipField(tag);
    }
  }
}

std::byte* PutPlace(const PagePlace& place, std::byte* out) {
  namespace f = snapshot_place;
  std::byte body[kPlaceBytes];
  std::byte* end = PutNumber(f::kFile, place.file, body);
  end = PutNumber(f::kOffset, static_cast<uint64_t>(place.offset), end);
  end = PutNumber(f::kSection, place.section, end);
  end = PutNumber(f::kRow, place.row, end);
  const auto bytes = static_cast<size_t>(end - body);
  return PutBytes({body, bytes}, PutLength(read_snapshot_reply::kNext, bytes, out));
}

// As in generated code, the last one counts.
void ReadImages(Reader& in, std::vector<std::byte>* images) {
  const size_t bytes = in.Length();
  images->resize(bytes);
  in.Bytes(images->data(), bytes);
}

}  // namespace

size_t SnapshotPageBytes(size_t rows, size_t image_bytes) {
  namespace f = read_snapshot_reply;
  return FieldBytes(f::kRows, rows * sizeof(int64_t)) + FieldBytes(f::kImages, image_bytes) +
         kPlaceBytes + 1 + kLongestVarint;
}

std::byte* PutSnapshotPage(std::span<const int64_t> rows, std::span<const std::byte> images,
                           const PageEnd& end, std::byte* out) {
  namespace f = read_snapshot_reply;
  out = PutIds(f::kRows, rows, out);
  if (!images.empty()) out = PutBytes(images, PutLength(f::kImages, images.size(), out));
  if (end.next.has_value()) out = PutPlace(*end.next, out);
  if (!end.step.has_value()) return out;
  return PutVarint(static_cast<uint64_t>(*end.step), PutTag(f::kStep, WireType::kVarint, out));
}

StatusOr<SnapshotPage> ReadSnapshotPage(Pieces pieces) {
  using enum WireType;
  namespace f = read_snapshot_reply;
  Reader in(pieces);
  const size_t bytes = in.left();
  SnapshotPage page;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kRows, kBytes):
        in.PackedFixed(&page.rows);
        break;
      case Tag(f::kRows, kFixed64):
        page.rows.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kImages, kBytes):
        ReadImages(in, &page.images);
        break;
      case Tag(f::kNext, kBytes):
        if (!page.end.next.has_value()) page.end.next.emplace();
        in.Message([&] { ReadPlace(in, &*page.end.next); });
        break;
      case Tag(f::kStep, kVarint):
        page.end.step = static_cast<int64_t>(in.Varint());
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!in.failed()) return page;
  return DataLoss("the reply's {} bytes are no halograph.v1.ReadSnapshotReply", bytes);
}

}  // namespace halograph::wire
