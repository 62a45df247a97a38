// What counts as equal, and what is told of a difference.
#include "checks/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace peelcheck {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Array Values(std::initializer_list<double> values) {
  return Array::FromValues(DType::kF64, {static_cast<int64_t>(values.size())}, values);
}

TEST(Compare, ShapeIsReportedBeforeValues) {
  const Array a = Array::FromValues(DType::kF64, {1, 3}, {1, 2, 3});
  const Comparison c = CompareArrays(a, Values({1, 2, 3}), {});
  EXPECT_EQ(c.structure, "is f64[1, 3]; expected f64[3]");
  EXPECT_EQ(c.compared, 0);
  EXPECT_FALSE(c.ok());
}

TEST(Compare, DTypeIsReportedBeforeValues) {
  const Array a = Array::FromValues(DType::kF32, {1}, {1});
  EXPECT_EQ(CompareArrays(a, Values({1}), {}).structure, "is f32[1]; expected f64[1]");
}

TEST(Compare, FirstAndWorstElement) {
  const std::vector<double> bounds = {0.1, 0.1, 0.1, 0.001};
  const Comparison c = CompareArrays(Values({1, 2.5, 3, 4.1}), Values({1, 2, 3, 4}), bounds);
  EXPECT_EQ(c.differing, 2);
  EXPECT_EQ(c.first, 1);
  EXPECT_EQ(c.worst, 3) << "the one that is furthest beyond its own bound";
  EXPECT_NEAR(c.worst_ratio, 100, 1e-6);
}

TEST(Compare, NanEqualsNanAndNothingElse) {
  const std::vector<double> bounds = {1, 1};
  EXPECT_TRUE(CompareArrays(Values({kNan, 1}), Values({kNan, 1}), bounds).ok());
  EXPECT_EQ(CompareArrays(Values({kNan, 1}), Values({1, 1}), bounds).first, 0);
  EXPECT_EQ(CompareArrays(Values({1, 1}), Values({1, kNan}), bounds).first, 1);
}

TEST(Compare, InfinityEqualsItself) {
  const std::vector<double> bounds = {1};
  EXPECT_TRUE(CompareArrays(Values({kInfinity}), Values({kInfinity}), bounds).ok());
  EXPECT_FALSE(CompareArrays(Values({kInfinity}), Values({-kInfinity}), bounds).ok());
  EXPECT_FALSE(CompareArrays(Values({1}), Values({kInfinity}), bounds).ok());
}

TEST(Compare, NanBoundDoesNotPass) {
  EXPECT_FALSE(CompareArrays(Values({1}), Values({2}), std::vector<double>{kNan}).ok());
}

TEST(Compare, AllZerosAreNoticed) {
  const std::vector<double> bounds = {1, 1};
  EXPECT_FALSE(CompareArrays(Values({0, 0}), Values({0, -0.0}), bounds).any_nonzero);
  EXPECT_TRUE(CompareArrays(Values({0, 0}), Values({0, 1e-300}), bounds).any_nonzero);
}

TEST(Compare, UniformBoundsScaleWithTheLargestFiniteValue) {
  const std::vector<double> bounds = UniformBounds(Values({1, -9, kInfinity}), 10, DType::kF64);
  ASSERT_EQ(bounds.size(), 3u);
  EXPECT_DOUBLE_EQ(bounds[0], 100 * Epsilon(DType::kF64));
}

TEST(Compare, IndexIsRowMajor) {
  EXPECT_EQ(IndexOf({3, 4, 5}, 2 * 20 + 1 * 5 + 3), (std::vector<int64_t>{2, 1, 3}));
  EXPECT_TRUE(IndexOf({}, 0).empty());
}

}  // namespace
}  // namespace peelcheck
