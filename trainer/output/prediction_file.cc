#include "trainer/output/prediction_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/machine_memory.h"
#include "common/base/units.h"
#include "common/storage/disk_space.h"
#include "common/storage/file.h"
#include "common/storage/npy.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

using Order = std::span<const int64_t>;  // of rows

// Rows as Predictions has them, wherever they are.
struct Rows {
  PredictWhat what;
  int64_t columns;
  std::span<const int64_t> original_ids, classes;
  std::span<const float> values;
};

std::string_view ColumnName(PredictWhat what) {
  switch (what) {
    case PredictWhat::kProbabilities:
      return "probability";
    case PredictWhat::kLogits:
      return "logit";
    case PredictWhat::kValues:
      return "value";
    case PredictWhat::kEmbeddings:
      return "embedding";
    case PredictWhat::kClass:
      break;
  }
  return "prediction";
}

// In place: no memory beside. Equal ids stay in the order that they came in.
void SortByOriginalId(std::span<const int64_t> ids, std::span<int64_t> order) {
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return ids[a] != ids[b] ? ids[a] < ids[b] : a < b; });
}

// A row of `classes` or `values`.
template <typename T>
std::span<const T> RowIn(std::span<const T> rows, const Rows& predictions, int64_t row) {
  return rows.subspan(static_cast<size_t>(row * predictions.columns),
                      static_cast<size_t>(predictions.columns));
}

// One row after the other, `columns` of T each; 0 columns: an array of one dimension.
template <typename T, typename RowOf>
Status WriteNpyRows(const fs::path& path, Order order, int64_t columns, const RowOf& row_of) {
  HG_ASSIGN_OR_RETURN(NpyWriter writer,
                      NpyWriter::Create(path, DTypeOf<T>(), std::ssize(order),
                                        std::max<int64_t>(1, columns), columns == 0 ? 1 : 2));
  for (const int64_t row : order) {
    const auto values = row_of(row);
    HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(values))));
  }
  return writer.Close();
}

Status WriteClassesNpy(const fs::path& path, const Rows& predictions, Order order) {
  std::vector<int64_t> line;
  return WriteNpyRows<int64_t>(path, order, 1 + predictions.columns, [&](int64_t row) {
    const auto classes = RowIn(predictions.classes, predictions, row);
    line.assign(1, predictions.original_ids[row]);
    line.insert(line.end(), classes.begin(), classes.end());
    return std::span<const int64_t>(line);
  });
}

Status WriteValuesNpy(const fs::path& path, const Rows& predictions, Order order) {
  return WriteNpyRows<float>(path, order, predictions.columns, [&](int64_t row) {
    return RowIn(predictions.values, predictions, row);
  });
}

Status WriteIdsNpy(const fs::path& path, const Rows& predictions, Order order) {
  return WriteNpyRows<int64_t>(
      path, order, 0, [&](int64_t row) { return std::array{predictions.original_ids[row]}; });
}

Status WriteCsv(const fs::path& path, const Rows& predictions, Order order) {
  const bool classes = predictions.what == PredictWhat::kClass;
  HG_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  std::string line = "original_id";
  const bool numbered = !classes || predictions.columns > 1;
  for (int64_t i = 0; i < predictions.columns; ++i) {
    line += fmt::format(",{}{}", ColumnName(predictions.what),
                        numbered ? fmt::format("_{}", i) : std::string());
  }
  HG_RETURN_IF_ERROR(writer.Append(std::string_view(line += "\n")));
  for (const int64_t row : order) {
    line = fmt::to_string(predictions.original_ids[row]);
    if (classes) {
      for (const int64_t one : RowIn(predictions.classes, predictions, row)) {
        line += fmt::format(",{}", one);
      }
    } else {
      for (const float value : RowIn(predictions.values, predictions, row)) {
        line += fmt::format(",{}", value);
      }
    }
    HG_RETURN_IF_ERROR(writer.Append(std::string_view(line += "\n")));
  }
  return writer.Close();
}

struct NewFile {
  fs::path target;
  Status (*write)(const fs::path& path, const Rows& predictions, Order order);
};

// Writes temporary siblings, which become the targets once all are whole.
Status ReplaceAll(const std::vector<NewFile>& files, const Rows& predictions, Order order) {
  std::vector<fs::path> temporary;
  Status status;
  for (const NewFile& file : files) {
    temporary.push_back(TemporarySibling(file.target));
    if (status.ok()) status = file.write(temporary.back(), predictions, order);
  }
  std::error_code error;
  for (size_t i = 0; i < files.size() && status.ok(); ++i) {
    fs::rename(temporary[i], files[i].target, error);
    if (error) status = ErrnoStatus(error.value(), "renaming to", files[i].target.string());
  }
  for (const fs::path& path : temporary) fs::remove(path, error);
  return status;
}

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// About as many as the files of WritePredictions have.
int64_t BytesOnDisk(const fs::path& path, PredictWhat what, int64_t rows, int64_t columns) {
  const bool classes = what == PredictWhat::kClass;
  if (path.extension() == ".npy") return rows * (8 + (classes ? 8 : 4) * columns);
  const auto digits = std::ssize(fmt::to_string(rows));
  return rows * (digits + (classes ? 1 + 2 * columns : 11 * columns));
}

Status WriteRows(const std::string& path, const Rows& rows, Order order) {
  const fs::path target(path);
  if (target.extension() == ".csv") return ReplaceAll({{target, WriteCsv}}, rows, order);
  if (target.extension() != ".npy") {
    return InvalidArgument("{}: expected a name ending in .npy or .csv", path);
  }
  if (rows.what == PredictWhat::kClass) return ReplaceAll({{target, WriteClassesNpy}}, rows, order);
  fs::path ids = target;
  ids.replace_extension(".ids.npy");
  return ReplaceAll({{target, WriteValuesNpy}, {ids, WriteIdsNpy}}, rows, order);
}

}  // namespace

Predictions RowsOfType(const Predictions& predictions, int type) {
  Predictions of_type{.what = predictions.what, .columns = predictions.columns};
  const auto append = [&](const auto& rows, size_t row, auto* to) {
    if (rows.empty()) return;
    const auto first = rows.begin() + static_cast<int64_t>(row) * predictions.columns;
    to->insert(to->end(), first, first + predictions.columns);
  };
  for (size_t row = 0; row < predictions.types.size(); ++row) {
    if (predictions.types[row] != type) continue;
    of_type.original_ids.push_back(predictions.original_ids[row]);
    append(predictions.classes, row, &of_type.classes);
    append(predictions.values, row, &of_type.values);
  }
  return of_type;
}

std::string PredictionPathOf(const std::string& path, std::string_view type_name) {
  const fs::path whole(path);
  const std::string name = fmt::format("{}.{}{}", whole.stem().string(), PercentEncode(type_name),
                                       whole.extension().string());
  return (whole.parent_path() / name).string();
}

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

Status CheckPredictionRoom(const std::string& path, PredictWhat what, int64_t rows,
                           int64_t columns) {
  const int64_t row_bytes = 8 + (what == PredictWhat::kClass ? 8 : 4) * columns;
  const int64_t held = rows * (row_bytes + static_cast<int64_t>(sizeof(int64_t)));
  const int64_t memory = MachineMemory();
  if (held > memory) {
    return ResourceExhausted(
        "--predict {}: {} rows of {} columns take {} of memory, and this machine has {}; use "
        "--predict-nodes test, or --predict-what class",
        path, rows, columns, FormatBytes(held), FormatBytes(memory));
  }
  return CheckPredictionDisk(path, what, rows, columns);
}

Status CheckPredictionDisk(const std::string& path, PredictWhat what, int64_t rows,
                           int64_t columns) {
  return Annotate(CheckDiskSpace(FolderOf(path), BytesOnDisk(path, what, rows, columns)),
                  fmt::format("--predict {}", path));
}

Status WritePredictions(const std::string& path, const Predictions& predictions) {
  std::vector<int64_t> order(predictions.original_ids.size());
  SortByOriginalId(predictions.original_ids, order);
  return WriteRows(path,
                   {predictions.what, predictions.columns, predictions.original_ids,
                    predictions.classes, predictions.values},
                   order);
}

Status PredictionSpool::Append(std::span<const int64_t> original_ids,
                               std::span<const std::byte> rows) {
  const auto count = std::ssize(original_ids);
  if (count == 0) return OkStatus();
  if (appended_ + count > rows_) {
    return Internal("{} predictions where {} were announced", appended_ + count, rows_);
  }
  if (appended_ == 0) {
    const auto words = rows_ * static_cast<int64_t>(sizeof(int64_t));
    HG_ASSIGN_OR_RETURN(ids_, scratch_->Take(words, "original ids of predictions"));
    HG_ASSIGN_OR_RETURN(order_, scratch_->Take(words, "the order of predictions"));
    HG_ASSIGN_OR_RETURN(values_,
                        scratch_->Take(rows_ * static_cast<int64_t>(row_bytes()), "predictions"));
  }
  std::copy(original_ids.begin(), original_ids.end(), ids_.As<int64_t>().begin() + appended_);
  std::copy(rows.begin(), rows.end(),
            values_.bytes().begin() + appended_ * static_cast<int64_t>(row_bytes()));
  appended_ += count;
  return OkStatus();
}

Status PredictionSpool::Write(const std::string& path) {
  const auto count = static_cast<size_t>(appended_);
  const size_t values = count * static_cast<size_t>(columns_);
  Rows rows{.what = what_, .columns = columns_, .original_ids = {}, .classes = {}, .values = {}};
  if (count == 0) return WriteRows(path, rows, {});
  rows.original_ids = ids_.As<const int64_t>().first(count);
  if (what_ == PredictWhat::kClass) {
    rows.classes = values_.As<const int64_t>().first(values);
  } else {
    rows.values = values_.As<const float>().first(values);
  }
  const auto order = order_.As<int64_t>().first(count);
  SortByOriginalId(rows.original_ids, order);
  return WriteRows(path, rows, order);
}

}  // namespace halograph
