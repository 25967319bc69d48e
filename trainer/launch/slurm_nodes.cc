#include "trainer/launch/slurm_nodes.h"

#include <algorithm>

#include "common/base/printable.h"

namespace halograph {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The first number of what stands between brackets: "08,10-12". Empty: it is no such list.
std::string_view FirstNumber(std::string_view ranges) {
  const auto* const end = std::find_if_not(ranges.begin(), ranges.end(), IsDigit);
  const std::string_view first = ranges.substr(0, static_cast<size_t>(end - ranges.begin()));
  const bool goes_on = end == ranges.end() || *end == '-' || *end == ',';
  const bool is_whole =
      std::all_of(end, ranges.end(), [](char c) { return IsDigit(c) || c == '-' || c == ','; });
  return goes_on && is_whole ? first : std::string_view();
}

}  // namespace

StatusOr<std::string> FirstOfNodeList(std::string_view list) {
  const auto refused = [&](std::string_view why) {
    return InvalidArgument("'{}' is no list of nodes as n[0-3,7],m1: {}",
                           Printable(list, kMessageShown), why);
  };
  std::string node;
  for (size_t i = 0; i < list.size() && list[i] != ',';) {
    if (list[i] == ']' || list[i] == ' ') return refused("a ']' or a space stands in a name");
    if (list[i] != '[') {
      node += list[i++];
      continue;
    }
    const size_t end = list.find(']', i);
    if (end == std::string_view::npos) return refused("a '[' has no end");
    const std::string_view number = FirstNumber(list.substr(i + 1, end - i - 1));
    if (number.empty()) return refused("numbers, or ranges of them, belong between '[' and ']'");
    node += number;
    i = end + 1;
  }
  if (node.empty()) return refused("it begins with no name");
  return node;
}

}  // namespace halograph
