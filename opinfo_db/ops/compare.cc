// opinfo_db/ops/compare.cc: elementwise comparisons -> bool, one row each; no derivative, so only
// values and vmap are checked.
//
//   Row({"lt", Lt, "z = x < y", [](double x, double y) { return x < y; }})
#include "engine/ops.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

// Few different values, so that equal ones are common.
const Domain kManyTies = {.low = -0.03, .high = 0.03};

struct Comparison {
  std::string name;
  Tensor (*call)(const Tensor&, const Tensor&);
  std::string formula;
  bool (*reference)(double, double);
};

// ElementwiseReference gives the dtype of the inputs; a comparison of them is bool.
Reference BoolReference(bool (*compare)(double, double)) {
  return [compare](std::span<const Array> inputs, const Attributes& attributes) {
    std::vector<Array> values = ElementwiseReference(
        [compare](double x, double y) { return compare(x, y) ? 1.0 : 0.0; })(inputs, attributes);
    return std::vector<Array>{values[0].Cast(DType::kBool)};
  };
}

Registration Row(Comparison row, SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = row.name,
          .formula = row.formula + ", no derivative",
          .source = "https://pytorch.org/docs/stable/generated/torch." + row.name + ".html",
          .arguments = {{.name = "x", .shape = "~", .domain = kManyTies},
                        {.name = "y", .shape = "~", .domain = kManyTies}},
          .build = Plain(
              row.name, 2,
              [call = row.call](const Tensors& in) -> Tensors { return {call(in[0], in[1])}; }),
          .reference = BoolReference(row.reference),
          .differentiable = false,
          .error_cases = {{.description = "sizes 3 and 4 in the last axis",
                           .inputs = {{DType::kF64, {3}}, {DType::kF64, {4}}}}},
      },
      where);
}

const Registration kRows[] = {
    Row({"eq", Eq, "z = (x = y)", [](double x, double y) { return x == y; }}),
    Row({"ne", Ne, "z = (x != y)", [](double x, double y) { return x != y; }}),
    Row({"lt", Lt, "z = (x < y)", [](double x, double y) { return x < y; }}),
    Row({"le", Le, "z = (x <= y)", [](double x, double y) { return x <= y; }}),
    Row({"gt", Gt, "z = (x > y)", [](double x, double y) { return x > y; }}),
    Row({"ge", Ge, "z = (x >= y)", [](double x, double y) { return x >= y; }}),
};

}  // namespace
}  // namespace peelcheck
