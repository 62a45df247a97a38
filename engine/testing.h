// engine/testing.h: what the tests of the engine are written with.
//
//   EXPECT_EQ(Values(Grad(f)({F64({3}, {1, 2, 3})})[0]), (std::vector<double>{2, 4, 6}));
//   ExpectThrows([&] { Vmap(f)({}); }, ErrorClass::kInvalidArgument, "no inputs");
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace peelcheck {

inline Tensor F64(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::FromArray(Array::FromValues(DType::kF64, shape, values));
}
inline Tensor F32(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::FromArray(Array::FromValues(DType::kF32, shape, values));
}
inline Tensor Ints(const Shape& shape, std::vector<int64_t> values) {
  return Tensor::FromArray(Array::FromInts(shape, values));
}
// 0.5, 0.75, 1.0, ..: distinct, exact, clear of 0.
inline Tensor Ramp(const Shape& shape, DType dtype = DType::kF64) {
  Array array = Array::Zeros(dtype, shape);
  for (int64_t i = 0; i < array.size(); ++i) {
    array.SetDouble(i, 0.5 + 0.25 * static_cast<double>(i));
  }
  return Tensor::FromArray(std::move(array));
}

inline std::vector<double> Values(const Tensor& tensor) { return tensor.array().ToDoubles(); }

inline void ExpectNear(const Tensor& came, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_EQ(came.shape(), expected.shape());
  ASSERT_EQ(came.dtype(), expected.dtype());
  const std::vector<double> a = Values(came), b = Values(expected);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "element " << i;
}

// `body` throws an Error of that class whose message contains `text`.
inline void ExpectThrows(const std::function<void()>& body, ErrorClass error_class,
                         const std::string& text) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_STREQ(ErrorClassName(error.error_class()), ErrorClassName(error_class)) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
        << "expected: " << text << "\ncame: " << error.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown; expected: " << text;
}

}  // namespace peelcheck
