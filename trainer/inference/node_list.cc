#include "trainer/inference/node_list.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "client/original_ids.h"
#include "common/storage/file.h"
#include "common/storage/integers.h"
#include "common/storage/npy.h"

namespace halograph {
namespace {

constexpr size_t kNamed = 5;  // missing ids in a message

template <typename T>
Status Widen(const NpyArray& array, std::span<int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const T id = ElementAt<T>(array.data().data(), i, array.big_endian());
    if (!std::in_range<int64_t>(id)) {
      return InvalidArgument("{}: entry {}: {} is no original id, which has 63 bits at most",
                             array.file().path().string(), i, id);
    }
    ids[i] = static_cast<int64_t>(+id);  // a number, of int8 too
  }
  return OkStatus();
}

StatusOr<std::vector<int64_t>> ReadArray(const std::string& path) {
  HG_ASSIGN_OR_RETURN(const NpyArray array, NpyArray::Open(path, NpyOrigin::kForeign));
  if (!IsInteger(array.dtype())) {
    return FailedPrecondition("{}: holds {}, but original ids are integers", path,
                              DTypeName(array.dtype()));
  }
  if (array.cols() != 1) {
    return FailedPrecondition("{}: shape ({}, {}), expected ids in one dimension", path,
                              array.rows(), array.cols());
  }
  std::vector<int64_t> ids(static_cast<size_t>(array.rows()));
  Status widened;
  WithIntegerType(array.dtype(), [&](auto zero) { widened = Widen<decltype(zero)>(array, ids); });
  HG_RETURN_IF_ERROR(widened);
  return ids;
}

StatusOr<std::vector<int64_t>> ReadLines(const std::string& path) {
  HG_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, int64_t{4} << 30));
  std::vector<int64_t> ids;
  int64_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    int64_t id = 0;
    const auto [read, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    if (error != std::errc() || read != line.data() + line.size()) {
      return InvalidArgument("{}: line {}: '{}' is no original id, expected a whole number", path,
                             number, line.substr(0, 40));
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

StatusOr<std::vector<int64_t>> ReadNodeList(const std::string& path) {
  const bool array = std::filesystem::path(path).extension() == ".npy";
  HG_ASSIGN_OR_RETURN(std::vector<int64_t> ids, array ? ReadArray(path) : ReadLines(path));
  if (ids.empty()) return InvalidArgument("{}: no original id is in it", path);
  return ids;
}

StatusOr<std::vector<int64_t>> FindNodes(const Stores& stores, int type,
                                         std::vector<int64_t> original_ids,
                                         const CancelToken* cancel) {
  std::sort(original_ids.begin(), original_ids.end());
  original_ids.erase(std::unique(original_ids.begin(), original_ids.end()), original_ids.end());
  std::vector<bool> found(original_ids.size());
  const NodeType& node_type = stores.graph->info().schema.node_types[type];
  std::vector<int64_t> nodes;
  const auto keep_wanted = [&](std::span<const int64_t> ids, std::span<const int64_t> originals) {
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto at = std::lower_bound(original_ids.begin(), original_ids.end(), originals[i]);
      if (at == original_ids.end() || *at != originals[i]) continue;
      found[static_cast<size_t>(at - original_ids.begin())] = true;
      nodes.push_back(ids[i]);
    }
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(ForEachOriginalIds(stores, type, cancel, keep_wanted));
  std::vector<int64_t> missing;
  for (size_t i = 0; i < found.size() && missing.size() < kNamed; ++i) {
    if (!found[i]) missing.push_back(original_ids[i]);
  }
  if (missing.empty()) return nodes;
  return NotFound("no node of type '{}' has the original id{} {}{}", node_type.name,
                  missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                  missing.size() == kNamed ? ", ..." : "");
}

NodesOfTypes::NodesOfTypes(const Schema& schema, std::vector<int> types)
    : types_(std::move(types)), begins_{0} {
  for (const int type : types_) begins_.push_back(begins_.back() + schema.node_types[type].count);
  part_rows_ = {0, begins_.back()};
}

Status NodesOfTypes::Collect(std::span<const int64_t> rows, uint64_t /*key*/,
                             StepSeeds* step) const {
  *step = {};
  for (size_t i = 0; i < types_.size(); ++i) {
    StepSeeds::List list{.type = types_[i], .ids = {}};
    for (const int64_t row : rows) {
      if (row >= begins_[i] && row < begins_[i + 1]) list.ids.push_back(row - begins_[i]);
    }
    if (!list.ids.empty()) step->seeds.push_back(std::move(list));
  }
  return OkStatus();
}

}  // namespace halograph
