// Lists in messages that stay readable however long they are.
#pragma once

#include <cstddef>
#include <string>

#include <fmt/format.h>

namespace halograph {

// "a, b and 5 more": `text_of` each of the first `most` items. Empty if there are none.
template <typename Items, typename TextOf>
[[nodiscard]] std::string ListSome(const Items& items, size_t most, const TextOf& text_of) {
  std::string text;
  size_t seen = 0;
  for (const auto& item : items) {
    if (seen++ >= most) continue;
    text += fmt::format("{}{}", seen == 1 ? "" : ", ", text_of(item));
  }
  if (seen > most) text += fmt::format(" and {} more", seen - most);
  return text;
}

// "'a', 'b' and 5 more".
template <typename Names>
[[nodiscard]] std::string ListSomeNames(const Names& names, size_t most) {
  return ListSome(names, most, [](const auto& name) { return fmt::format("'{}'", name); });
}

}  // namespace halograph
