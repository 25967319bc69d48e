#include "trainer/pipeline/column_scales.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

namespace halograph {
namespace {

constexpr char kMean[] = "mean";
constexpr char kDeviation[] = "deviation";

StatusOr<std::vector<double>> GetNumbers(const Json& fields, const char* key,
                                         std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json list, GetArray(fields, key, where));
  std::vector<double> numbers;
  numbers.reserve(list.size());
  for (const Json& number : list) {
    if (!number.is_number()) return DataLoss("{}: '{}' is no list of numbers", where, key);
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

StatusOr<ColumnScales> ScalesFromJson(const Json& fields, std::string_view where) {
  if (!fields.is_object()) return DataLoss("{}: is no object", where);
  ColumnScales scales;
  HG_ASSIGN_OR_RETURN(scales.mean, GetNumbers(fields, kMean, where));
  HG_ASSIGN_OR_RETURN(scales.deviation, GetNumbers(fields, kDeviation, where));
  if (scales.mean.size() != scales.deviation.size()) {
    return DataLoss("{}: {} means, but {} deviations", where, scales.mean.size(),
                    scales.deviation.size());
  }
  for (const double deviation : scales.deviation) {
    if (deviation < 0) return DataLoss("{}: a deviation is {}, below 0", where, deviation);
  }
  return scales;
}

}  // namespace

Json ToJson(const FeatureScales& scales) {
  Json json = Json::object();
  for (const auto& [type, features] : scales) {
    Json& of_type = json[type] = Json::object();
    for (const auto& [feature, columns] : features) {
      of_type[feature] = Json{{kMean, columns.mean}, {kDeviation, columns.deviation}};
    }
  }
  return json;
}

StatusOr<FeatureScales> FeatureScalesFromJson(const Json& json, std::string_view where) {
  FeatureScales scales;
  for (const auto& [type, features] : json.items()) {
    if (!features.is_object()) return DataLoss("{}: '{}' is no object", where, type);
    for (const auto& [feature, fields] : features.items()) {
      HG_ASSIGN_OR_RETURN(scales[type][feature],
                          ScalesFromJson(fields, fmt::format("{}: node type '{}', feature '{}'",
                                                             where, type, feature)));
    }
  }
  return scales;
}

Standardizer::Standardizer(const ColumnScales& scales) {
  for (size_t column = 0; column < scales.mean.size(); ++column) {
    mean_.push_back(static_cast<float>(scales.mean[column]));
    const double factor = 1 / scales.deviation[column];
    const bool fits = factor <= double{std::numeric_limits<float>::max()};
    factor_.push_back(fits ? static_cast<float>(factor) : 1.0F);
  }
}

void Standardizer::Apply(float* values, int64_t rows, int64_t stride) const {
  const size_t columns = mean_.size();
  for (int64_t row = 0; row < rows; ++row) {
    float* const x = values + row * stride;
    for (size_t column = 0; column < columns; ++column) {
      x[column] = (x[column] - mean_[column]) * factor_[column];
    }
  }
}

}  // namespace halograph
