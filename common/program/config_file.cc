#include "common/program/config_file.h"

#include <algorithm>
#include <utility>

#include "common/program/option_values.h"

namespace halograph {
namespace {

std::string NameOfKey(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

bool IsAmong(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// As the command line would have it.
StatusOr<std::string> TextOf(const YamlValue& value, const OptionRow& row) {
  if (value.kind == YamlValue::Kind::kMap) {
    return value.Error(fmt::format("expected a value of {}, found a map", row.Flag()));
  }
  if (value.kind != YamlValue::Kind::kSequence) return value.text;
  if (!row.is_list()) {
    return value.Error(
        fmt::format("{} takes one value, found a list of {}", row.Flag(), value.items.size()));
  }
  std::string text;
  for (const YamlValue& item : value.items) {
    if (item.kind != YamlValue::Kind::kScalar || item.text.empty()) {
      return item.Error("expected a word");
    }
    text += (text.empty() ? "" : ",") + option_values::QuotedIfNeedBe(item.text);
  }
  return text;
}

Status Unknown(const OptionTable& rows, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& row : rows.rows()) names.push_back(row->name());
  const std::string nearest = NearestName(name, names);
  return InvalidArgument("there is no option --{}{}", name,
                         nearest.empty() ? "" : "; did you mean --" + nearest + "?");
}

bool IsNothing(const YamlValue& value) {
  return value.kind == YamlValue::Kind::kNull ||
         (value.kind == YamlValue::Kind::kSequence && value.items.empty());
}

}  // namespace

StatusOr<ConfigFile> ConfigFile::Of(YamlValue map) {
  if (map.kind != YamlValue::Kind::kMap && map.kind != YamlValue::Kind::kNull) {
    return map.Error("expected a map from options to values, such as `epochs: 10`");
  }
  std::vector<std::string> names;
  for (const auto& [key, value] : map.fields) {
    names.push_back(NameOfKey(key));
    if (std::count(names.begin(), names.end(), names.back()) > 1) {
      return value.Error("this option is given twice");
    }
  }
  ConfigFile file;
  file.map_ = std::move(map);
  return file;
}

StatusOr<ConfigFile> ConfigFile::Read(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(YamlValue map, YamlValue::ReadFile(path));
  return Of(std::move(map));
}

std::vector<std::string> ConfigFile::Names() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : map_.fields) names.push_back(NameOfKey(key));
  return names;
}

std::optional<std::string> ConfigFile::Find(std::string_view name) const {
  for (const auto& [key, value] : map_.fields) {
    if (NameOfKey(key) == name && value.kind == YamlValue::Kind::kScalar) return value.text;
  }
  return std::nullopt;
}

Status ConfigFile::Annotated(std::string_view name, const Status& status) const {
  for (const auto& [key, value] : map_.fields) {
    if (NameOfKey(key) == name) return value.Annotated(status);
  }
  return status;
}

Status ConfigFile::Apply(OptionTable& rows, std::span<const std::string_view> refused,
                         std::span<const std::string_view> left_aside) const {
  for (const auto& [key, value] : map_.fields) {
    const std::string name = NameOfKey(key);
    if (IsAmong(name, left_aside)) continue;
    if (IsAmong(name, refused)) {
      return value.Error(fmt::format("--{} belongs on the command line", name));
    }
    OptionRow* const row = rows.Find(name);
    if (row == nullptr) return value.Annotated(Unknown(rows, name));
    HG_ASSIGN_OR_RETURN(const std::string text, TextOf(value, *row));
    if (const Status set = row->Set(text); !set.ok()) return value.Annotated(set);
  }
  return OkStatus();
}

Status ConfigFile::ApplyWritten(OptionTable& rows,
                                std::span<const std::string_view> ignored) const {
  for (const auto& [key, value] : map_.fields) {
    const std::string name = NameOfKey(key);
    if (IsAmong(name, ignored) || IsNothing(value)) continue;
    OptionRow* const row = rows.Find(name);
    if (row == nullptr) return value.Annotated(Unknown(rows, name));
    HG_ASSIGN_OR_RETURN(const std::string text, TextOf(value, *row));
    if (const Status set = row->SetDefault(text); !set.ok()) return value.Annotated(set);
  }
  return OkStatus();
}

}  // namespace halograph
