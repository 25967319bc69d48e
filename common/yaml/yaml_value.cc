#include "common/yaml/yaml_value.h"

#include <charconv>
#include <optional>
#include <unordered_set>

#include <yaml-cpp/yaml.h>

#include "common/storage/file.h"

namespace halograph {
namespace {

constexpr int64_t kMaxBytes = int64_t{64} << 20;
constexpr int kMaxDepth = 64;
constexpr int64_t kMaxValues = int64_t{1} << 20;  // aliases can name one value many times

template <typename T>
std::optional<T> ParseWhole(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string_view KindName(YamlValue::Kind kind) {
  switch (kind) {
    case YamlValue::Kind::kNull:
      return "nothing";
    case YamlValue::Kind::kScalar:
      return "a scalar";
    case YamlValue::Kind::kSequence:
      return "a list";
    case YamlValue::Kind::kMap:
      return "a map";
  }
  return "?";
}

// Copies yaml-cpp's nodes. Runs inside the one try block of this file.
class Copier {
 public:
  explicit Copier(std::shared_ptr<const std::string> file) : file_(std::move(file)) {}

  Status Copy(const YAML::Node& node, std::string field, int depth, YamlValue* value) {
    value->file = file_;
    value->line = node.Mark().line + 1;
    value->field = std::move(field);
    if (depth > kMaxDepth) return value->Error(fmt::format("nested deeper than {}", kMaxDepth));
    if (++values_ > kMaxValues) {
      return value->Error(fmt::format("more than {} values", kMaxValues));
    }
    if (node.IsScalar()) {
      value->kind = YamlValue::Kind::kScalar;
      value->text = node.Scalar();
      value->quoted = node.Tag() == "!";
    } else if (node.IsSequence()) {
      return CopyItems(node, depth, value);
    } else if (node.IsMap()) {
      return CopyFields(node, depth, value);
    }
    return OkStatus();
  }

 private:
  Status CopyItems(const YAML::Node& node, int depth, YamlValue* value) {
    value->kind = YamlValue::Kind::kSequence;
    for (const YAML::Node& item : node) {
      std::string field = fmt::format("{}[{}]", value->field, value->items.size());
      HG_RETURN_IF_ERROR(Copy(item, std::move(field), depth + 1, &value->items.emplace_back()));
    }
    return OkStatus();
  }

  Status CopyFields(const YAML::Node& node, int depth, YamlValue* value) {
    value->kind = YamlValue::Kind::kMap;
    std::unordered_set<std::string> known;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return value->Error("a key that is not plain text");
      const std::string& key = entry.first.Scalar();
      if (!known.insert(key).second) {
        return InvalidArgument("{}:{}: key `{}` is given twice", *file_,
                               entry.first.Mark().line + 1, key);
      }
      auto& [name, copy] = value->fields.emplace_back(YamlValue::Field{key, {}});
      std::string field = value->field.empty() ? key : value->field + "." + key;
      HG_RETURN_IF_ERROR(Copy(entry.second, std::move(field), depth + 1, &copy));
      // What is not there stands, for yaml-cpp, where the next thing begins.
      if (copy.kind == YamlValue::Kind::kNull) copy.line = entry.first.Mark().line + 1;
    }
    return OkStatus();
  }

  std::shared_ptr<const std::string> file_;
  int64_t values_ = 0;
};

}  // namespace

YamlValue::YamlValue() = default;
YamlValue::~YamlValue() = default;
YamlValue::YamlValue(const YamlValue& other) = default;
YamlValue::YamlValue(YamlValue&& other) noexcept = default;
YamlValue& YamlValue::operator=(const YamlValue& other) = default;
YamlValue& YamlValue::operator=(YamlValue&& other) noexcept = default;

StatusOr<YamlValue> YamlValue::ReadFile(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxBytes));
  return Parse(text, path);
}

StatusOr<YamlValue> YamlValue::Parse(const std::string& text, const std::filesystem::path& path) {
  YamlValue value;
  try {
    Copier copier(std::make_shared<const std::string>(path.string()));
    HG_RETURN_IF_ERROR(copier.Copy(YAML::Load(text), "", 0, &value));
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}:{}:{}: not YAML: {}", path.string(), error.mark.line + 1,
                           error.mark.column + 1, error.msg);
  } catch (const std::exception& error) {
    return InvalidArgument("{}: not YAML: {}", path.string(), error.what());
  }
  return value;
}

const YamlValue* YamlValue::Find(std::string_view key) const {
  for (const auto& [name, value] : fields) {
    if (name == key) return value.kind == Kind::kNull ? nullptr : &value;
  }
  return nullptr;
}

std::string YamlValue::Place() const {
  if (field.empty()) return fmt::format("{}:{}", *file, line);
  return fmt::format("{}:{}: field `{}`", *file, line, field);
}

Status YamlValue::Error(std::string_view message) const {
  return InvalidArgument("{}: {}", Place(), message);
}

Status YamlValue::Annotated(const Status& status) const { return Annotate(status, Place()); }

StatusOr<const YamlValue*> YamlValue::Require(std::string_view key) const {
  if (kind != Kind::kMap) {
    return Error(fmt::format("expected a map with `{}`, found {}", key, KindName(kind)));
  }
  if (const YamlValue* value = Find(key)) return value;
  return Error(fmt::format("`{}` is missing", key));
}

StatusOr<std::string> YamlValue::RequireText(std::string_view key) const {
  HG_ASSIGN_OR_RETURN(const YamlValue* value, Require(key));
  if (value->kind != Kind::kScalar || value->text.empty()) {
    return value->Error(fmt::format("expected text, found {}", value->kind == Kind::kScalar
                                                                   ? "an empty one"
                                                                   : KindName(value->kind)));
  }
  return value->text;
}

StatusOr<int64_t> YamlValue::RequireInt(std::string_view key) const {
  HG_ASSIGN_OR_RETURN(const YamlValue* value, Require(key));
  if (value->kind != Kind::kScalar) {
    return value->Error(fmt::format("expected an integer, found {}", KindName(value->kind)));
  }
  const std::optional<int64_t> number = ParseWhole<int64_t>(value->text);
  if (!number) return value->Error(fmt::format("expected an integer, found `{}`", value->text));
  return *number;
}

StatusOr<std::span<const YamlValue>> YamlValue::ListOfMaps(std::string_view key) const {
  const YamlValue* value = Find(key);
  if (value == nullptr) return std::span<const YamlValue>();
  if (value->kind != Kind::kSequence) {
    return value->Error(fmt::format("expected a list, found {}", KindName(value->kind)));
  }
  for (const YamlValue& item : value->items) {
    if (item.kind != Kind::kMap) {
      return item.Error(fmt::format("expected a map, found {}", KindName(item.kind)));
    }
  }
  return std::span<const YamlValue>(value->items);
}

Json YamlValue::ToJson() const {
  switch (kind) {
    case Kind::kNull:
      return nullptr;
    case Kind::kSequence: {
      Json list = Json::array();
      for (const YamlValue& item : items) list.push_back(item.ToJson());
      return list;
    }
    case Kind::kMap: {
      Json object = Json::object();
      for (const auto& [name, value] : fields) object[name] = value.ToJson();
      return object;
    }
    case Kind::kScalar:
      break;
  }
  if (quoted) return text;
  if (text == "true" || text == "false") return text == "true";
  if (const auto number = ParseWhole<int64_t>(text)) return *number;
  if (const auto number = ParseWhole<double>(text); number && *number - *number == 0) {
    return *number;  // finite: JSON has no other
  }
  return text;
}

}  // namespace halograph
