// opinfo_db/ops/binary.cc: elementwise operations of two operands that broadcast, one row each.
//
//   Row({"mul", Mul, "z = x y; dz = y dx + x dy", kPlain, kPlain, [](double x, double y) { return x
//   * y; }})
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"

namespace peelcheck {
namespace {

const Domain kPlain = {.low = -2, .high = 2};
// Both operands together hold no value twice: no ties.
const Domain kNoTies = {.low = -50, .high = 50, .margin = 0.05, .distinct = true};

std::vector<ErrorCase> ShapesThatDoNotBroadcast() {
  return {{.description = "sizes 3 and 4 in the last axis",
           .inputs = {{DType::kF64, {3}}, {DType::kF64, {4}}}},
          {.description = "sizes 3 and 5 in an inner axis",
           .inputs = {{DType::kF64, {3, 4}}, {DType::kF64, {5, 4}}}}};
}

std::vector<Argument> Operands(const std::string& x, const Domain& x_domain, const std::string& y,
                               const Domain& y_domain) {
  return {{.name = x, .shape = "~", .domain = x_domain},
          {.name = y, .shape = "~", .domain = y_domain}};
}

struct Binary {
  std::string name;
  Tensor (*call)(const Tensor&, const Tensor&);
  std::string formula;
  Domain x, y;
  double (*reference)(double, double);
};

Registration Row(Binary row, SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = row.name,
          .formula = row.formula,
          .source = "https://pytorch.org/docs/stable/generated/torch." + row.name + ".html",
          .arguments = Operands("x", row.x, "y", row.y),
          .build = Plain(
              row.name, 2,
              [call = row.call](const Tensors& in) -> Tensors { return {call(in[0], in[1])}; }),
          .reference = ElementwiseReference(std::function<double(double, double)>(row.reference)),
          .error_cases = ShapesThatDoNotBroadcast(),
      },
      where);
}

const Registration kRows[] = {
    // clang-format off
    Row({"mul", Mul, "z = x y; dz = y dx + x dy", kPlain, kPlain, [](double x, double y) { return x * y; }}),
    Row({"div", Div, "z = x / y; dz = (dx - z dy) / y", kPlain, {.low = -3, .high = 3, .kinks = {0}, .margin = 0.3}, [](double x, double y) { return x / y; }}),
    Row({"pow", Pow, "z = x^y; dz = y x^(y-1) dx + z ln(x) dy", {.low = 0.2, .high = 2.5}, kPlain, [](double x, double y) { return std::pow(x, y); }}),
    Row({"maximum", Maximum, "z = max(x, y); dz = dx where x > y, else dy", kNoTies, kNoTies, [](double x, double y) { return x > y ? x : y; }}),
    Row({"minimum", Minimum, "z = min(x, y); dz = dx where x < y, else dy", kNoTies, kNoTies, [](double x, double y) { return x < y ? x : y; }}),
    Row({"atan2", Atan2, "z = angle of the point (x, y); dz = (x dy - y dx) / (x^2 + y^2)", {.low = -2, .high = 2, .kinks = {0}, .margin = 0.2}, {.low = 0.3, .high = 2}, [](double y, double x) { return std::atan2(y, x); }}),
    // clang-format on
};

// add and sub take PyTorch's `alpha`: z = x + alpha y.
Registration AddLike(const std::string& name, double sign,
                     SourceLocation where = SourceLocation::Current()) {
  const std::string op = sign > 0 ? "+" : "-";
  return Registration(
      {
          .name = name,
          .formula = "z = x " + op + " alpha y; dz = dx " + op + " alpha dy",
          .source = "https://pytorch.org/docs/stable/generated/torch." + name + ".html",
          .arguments = Operands("x", kPlain, "y", kPlain),
          .attributes = {{.name = "alpha", .choices = {std::monostate(), 1.0, 2.5, -0.5}}},
          .build = WithAttributes(name, 2, {"alpha"},
                                  [name, sign](const Attributes& attributes) {
                                    const double alpha = GetDouble(attributes, "alpha", 1, name);
                                    return [sign, alpha](const Tensors& in) -> Tensors {
                                      const Tensor y = alpha == 1 ? in[1] : in[1] * alpha;
                                      return {sign > 0 ? Add(in[0], y) : Sub(in[0], y)};
                                    };
                                  }),
          .reference =
              [name, sign](std::span<const Array> inputs, const Attributes& attributes) {
                const double factor = sign * GetDouble(attributes, "alpha", 1, name);
                return ElementwiseReference(
                    [factor](double x, double y) { return x + factor * y; })(inputs, attributes);
              },
          .error_cases = ShapesThatDoNotBroadcast(),
      },
      where);
}

const Registration kAdd = AddLike("add", 1);
const Registration kSub = AddLike("sub", -1);

}  // namespace
}  // namespace peelcheck
