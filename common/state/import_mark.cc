#include "common/state/import_mark.h"

#include <span>

#include <fmt/format.h>

#include "common/base/checksum.h"

namespace halograph {
namespace {

constexpr std::string_view kPrefix = "import-mark-";

}  // namespace

TensorRef ImportMarkOf(const TensorRef& ref) {
  const std::string name = ref.ToString();
  return {false, "", fmt::format("{}{:016x}", kPrefix, Checksum64(std::as_bytes(std::span(name))))};
}

bool IsImportMark(const TensorRef& ref) {
  return ref.type.empty() && ref.name.starts_with(kPrefix);
}

bool ImportMarks::Add(const TensorRef& ref) {
  const bool mark = IsImportMark(ref);
  if (mark) names_.insert(ref.name);
  return mark;
}

bool ImportMarks::HasThatOf(const TensorRef& ref) const {
  return !names_.empty() && names_.contains(ImportMarkOf(ref).name);
}

Status CheckNoImportMark(const TensorRef& ref) {
  if (!IsImportMark(ref)) return OkStatus();
  return FailedPrecondition(
      "{}: names that begin with {} are reserved for imports: choose another name; to import, or "
      "to "
      "end an import that was interrupted, use the halograph-ctl of the server's build",
      ref.ToString(), kPrefix);
}

MutableTensorSpec ImportMarkSpec(const TensorRef& ref, int parts) {
  MutableTensorSpec spec;
  spec.ref = ImportMarkOf(ref);
  spec.placement = Placement::kRange;
  spec.rows = parts;
  return spec;
}

}  // namespace halograph
