// Named tensors in one file, as the safetensors format has them, which other programs read too:
//
//   8 bytes   N, little-endian
//   N bytes   JSON: name -> {"dtype", "shape", "data_offsets": [begin, end)}, and "__metadata__",
//             texts by name; padded at the end with blanks
//   the rest  the tensors, little-endian and row-major, where data_offsets says, counted from here
//
// What a reader may rely on, and Parse checks, each with an error of its own: N is at most
// kMaxSafetensorsHeader and within the file; the JSON begins with '{' and ends with '}' and blanks;
// no name comes twice; a tensor has these three fields and no other, a dtype of the table in
// safetensors.cc, and as many bytes as its shape needs; the tensors sorted by offset cover the rest
// of the file without a hole or an overlap. Scalars (no dimensions) and tensors of no elements are
// allowed. The format has no checksum: a manifest beside the file has (file_checksums.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/dtype.h"
#include "common/storage/file.h"

namespace halograph {

inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

// A tensor of a file, or to be written to one. The bytes are borrowed: of a file they are those of
// its mapping.
struct TensorBytes {
  std::string name;
  // None: a type of the format that the project has no use for (8-bit floats, complex numbers).
  std::optional<DType> dtype;
  std::vector<int64_t> shape;  // no entries: a scalar
  std::span<const std::byte> data;
};

struct SafetensorsContents {
  std::vector<TensorBytes> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;

  // Null if there is none of that name.
  [[nodiscard]] const TensorBytes* Find(std::string_view name) const;
};

// What `file` holds, a whole file that outlives the result; `where` names it in errors. DataLoss
// with the tensor, the rule and what was found for whatever breaks a rule.
[[nodiscard]] StatusOr<SafetensorsContents> ParseSafetensors(std::span<const std::byte> file,
                                                             std::string_view where);

// A mapped file with its contents. Movable; const methods are thread-safe. Pages are read as they
// are touched: verify the file's checksum before where damage must be found.
class SafetensorsFile {
 public:
  // Errors as MappedFile::Open and ParseSafetensors.
  [[nodiscard]] static StatusOr<SafetensorsFile> Open(const std::filesystem::path& path);

  [[nodiscard]] const SafetensorsContents& contents() const { return contents_; }
  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }

 private:
  MappedFile file_;
  SafetensorsContents contents_;
};

// Writes a new file and syncs it: tensors by falling size of their elements, then by name, so that
// each is aligned; the header is padded so that the first is at a multiple of 8. The same tensors
// give the same file whatever their order.
//   InvalidArgument  a name is twice, reserved ("__metadata__") or no UTF-8; a dtype that the
//                    format has not; bytes that do not fit the shape; a header beyond
//                    kMaxSafetensorsHeader: the tensor is named
//   else             as FileWriter
[[nodiscard]] Status WriteSafetensors(const std::filesystem::path& path,
                                      std::vector<TensorBytes> tensors,
                                      const std::map<std::string, std::string>& metadata = {});

}  // namespace halograph
