#include "trainer/checkpoint/files/own_state.h"

#include <system_error>

#include "trainer/checkpoint/files/manifest.h"

namespace halograph {

std::filesystem::path OwnStateOf(const std::filesystem::path& checkpoint) {
  constexpr char kOwnState[] = "state";
  std::error_code ignored;
  if (!std::filesystem::exists(checkpoint / kManifestFile, ignored)) return checkpoint / kOwnState;
  // Of the checkpoint itself, where a link leads to it.
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(checkpoint, error);
  return (error ? checkpoint / ".." : real.parent_path()) / kOwnState;
}

}  // namespace halograph
