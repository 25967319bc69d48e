// The file that says where others reach a program, for as long as it listens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace halograph {

// One thread at a time.
class AddressFile {
 public:
  // Writes `address` and nothing else, whole or not at all, over what is there. An empty path: no
  // file, and null. Errors as WriteFileAtomically.
  [[nodiscard]] static StatusOr<std::unique_ptr<AddressFile>> Write(
      const std::filesystem::path& path, const std::string& address);
  // Removes it, unless another program's address is there by now. Warns where it cannot.
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

 private:
  AddressFile(std::filesystem::path path, std::string address)
      : path_(std::move(path)), address_(std::move(address)) {}

  const std::filesystem::path path_;
  const std::string address_;
};

}  // namespace halograph
