#include "partitioner/methods/owners/owner_file.h"

#include <algorithm>
#include <utility>

#include "common/storage/integers.h"
#include "common/storage/npy.h"
#include "partitioner/readers/line_reader.h"
#include "partitioner/readers/text_table.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

Status OutOfParts(const std::string& place, std::string_view owner, int parts) {
  return InvalidArgument("{}: partition {} is not between 0 and {}", place, owner, parts - 1);
}

Status WrongLength(const fs::path& path, int64_t found, const OwnerFileShape& shape) {
  return InvalidArgument("{}: {} entries, but there are {} {}", path.string(), found, shape.nodes,
                         shape.what);
}

template <typename T>
Status ConvertOwners(const NpyArray& array, int parts, std::vector<uint16_t>* owners) {
  const std::byte* data = array.data().data();
  for (size_t i = 0; i < owners->size(); ++i) {
    const T owner = ElementAt<T>(data, i, array.big_endian());
    if (std::cmp_less(owner, 0) || std::cmp_greater_equal(owner, parts)) {
      return OutOfParts(fmt::format("{}: entry {}", array.file().path().string(), i),
                        fmt::format("{}", owner), parts);
    }
    (*owners)[i] = static_cast<uint16_t>(owner);
  }
  return OkStatus();
}

StatusOr<std::vector<uint16_t>> ReadNpy(const fs::path& path, const OwnerFileShape& shape) {
  HG_ASSIGN_OR_RETURN(const NpyArray array, NpyArray::Open(path, NpyOrigin::kForeign));
  if (!IsInteger(array.dtype())) {
    return InvalidArgument("{}: holds {}, but partitions are integers", path.string(),
                           DTypeName(array.dtype()));
  }
  if (array.cols() != 1) {
    return InvalidArgument("{}: shape ({}, {}), expected one partition per node", path.string(),
                           array.rows(), array.cols());
  }
  if (array.rows() != shape.nodes) return WrongLength(path, array.rows(), shape);
  array.file().Advise(MappedFile::Access::kSequential);
  std::vector<uint16_t> owners(static_cast<size_t>(shape.nodes));
  Status status;
  WithIntegerType(array.dtype(), [&](auto zero) {
    status = ConvertOwners<decltype(zero)>(array, shape.parts, &owners);
  });
  HG_RETURN_IF_ERROR(status);
  return owners;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

StatusOr<std::vector<uint16_t>> ReadText(const fs::path& path, const OwnerFileShape& shape) {
  HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, "reading owners"));
  std::vector<uint16_t> owners;
  owners.reserve(static_cast<size_t>(shape.nodes));
  int64_t found = 0;
  int64_t blank_line = 0;  // the first
  std::string_view line;
  while (true) {
    HG_ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
    if (!more) break;
    if (IsBlank(line)) {
      if (blank_line == 0) blank_line = reader.line();
      continue;
    }
    int64_t owner = 0;
    if (blank_line != 0) {
      return InvalidArgument("{}:{}: a blank line between partitions; line i is that of node i - 1",
                             path.string(), blank_line);
    }
    if (!ParseInteger(line, &owner)) {
      return InvalidArgument("{}: \"{}\" is not an integer", reader.Place(), Excerpt(line));
    }
    if (owner < 0 || owner >= shape.parts) {
      return OutOfParts(reader.Place(), fmt::format("{}", owner), shape.parts);
    }
    if (found++ < shape.nodes) owners.push_back(static_cast<uint16_t>(owner));
  }
  if (found != shape.nodes) return WrongLength(path, found, shape);
  return owners;
}

}  // namespace

StatusOr<std::vector<uint16_t>> ReadOwnerFile(const fs::path& path, const OwnerFileShape& shape) {
  if (path.extension() == ".npy") return ReadNpy(path, shape);
  if (path.extension() == ".txt") return ReadText(path, shape);
  return InvalidArgument(
      "{}: owners are read from .npy and .txt files, or from a folder with one such file per node "
      "type",
      path.string());
}

}  // namespace halograph
