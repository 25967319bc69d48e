#include "common/state/engine/checkpoint/checkpoint_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "common/base/checksum.h"
#include "common/state/engine/log/bytes.h"

namespace halograph {
namespace {

constexpr uint64_t kSectionMagic = 0x3154504b434c4148;  // "HALCKPT1"

constexpr size_t kFileBlock = AlignedBytes::kAlignment;

enum Kind : uint32_t {
  kImages = 1,
  kWaiting = 2,
  kClients = 3,
  kMoments = 4,
  kEnd = 5,
  kCatalogue = 6,
  kRegistered = 7,
  kComplete = 8
};

struct StoredSection {
  uint64_t checksum;  // XXH3-64 of the rest of the header
  uint64_t magic;
  uint32_t kind;
  uint32_t tensor;
  uint64_t index;  // sections from 0
  uint64_t count;  // kImages: rows; kEnd: sections before it; kCatalogue: its write
  uint64_t bytes;  // of the body behind the header
  uint64_t body_checksum;
  uint64_t zero;
};
static_assert(sizeof(StoredSection) == 64);

uint64_t HeaderChecksum(const StoredSection& section) {
  return Checksum64(std::as_bytes(std::span(&section, 1)).subspan(sizeof(section.checksum)));
}

// Of parts one after the other: the checksum of their checksums.
class BodySum {
 public:
  void Add(std::span<const std::byte> part) { sums_.push_back(PartChecksum(part)); }
  [[nodiscard]] uint64_t value() const { return Checksum64(std::as_bytes(std::span(sums_))); }

 private:
  std::vector<uint64_t> sums_;
};

void Put(const TensorMoment& moment, std::string* out) {
  PutInt(moment.tensor, out);
  PutInt(moment.lsn, out);
  PutInt(moment.pushes, out);
  PutInt(moment.pushed_rows, out);
  PutInt(moment.steps.step, out);
  PutInt(moment.steps.run, out);
  PutInt(moment.steps.world_size, out);
  PutInt(static_cast<uint8_t>(moment.steps.started ? 1 : 0), out);
  PutInt(static_cast<uint64_t>(moment.steps.past_runs.size()), out);
  for (const uint64_t run : moment.steps.past_runs) PutInt(run, out);
}

TensorMoment GetMoment(ByteReader* in) {
  TensorMoment moment;
  moment.tensor = in->Get<uint32_t>();
  moment.lsn = in->Get<int64_t>();
  moment.pushes = in->Get<int64_t>();
  moment.pushed_rows = in->Get<int64_t>();
  moment.steps.step = in->Get<int64_t>();
  moment.steps.run = in->Get<uint64_t>();
  moment.steps.world_size = in->Get<int32_t>();
  moment.steps.started = in->Get<uint8_t>() != 0;
  const auto runs = in->Get<uint64_t>();
  for (uint64_t i = 0; i < runs && in->ok(); ++i) {
    moment.steps.past_runs.push_back(in->Get<uint64_t>());
  }
  return moment;
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, const ReadableFile& file, int64_t bytes,
         const CheckpointVisitor& visitor)
      : path_(path), file_(file), bytes_(bytes), visitor_(visitor) {}

  Status Run() {
    for (uint64_t index = 0;; ++index) {
      HG_ASSIGN_OR_RETURN(const StoredSection section, ReadHeader(index));
      // Older versions wrote no body, and no checksum of one.
      if (section.kind == kEnd && section.bytes == 0) return OkStatus();
      HG_RETURN_IF_ERROR(ReadBody(section));
      if (section.kind == kEnd) return OkStatus();
      offset_ += static_cast<int64_t>(sizeof(section) + section.bytes);
    }
  }

  // As ReadCheckpointPage. The visitor takes images, and returns when `more` is false to say that
  // it has taken only some of the section's.
  StatusOr<bool> RunFrom(SnapshotPlace* place, uint32_t tensor, const bool& more) {
    offset_ = place->offset;
    while (more) {
      HG_ASSIGN_OR_RETURN(const StoredSection section, ReadHeader(place->section));
      if (section.kind == kEnd) return true;
      const bool has_rows = section.kind == kImages && section.tensor == tensor;
      if (place->row != 0 && !has_rows) return Damaged("no page ends within this section");
      if (has_rows || section.kind == kMoments) HG_RETURN_IF_ERROR(ReadBody(section));
      if (!more) break;
      offset_ += static_cast<int64_t>(sizeof(section) + section.bytes);
      *place = {place->file, offset_, place->section + 1, 0};
    }
    return false;
  }

 private:
  // Of section `index`, at offset_. An end is at the file's end, behind all sections.
  StatusOr<StoredSection> ReadHeader(uint64_t index) const {
    StoredSection section;
    if (offset_ < 0 || bytes_ - offset_ < static_cast<int64_t>(sizeof(section))) {
      return Damaged("ends here");
    }
    HG_RETURN_IF_ERROR(file_.ReadAt(offset_, std::as_writable_bytes(std::span(&section, 1))));
    if (section.magic != kSectionMagic || section.checksum != HeaderChecksum(section) ||
        section.index != index) {
      return Damaged("the header of a section does not fit its checksum");
    }
    const auto rest = static_cast<uint64_t>(bytes_ - offset_) - sizeof(section);
    if (section.bytes > rest) return Damaged("ends within a section");
    if (section.kind == kEnd && (section.count != index || section.bytes != rest)) {
      return Damaged("sections are missing");
    }
    return section;
  }

  Status ReadBody(const StoredSection& section) {
    if (body_.size() < section.bytes) body_.resize(section.bytes);
    const std::span<std::byte> body = std::span(body_).first(section.bytes);
    HG_RETURN_IF_ERROR(file_.ReadAt(offset_ + static_cast<int64_t>(sizeof(section)), body));
    return Visit(section, body);
  }

  Status Damaged(std::string_view what) const {
    return DataLoss("{}: offset {}: {}: restore a copy of the state", path_.string(), offset_,
                    what);
  }

  Status Visit(const StoredSection& section, std::span<const std::byte> body) {
    std::vector<size_t> parts;  // sizes
    if (section.kind == kImages) parts = {section.count * sizeof(int64_t)};
    if (section.kind == kWaiting) parts = {kRecordHeaderBytes, section.count * sizeof(int64_t)};
    BodySum sum;
    size_t at = 0;
    std::vector<std::span<const std::byte>> split;
    for (const size_t bytes : parts) {
      if (section.count > body.size() || bytes > body.size() - at)
        return Damaged("sizes do not fit");
      split.push_back(body.subspan(at, bytes));
      at += bytes;
    }
    split.push_back(body.subspan(at));
    for (const auto& part : split) sum.Add(part);
    if (sum.value() != section.body_checksum) return Damaged("a section does not fit its checksum");
    switch (section.kind) {
      case kImages:
        if (visitor_.images == nullptr) return OkStatus();
        return visitor_.images(section.tensor, Ints(split[0]), split[1]);
      case kWaiting:
        return VisitWaiting(split);
      case kClients:
        return visitor_.clients == nullptr ? OkStatus() : visitor_.clients(body);
      case kRegistered:
        return visitor_.registered == nullptr ? OkStatus() : visitor_.registered(body);
      case kComplete:
        if (body.size() != section.count * sizeof(int64_t)) return Damaged("sizes do not fit");
        complete_[section.tensor] = {Ints(body).begin(), Ints(body).end()};
        return OkStatus();
      case kMoments:
        return VisitMoments(section.count, body);
      case kEnd:
      case kCatalogue:
        return OkStatus();
      default:
        return Damaged("a kind of section that this build does not know");
    }
  }

  Status VisitWaiting(const std::vector<std::span<const std::byte>>& parts) {
    if (visitor_.waiting == nullptr) return OkStatus();
    const std::optional<RecordHeader> header = DecodeHeader(parts[0]);
    if (!header.has_value() || header->num_ids * sizeof(int64_t) != parts[1].size()) {
      return Damaged("a push that waits has no header");
    }
    return visitor_.waiting(DecodeRecord(*header, Ints(parts[1]), parts[2]));
  }

  Status VisitMoments(uint64_t count, std::span<const std::byte> body) {
    if (visitor_.moments == nullptr) return OkStatus();
    ByteReader in(body);
    std::vector<TensorMoment> moments;
    for (uint64_t i = 0; i < count && in.ok(); ++i) moments.push_back(GetMoment(&in));
    if (!in.ok() || !in.at_end()) return Damaged("the list of tensors ends early");
    for (TensorMoment& moment : moments) moment.complete = complete_[moment.tensor];
    return visitor_.moments(moments);
  }

  // Sections are multiples of eight bytes, so that integers are aligned.
  static std::span<const int64_t> Ints(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const int64_t*>(bytes.data()), bytes.size() / sizeof(int64_t)};
  }

  const std::filesystem::path& path_;
  const ReadableFile& file_;
  const int64_t bytes_;
  const CheckpointVisitor& visitor_;
  int64_t offset_ = 0;
  std::vector<std::byte> body_;
  std::map<uint32_t, std::vector<int64_t>> complete_;  // by tensor; stands before the moments
};

}  // namespace

StatusOr<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Create(
    const std::filesystem::path& path, int64_t catalogue, FileSystem& files) {
  std::unique_ptr<CheckpointWriter> writer(new CheckpointWriter(path, files));
  HG_ASSIGN_OR_RETURN(writer->file_,
                      files.Create(writer->TemporaryPath(), 0, FileSystem::Write::kDirect));
  const std::span<const std::byte> no_body;
  HG_RETURN_IF_ERROR(
      writer->AddSection(kCatalogue, 0, static_cast<uint64_t>(catalogue), std::span(&no_body, 1)));
  return writer;
}

CheckpointWriter::~CheckpointWriter() {
  if (file_ == nullptr) return;
  file_.reset();
  // What cannot be removed now is removed when the store is opened next time.
  static_cast<void>(files_.Remove(TemporaryPath()).ok());
}

std::filesystem::path CheckpointWriter::TemporaryPath() const { return path_.string() + ".tmp"; }

Status CheckpointWriter::AddSection(uint32_t kind, uint32_t tensor, uint64_t count,
                                    std::span<const std::span<const std::byte>> parts) {
  StoredSection section = {};
  section.magic = kSectionMagic;
  section.kind = kind;
  section.tensor = tensor;
  section.index = sections_++;
  section.count = count;
  BodySum sum;
  for (const auto& part : parts) {
    sum.Add(part);
    section.bytes += part.size();
  }
  section.body_checksum = sum.value();
  section.checksum = HeaderChecksum(section);
  HG_RETURN_IF_ERROR(Append(std::as_bytes(std::span(&section, 1))));
  for (const auto& part : parts) HG_RETURN_IF_ERROR(Append(part));
  return OkStatus();
}

Status CheckpointWriter::AddEnd() {
  const size_t end = static_cast<size_t>(bytes_) + sizeof(StoredSection);
  const std::vector<std::byte> rest((kFileBlock - end % kFileBlock) % kFileBlock);
  const std::span<const std::byte> zeros = rest;
  HG_RETURN_IF_ERROR(AddSection(kEnd, 0, sections_, std::span(&zeros, 1)));
  return Flush();
}

Status CheckpointWriter::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), staging_.size() - staged_);
    std::memcpy(staging_.data() + staged_, bytes.data(), count);
    staged_ += count;
    bytes_ += static_cast<int64_t>(count);
    bytes = bytes.subspan(count);
    if (staged_ == staging_.size()) HG_RETURN_IF_ERROR(Flush());
  }
  return OkStatus();
}

Status CheckpointWriter::Flush() {
  if (staged_ == 0) return OkStatus();
  const std::span<const std::byte> all = staging_.span().first(staged_);
  HG_RETURN_IF_ERROR(file_->WriteAt(bytes_ - static_cast<int64_t>(staged_), std::span(&all, 1)));
  staged_ = 0;
  return OkStatus();
}

Status CheckpointWriter::AddImages(uint32_t tensor, const RowImages& images) {
  const std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(std::span(images.rows)),
                                                           images.images};
  return AddSection(kImages, tensor, images.rows.size(), parts);
}

Status CheckpointWriter::AddWaiting(const WaitingPush& push) {
  const LogRecord& record = push.record;
  const RecordHeader header = EncodeHeader(record);
  const std::array<std::span<const std::byte>, 3> parts = {
      std::as_bytes(std::span(&header, 1)), std::as_bytes(record.push.ids), record.push.rows};
  return AddSection(kWaiting, record.tensor, record.push.ids.size(), parts);
}

Status CheckpointWriter::AddClients(const ClientTable::Saved& table) {
  const std::span<const std::byte> drawn = BytesOf(table.drawn);
  const std::span<const std::byte> registered = BytesOf(table.registered);
  HG_RETURN_IF_ERROR(AddSection(kClients, 0, 0, std::span(&drawn, 1)));
  return AddSection(kRegistered, 0, 0, std::span(&registered, 1));
}

Status CheckpointWriter::AddMoments(const std::vector<TensorMoment>& moments) {
  for (const TensorMoment& moment : moments) {
    if (moment.complete.empty()) continue;
    const auto body = std::as_bytes(std::span(moment.complete));
    HG_RETURN_IF_ERROR(
        AddSection(kComplete, moment.tensor, moment.complete.size(), std::span(&body, 1)));
  }
  std::string text;
  for (const TensorMoment& moment : moments) Put(moment, &text);
  const std::span<const std::byte> body = BytesOf(text);
  return AddSection(kMoments, 0, moments.size(), std::span(&body, 1));
}

StatusOr<int64_t> CheckpointWriter::Finish() {
  HG_RETURN_IF_ERROR(AddEnd());
  HG_RETURN_IF_ERROR(file_->Sync());
  HG_RETURN_IF_ERROR(files_.Rename(TemporaryPath(), path_));
  file_.reset();
  HG_RETURN_IF_ERROR(files_.SyncFolder(path_.parent_path()));
  return bytes_;
}

namespace {

StatusOr<std::unique_ptr<ReadableFile>> OpenCheckpoint(const std::filesystem::path& path,
                                                       FileSystem& files) {
  StatusOr<std::unique_ptr<ReadableFile>> file = files.OpenToRead(path);
  if (file.ok() || !absl::IsNotFound(file.status())) return file;
  return DataLoss("{}: the checkpoint is missing: restore a copy of the state", path.string());
}

}  // namespace

StatusOr<std::optional<int64_t>> CatalogueSeenByCheckpoint(const std::filesystem::path& path,
                                                           FileSystem& files) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.OpenToRead(path));
  HG_ASSIGN_OR_RETURN(const int64_t bytes, file->Size());
  StoredSection section;
  if (bytes < static_cast<int64_t>(sizeof(section))) return std::optional<int64_t>();
  HG_RETURN_IF_ERROR(file->ReadAt(0, std::as_writable_bytes(std::span(&section, 1))));
  if (section.magic != kSectionMagic || section.checksum != HeaderChecksum(section) ||
      section.kind != kCatalogue) {
    return std::optional<int64_t>();
  }
  return std::optional(static_cast<int64_t>(section.count));
}

Status ReadCheckpoint(const std::filesystem::path& path, FileSystem& files,
                      const CheckpointVisitor& visitor) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, OpenCheckpoint(path, files));
  HG_ASSIGN_OR_RETURN(const int64_t bytes, file->Size());
  return Reader(path, *file, bytes, visitor).Run();
}

StatusOr<CheckpointPage> ReadCheckpointPage(const std::filesystem::path& path, FileSystem& files,
                                            uint32_t tensor, size_t image_bytes, size_t max_bytes,
                                            SnapshotPlace* place) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, OpenCheckpoint(path, files));
  HG_ASSIGN_OR_RETURN(const int64_t bytes, file->Size());
  CheckpointPage page;
  bool more = true;
  size_t left = std::max<size_t>(1, max_bytes / (image_bytes + sizeof(int64_t)));  // rows
  CheckpointVisitor visitor;
  visitor.images = [&](uint32_t, std::span<const int64_t> rows,
                       std::span<const std::byte> images) -> Status {
    if (images.size() != rows.size() * image_bytes || place->row > rows.size()) {
      return DataLoss("{}: offset {}: {} bytes of images of {} rows, from row {} on", path.string(),
                      place->offset, images.size(), rows.size(), place->row);
    }
    const size_t count = std::min(left, rows.size() - place->row);
    const auto some = rows.subspan(place->row, count);
    const auto of_some = images.subspan(place->row * image_bytes, count * image_bytes);
    page.images.rows.insert(page.images.rows.end(), some.begin(), some.end());
    page.images.images.insert(page.images.images.end(), of_some.begin(), of_some.end());
    left -= count;
    place->row += count;
    more = place->row == rows.size();
    return OkStatus();
  };
  visitor.moments = [&](const std::vector<TensorMoment>& moments) {
    for (const TensorMoment& moment : moments) {
      if (moment.tensor == tensor) page.moment = moment;
    }
    return OkStatus();
  };
  HG_ASSIGN_OR_RETURN(page.at_end,
                      Reader(path, *file, bytes, visitor).RunFrom(place, tensor, more));
  return page;
}

}  // namespace halograph
