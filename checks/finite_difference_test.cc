// The bound of a finite difference must hold, and be of use: measured on functions whose derivative
// is known.
#include "checks/finite_difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "checks/numerics.h"

namespace peelcheck {
namespace {

struct Known {
  const char* name;
  double low, high;
  double (*value)(double);
  double (*derivative)(double);
};

// Domains are those of the database: 0.2 and more away from poles and edges.
const Known kKnown[] = {
    {"sin", -3, 3, [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }},
    {"exp", -2, 2, [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }},
    {"cube", -2, 2, [](double x) { return x * x * x; }, [](double x) { return 3 * x * x; }},
    {"log", 0.2, 3, [](double x) { return std::log(x); }, [](double x) { return 1 / x; }},
    {"sqrt", 0.2, 3, [](double x) { return std::sqrt(x); },
     [](double x) { return 0.5 / std::sqrt(x); }},
    {"reciprocal", 0.3, 3, [](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); }},
    {"tanh", -2, 2, [](double x) { return std::tanh(x); },
     [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
    {"tan", -1.2, 1.2, [](double x) { return std::tan(x); },
     [](double x) { return 1 + std::tan(x) * std::tan(x); }},
    {"atan", -3, 3, [](double x) { return std::atan(x); },
     [](double x) { return 1 / (1 + x * x); }},
    {"fast wave", -3, 3, [](double x) { return std::sin(9 * x); },
     [](double x) { return 9 * std::cos(9 * x); }},
    {"affine", -2, 2, [](double x) { return 3 * x - 1; }, [](double) { return 3.0; }},
};

BlackBox Elementwise(double (*f)(double)) {
  return [f](std::span<const Array> in) -> absl::StatusOr<std::vector<Array>> {
    Array out = in[0].Copy();
    for (int64_t i = 0; i < out.size(); ++i) out.SetDouble(i, f(in[0].DoubleAt(i)));
    return std::vector<Array>{out};
  };
}

Array Drawn(int64_t size, double low, double high, std::mt19937_64& random) {
  Array result = Array::Empty(DType::kF64, {size});
  std::uniform_real_distribution<double> draw(low, high);
  for (int64_t i = 0; i < size; ++i) result.fresh_data<double>()[i] = draw(random);
  return result;
}

struct Coverage {
  int64_t elements = 0, covered = 0;
  std::vector<double> looseness;  // bound / true error
};

void Measure(const Known& known, std::mt19937_64& random, Coverage& coverage) {
  const int64_t size = std::uniform_int_distribution<int64_t>(1, 12)(random);
  const std::vector<Array> x = {Drawn(size, known.low, known.high, random)};
  const std::vector<Array> direction = {Drawn(size, -1, 1, random)};
  const size_t argnums[] = {0};
  const auto d = DifferentiateAlong(Elementwise(known.value), x, argnums, direction);
  ASSERT_TRUE(d.ok());
  EXPECT_TRUE(d->useful()) << known.name << ": " << d->evidence;
  for (int64_t i = 0; i < size; ++i) {
    const double truth = known.derivative(x[0].DoubleAt(i)) * direction[0].DoubleAt(i);
    const double error = std::abs(d->derivative[0].DoubleAt(i) - truth);
    const double bound = d->bound[0][static_cast<size_t>(i)];
    ++coverage.elements;
    coverage.covered += error <= bound;
    if (error > 0) coverage.looseness.push_back(bound / error);
  }
}

TEST(FiniteDifference, BoundCoversTheTrueErrorAndIsNotAbsurdlyWide) {
  std::mt19937_64 random(1);
  Coverage all;
  for (const Known& known : kKnown) {
    Coverage coverage;
    for (int n = 0; n < 10000; ++n) Measure(known, random, coverage);
    const double share =
        static_cast<double>(coverage.covered) / static_cast<double>(coverage.elements);
    EXPECT_GE(share, 0.999) << known.name;
    all.looseness.insert(all.looseness.end(), coverage.looseness.begin(), coverage.looseness.end());
  }
  const auto middle = all.looseness.begin() + static_cast<int64_t>(all.looseness.size() / 2);
  std::nth_element(all.looseness.begin(), middle, all.looseness.end());
  RecordProperty("median_looseness", std::to_string(*middle));
  EXPECT_LT(*middle, 30);
}

TEST(FiniteDifference, DirectionIsScaledBack) {
  const std::vector<Array> x = {Array::FromValues(DType::kF64, {1}, {0.5})};
  const size_t argnums[] = {0};
  for (const double length : {1e-3, 1.0, 1e3}) {
    const std::vector<Array> direction = {Array::FromValues(DType::kF64, {1}, {length})};
    const auto d = DifferentiateAlong(Elementwise(kKnown[0].value), x, argnums, direction);
    ASSERT_TRUE(d.ok());
    EXPECT_NEAR(d->derivative[0].DoubleAt(0) / length, std::cos(0.5), 1e-8);
  }
}

TEST(FiniteDifference, StepStaysShortOfKinks) {
  // |x| at the margin that samples keep.
  const std::vector<Array> x = {Array::FromValues(DType::kF64, {1}, {0.1})};
  const std::vector<Array> direction = {Array::FromValues(DType::kF64, {1}, {-1})};
  const size_t argnums[] = {0};
  double closest = 1;
  const BlackBox watched = [&](std::span<const Array> in) -> absl::StatusOr<std::vector<Array>> {
    closest = std::min(closest, in[0].DoubleAt(0));
    return std::vector<Array>{in[0]};
  };
  ASSERT_TRUE(DifferentiateAlong(watched, x, argnums, direction).ok());
  EXPECT_GE(closest, 0.1 - kReach - 1e-12);
}

TEST(FiniteDifference, SeveralInputsAndOutputsTotalDerivative) {
  const BlackBox product_and_sum =
      [](std::span<const Array> in) -> absl::StatusOr<std::vector<Array>> {
    const double x = in[0].DoubleAt(0), y = in[1].DoubleAt(0);
    return std::vector<Array>{Array::FromValues(DType::kF64, {}, {x * y}),
                              Array::FromInts({}, std::vector<int64_t>{3}),
                              Array::FromValues(DType::kF64, {1}, {x + y})};
  };
  const std::vector<Array> at = {Array::FromValues(DType::kF64, {}, {2}),
                                 Array::FromValues(DType::kF64, {}, {5})};
  const std::vector<Array> along = {Array::FromValues(DType::kF64, {}, {0.5}),
                                    Array::FromValues(DType::kF64, {}, {-1})};
  const size_t argnums[] = {0, 1};
  const auto d = DifferentiateAlong(product_and_sum, at, argnums, along);
  ASSERT_TRUE(d.ok());
  ASSERT_EQ(d->derivative.size(), 2u) << "integer outputs have no derivative";
  EXPECT_NEAR(d->derivative[0].DoubleAt(0), 0.5 * 5 - 2, 1e-10);
  EXPECT_NEAR(d->derivative[1].DoubleAt(0), -0.5, 1e-10);
}

// A single element: chance has no neighbours to hide among.
TEST(FiniteDifference, NoisyFunctionIsNotUseful) {
  const auto rounded = [](double x) { return std::round(std::sin(x) * 1e4) / 1e4; };
  const size_t argnums[] = {0};
  std::mt19937_64 random(2);
  int64_t useful = 0;
  for (int n = 0; n < 1000; ++n) {
    const std::vector<Array> x = {Drawn(1, -3, 3, random)};
    const std::vector<Array> direction = {Drawn(1, 0.5, 1, random)};
    const auto d = DifferentiateAlong(Elementwise(rounded), x, argnums, direction);
    ASSERT_TRUE(d.ok());
    useful += d->useful();
  }
  // The noise of one element is known from one sample of it, which is small by chance now and then;
  // a cell has many elements.
  EXPECT_LE(useful, 100);
}

TEST(FiniteDifference, ZeroDirectionHasZeroDerivativeExactly) {
  const std::vector<Array> x = {Array::FromValues(DType::kF64, {2}, {1, 2})};
  const std::vector<Array> direction = {Array::Zeros(DType::kF64, {2})};
  const size_t argnums[] = {0};
  const auto d = DifferentiateAlong(Elementwise(kKnown[1].value), x, argnums, direction);
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->derivative[0].DoubleAt(1), 0.0);
  EXPECT_EQ(d->bound[0][1], 0.0);
}

TEST(FiniteDifference, FailsAsTheFunctionFails) {
  const BlackBox failing = [](std::span<const Array>) -> absl::StatusOr<std::vector<Array>> {
    return absl::UnimplementedError("no rule");
  };
  const std::vector<Array> x = {Array::FromValues(DType::kF64, {1}, {1})};
  const size_t argnums[] = {0};
  EXPECT_EQ(DifferentiateAlong(failing, x, argnums, x).status().message(), "no rule");
}

// A sum that cancels is noisier than a rounding of its value: (x + 1e6) - 1e6 by a million
// roundings.
TEST(FiniteDifference, NoiseOfACancellingSumIsMeasured) {
  const auto cancelling = [](double x) { return (std::sin(x) + 1e6) - 1e6; };
  const size_t argnums[] = {0};
  std::mt19937_64 random(3);
  int64_t covered = 0;
  for (int n = 0; n < 2000; ++n) {
    const std::vector<Array> x = {Drawn(1, -3, 3, random)};
    const std::vector<Array> direction = {Array::FromValues(DType::kF64, {1}, {1})};
    const auto d = DifferentiateAlong(Elementwise(cancelling), x, argnums, direction);
    ASSERT_TRUE(d.ok());
    covered +=
        std::abs(d->derivative[0].DoubleAt(0) - std::cos(x[0].DoubleAt(0))) <= d->bound[0][0];
  }
  // One element has no neighbours to learn its noise from: 99.1 % is what was measured. Bounds from
  // the rounding of the value alone would cover next to nothing; a refutation asks three reaches.
  EXPECT_GE(covered, 1960);
}

TEST(FiniteDifference, OneSidedAtAnEdge) {
  // nan below the sample itself: the other side must do.
  const std::vector<Array> x = {Array::FromValues(DType::kF64, {1}, {2.0})};
  const std::vector<Array> direction = {Array::FromValues(DType::kF64, {1}, {1})};
  const size_t argnums[] = {0};
  const auto edge = [](double v) { return v < 2.0 ? std::nan("") : std::exp(v); };
  const auto d = DifferentiateAlong(Elementwise(edge), x, argnums, direction);
  ASSERT_TRUE(d.ok());
  EXPECT_TRUE(d->useful()) << d->evidence;
  EXPECT_LE(std::abs(d->derivative[0].DoubleAt(0) - std::exp(2.0)), d->bound[0][0]);
  EXPECT_NE(d->evidence.find("one-sided"), std::string::npos) << d->evidence;
}

TEST(FiniteDifference, ReachEndsBeforeADeclaredKink) {
  const std::vector<Argument> arguments = {{.name = "x", .domain = {.kinks = {0.5}}}};
  const std::vector<Array> x = {Array::FromValues(DType::kF64, {1}, {0.51})};
  const size_t argnums[] = {0};
  for (const double sign : {1.0, -1.0}) {
    const std::vector<Array> direction = {Array::FromValues(DType::kF64, {1}, {sign * 3})};
    const Reach reach = ReachAlong(arguments, x, argnums, direction);
    EXPECT_NEAR(sign > 0 ? reach.backward : reach.forward, 0.009, 1e-12);
    EXPECT_EQ(sign > 0 ? reach.forward : reach.backward, kReach);
  }
}

TEST(FiniteDifference, EvidenceTellsTheObservedOrder) {
  const std::vector<Array> x = {Array::FromValues(DType::kF64, {1}, {0.5})};
  const size_t argnums[] = {0};
  const std::vector<Array> direction = {Array::FromValues(DType::kF64, {1}, {1})};
  const auto d = DifferentiateAlong(Elementwise(kKnown[1].value), x, argnums, direction);
  ASSERT_TRUE(d.ok());
  EXPECT_NE(d->evidence.find("order 2.00"), std::string::npos) << d->evidence;
}

}  // namespace
}  // namespace peelcheck
