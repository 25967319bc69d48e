#include "client/ctl/export_checksums.h"

#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/checksum.h"
#include "common/storage/file.h"
#include "common/storage/file_checksums.h"
#include "common/storage/json.h"

namespace halograph {
namespace {

constexpr char kChecksum[] = "checksum";
constexpr char kFiles[] = "files";
constexpr int64_t kMostBytes = int64_t{256} << 20;

std::string Encode(Json json) {
  json[kChecksum] = Checksum128Hex(CanonicalJson(json));
  return PrintableJson(json);
}

// Written again it has the same bytes, or one was changed: also one that is no part of a value.
StatusOr<std::vector<FileEntry>> ReadEntries(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostBytes));
  StatusOr<Json> json = ParseJson(text, path.string());
  if (!json.ok()) return DataLoss("{}", Message(json.status()));
  if (json->is_object()) json->erase(kChecksum);
  if (!json->is_object() || Encode(*json) != text) {
    return DataLoss("{}: its checksum is another one: it was damaged or edited", path.string());
  }
  HG_ASSIGN_OR_RETURN(const Json list, GetArray(*json, kFiles, path.string()));
  std::vector<FileEntry> entries;
  for (const Json& file : list) {
    HG_ASSIGN_OR_RETURN(entries.emplace_back(), FileEntryFromJson(file, path.string()));
  }
  return entries;
}

Status CheckFiles(const std::filesystem::path& folder, std::span<const std::string> files) {
  HG_ASSIGN_OR_RETURN(const std::vector<FileEntry> list, ReadEntries(folder / kChecksumsFile));
  std::map<std::string, FileEntry> entries;
  for (const FileEntry& entry : list) entries.emplace(entry.path, entry);
  for (const std::string& file : files) {
    const auto found = entries.find(file);
    if (found == entries.end()) {
      return DataLoss("{}: has no checksum of {}", (folder / kChecksumsFile).string(), file);
    }
    HG_RETURN_IF_ERROR(VerifyFile(folder, found->second));
  }
  return OkStatus();
}

}  // namespace

Status WriteExportChecksums(const std::filesystem::path& folder,
                            std::span<const std::string> files) {
  Json entries = Json::array();
  for (const std::string& file : files) {
    HG_ASSIGN_OR_RETURN(const FileEntry entry, ChecksumFile(folder, file));
    entries.push_back(ToJson(entry));
  }
  return WriteFileAtomically(folder / kChecksumsFile, Encode({{kFiles, std::move(entries)}}));
}

StatusOr<bool> CheckExportChecksums(const std::filesystem::path& folder,
                                    std::span<const std::string> files) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / kChecksumsFile, ignored)) return false;
  if (Status checked = CheckFiles(folder, files); !checked.ok()) {
    if (!absl::IsDataLoss(checked)) return checked;
    return DataLoss("{}. Export it again, or, if it was changed on purpose, remove {}",
                    Message(checked), (folder / kChecksumsFile).string());
  }
  return true;
}

}  // namespace halograph
