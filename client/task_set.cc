#include "client/kv_store.h"

namespace halograph {

std::span<const int64_t> TaskSet::seeds() const {
  const std::vector<std::byte>& data = arrays.front().data;
  return {reinterpret_cast<const int64_t*>(data.data()), data.size() / sizeof(int64_t)};
}

StatusOr<const TaskArray*> TaskSet::Find(std::string_view name) const {
  std::string names;
  for (const TaskArray& array : arrays) {
    if (array.spec.name == name) return &array;
    names += (names.empty() ? "'" : ", '") + array.spec.name + "'";
  }
  return NotFound("set '{}' of '{}' has no array '{}'; it has {}", spec.set, spec.type, name,
                  names);
}

}  // namespace halograph
