// The options that say what graph is read and how, for every subcommand that reads one.
#pragma once

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include "partitioner/readers/reader.h"

namespace halograph {

struct InputOptions {
  std::filesystem::path input;
  ReadOptions read;
  std::string self_loops = "keep";
  std::string duplicates = "keep";

  // `read` with the words above in it.
  [[nodiscard]] ReadOptions Read() const;
};

// Returns --input, which the caller may require.
CLI::Option* AddInputOptions(CLI::App* command, InputOptions* options);

}  // namespace halograph
