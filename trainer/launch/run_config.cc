#include "trainer/launch/run_config.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

constexpr std::string_view kLogBegins = R"({"config":)";
constexpr size_t kLongestLine = size_t{16} << 20;

constexpr std::string_view kRefused[] = {"config"};

// Keys of a log's configuration that are no options: what the run found.
constexpr std::string_view kFound[] = {"blas",
                                       "build",
                                       "edges",
                                       "feature-dim",
                                       "feature-dtype",
                                       "features-by-type",
                                       "graph-identity",
                                       "graph-name",
                                       "learnt-inputs",
                                       "minibatches-at-once",
                                       "mode",
                                       "nodes",
                                       "num-classes",
                                       "num-labels",
                                       "num-values",
                                       "parts",
                                       "processes",
                                       "product-dtype",
                                       "product-kernel",
                                       "sampler-table-bytes",
                                       "sampling-contract",
                                       "task-relations",
                                       "test-rows",
                                       "torch",
                                       "train-rows",
                                       "valid-rows"};

// The first line, if it is that of a log; bounded.
StatusOr<std::optional<std::string>> FirstLineOfLog(const std::string& path) {
  std::ifstream file(path);
  std::string line(kLogBegins.size(), '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  if (!file || line != kLogBegins) return std::optional<std::string>();
  for (char next = 0; file.get(next) && next != '\n';) {
    if (line.size() == kLongestLine) {
      return InvalidArgument("{}:1: a line of more than {} bytes", path, kLongestLine);
    }
    line.push_back(next);
  }
  return std::optional(std::move(line));
}

}  // namespace

StatusOr<RunConfig> RunConfig::Read(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    return FailedPrecondition("--config {}: not a file; it is read twice, so a pipe will not do",
                              path);
  }
  RunConfig config;
  HG_ASSIGN_OR_RETURN(const std::optional<std::string> line, FirstLineOfLog(path));
  if (!line.has_value()) {
    auto file = ConfigFile::Read(path);
    if (!file.ok()) return Annotate(file.status(), "--config");
    config.file_ = std::move(*file);
    return config;
  }
  HG_ASSIGN_OR_RETURN(const YamlValue log, YamlValue::Parse(*line, path));
  HG_ASSIGN_OR_RETURN(const YamlValue* const options, log.Require("config"));
  HG_ASSIGN_OR_RETURN(config.file_, ConfigFile::Of(*options));
  config.log_ = true;
  return config;
}

Status RunConfig::Apply(OptionTable& rows, OptionMarks left_aside) const {
  std::vector<std::string_view> ignored;
  for (const auto& row : rows.rows()) {
    if (row->marked(log_ ? left_aside | kNotRepeated : left_aside)) ignored.push_back(row->name());
  }
  if (!log_) return file_.Apply(rows, kRefused, ignored);
  ignored.insert(ignored.end(), std::begin(kFound), std::end(kFound));
  return file_.ApplyWritten(rows, ignored);
}

std::optional<int64_t> RunConfig::logged_world_size() const {
  const auto text = log_ ? file_.Find("world-size") : std::nullopt;
  int64_t size = 0;
  if (!text.has_value()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), size);
  return error == std::errc() ? std::optional(size) : std::nullopt;
}

}  // namespace halograph
