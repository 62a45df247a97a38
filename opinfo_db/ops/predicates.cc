// opinfo_db/ops/predicates.cc: elementwise tests of values -> bool, and logical operations; no
// derivative, so only values and vmap are checked. isnan, isinf and isfinite of special values:
// special_values_test.cc; generators draw finite numbers alone.
#include <cmath>

#include "engine/ops/elementwise_rows.h"
#include "opinfo_db/elementwise_entry.h"
#include "opinfo_db/ops/elementwise.h"

namespace peelcheck {
namespace {

const Domain kPlain = {.low = -2, .high = 2};
const RowOptions kTest = {.to_bool = true};
// False for everything that generators draw.
const RowOptions kTestOfTheUnusual = {.zero_derivative = true, .to_bool = true};
// Integers, so that zeros are common.
const RowOptions kLogical = {.to_bool = true, .values = ValueKind::kInteger};

const Registration kRows[] = {
    // clang-format off
    Row({"isnan", IsNan, "y = (x is nan), no derivative", kPlain, [](double x) { return x != x; }, kTestOfTheUnusual}),
    Row({"isinf", IsInf, "y = (x is inf or -inf), no derivative", kPlain, [](double x) { return x == x && x - x != 0; }, kTestOfTheUnusual}),
    Row({"isfinite", {TO_BOOL(std::isfinite(v))}, "y = (x is neither nan nor infinite), no derivative", kPlain, [](double x) { return x - x == 0; }, kTest}),
    Row({"signbit", {TO_BOOL(std::signbit(v))}, "y = (x is negative, or -0), no derivative", {.low = -2, .high = 2, .kinks = {0}}, [](double x) { return std::copysign(1.0, x) < 0; }, kTest}),
    Row({"logical_not", {TO_BOOL(v == 0)}, "y = (x = 0), no derivative", kPlain, [](double x) { return !static_cast<bool>(x); }, kLogical}),
    Row({"logical_and", {PROMOTED_TO_BOOL(v != 0 && w != 0)}, "z = (x != 0 and y != 0), no derivative", kPlain, kPlain, [](double x, double y) { return x * y != 0; }, kLogical}),
    Row({"logical_or", {PROMOTED_TO_BOOL(v != 0 || w != 0)}, "z = (x != 0 or y != 0), no derivative", kPlain, kPlain, [](double x, double y) { return x * x + y * y > 0; }, kLogical}),
    Row({"logical_xor", {PROMOTED_TO_BOOL((v != 0) != (w != 0))}, "z = (one of x and y is 0), no derivative", kPlain, kPlain, [](double x, double y) { return x * y == 0 && x + y != 0; }, kLogical}),
    // clang-format on
};

}  // namespace

Tensor IsInf(const Tensor& x) {
  static const UnaryOp op({"isinf", TO_BOOL(std::isinf(v))});
  return op(x);
}

Tensor IsNan(const Tensor& x) {
  static const UnaryOp op({"isnan", TO_BOOL(std::isnan(v))});
  return op(x);
}

}  // namespace peelcheck
