#include "common/program/address_file.h"

#include <system_error>
#include <utility>

#include "common/base/log.h"
#include "common/storage/file.h"

namespace halograph {

StatusOr<std::unique_ptr<AddressFile>> AddressFile::Write(const std::filesystem::path& path,
                                                          const std::string& address) {
  if (path.empty()) return nullptr;
  HG_RETURN_IF_ERROR(WriteFileAtomically(path, address));
  return std::unique_ptr<AddressFile>(new AddressFile(path, address));
}

AddressFile::~AddressFile() {
  constexpr int64_t kLongest = 4096;
  const StatusOr<std::string> found = ReadTextFile(path_, kLongest);
  if (!found.ok() || *found != address_) return;
  std::error_code error;
  std::filesystem::remove(path_, error);
  if (error) spdlog::warn("{} cannot be removed: {}", path_.string(), error.message());
}

}  // namespace halograph
