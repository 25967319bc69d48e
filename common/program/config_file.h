// Options from a file: YAML, one map from names to values, each written as on the command line.
//
//   graph: build/cora
//   batch-size: 512         # batch_size is the same
//   fanouts: [15, 10]       # a list as a list, or as text: 15,10
//   replace: true
//
// What a file says comes before the words of the command line, which replace it. Immutable once
// read; const use is thread-safe.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/program/options.h"
#include "common/yaml/yaml_value.h"

namespace halograph {

class ConfigFile {
 public:
  // Without options.
  ConfigFile() = default;
  // Those of a map that was read elsewhere; nothing is an empty one.
  //   InvalidArgument  no map, or an option twice (as batch-size and batch_size); file and line
  [[nodiscard]] static StatusOr<ConfigFile> Of(YamlValue map);
  // Errors as YamlValue::ReadFile and Of.
  [[nodiscard]] static StatusOr<ConfigFile> Read(const std::filesystem::path& path);

  // Of all its options, with dashes between words.
  [[nodiscard]] std::vector<std::string> Names() const;
  // The value of an option, if the file has it as one word. `name` is without dashes in front.
  [[nodiscard]] std::optional<std::string> Find(std::string_view name) const;
  // The error with file and line of that option in front, if the file has it.
  [[nodiscard]] Status Annotated(std::string_view name, const Status& status) const;

  // Sets the rows of all options in the file but `left_aside`, which then count as given.
  //   InvalidArgument, with file and line: no such option (the nearest name is suggested), or one
  //   of `refused`; a map, or a list for an option that takes one value; or as OptionRow::Set
  [[nodiscard]] Status Apply(OptionTable& rows, std::span<const std::string_view> refused,
                             std::span<const std::string_view> left_aside = {}) const;

  // The same of a map that a program has written of itself, OptionTable::ToJson beside other facts:
  // keys of `ignored` are no options or not wanted, nothing and empty lists leave the default as it
  // is, and no option counts as given. Names are with dashes.
  [[nodiscard]] Status ApplyWritten(OptionTable& rows,
                                    std::span<const std::string_view> ignored) const;

 private:
  YamlValue map_;
};

}  // namespace halograph
