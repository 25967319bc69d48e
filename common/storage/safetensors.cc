#include "common/storage/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "common/storage/json.h"

namespace halograph {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they are");

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr size_t kLengthBytes = 8;

struct SafetensorsType {
  std::string_view name;
  uint64_t bits;  // of an element
  std::optional<DType> dtype;
};

constexpr std::array<SafetensorsType, 20> kSafetensorsTypes = {{
    {"BOOL", 8, DType::kBool},      {"U8", 8, DType::kUInt8},     {"I8", 8, DType::kInt8},
    {"I16", 16, DType::kInt16},     {"U16", 16, DType::kUInt16},  {"F16", 16, DType::kFloat16},
    {"BF16", 16, DType::kBFloat16}, {"I32", 32, DType::kInt32},   {"U32", 32, DType::kUInt32},
    {"F32", 32, DType::kFloat32},   {"F64", 64, DType::kFloat64}, {"I64", 64, DType::kInt64},
    {"U64", 64, DType::kUInt64},    {"C64", 64, std::nullopt},    {"F8_E4M3", 8, std::nullopt},
    {"F8_E5M2", 8, std::nullopt},   {"F8_E8M0", 8, std::nullopt}, {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},   {"F4", 4, std::nullopt},
}};

const SafetensorsType* FindSafetensorsType(std::string_view name) {
  const auto* const found =
      std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(),
                   [&](const SafetensorsType& type) { return type.name == name; });
  return found == kSafetensorsTypes.end() ? nullptr : found;
}

// Bytes of a tensor; nullopt if they are more than 63 bits count, or no whole number.
std::optional<uint64_t> BytesOfShape(const std::vector<int64_t>& shape, uint64_t bits) {
  uint64_t count = bits;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(size), &count)) return std::nullopt;
  }
  if (count % 8 != 0) return std::nullopt;
  return count / 8;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// A name as a message shows it: what a damaged file has for one may be long and no text.
std::string ShownName(const std::string& name) {
  constexpr size_t kShown = 80;
  return CanonicalJson(Json(name.size() > kShown ? name.substr(0, kShown) + "..." : name));
}

// What the header says of a tensor.
struct HeaderEntry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<int64_t>> offsets;
};

// Reads the header as the parser meets it, so that nothing is held of what no tensor has.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(std::string_view where) : where_(where) {}

  std::vector<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;
  Status status = OkStatus();

  bool start_object(size_t /*elements*/) override {
    if (level_ == Level::kBegin) {
      level_ = Level::kNames;
      return true;
    }
    if (level_ == Level::kTensor && !in_value_) {
      in_value_ = true;
      return true;
    }
    if (level_ == Level::kMetadata && !in_value_) {
      in_value_ = true;
      return true;
    }
    return WrongValue("an object");
  }
  bool end_object() override {
    if (level_ == Level::kNames) {
      level_ = Level::kEnd;
      return true;
    }
    in_value_ = false;
    level_ = Level::kNames;
    return true;
  }
  bool key(string_t& text) override {
    if (level_ == Level::kNames) return BeginName(text);
    if (level_ == Level::kMetadata) return BeginText(text);
    return BeginField(text);
  }
  bool string(string_t& text) override {
    if (in_value_ && level_ == Level::kMetadata) {
      metadata[field_] = text;
      return true;
    }
    if (in_value_ && level_ == Level::kTensor && field_ == "dtype") {
      entries.back().dtype = text;
      return true;
    }
    return WrongValue("a string");
  }
  bool start_array(size_t /*elements*/) override {
    if (in_value_ && level_ == Level::kTensor && list_ == nullptr && field_ != "dtype") {
      auto& list = field_ == "shape" ? entries.back().shape : entries.back().offsets;
      list_ = &list.emplace();
      return true;
    }
    return WrongValue("an array");
  }
  bool end_array() override {
    list_ = nullptr;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (list_ == nullptr) return WrongValue("a number");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return WrongValue(fmt::format("the number {}", value));
    }
    list_->push_back(static_cast<int64_t>(value));
    return true;
  }
  bool number_integer(number_integer_t value) override {
    return WrongValue(fmt::format("the number {}", value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return WrongValue(fmt::format("the number {}", value));
  }
  bool null() override { return WrongValue("null"); }
  bool boolean(bool /*value*/) override { return WrongValue("a truth value"); }
  bool binary(binary_t& /*value*/) override { return WrongValue("bytes"); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    status =
        DataLoss("{}: the header is not JSON at its byte {}: {}", where_, position, error.what());
    return false;
  }

 private:
  enum class Level { kBegin, kNames, kTensor, kMetadata, kEnd };

  bool Refuse(Status refused) {
    status = std::move(refused);
    return false;
  }
  // Where the parser stands, for messages.
  [[nodiscard]] std::string Place() const {
    if (level_ == Level::kMetadata) return fmt::format("'{}'", kMetadataKey);
    if (level_ == Level::kTensor) return fmt::format("tensor {}", ShownName(entries.back().name));
    return "the header";
  }
  bool WrongValue(std::string_view found) {
    if (level_ == Level::kBegin || level_ == Level::kEnd) {
      return Refuse(DataLoss("{}: the header is {}, expected an object", where_, found));
    }
    if (!in_value_) {
      return Refuse(DataLoss("{}: {} is {}, expected an object", where_, Place(), found));
    }
    const std::string_view expected = level_ == Level::kMetadata ? "a string"
                                      : field_ == "dtype"
                                          ? "a string"
                                          : "an array of whole numbers from 0 to 2^63 - 1";
    return Refuse(DataLoss("{}: {}: '{}' holds {}, expected {}", where_, Place(), ShownName(field_),
                           found, expected));
  }
  bool BeginName(const std::string& name) {
    if (!names_.insert(name).second) {
      return Refuse(DataLoss("{}: the name {} is there twice", where_, ShownName(name)));
    }
    if (name == kMetadataKey) {
      level_ = Level::kMetadata;
      return true;
    }
    level_ = Level::kTensor;
    entries.push_back({.name = name, .dtype = {}, .shape = {}, .offsets = {}});
    return true;
  }
  bool BeginText(const std::string& name) {
    field_ = name;
    if (!metadata.contains(name)) return true;
    return Refuse(DataLoss("{}: {}: the name {} is there twice", where_, Place(), ShownName(name)));
  }
  bool BeginField(const std::string& name) {
    field_ = name;
    const HeaderEntry& entry = entries.back();
    const bool twice = (name == "dtype" && entry.dtype.has_value()) ||
                       (name == "shape" && entry.shape.has_value()) ||
                       (name == "data_offsets" && entry.offsets.has_value());
    if (twice) {
      return Refuse(DataLoss("{}: {}: field '{}' is there twice", where_, Place(), name));
    }
    if (name == "dtype" || name == "shape" || name == "data_offsets") return true;
    return Refuse(DataLoss("{}: {}: field {} is none of dtype, shape, data_offsets", where_,
                           Place(), ShownName(name)));
  }

  const std::string_view where_;
  Level level_ = Level::kBegin;
  bool in_value_ = false;  // of a tensor or of the metadata
  std::string field_;
  std::vector<int64_t>* list_ = nullptr;  // the array that is being read
  std::set<std::string> names_;
};

// The header's text, without the blanks behind it.
StatusOr<std::string_view> HeaderText(std::span<const std::byte> file, std::string_view where) {
  if (file.size() < kLengthBytes) {
    return DataLoss("{}: has {} bytes, fewer than the 8 that say how long the header is", where,
                    file.size());
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeader)) {
    return DataLoss("{}: the header has {} bytes, at most {} are allowed", where, length,
                    kMaxSafetensorsHeader);
  }
  if (length > file.size() - kLengthBytes) {
    return DataLoss("{}: the header has {} bytes, only {} follow: the file is truncated", where,
                    length, file.size() - kLengthBytes);
  }
  std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  if (!text.starts_with('{')) {
    return DataLoss("{}: the header does not begin with '{{'", where);
  }
  text.remove_suffix(text.size() - (text.find_last_not_of(' ') + 1));
  if (text.ends_with('}')) return text;
  return DataLoss("{}: the header does not end with '}}' and blanks", where);
}

// A tensor whose bytes are where the header says; its place is looked at later.
StatusOr<TensorBytes> TensorOf(HeaderEntry entry, std::span<const std::byte> data,
                               std::string_view where) {
  const std::string place = fmt::format("{}: tensor {}", where, ShownName(entry.name));
  for (const auto& [field, there] : {std::pair{"dtype", entry.dtype.has_value()},
                                     {"shape", entry.shape.has_value()},
                                     {"data_offsets", entry.offsets.has_value()}}) {
    if (!there) return DataLoss("{}: field '{}' is missing", place, field);
  }
  const SafetensorsType* const type = FindSafetensorsType(*entry.dtype);
  if (type == nullptr) {
    return DataLoss("{}: dtype {} is none of the format's", place, ShownName(*entry.dtype));
  }
  if (entry.offsets->size() != 2) {
    return DataLoss("{}: data_offsets has {} numbers, expected 2", place, entry.offsets->size());
  }
  const auto [begin, end] = std::pair{entry.offsets->front(), entry.offsets->back()};
  if (begin > end || static_cast<uint64_t>(end) > data.size()) {
    return DataLoss("{}: data_offsets {} to {} are not within the {} bytes behind the header",
                    place, begin, end, data.size());
  }
  const auto bytes = BytesOfShape(*entry.shape, type->bits);
  if (!bytes.has_value()) {
    return DataLoss("{}: shape {} of {} is no countable number of bytes", place,
                    ShapeText(*entry.shape), type->name);
  }
  if (*bytes != static_cast<uint64_t>(end - begin)) {
    return DataLoss("{}: shape {} of {} needs {} bytes, data_offsets have {}", place,
                    ShapeText(*entry.shape), type->name, *bytes, end - begin);
  }
  return TensorBytes{
      .name = std::move(entry.name),
      .dtype = type->dtype,
      .shape = *std::move(entry.shape),
      .data = data.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))};
}

// Sorts the tensors by their bytes, which must lie one behind the other to the end of `data`.
Status CheckCover(std::span<const std::byte> data, std::string_view where,
                  std::vector<TensorBytes>* tensors) {
  std::sort(tensors->begin(), tensors->end(), [](const TensorBytes& a, const TensorBytes& b) {
    const std::byte *const a_begin = a.data.data(), *const b_begin = b.data.data();
    const size_t a_size = a.data.size(), b_size = b.data.size();
    return std::tie(a_begin, a_size, a.name) < std::tie(b_begin, b_size, b.name);
  });
  int64_t end = 0;
  for (const TensorBytes& tensor : *tensors) {
    const int64_t begin = tensor.data.data() - data.data();
    if (begin != end) {
      return DataLoss("{}: tensor {} begins at byte {}, {} the one before it, which ends at {}",
                      where, ShownName(tensor.name), begin,
                      begin > end ? "leaving a hole behind" : "overlapping", end);
    }
    end = begin + std::ssize(tensor.data);
  }
  if (end == std::ssize(data)) return OkStatus();
  return DataLoss("{}: {} bytes follow the header, its tensors have {}", where, data.size(), end);
}

// Bytes as the writer's errors and header name them.
StatusOr<const SafetensorsType*> CheckToWrite(const TensorBytes& tensor) {
  if (tensor.name == kMetadataKey) {
    return InvalidArgument("a tensor cannot be named '{}'", kMetadataKey);
  }
  const auto* const type = std::find_if(
      kSafetensorsTypes.begin(), kSafetensorsTypes.end(), [&](const SafetensorsType& known) {
        return known.dtype.has_value() && known.dtype == tensor.dtype;
      });
  const std::string place = fmt::format("tensor {}", ShownName(tensor.name));
  if (type == kSafetensorsTypes.end()) {
    return InvalidArgument(
        "{}: the format has no dtype {}", place,
        tensor.dtype.has_value() ? DTypeName(*tensor.dtype) : std::string_view("unknown"));
  }
  const bool counted =
      std::all_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t size) { return size >= 0; });
  const auto bytes = counted ? BytesOfShape(tensor.shape, type->bits) : std::nullopt;
  if (bytes.has_value() && *bytes == tensor.data.size()) return type;
  return InvalidArgument("{}: has {} bytes, which do not fit shape {} of {}", place,
                         tensor.data.size(), ShapeText(tensor.shape), type->name);
}

// Text of a name; what is no UTF-8 is refused.
StatusOr<std::string> JsonText(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    return InvalidArgument("{} is no UTF-8", ShownName(text));
  }
}

StatusOr<std::string> HeaderOf(const std::vector<TensorBytes>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  std::string header;
  for (const auto& [key, value] : metadata) {
    HG_ASSIGN_OR_RETURN(const std::string name, JsonText(key));
    HG_ASSIGN_OR_RETURN(const std::string text, JsonText(value));
    header += fmt::format("{}{}:{}", header.empty() ? "" : ",", name, text);
  }
  if (!metadata.empty()) header = fmt::format("\"{}\":{{{}}}", kMetadataKey, header);
  uint64_t offset = 0;
  for (const TensorBytes& tensor : tensors) {
    HG_ASSIGN_OR_RETURN(const SafetensorsType* const type, CheckToWrite(tensor));
    HG_ASSIGN_OR_RETURN(const std::string name, JsonText(tensor.name));
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          header.empty() ? "" : ",", name, type->name, fmt::join(tensor.shape, ","),
                          offset, offset + tensor.data.size());
    offset += tensor.data.size();
  }
  header = "{" + header + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (std::ssize(header) <= kMaxSafetensorsHeader) return header;
  return InvalidArgument("{} tensors need a header of {} bytes, at most {} are allowed",
                         tensors.size(), header.size(), kMaxSafetensorsHeader);
}

}  // namespace

const TensorBytes* SafetensorsContents::Find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TensorBytes& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

StatusOr<SafetensorsContents> ParseSafetensors(std::span<const std::byte> file,
                                               std::string_view where) {
  HG_ASSIGN_OR_RETURN(const std::string_view text, HeaderText(file, where));
  HeaderReader reader(where);
  if (!Json::sax_parse(text.begin(), text.end(), &reader)) {
    return reader.status.ok() ? DataLoss("{}: the header is not JSON", where) : reader.status;
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  const std::span<const std::byte> data = file.subspan(kLengthBytes + length);
  SafetensorsContents contents;
  contents.metadata = std::move(reader.metadata);
  for (HeaderEntry& entry : reader.entries) {
    HG_ASSIGN_OR_RETURN(TensorBytes tensor, TensorOf(std::move(entry), data, where));
    contents.tensors.push_back(std::move(tensor));
  }
  HG_RETURN_IF_ERROR(CheckCover(data, where, &contents.tensors));
  return contents;
}

StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::filesystem::path& path) {
  SafetensorsFile opened;
  HG_ASSIGN_OR_RETURN(opened.file_, MappedFile::Open(path));
  HG_ASSIGN_OR_RETURN(opened.contents_, ParseSafetensors(opened.file_.bytes(), path.string()));
  return opened;
}

Status WriteSafetensors(const std::filesystem::path& path, std::vector<TensorBytes> tensors,
                        const std::map<std::string, std::string>& metadata) {
  const auto key = [](const TensorBytes& tensor) {
    return std::pair(tensor.dtype.has_value() ? DTypeSize(*tensor.dtype) : 0, &tensor.name);
  };
  std::sort(tensors.begin(), tensors.end(), [&](const TensorBytes& a, const TensorBytes& b) {
    const auto [a_size, a_name] = key(a);
    const auto [b_size, b_name] = key(b);
    return std::tie(b_size, *a_name) < std::tie(a_size, *b_name);
  });
  std::set<std::string_view> names;
  for (const TensorBytes& tensor : tensors) {
    if (names.insert(tensor.name).second) continue;
    return InvalidArgument("{}: the name {} is there twice", path.string(), ShownName(tensor.name));
  }
  const StatusOr<std::string> header = HeaderOf(tensors, metadata);
  if (!header.ok()) return Annotate(header.status(), path.string());
  HG_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  const uint64_t length = header->size();
  HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(&length, 1))));
  HG_RETURN_IF_ERROR(writer.Append(*header));
  for (const TensorBytes& tensor : tensors) HG_RETURN_IF_ERROR(writer.Append(tensor.data));
  return writer.Close();
}

}  // namespace halograph
