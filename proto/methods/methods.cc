#include "proto/methods/methods.h"

namespace halograph {
namespace {

constexpr bool PathsAreWellFormed() {
  for (const MethodRow& row : kMethodRows) {
    const std::string_view path = row.path;
    if (!path.starts_with('/') || path.substr(1, kPackage.size()) != kPackage) return false;
    if (path[kPackage.size() + 1] != '.' || path.ends_with('/')) return false;
    if (path.find('/', 1) == std::string_view::npos) return false;
    for (const MethodRow& other : kMethodRows) {
      if (other.method != row.method && other.path == path) return false;
    }
  }
  return true;
}
static_assert(PathsAreWellFormed(),
              "a path of kMethodRows is not /halograph.v1.SERVICE/METHOD, or is there twice");

}  // namespace

std::optional<Method> FindMethod(std::string_view name) {
  for (const MethodRow& row : kMethodRows) {
    if (MethodName(row.method) == name) return row.method;
  }
  return std::nullopt;
}

}  // namespace halograph
