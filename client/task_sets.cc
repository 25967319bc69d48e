#include "client/task_sets.h"

#include <algorithm>

namespace halograph {

StatusOr<TaskSetIndex> CheckTaskSet(const GraphInfo& info, const TaskSetRef& set, IdRange rows) {
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index,
                      FindTaskSet(info.schema, set.task, set.set, set.type));
  const int64_t count = info.schema.tasks[index.task].sets[index.set].rows;
  if (rows.begin >= 0 && rows.begin <= rows.end && rows.end <= count) return index;
  return OutOfRange("rows [{}, {}) of task set '{} / {} / {}' are asked for; it has {}", rows.begin,
                    rows.end, set.task, set.set, set.type, count);
}

Status ForEachPart(std::span<const int64_t> boundaries, IdRange rows,
                   const std::function<Status(int part, IdRange of_part)>& read) {
  for (size_t part = 0; part + 1 < boundaries.size(); ++part) {
    const int64_t begin = std::max(rows.begin, boundaries[part]);
    const int64_t end = std::min(rows.end, boundaries[part + 1]);
    if (begin >= end) continue;
    HG_RETURN_IF_ERROR(
        read(static_cast<int>(part), {begin - boundaries[part], end - boundaries[part]}));
  }
  return OkStatus();
}

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
