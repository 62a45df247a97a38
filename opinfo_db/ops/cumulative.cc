// opinfo_db/ops/cumulative.cc: reductions of every prefix along a dim: cumprod, logcumsumexp,
// cummax, cummin. (cumsum: engine/ops/cumsum.cc.)
//
// A prefix is a row of a triangle: x against itself, [.., n, n], what lies behind the diagonal
// replaced by the neutral element, reduced along the last axis. n^2 elements, and in return exact
// where a division or a subtraction would not be: cumprod at zeros, in every derivative.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/folds.h"

namespace peelcheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [.., n] along dim -> [.., n, n], the prefix of each element along the last axis.
Tensor Prefixes(const Tensor& x, int64_t dim, double neutral) {
  const Tensor last = MoveDim(x, dim, -1);
  const int64_t n = last.dim(last.rank() - 1);
  const Tensor behind = Triu(Full({n, n}, 1, DType::kI64), 1);
  const Tensor zero = Full({}, 0, DType::kI64);
  return Where(Gt(behind, zero), Full({}, neutral, x.dtype()), Unsqueeze(last, -2));
}

// The index of the extreme value of each prefix; the last one of equal ones. Values are constants
// here: the index has no derivative.
Tensor PrefixArg(const Tensor& x, int64_t dim, bool largest) {
  const Tensor prefixes = Prefixes(Detach(x), dim, largest ? -kInfinity : kInfinity);
  const int64_t n = prefixes.dim(prefixes.rank() - 1);
  if (n == 0) return To(Detach(x), DType::kI64);
  const Tensor extreme = largest ? Amax(prefixes, Dims{-1}, true) : Amin(prefixes, Dims{-1}, true);
  Array positions = Array::Zeros(DType::kI64, {n});
  for (int64_t i = 0; i < n; ++i) positions.SetDouble(i, static_cast<double>(i));
  // nan, the extreme of every prefix that holds one, equals nothing. What is behind the diagonal
  // counts for nothing, even where its infinity equals the extreme.
  const Tensor none = Full({}, -1, DType::kI64);
  const Tensor index = Tensor::FromArray(positions);
  const Tensor nans = Where(Ne(prefixes, prefixes), index, none);
  const Tensor equal = Where(Eq(prefixes, extreme), index, nans);
  const Tensor hit = Tril(equal + 1) - 1;
  return MoveDim(Amax(hit, Dims{-1}), -1, dim);
}

struct Cumulative {
  std::string name, formula;
  Domain domain;
  Tensors (*call)(const Tensor& x, int64_t dim);
  double (*fold)(const Values& prefix);
  bool with_index = false;
};

// `fold` of each prefix, and for cummax and cummin the last position at which that value stands.
Reference PrefixReference(const Cumulative& row) {
  return [row](std::span<const Array> inputs, const Attributes& attributes) {
    const Array& x = inputs[0];
    const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", "reference"), x);
    const auto prefix = [&](const Index& at) {
      Values line = Line(x, at, dim);
      if (x.rank() > 0) line.resize(static_cast<size_t>(at[dim]) + 1);
      return line;
    };
    std::vector<Array> outputs = {
        FromIndices(x.dtype(), x.shape(), [&](const Index& at) { return row.fold(prefix(at)); })};
    if (row.with_index) {
      outputs.push_back(FromIndices(DType::kI64, x.shape(), [&](const Index& at) {
        const Values line = prefix(at);
        size_t i = line.size() - 1;
        while (line[i] != row.fold(line)) --i;
        return static_cast<double>(i);
      }));
    }
    return outputs;
  };
}

Registration Row(const Cumulative& row, SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = row.name,
       .formula = row.formula,
       .source = "https://pytorch.org/docs/stable/generated/torch." + row.name + ".html",
       .arguments = {{.name = "x", .domain = row.domain}},
       .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
       .build = WithAttributes(row.name, 1, {"dim"},
                               [row](const Attributes& attributes) {
                                 const int64_t dim = RequireInt(attributes, "dim", row.name);
                                 return [row, dim](const Tensors& in) -> Tensors {
                                   const Tensor& x = in[0];
                                   const int64_t axis = WrapDim(dim, x.rank(), row.name);
                                   if (x.rank() > 0) return row.call(x, axis);
                                   Tensors outputs = row.call(Unsqueeze(x, 0), 0);
                                   for (Tensor& output : outputs) output = Squeeze(output, 0);
                                   return outputs;
                                 };
                               }),
       .reference = PrefixReference(row),
       .error_cases = DimErrors()},
      where);
}

const Domain kPlain = {.low = -2, .high = 2};
const Domain kNoTies = {.low = -50, .high = 50, .margin = 0.05, .distinct = true};

double ProductOf(const Values& values) {
  double product = 1;
  for (const double value : values) product *= value;
  return product;
}

const Registration kRows[] = {
    Row({"cumprod", "y_i = x_0 .. x_i; dy_i = sum over j <= i of (product of the others) dx_j",
         kPlain,
         [](const Tensor& x, int64_t dim) -> Tensors {
           return {MoveDim(Prod(Prefixes(x, dim, 1), -1), -1, dim)};
         },
         ProductOf}),
    Row({"logcumsumexp",
         "y_i = ln (e^x_0 + .. + e^x_i); dy_i = sum over j <= i of e^(x_j - y_i) dx_j", kPlain,
         [](const Tensor& x, int64_t dim) -> Tensors {
           return {MoveDim(LogSumExp(Prefixes(x, dim, -kInfinity), {-1}), -1, dim)};
         },
         [](const Values& values) {
           double sum = 0;
           for (const double value : values) sum += std::exp(value);
           return std::log(sum);
         }}),
    Row({"cummax", "values_i = the largest of x_0 .. x_i and its index; dvalues = dx[indices]",
         kNoTies,
         [](const Tensor& x, int64_t dim) -> Tensors {
           const Tensor index = PrefixArg(x, dim, true);
           return {Gather(x, dim, index), index};
         },
         [](const Values& values) { return *std::max_element(values.begin(), values.end()); },
         true}),
    Row({"cummin", "values_i = the smallest of x_0 .. x_i and its index; dvalues = dx[indices]",
         kNoTies,
         [](const Tensor& x, int64_t dim) -> Tensors {
           const Tensor index = PrefixArg(x, dim, false);
           return {Gather(x, dim, index), index};
         },
         [](const Values& values) { return *std::min_element(values.begin(), values.end()); },
         true}),
};

}  // namespace
}  // namespace peelcheck
