#include "common/storage/file_checksums.h"

#include <algorithm>

#include "common/base/checksum.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

int64_t ChunkCount(int64_t bytes) {
  return bytes / kChecksumChunkBytes + (bytes % kChecksumChunkBytes != 0 ? 1 : 0);
}

// What a scan has in memory at a time.
constexpr size_t kScanBytes = size_t{4} << 20;

// The checksum of chunk `index`; its pages are let go again, so that a scan stays small.
std::string ChunkChecksum(const MappedFile& file, int64_t index) {
  const auto offset = static_cast<size_t>(index * kChecksumChunkBytes);
  const size_t length =
      std::min(static_cast<size_t>(kChecksumChunkBytes), file.bytes().size() - offset);
  return Hex64(
      Checksum64(file.bytes().subspan(offset, length), kScanBytes,
                 [&](size_t at, size_t piece_bytes) { file.Release(offset + at, piece_bytes); }));
}

StatusOr<MappedFile> OpenForScan(const fs::path& path) {
  HG_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  file.Advise(MappedFile::Access::kSequential);
  return file;
}

Status SizeDiffers(const fs::path& path, int64_t found, int64_t expected) {
  return DataLoss(
      "{}: has {} bytes, its manifest says {}: it is truncated or foreign; fetch or "
      "write it again",
      path.string(), found, expected);
}

bool IsChecksumHex(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// True if `path` names something below the folder it is relative to.
bool StaysBelow(std::string_view text) {
  const fs::path path(text);
  if (text.empty() || text.find('\0') != std::string_view::npos || path.is_absolute()) return false;
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) {
    return part.empty() || part == "." || part == "..";
  });
}

}  // namespace

StatusOr<FileEntry> ChecksumFile(const fs::path& folder, const std::string& relative_path) {
  HG_ASSIGN_OR_RETURN(const MappedFile file, OpenForScan(folder / relative_path));
  FileEntry entry{relative_path, static_cast<int64_t>(file.bytes().size()), {}};
  for (int64_t i = 0; i < ChunkCount(entry.bytes); ++i) {
    entry.checksums.push_back(ChunkChecksum(file, i));
  }
  return entry;
}

Status CheckFileSize(const fs::path& folder, const FileEntry& entry) {
  const fs::path path = folder / entry.path;
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error) return ErrnoStatus(error.value(), "cannot read the size of", path.string());
  if (static_cast<int64_t>(bytes) == entry.bytes) return OkStatus();
  return SizeDiffers(path, static_cast<int64_t>(bytes), entry.bytes);
}

Status VerifyFile(const fs::path& folder, const FileEntry& entry) {
  HG_ASSIGN_OR_RETURN(const MappedFile file, OpenForScan(folder / entry.path));
  const auto bytes = static_cast<int64_t>(file.bytes().size());
  if (bytes != entry.bytes) return SizeDiffers(file.path(), bytes, entry.bytes);
  if (ChunkCount(bytes) != static_cast<int64_t>(entry.checksums.size())) {
    return DataLoss("{}: {} bytes make {} chunks, its manifest has {} checksums",
                    file.path().string(), bytes, ChunkCount(bytes), entry.checksums.size());
  }
  for (int64_t i = 0; i < ChunkCount(bytes); ++i) {
    const std::string found = ChunkChecksum(file, i);
    const std::string& expected = entry.checksums[static_cast<size_t>(i)];
    if (found == expected) continue;
    const int64_t begin = i * kChecksumChunkBytes;
    return DataLoss(
        "{}: bytes {} to {} have checksum {}, the manifest says {}: the file is "
        "damaged; fetch or write it again",
        file.path().string(), begin, std::min(begin + kChecksumChunkBytes, bytes) - 1, found,
        expected);
  }
  return OkStatus();
}

Json ToJson(const FileEntry& entry) {
  return Json{{"path", entry.path}, {"bytes", entry.bytes}, {"checksums", entry.checksums}};
}

StatusOr<FileEntry> FileEntryFromJson(const Json& value, std::string_view where) {
  FileEntry entry;
  HG_ASSIGN_OR_RETURN(entry.path, GetString(value, "path", where));
  const std::string place = fmt::format("{}, file '{}'", where, entry.path);
  if (!StaysBelow(entry.path)) {
    return DataLoss("{}: 'path' leaves the folder of the manifest or is no plain relative path",
                    place);
  }
  HG_ASSIGN_OR_RETURN(entry.bytes, GetInt(value, "bytes", place));
  if (entry.bytes < 0) return DataLoss("{}: 'bytes' is {}, below 0", place, entry.bytes);
  HG_ASSIGN_OR_RETURN(const Json checksums, GetArray(value, "checksums", place));
  if (static_cast<int64_t>(checksums.size()) != ChunkCount(entry.bytes)) {
    return DataLoss("{}: 'checksums' has {} entries, {} bytes need {}", place, checksums.size(),
                    entry.bytes, ChunkCount(entry.bytes));
  }
  for (const Json& item : checksums) {
    const auto* text = item.get_ptr<const std::string*>();
    if (text == nullptr || !IsChecksumHex(*text)) {
      return DataLoss("{}: 'checksums' holds {}, expected 16 lowercase hex digits", place,
                      CanonicalJson(item));
    }
    entry.checksums.push_back(*text);
  }
  return entry;
}

}  // namespace halograph
