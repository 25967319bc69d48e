#include "trainer/checkpoint/files/own_state.h"

#include <system_error>

#include "trainer/checkpoint/files/manifest.h"

namespace halograph {

std::filesystem::path OwnStateOf(const std::filesystem::path& checkpoint) {
  constexpr char kOwnState[] = "state";
  std::error_code ignored;
  if (!std::filesystem::exists(checkpoint / kManifestFile, ignored)) return checkpoint / kOwnState;
  return (checkpoint / ".." / kOwnState).lexically_normal();
}

}  // namespace halograph
