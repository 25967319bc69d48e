// How much memory there is for this process: the one answer for every default of a size.
#pragma once

#include <cstdint>
#include <filesystem>

namespace halograph {

// Both in bytes, of the machine, or of the control group (version 2) of the process where that is
// less. What cannot be read limits nothing. `root`: where proc and sys are; tests have their own.
[[nodiscard]] int64_t MachineMemory(const std::filesystem::path& root = "/");  // all of it
// What may still be taken. Files that are kept in memory give way, and count as free.
[[nodiscard]] int64_t FreeMemory(const std::filesystem::path& root = "/");

}  // namespace halograph
