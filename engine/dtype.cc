#include "engine/dtype.h"

#include <limits>

namespace peelcheck {

const char* DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "bool";
    case DType::kI64: return "i64";
    case DType::kF32: return "f32";
    case DType::kF64: return "f64";
  }
  return "?";
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (DType dtype : {DType::kBool, DType::kI64, DType::kF32, DType::kF64}) {
    if (name == DTypeName(dtype)) return dtype;
  }
  return std::nullopt;
}

std::string_view WhyNoDType(std::string_view name) {
  for (const char* complex : {"c32", "c64", "c128", "complex64", "complex128", "complex"}) {
    if (name == complex) return "complex numbers are not supported";
  }
  for (const char* half : {"f16", "bf16", "half", "float16", "bfloat16"}) {
    if (name == half) return "half precision is not supported";
  }
  return "";
}

double Epsilon(DType dtype) {
  if (dtype == DType::kF32) return std::numeric_limits<float>::epsilon();
  if (dtype == DType::kF64) return std::numeric_limits<double>::epsilon();
  return 0.0;
}

}  // namespace peelcheck
