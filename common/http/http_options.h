// Where a program's HTTP port is, by its options: the same for all programs that have one.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/status.h"
#include "common/program/options.h"

namespace halograph {

struct HttpOptions {
  std::string listen;                  // HOST:PORT; port 0 picks a free one; empty: no HTTP port
  std::filesystem::path address_file;  // gets HOST:PORT; empty: none
  std::filesystem::path token_file;    // what guarded pages want (http_access.h); empty: no token

  // InvalidArgument naming the option: one of the others without --http-listen.
  [[nodiscard]] Status Validate() const;
};

// A group of rows, one for each of them: --http-listen, --http-address-file, --http-token-file.
void AddHttpRows(OptionTable& rows, HttpOptions* options);

}  // namespace halograph
