// opinfo_db/ops/norm.cc: the vector p-norm over dims, p = 0, 1, 2, 3, inf; any, all and
// count_nonzero, which look at the same thing: what is not zero.
//
//   BuildOperation("norm", {{"p", 1.0}, {"dim", -1}})
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/folds.h"

namespace peelcheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor IsNonZero(const Tensor& x) { return Ne(x, Full({}, 0, x.dtype())); }

// s^(1/p); at s = 0 the derivative is 0 (a subgradient) instead of infinite times 0.
Tensor Root(const Tensor& s, double p) {
  const Tensor zero = Full({}, 0, s.dtype());
  const Tensor is_zero = Eq(s, zero);
  const Tensor safe = Where(is_zero, Full({}, 1, s.dtype()), s);
  return Where(is_zero, zero, p == 2 ? Sqrt(safe) : PowScalar(safe, 1 / p));
}

Tensor Norm(const Tensor& x, double p, const std::optional<Dims>& dims, bool keepdim) {
  if (p == 0) return Sum(To(IsNonZero(x), x.dtype()), dims, keepdim);
  if (p == 1) return Sum(Abs(x), dims, keepdim);
  if (p == 2) return Root(Sum(Square(x), dims, keepdim), 2);
  if (p == kInfinity) return Amax(Abs(x), dims, keepdim);
  return Root(Sum(PowScalar(Abs(x), p), dims, keepdim), p);
}

double NormOf(const Values& values, double p) {
  double result = 0;
  for (const double value : values) {
    if (p == kInfinity) {
      result = std::max(result, std::abs(value));
    } else {
      result += p == 0 ? value != 0 : std::pow(std::abs(value), p);
    }
  }
  return p == 0 || p == kInfinity ? result : std::pow(result, 1 / p);
}

// p of the reference's attributes; "inf" as a string, for JSON has no such number.
double ReadP(const Attributes& attributes, const std::string& tag) {
  const auto at = attributes.find("p");
  if (at != attributes.end() && std::holds_alternative<std::string>(at->second)) {
    if (std::get<std::string>(at->second) == "inf") return kInfinity;
    ThrowInvalidArgument(absl::StrCat("[", tag, "] p=\"", std::get<std::string>(at->second),
                                      "\"; expected a number or \"inf\""));
  }
  const double p = GetDouble(attributes, "p", 2, tag);
  if (p < 0) ThrowInvalidArgument(absl::StrCat("[", tag, "] p=", p, "; expected 0 or more"));
  return p;
}

const Registration kNorm({
    .name = "norm",
    .formula = "y = (sum of |x|^p)^(1/p), p = 0 counts, inf takes the largest; dy = sum of sign(x) "
               "(|x| / y)^(p - 1) dx, 0 at y = 0",
    .source = "https://pytorch.org/docs/stable/generated/torch.norm.html",
    // |x| without ties, for p = inf.
    .arguments = {{.name = "x",
                   .domain = {.low = 0.2, .high = 50, .margin = 0.05, .distinct = true}}},
    .attributes = {{.name = "p", .choices = {2.0, 1.0, 3.0, std::string("inf"), 0.0}},
                   {.name = "dim", .kind = AttributeKind::kDims},
                   KeepDim()},
    .allows_empty = false,
    .build = WithAttributes("norm", 1, {"p", "dim", "keepdim"},
                            [](const Attributes& attributes) {
                              const double p = ReadP(attributes, "norm");
                              const auto dims = DimsOrAll(attributes, "norm");
                              const bool keepdim = GetBool(attributes, "keepdim", false, "norm");
                              return [=](const Tensors& in) -> Tensors {
                                return {Norm(in[0], p, dims, keepdim)};
                              };
                            }),
    .reference = FoldReference([](const Values& values, const Attributes& attributes) {
      return NormOf(values, ReadP(attributes, "reference"));
    }),
    .error_cases = {{.description = "a negative p",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"p", -1.0}}},
                    {.description = "dim past the end",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"dim", 1}}}},
});

struct Counting {
  std::string name, formula;
  Tensor (*call)(const Tensor& is_nonzero, const std::optional<Dims>& dims, bool keepdim);
  double (*fold)(int64_t nonzero, int64_t all);
  DType dtype;
  bool keepdim;
};

Registration Row(const Counting& row, SourceLocation where = SourceLocation::Current()) {
  std::vector<AttributeSpec> attributes = {{.name = "dim", .kind = AttributeKind::kDims}};
  std::vector<std::string> known = {"dim"};
  if (row.keepdim) {
    attributes.push_back(KeepDim());
    known.push_back("keepdim");
  }
  return Registration(
      {.name = row.name,
       .formula = row.formula + "; no derivative",
       .source = "https://pytorch.org/docs/stable/generated/torch." + row.name + ".html",
       .arguments = {{.name = "x", .kind = ValueKind::kInteger}},
       .attributes = attributes,
       .build = WithAttributes(row.name, 1, known,
                               [row](const Attributes& given) {
                                 const auto dims = DimsOrAll(given, row.name);
                                 const bool keepdim =
                                     row.keepdim && GetBool(given, "keepdim", false, row.name);
                                 return [=](const Tensors& in) -> Tensors {
                                   return {row.call(IsNonZero(in[0]), dims, keepdim)};
                                 };
                               }),
       .reference = FoldReference(
           [row](const Values& values, const Attributes&) {
             const auto zeros = std::count(values.begin(), values.end(), 0.0);
             return row.fold(std::ssize(values) - zeros, std::ssize(values));
           },
           row.dtype),
       .differentiable = false,
       .error_cases = DimErrors()},
      where);
}

const Registration kRows[] = {
    Row({"any", "y = whether some x is not 0",
         [](const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
           return IsNonZero(Sum(To(x, DType::kI64), dims, keepdim));
         },
         [](int64_t nonzero, int64_t) { return nonzero > 0 ? 1.0 : 0.0; }, DType::kBool, true}),
    Row({"all", "y = whether no x is 0",
         [](const Tensor& x, const std::optional<Dims>& dims, bool keepdim) {
           const Tensor zeros = Eq(x, Full({}, 0, x.dtype()));
           return Eq(Sum(To(zeros, DType::kI64), dims, keepdim), Full({}, 0, DType::kI64));
         },
         [](int64_t nonzero, int64_t all) { return nonzero == all ? 1.0 : 0.0; }, DType::kBool,
         true}),
    Row({"count_nonzero", "y = the number of x that are not 0",
         [](const Tensor& x, const std::optional<Dims>& dims, bool) {
           return Sum(To(x, DType::kI64), dims);
         },
         [](int64_t nonzero, int64_t) { return static_cast<double>(nonzero); }, DType::kI64,
         false}),
};

}  // namespace
}  // namespace peelcheck
