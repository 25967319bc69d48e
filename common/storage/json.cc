#include "common/storage/json.h"

#include <charconv>
#include <limits>
#include <utility>

#include "common/base/checksum.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

// Deeper nesting than any manifest has, and far less than would exhaust the stack when written.
constexpr int kMaxDepth = 64;
constexpr const char* kChecksumKey = "checksum";

// The field of an object, or what is wrong with it.
StatusOr<const Json*> GetField(const Json& object, std::string_view key, std::string_view where) {
  if (!object.is_object()) {
    return DataLoss("{}: expected an object with field '{}', found {}", where, key,
                    object.type_name());
  }
  const auto found = object.find(std::string(key));
  if (found == object.end()) return DataLoss("{}: field '{}' is missing", where, key);
  return &*found;
}

Status WrongType(const Json& found, std::string_view key, std::string_view expected,
                 std::string_view where) {
  constexpr size_t kShown = 80;
  std::string text = CanonicalJson(found);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return DataLoss("{}: field '{}' is {}, expected {}", where, key, text, expected);
}

// Integers that 63 bits hold; nlohmann keeps positive ones as unsigned.
bool IsInt64(const Json& value) {
  if (value.is_number_unsigned()) {
    return *value.get_ptr<const Json::number_unsigned_t*>() <=
           static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  }
  return value.is_number_integer();
}

int64_t ToInt64(const Json& value) {
  if (value.is_number_unsigned()) {
    return static_cast<int64_t>(*value.get_ptr<const Json::number_unsigned_t*>());
  }
  return *value.get_ptr<const Json::number_integer_t*>();
}

// "[json.exception.parse_error.101] parse error at line 1, ..." without the library's own tag.
std::string_view WithoutTag(std::string_view message) {
  const size_t end = message.find("] ");
  return end == std::string_view::npos ? message : message.substr(end + 2);
}

}  // namespace

StatusOr<Json> ParseJson(std::string_view text, std::string_view where) {
  bool too_deep = false;
  const auto check_depth = [&too_deep](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  try {
    Json value = Json::parse(text.begin(), text.end(), check_depth);
    if (too_deep) return InvalidArgument("{}: nested deeper than {} levels", where, kMaxDepth);
    return value;
  } catch (const Json::exception& error) {
    return InvalidArgument("{}: not JSON: {}", where, WithoutTag(error.what()));
  }
}

StatusOr<Json> ReadJsonFile(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseJson(text, path.string());
}

std::string CanonicalJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string PrintableJson(const Json& value) {
  return value.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::optional<double> NumberIn(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return {};
  const auto& text = value.get_ref<const std::string&>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

StatusOr<int64_t> GetInt(const Json& object, std::string_view key, std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json* field, GetField(object, key, where));
  if (!IsInt64(*field)) return WrongType(*field, key, "an integer below 2^63", where);
  return ToInt64(*field);
}

StatusOr<std::string> GetString(const Json& object, std::string_view key, std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json* field, GetField(object, key, where));
  if (!field->is_string()) return WrongType(*field, key, "a string", where);
  return *field->get_ptr<const std::string*>();
}

StatusOr<Json> GetObject(const Json& object, std::string_view key, std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json* field, GetField(object, key, where));
  if (!field->is_object()) return WrongType(*field, key, "an object", where);
  return *field;
}

StatusOr<Json> GetArray(const Json& object, std::string_view key, std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json* field, GetField(object, key, where));
  if (!field->is_array()) return WrongType(*field, key, "an array", where);
  return *field;
}

StatusOr<std::vector<int64_t>> GetInts(const Json& object, std::string_view key,
                                       std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json* field, GetField(object, key, where));
  if (!field->is_array()) return WrongType(*field, key, "an array of integers", where);
  std::vector<int64_t> values;
  values.reserve(field->size());
  for (const Json& item : *field) {
    if (!IsInt64(item)) return WrongType(*field, key, "an array of integers below 2^63", where);
    values.push_back(ToInt64(item));
  }
  return values;
}

Status WriteManifest(const std::filesystem::path& path, Json value) {
  if (!value.is_object()) {
    return InvalidArgument("{}: a manifest is an object, not {}", path.string(), value.type_name());
  }
  value.erase(kChecksumKey);
  value[kChecksumKey] = Checksum128Hex(CanonicalJson(value));
  return WriteFileAtomically(path,
                             value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

StatusOr<Json> ReadManifest(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  StatusOr<Json> parsed = ParseJson(text, path.string());
  if (!parsed.ok()) return DataLoss("{}", Message(parsed.status()));
  Json value = std::move(parsed).value();
  HG_ASSIGN_OR_RETURN(const std::string expected, GetString(value, kChecksumKey, path.string()));
  value.erase(kChecksumKey);
  const std::string found = Checksum128Hex(CanonicalJson(value));
  if (found != expected) {
    return DataLoss("{}: the fields have checksum {}, the file says {}: it was damaged or edited",
                    path.string(), found, expected);
  }
  return value;
}

}  // namespace halograph
