// JSON that another program sent, an older or a newer one, or a broken one, read without errors:
// what is missing or of another type counts as nothing. Manifests are read by json.h, which names
// what is wrong. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/storage/json.h"

namespace halograph {

// A field of an object; null if there is none, or `object` is none.
[[nodiscard]] const Json& FieldOf(const Json& object, const char* key);
// The elements of a list, or no element.
[[nodiscard]] const Json& ItemsOf(const Json& object, const char* key);
// A text, or "".
[[nodiscard]] std::string TextOf(const Json& object, const char* key);
[[nodiscard]] bool BoolOf(const Json& object, const char* key);

// Numbers, which may be text (NumberIn); true counts as 1. Else 0.
[[nodiscard]] double ToDouble(const Json& value);
[[nodiscard]] double DoubleOf(const Json& object, const char* key);
// Whole numbers: the largest ones that a double holds exactly stand for those beyond, so that sums
// of some hundreds do not overflow. 0 for what is no number.
[[nodiscard]] int64_t ToWhole(double number);
[[nodiscard]] int64_t WholeOf(const Json& object, const char* key);

}  // namespace halograph
