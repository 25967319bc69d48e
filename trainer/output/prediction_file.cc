#include "trainer/output/prediction_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/storage/disk_space.h"
#include "common/storage/file.h"
#include "common/storage/npy.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

using Order = std::vector<int64_t>;  // of rows

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

Order ByOriginalId(const Predictions& predictions) {
  Order order(predictions.original_ids.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return predictions.original_ids[a] < predictions.original_ids[b];
  });
  return order;
}

// A row of `classes` or `values`.
template <typename T>
std::span<const T> RowIn(const std::vector<T>& rows, const Predictions& predictions, int64_t row) {
  return std::span(rows).subspan(static_cast<size_t>(row * predictions.columns),
                                 static_cast<size_t>(predictions.columns));
}

// One row after the other, `columns` of T each; 0 columns: an array of one dimension.
template <typename T, typename RowOf>
Status WriteNpyRows(const fs::path& path, const Order& order, int64_t columns,
                    const RowOf& row_of) {
  HG_ASSIGN_OR_RETURN(NpyWriter writer,
                      NpyWriter::Create(path, DTypeOf<T>(), std::ssize(order),
                                        std::max<int64_t>(1, columns), columns == 0 ? 1 : 2));
  for (const int64_t row : order) {
    const auto values = row_of(row);
    HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(values))));
  }
  return writer.Close();
}

Status WriteClassesNpy(const fs::path& path, const Predictions& predictions, const Order& order) {
  std::vector<int64_t> line;
  return WriteNpyRows<int64_t>(path, order, 1 + predictions.columns, [&](int64_t row) {
    const auto classes = RowIn(predictions.classes, predictions, row);
    line.assign(1, predictions.original_ids[row]);
    line.insert(line.end(), classes.begin(), classes.end());
    return std::span<const int64_t>(line);
  });
}

Status WriteValuesNpy(const fs::path& path, const Predictions& predictions, const Order& order) {
  return WriteNpyRows<float>(path, order, predictions.columns, [&](int64_t row) {
    return RowIn(predictions.values, predictions, row);
  });
}

Status WriteIdsNpy(const fs::path& path, const Predictions& predictions, const Order& order) {
  return WriteNpyRows<int64_t>(
      path, order, 0, [&](int64_t row) { return std::array{predictions.original_ids[row]}; });
}

Status WriteCsv(const fs::path& path, const Predictions& predictions, const Order& order) {
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
  Status (*write)(const fs::path& path, const Predictions& predictions, const Order& order);
};

// Writes temporary siblings, which become the targets once all are whole.
Status ReplaceAll(const std::vector<NewFile>& files, const Predictions& predictions) {
  const Order order = ByOriginalId(predictions);
  const auto temporary = [](const NewFile& file) {
    return fs::path(file.target.string() + fmt::format(".tmp-{}", getpid()));
  };
  std::error_code error;
  Status status;
  for (const NewFile& file : files) {
    fs::remove(temporary(file), error);
    if (status.ok()) status = file.write(temporary(file), predictions, order);
  }
  for (const NewFile& file : files) {
    if (!status.ok()) break;
    fs::rename(temporary(file), file.target, error);
    if (error) status = ErrnoStatus(error.value(), "renaming to", file.target.string());
  }
  for (const NewFile& file : files) fs::remove(temporary(file), error);
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

Status CheckPredictionRoom(const std::string& path, PredictWhat what, int64_t rows,
                           int64_t columns) {
  const int64_t row_bytes = 8 + (what == PredictWhat::kClass ? 8 : 4) * columns;
  const int64_t held = rows * (row_bytes + static_cast<int64_t>(sizeof(Order::value_type)));
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  if (held > memory) {
    return ResourceExhausted(
        "--predict {}: {} rows of {} columns take {} of memory, and this machine has {}; use "
        "--predict-nodes test, or --predict-what class",
        path, rows, columns, FormatBytes(held), FormatBytes(memory));
  }
  return Annotate(CheckDiskSpace(FolderOf(path), BytesOnDisk(path, what, rows, columns)),
                  fmt::format("--predict {}", path));
}

Status WritePredictions(const std::string& path, const Predictions& predictions) {
  const fs::path target(path);
  if (target.extension() == ".csv") return ReplaceAll({{target, WriteCsv}}, predictions);
  if (target.extension() != ".npy") {
    return InvalidArgument("{}: expected a name ending in .npy or .csv", path);
  }
  if (predictions.what == PredictWhat::kClass) {
    return ReplaceAll({{target, WriteClassesNpy}}, predictions);
  }
  fs::path ids = target;
  ids.replace_extension(".ids.npy");
  return ReplaceAll({{target, WriteValuesNpy}, {ids, WriteIdsNpy}}, predictions);
}

}  // namespace halograph
