#include "trainer/options/rank_path.h"

#include <filesystem>

#include <fmt/format.h>

namespace halograph {

std::string PathOfRank(const std::string& path, int rank, int world_size) {
  if (world_size == 1 || path.empty()) return path;
  const std::filesystem::path given(path);
  std::filesystem::path own = given.stem();
  own += fmt::format(".rank{}", rank);
  own += given.extension();
  return (given.parent_path() / own).string();
}

}  // namespace halograph
