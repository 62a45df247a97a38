// engine/dtype.h: the element types of arrays, and how they combine.
//
//   PromoteTypes(DType::kI64, DType::kF32) == DType::kF32
//
// Promotion follows bool < i64 < f32 < f64 and never looks at rank or value, so a 0-d operand
// promotes like any other and a batching rule cannot change a dtype by adding an axis. Scalars in
// C++ (`x * 0.1`) take the dtype of the tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peelcheck {

enum class DType : uint8_t {
  kBool,  // one byte, 0 or 1
  kI64,   // 64-bit signed integer: indices and counts
  kF32,   // IEEE single
  kF64,   // IEEE double: what oracles compute in
};

constexpr bool IsFloating(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }
constexpr int64_t ItemSize(DType dtype) {
  return dtype == DType::kBool ? 1 : dtype == DType::kF32 ? 4 : 8;
}
constexpr DType PromoteTypes(DType a, DType b) { return a < b ? b : a; }

// "bool", "i64", "f32", "f64".
const char* DTypeName(DType dtype);
// The inverse; nullopt for a name that is none of them.
std::optional<DType> DTypeFromName(std::string_view name);
// Why there is no such dtype, to put behind its name: "complex numbers are not supported", "half
// precision is not supported", or "" for a name that is none anywhere.
std::string_view WhyNoDType(std::string_view name);

// Machine epsilon: distance from 1 to the next larger value (2^-23, 2^-52); 0 for integer types.
double Epsilon(DType dtype);

template <typename T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kF32;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kF64;
}

// Calls `body(T{})` with the C++ type of `dtype`: uint8_t, int64_t, float or double.
template <typename Body>
decltype(auto) VisitDType(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kBool: return body(uint8_t{});
    case DType::kI64: return body(int64_t{});
    case DType::kF32: return body(float{});
    case DType::kF64: break;
  }
  return body(double{});
}

// The same for floating types only; the caller has made sure that `dtype` is one.
template <typename Body>
decltype(auto) VisitFloating(DType dtype, Body&& body) {
  if (dtype == DType::kF32) return body(float{});
  return body(double{});
}

}  // namespace peelcheck
