// opinfo_db/ops/variance.cc: var and std over dims: the mean square of the distances from the mean,
// with n - correction as divisor.
//
//   BuildOperation("var", {{"dim", -1}, {"correction", int64_t{0}}, {"keepdim", true}})
#include <algorithm>
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/folds.h"

namespace peelcheck {
namespace {

Tensor Variance(const Tensor& x, const std::optional<Dims>& dims, int64_t correction,
                bool keepdim) {
  const Tensor centred = x - Mean(x, dims, true);
  const Tensor squares = Sum(Square(centred), dims, keepdim);
  const double n = static_cast<double>(x.size()) / std::max<double>(1, squares.size());
  return squares / Full({}, std::max(0.0, n - static_cast<double>(correction)), x.dtype());
}

// At variance 0 the derivative is 0, a subgradient, instead of infinite times 0.
Tensor Deviation(const Tensor& variance) {
  const Tensor zero = Full({}, 0, variance.dtype());
  const Tensor is_zero = Eq(variance, zero);
  return Where(is_zero, zero, Sqrt(Where(is_zero, Full({}, 1, variance.dtype()), variance)));
}

double VarianceOf(const Values& values, int64_t correction) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return squares / (n - static_cast<double>(correction));
}

Registration Row(const std::string& name, const std::string& formula, bool root,
                 SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = formula,
       .source = "https://pytorch.org/docs/stable/generated/torch." + name + ".html",
       // Clear of 0 / 0: each reduced axis has more than one element.
       .arguments = {{.name = "x", .shape = "3 5", .domain = {.margin = 0.05, .distinct = true}}},
       .attributes = {{.name = "dim", .kind = AttributeKind::kDims},
                      {.name = "correction", .choices = {int64_t{1}, int64_t{0}}},
                      KeepDim()},
       .build = WithAttributes(name, 1, {"dim", "correction", "keepdim"},
                               [=](const Attributes& attributes) {
                                 const auto dims = DimsOrAll(attributes, name);
                                 const int64_t correction =
                                     GetInt(attributes, "correction", 1, name);
                                 const bool keepdim = GetBool(attributes, "keepdim", false, name);
                                 return [=](const Tensors& in) -> Tensors {
                                   const Tensor var = Variance(in[0], dims, correction, keepdim);
                                   return {root ? Deviation(var) : var};
                                 };
                               }),
       .reference = FoldReference([root](const Values& values, const Attributes& attributes) {
         const double var = VarianceOf(values, GetInt(attributes, "correction", 1, "reference"));
         return root ? std::sqrt(var) : var;
       }),
       .error_cases = DimErrors()},
      where);
}

const Registration kRows[] = {
    Row("var", "y = sum of (x - m)^2 / (n - correction), m the mean; dy = 2 sum of (x - m) dx / ..",
        false),
    Row("std", "y = sqrt(var x); dy = dvar / (2 y)", true),
};

}  // namespace
}  // namespace peelcheck
