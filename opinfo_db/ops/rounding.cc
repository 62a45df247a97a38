// opinfo_db/ops/rounding.cc: elementwise roundings, one row each: zero derivative but for frac.
// Integers are their own rounding and stay integers.
#include <cmath>

#include "engine/ops/elementwise_rows.h"
#include "opinfo_db/elementwise_entry.h"

namespace peelcheck {
namespace {

template <auto f>
Array KeepIntegers(const Array& x, const Parameters& parameters) {
  return IsFloating(x.dtype()) ? MapFloating<f>(x, parameters) : x.Cast(DType::kI64).Copy();
}

#define ROUNDED(function) \
  KeepIntegers<[](auto v, [[maybe_unused]] auto a, [[maybe_unused]] auto b) { return function(v); }>

const Domain kIntegersAreKinks = {.low = -2, .high = 2, .kinks = {-2, -1, 0, 1, 2}};
const Domain kHalvesAreKinks = {.low = -2, .high = 2, .kinks = {-1.5, -0.5, 0.5, 1.5}};
const RowOptions kFlat = {.zero_derivative = true};

// The integer part, by way of the integers.
double WholePart(double x) { return static_cast<double>(static_cast<int64_t>(x)); }

const Registration kRows[] = {
    // clang-format off
    Row({"floor", Floor, "y = largest integer <= x; dy = 0", kIntegersAreKinks, [](double x) { return x < WholePart(x) ? WholePart(x) - 1 : WholePart(x); }, kFlat}),
    Row({"ceil", {ROUNDED(std::ceil)}, "y = smallest integer >= x; dy = 0", kIntegersAreKinks, [](double x) { return x > WholePart(x) ? WholePart(x) + 1 : WholePart(x); }, kFlat}),
    Row({"trunc", {ROUNDED(std::trunc)}, "y = x without its fraction; dy = 0", kIntegersAreKinks, WholePart, kFlat}),
    Row({"round", {ROUNDED(std::nearbyint)}, "y = nearest integer, the even one in the middle; dy = 0", kHalvesAreKinks, [](double x) { return x - std::remainder(x, 1.0); }, kFlat}),
    Row({"frac", {FLOATING(v - std::trunc(v)), OF_T(t)}, "y = x - trunc x; dy = dx", kIntegersAreKinks, [](double x) { return std::fmod(x, 1.0); }}),
    // clang-format on
};

}  // namespace
}  // namespace peelcheck
