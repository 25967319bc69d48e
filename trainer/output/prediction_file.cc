#include "trainer/output/prediction_file.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include <unistd.h>

#include "common/storage/file.h"
#include "common/storage/npy.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

Status WriteNpyRows(const fs::path& path, const std::vector<Prediction>& predictions) {
  static_assert(sizeof(Prediction) == 2 * sizeof(int64_t));
  HG_ASSIGN_OR_RETURN(
      NpyWriter writer,
      NpyWriter::Create(path, DType::kInt64, static_cast<int64_t>(predictions.size()), 2, 2));
  HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(predictions))));
  return writer.Close();
}

Status WriteCsvRows(const fs::path& path, const std::vector<Prediction>& predictions) {
  HG_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  HG_RETURN_IF_ERROR(writer.Append(std::string_view("original_id,prediction\n")));
  for (const Prediction& row : predictions) {
    HG_RETURN_IF_ERROR(
        writer.Append(std::string_view(fmt::format("{},{}\n", row.original_id, row.label))));
  }
  return writer.Close();
}

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

Status CheckPredictionPath(const std::string& path) {
  const fs::path folder = FolderOf(path);
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return FailedPrecondition("--predict {}: no folder {}", path, folder.string());
  }
  if (access(folder.c_str(), W_OK) != 0) {
    return FailedPrecondition("--predict {}: folder {} is not writable", path, folder.string());
  }
  return OkStatus();
}

Status WritePredictions(const std::string& path, std::vector<Prediction> predictions) {
  std::sort(predictions.begin(), predictions.end(),
            [](const Prediction& a, const Prediction& b) { return a.original_id < b.original_id; });
  const fs::path target(path);
  const fs::path temporary = path + fmt::format(".tmp-{}", getpid());
  std::error_code error;
  fs::remove(temporary, error);
  Status status;
  if (target.extension() == ".npy") {
    status = WriteNpyRows(temporary, predictions);
  } else if (target.extension() == ".csv") {
    status = WriteCsvRows(temporary, predictions);
  } else {
    return InvalidArgument("{}: expected a name ending in .npy or .csv", path);
  }
  if (status.ok()) {
    fs::rename(temporary, target, error);
    if (error) status = ErrnoStatus(error.value(), "renaming to", path);
  }
  if (!status.ok()) fs::remove(temporary, error);
  return status;
}

}  // namespace halograph
