// JSON as manifests hold it: read with errors that name file and field, written canonically
// (sorted keys, no spaces) where a checksum is taken. nlohmann::json throws; nothing here does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status.h"

namespace halograph {

using Json = nlohmann::json;  // objects keep their keys sorted

// InvalidArgument with line and column for what is not JSON; `where` names the source.
[[nodiscard]] StatusOr<Json> ParseJson(std::string_view text, std::string_view where);
[[nodiscard]] StatusOr<Json> ReadJsonFile(const std::filesystem::path& path);

// Sorted keys, no spaces, UTF-8 kept.
[[nodiscard]] std::string CanonicalJson(const Json& value);

// For people and their terminals: indented, in ASCII, with a line feed at the end. Bytes that are
// no UTF-8 become U+FFFD.
[[nodiscard]] std::string PrintableJson(const Json& value);

// A number, or one that is text, as protobuf's JSON has 64-bit integers, NaN and infinities.
// Nothing: it is neither.
[[nodiscard]] std::optional<double> NumberIn(const Json& value);

// Fields of an object. DataLoss naming `where`, the field, and what was found: missing, wrong type.
[[nodiscard]] StatusOr<int64_t> GetInt(const Json& object, std::string_view key,
                                       std::string_view where);
[[nodiscard]] StatusOr<std::string> GetString(const Json& object, std::string_view key,
                                              std::string_view where);
[[nodiscard]] StatusOr<Json> GetObject(const Json& object, std::string_view key,
                                       std::string_view where);
[[nodiscard]] StatusOr<Json> GetArray(const Json& object, std::string_view key,
                                      std::string_view where);
[[nodiscard]] StatusOr<std::vector<int64_t>> GetInts(const Json& object, std::string_view key,
                                                     std::string_view where);

// A manifest: `value` plus "checksum" (XXH3-128 of the other fields as canonical JSON), indented
// for people, written atomically.
[[nodiscard]] Status WriteManifest(const std::filesystem::path& path, Json value);
// Reads it back and checks the checksum first: DataLoss naming the file if it does not fit.
// The "checksum" field is left out of what is returned.
[[nodiscard]] StatusOr<Json> ReadManifest(const std::filesystem::path& path);

}  // namespace halograph
