// That the wrong engines of test_engines.h are wrong by their fault alone.
#include "checks/test_engines.h"

#include <gtest/gtest.h>

#include <cmath>

namespace peelcheck {
namespace {

TEST(FaultyEngine, WithoutAFaultItIsTheBuiltinEngine) {
  FaultyEngine engine(Fault::kNone);
  const std::vector<Array> x = {Array::FromValues(DType::kF64, {1}, {0.5})};
  const auto y = engine.Run({.op = "sin"}, x);
  ASSERT_TRUE(y.ok());
  EXPECT_DOUBLE_EQ((*y)[0].DoubleAt(0), std::sin(0.5));
}

}  // namespace
}  // namespace peelcheck
