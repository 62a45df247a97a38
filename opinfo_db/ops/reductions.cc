// opinfo_db/ops/reductions.cc: sum, mean, amax, amin, logsumexp over dims, one row each; prod and
// cumsum along one dim.
//
//   BuildOperation("sum", {{"dim", std::vector<int64_t>{0, -1}}, {"keepdim", true}})
#include <algorithm>
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/folds.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

double SumOf(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}
double MeanOf(const Values& values) { return SumOf(values) / static_cast<double>(values.size()); }
double LargestOf(const Values& values) { return *std::max_element(values.begin(), values.end()); }
double SmallestOf(const Values& values) { return *std::min_element(values.begin(), values.end()); }
double LogSumExpOf(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += std::exp(value);
  return std::log(sum);
}
double ProductOf(const Values& values) {
  double product = 1;
  for (const double value : values) product *= value;
  return product;
}

Reference Folded(double (*fold)(const Values&)) {
  return FoldReference([fold](const Values& values, const Attributes&) { return fold(values); });
}

struct Reduction {
  std::string name;
  Tensor (*call)(const Tensor&, const std::optional<Dims>&, bool);
  std::string formula;
  Domain domain;
  double (*fold)(const Values&);
  bool of_empty = false;  // has a value for an empty axis
  bool dim_is_required = false;
};

Registration Row(Reduction row, SourceLocation where = SourceLocation::Current()) {
  std::vector<ErrorCase> errors = DimErrors();
  errors.push_back({.description = "a dim twice",
                    .inputs = {{DType::kF64, {3, 4}}},
                    .attributes = {{"dim", std::vector<int64_t>{0, -2}}}});
  const AttributeKind dims = row.dim_is_required ? AttributeKind::kDimList : AttributeKind::kDims;
  return Registration(
      {
          .name = row.name,
          .formula = row.formula,
          .source = "https://pytorch.org/docs/stable/generated/torch." + row.name + ".html",
          .arguments = {{.name = "x", .shape = "...", .domain = row.domain}},
          .attributes = {{.name = "dim", .kind = dims}, KeepDim()},
          .allows_empty = row.of_empty,
          .build = WithAttributes(row.name, 1, {"dim", "keepdim"},
                                  [row](const Attributes& attributes) {
                                    if (row.dim_is_required)
                                      RequireInts(attributes, "dim", row.name);
                                    const std::optional<Dims> dim = DimsOrAll(attributes, row.name);
                                    const bool keepdim =
                                        GetBool(attributes, "keepdim", false, row.name);
                                    return [call = row.call, dim,
                                            keepdim](const Tensors& in) -> Tensors {
                                      return {call(in[0], dim, keepdim)};
                                    };
                                  }),
          .reference = Folded(row.fold),
          .error_cases = std::move(errors),
      },
      where);
}

Tensor LogSumExpOrAll(const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
  Dims all;
  for (int64_t dim = 0; dim < x.rank(); ++dim) all.push_back(dim);
  return LogSumExp(x, dims.value_or(all), keepdim);
}

const Domain kPlain = {.low = -2, .high = 2};
const Domain kNoTies = {.low = -50, .high = 50, .margin = 0.05, .distinct = true};

const Registration kRows[] = {
    Row({"sum", Sum, "y = sum of x; dy = sum of dx", kPlain, SumOf, true}),
    Row({"mean", Mean, "y = sum of x / n; dy = sum of dx / n", kPlain, MeanOf}),
    Row({"amax", Amax, "y = largest x; dy = dx there", kNoTies, LargestOf}),
    Row({"amin", Amin, "y = smallest x; dy = dx there", kNoTies, SmallestOf}),
    Row({"logsumexp", LogSumExpOrAll, "y = ln sum e^x; dy = sum of e^(x - y) dx", kPlain,
         LogSumExpOf, false, true}),
};

const Registration kProd({
    .name = "prod",
    .formula = "y = product of x; dy = sum over i of (product of the others) dx_i, zeros included",
    .source = "https://pytorch.org/docs/stable/generated/torch.prod.html",
    .arguments = {{.name = "x", .shape = "..."}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kOptionalDim}, KeepDim()},
    .build = WithAttributes("prod", 1, {"dim", "keepdim"},
                            [](const Attributes& attributes) {
                              const auto dim = GetOptionalInt(attributes, "dim", "prod");
                              const bool keepdim = GetBool(attributes, "keepdim", false, "prod");
                              return [dim, keepdim](const Tensors& in) -> Tensors {
                                return {Prod(in[0], dim, keepdim)};
                              };
                            }),
    .reference = Folded(ProductOf),
    .error_cases = DimErrors(),
});

std::vector<Array> CumSumReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", "reference"), x);
  return {FromIndices(x.dtype(), x.shape(), [&](const Index& index) {
    Values line = Line(x, index, dim);
    if (x.rank() > 0) line.resize(static_cast<size_t>(index[dim]) + 1);
    return SumOf(line);
  })};
}

const Registration kCumSum({
    .name = "cumsum",
    .formula = "y_i = x_0 + .. + x_i; dy_i = dx_0 + .. + dx_i",
    .source = "https://pytorch.org/docs/stable/generated/torch.cumsum.html",
    .arguments = {{.name = "x", .shape = "..."}},
    .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
    .build = WithAttributes("cumsum", 1, {"dim"},
                            [](const Attributes& attributes) {
                              const int64_t dim = RequireInt(attributes, "dim", "cumsum");
                              return [dim](const Tensors& in) -> Tensors {
                                return {CumSum(in[0], dim)};
                              };
                            }),
    .reference = CumSumReference,
    .error_cases = DimErrors(),
});

}  // namespace
}  // namespace peelcheck
