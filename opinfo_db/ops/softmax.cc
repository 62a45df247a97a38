// opinfo_db/ops/softmax.cc: softmax and its logarithm along a dim.
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

// Straight from the definition: the domain is small enough not to need a shift by the maximum.
Reference SoftmaxReference(bool log) {
  return [log](std::span<const Array> inputs, const Attributes& attributes) {
    const Array& x = inputs[0];
    const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", "reference"), x);
    return std::vector<Array>{FromIndices(x.dtype(), x.shape(), [&](const Index& index) {
      double total = 0;
      for (const double value : Line(x, index, dim)) total += std::exp(value);
      return log ? At(x, index) - std::log(total) : std::exp(At(x, index)) / total;
    })};
  };
}

Registration SoftmaxEntry(const std::string& name, Tensor (*call)(const Tensor&, int64_t), bool log,
                          const std::string& formula,
                          SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source =
              "https://pytorch.org/docs/stable/generated/torch.nn.functional." + name + ".html",
          .arguments = {{.name = "x", .shape = "...", .domain = {.low = -3, .high = 3}}},
          .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
          .build = WithAttributes(name, 1, {"dim"},
                                  [name, call](const Attributes& attributes) {
                                    const int64_t dim = RequireInt(attributes, "dim", name);
                                    return [call, dim](const Tensors& in) -> Tensors {
                                      return {call(in[0], dim)};
                                    };
                                  }),
          .reference = SoftmaxReference(log),
          .error_cases = {{.description = "dim past the end",
                           .inputs = {{DType::kF64, {3, 4}}},
                           .attributes = {{"dim", 2}}},
                          {.description = "an integer input",
                           .inputs = {{DType::kI64, {3}}},
                           .attributes = {{"dim", 0}}}},
      },
      where);
}

const Registration kSoftmax = SoftmaxEntry(
    "softmax", Softmax, false, "y = e^x / sum of e^x along dim; dy = y (dx - sum of y dx)");
const Registration kLogSoftmax = SoftmaxEntry(
    "log_softmax", LogSoftmax, true, "y = x - ln sum of e^x along dim; dy = dx - sum of e^y dx");

}  // namespace
}  // namespace peelcheck
