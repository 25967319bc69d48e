// YAML of descriptions as plain values that know their position, so that every error names file,
// line and field. yaml-cpp throws; nothing here does. Const use is thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"

namespace halograph {

struct YamlValue {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Field;

  YamlValue();
  ~YamlValue();
  YamlValue(const YamlValue& other);
  YamlValue(YamlValue&& other) noexcept;
  YamlValue& operator=(const YamlValue& other);
  YamlValue& operator=(YamlValue&& other) noexcept;

  Kind kind = Kind::kNull;
  std::string text;     // of a scalar
  bool quoted = false;  // a scalar that is text even if it looks like a number
  std::vector<YamlValue> items;
  std::vector<Field> fields;  // in file order

  std::shared_ptr<const std::string> file;
  int line = 0;       // from 1
  std::string field;  // "graph.edges[2].path"

  // Reads and parses a file. Bounded: 64 MiB, 2^20 values, 64 levels.
  //   NotFound         no such file
  //   InvalidArgument  not YAML (file, line, column), or beyond a bound
  [[nodiscard]] static StatusOr<YamlValue> ReadFile(const std::filesystem::path& path);

  // The same of text that was read from `path` already; only messages name that.
  [[nodiscard]] static StatusOr<YamlValue> Parse(const std::string& text,
                                                 const std::filesystem::path& path);

  // The field's value; nullptr if it is absent or null, or this is no map.
  [[nodiscard]] const YamlValue* Find(std::string_view key) const;

  // "file:line: field `x.y`: ..." for what is missing or of another kind.
  [[nodiscard]] StatusOr<const YamlValue*> Require(std::string_view key) const;
  [[nodiscard]] StatusOr<std::string> RequireText(std::string_view key) const;
  [[nodiscard]] StatusOr<int64_t> RequireInt(std::string_view key) const;
  // The items of a list; an absent one is empty. Every item is a map.
  [[nodiscard]] StatusOr<std::span<const YamlValue>> ListOfMaps(std::string_view key) const;

  [[nodiscard]] Status Error(std::string_view message) const;  // about this value
  [[nodiscard]] Status Annotated(const Status& status) const;  // place in front
  [[nodiscard]] std::string Place() const;                     // "file:line: field `x`"
  // Scalars become numbers and booleans where they read as such.
  [[nodiscard]] Json ToJson() const;
};

struct YamlValue::Field {
  std::string name;
  YamlValue value;
};

}  // namespace halograph
