// opinfo_db/json_array.cc: arrays as JSON and back; declared in opinfo_db/json.h.
//
//   ArrayToJson(Array::FromValues(DType::kF32, {2}, {0.1, 1}))  ->
//   {"dtype":"f32","shape":[2],"data":[0.1,1.0]}
#include <absl/strings/str_cat.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "opinfo_db/json.h"
#include "opinfo_db/json_reading.h"

namespace peelcheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxElements = int64_t{1} << 28;
constexpr size_t kMaxRank = 64;

Json NumberToJson(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

// A double that prints with the fewest digits that read back as `value`: 0.1, not
// 0.10000000149011612.
Json NumberToJson(float value) {
  if (!std::isfinite(value)) return NumberToJson(static_cast<double>(value));
  char digits[32];
  *std::to_chars(digits, digits + sizeof digits - 1, value).ptr = '\0';
  const double shortest = std::strtod(digits, nullptr);
  // Rounding twice (to double, then to float) may miss next to a midpoint.
  return static_cast<float>(shortest) == value ? shortest : static_cast<double>(value);
}

template <typename T>
Json ElementToJson(T value) {
  if constexpr (std::is_same_v<T, uint8_t>) return value != 0;
  if constexpr (std::is_same_v<T, int64_t>) return value;
  if constexpr (std::is_floating_point_v<T>) return NumberToJson(value);
}

absl::Status Wrong(const std::string& where, const Json& came, const std::string& expected) {
  return WrongJson(where, came, expected);
}

absl::StatusOr<double> ReadFloating(const Json& json, DType dtype, const std::string& where) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
  }
  if (!json.is_number()) {
    return Wrong(where, json, "a number, \"nan\", \"inf\" or \"-inf\"");
  }
  const double value = json.get<double>();
  if (dtype == DType::kF32 && std::isinf(static_cast<float>(value))) {
    return Wrong(where, json, "a number that f32 can hold, or \"inf\"");
  }
  return value;
}

absl::StatusOr<uint8_t> ReadBool(const Json& json, const std::string& where) {
  if (json.is_boolean()) return static_cast<uint8_t>(json.get<bool>() ? 1 : 0);
  const absl::StatusOr<int64_t> value = ReadInteger(json, where);
  if (!value.ok() || (*value != 0 && *value != 1)) return Wrong(where, json, "true or false");
  return static_cast<uint8_t>(*value);
}

absl::Status ReadElement(const Json& json, const std::string& where, DType, uint8_t& element) {
  const absl::StatusOr<uint8_t> value = ReadBool(json, where);
  if (value.ok()) element = *value;
  return value.status();
}

absl::Status ReadElement(const Json& json, const std::string& where, DType, int64_t& element) {
  const absl::StatusOr<int64_t> value = ReadInteger(json, where);
  if (value.ok()) element = *value;
  return value.status();
}

template <typename T>
absl::Status ReadElement(const Json& json, const std::string& where, DType dtype, T& element) {
  const absl::StatusOr<double> value = ReadFloating(json, dtype, where);
  if (value.ok()) element = static_cast<T>(*value);
  return value.status();
}

absl::StatusOr<Shape> ReadShape(const Json& json, const std::string& where) {
  if (!json.is_array()) return Wrong(where, json, "a list of sizes");
  if (json.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", json.size(), " axes; expected at most ", kMaxRank));
  }
  Shape shape;
  int64_t elements = 1;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string place = absl::StrCat(where, "[", i, "]");
    const absl::StatusOr<int64_t> size = ReadInteger(json[i], place);
    if (!size.ok() || *size < 0 || *size > kMaxElements) {
      return Wrong(place, json[i], "a size in 0..2^28");
    }
    shape.push_back(*size);
    elements = std::max<int64_t>(elements, 1) * std::max<int64_t>(*size, 1);
    // Sizes next to a 0 count as well: a batch over them would not fit either.
    if (elements > kMaxElements) {
      return Wrong(where, json, "at most 2^28 elements");
    }
  }
  return shape;
}

}  // namespace

Json ArrayToJson(const Array& array) {
  const Array contiguous = array.Contiguous();
  Json data = Json::array();
  VisitDType(array.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* elements = contiguous.data<T>();
    for (int64_t i = 0; i < contiguous.size(); ++i) data.push_back(ElementToJson(elements[i]));
  });
  return {{"dtype", DTypeName(array.dtype())},
          {"shape", std::vector<int64_t>(array.shape().begin(), array.shape().end())},
          {"data", std::move(data)}};
}

absl::StatusOr<Array> ArrayFromJson(const Json& json, const std::string& where) {
  absl::Status status = CheckKeys(json, where, {"dtype", "shape", "data"}, {});
  if (!status.ok()) return status;

  const Json& dtype_json = json["dtype"];
  const std::optional<DType> dtype =
      dtype_json.is_string() ? DTypeFromName(dtype_json.get<std::string>()) : std::nullopt;
  if (!dtype.has_value()) {
    const std::string why(dtype_json.is_string() ? WhyNoDType(dtype_json.get<std::string>()) : "");
    return Wrong(where + ".dtype", dtype_json,
                 "\"f32\", \"f64\", \"i64\" or \"bool\"" + (why.empty() ? "" : ": " + why));
  }
  const absl::StatusOr<Shape> shape = ReadShape(json["shape"], where + ".shape");
  if (!shape.ok()) return shape.status();

  const Json& data = json["data"];
  const std::string data_where = where + ".data";
  if (!data.is_array()) return Wrong(data_where, data, "a flat list of numbers");
  const int64_t count = ElementCount(*shape);
  if (static_cast<int64_t>(data.size()) != count) {
    return absl::InvalidArgumentError(absl::StrCat(data_where, ": ", data.size(),
                                                   " numbers for shape ", ShapeToString(*shape),
                                                   "; expected ", count));
  }
  Array array = Array::Empty(*dtype, *shape);
  VisitDType(*dtype, [&](auto tag) {
    auto* elements = array.fresh_data<decltype(tag)>();
    for (size_t i = 0; i < data.size() && status.ok(); ++i) {
      status = ReadElement(data[i], absl::StrCat(data_where, "[", i, "]"), *dtype, elements[i]);
    }
  });
  if (!status.ok()) return status;
  return array;
}

}  // namespace peelcheck
