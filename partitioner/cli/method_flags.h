// The options of partition methods and of the memory that a run may hold, for every subcommand that
// runs methods or plans to.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "partitioner/methods/method.h"

namespace halograph {

struct MethodFlags {
  MethodOptions options;  // without parts, balance, memory, owner rule, which are words below
  std::string balance;
  std::string memory;
  std::string owner = "majority";
  std::vector<const CLI::Option*> of_methods;  // those that only some methods take

  // All words put into the options; `memory` is AvailableMemory() where it is not given.
  [[nodiscard]] MethodOptions Options() const;
};

void AddMethodFlags(CLI::App* command, MethodFlags* flags);

// CLI::ValidationError if an option was given that none of `methods` takes. For callbacks of
// commands, where that is wrong usage.
void RequireOptionsTaken(const MethodFlags& flags, const std::vector<std::string>& methods);

// Checks of a word, for CLI::Option::check: empty if it is right.
[[nodiscard]] std::string CheckBytes(const std::string& text);
[[nodiscard]] std::string CheckMethodName(const std::string& name);

}  // namespace halograph
