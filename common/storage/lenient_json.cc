#include "common/storage/lenient_json.h"

#include <algorithm>
#include <cmath>

namespace halograph {

const Json& FieldOf(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

const Json& ItemsOf(const Json& object, const char* key) {
  static const Json none = Json::array();
  const Json& value = FieldOf(object, key);
  return value.is_array() ? value : none;
}

std::string TextOf(const Json& object, const char* key) {
  const Json& value = FieldOf(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool BoolOf(const Json& object, const char* key) {
  const Json& value = FieldOf(object, key);
  return value.is_boolean() && value.get<bool>();
}

double ToDouble(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return NumberIn(value).value_or(0);
}

double DoubleOf(const Json& object, const char* key) { return ToDouble(FieldOf(object, key)); }

int64_t ToWhole(double number) {
  constexpr double kMost = 9007199254740992.0;  // 2^53
  if (std::isnan(number)) return 0;
  return static_cast<int64_t>(std::clamp(number, -kMost, kMost));
}

int64_t WholeOf(const Json& object, const char* key) { return ToWhole(DoubleOf(object, key)); }

}  // namespace halograph
