// opinfo_db/ops/sort.cc: sort and argsort along a dim; always stable.
//
//   BuildOperation("sort", {{"dim", -1}, {"descending", true}})({x})   // values, indices
#include <algorithm>
#include <numeric>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

// The order of a line, smallest (or largest) value first.
std::vector<size_t> OrderOf(const std::vector<double>& line, bool descending) {
  std::vector<size_t> order(line.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return descending ? line[a] > line[b] : line[a] < line[b];
  });
  return order;
}

// Values, then indices.
std::vector<Array> SortReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  const size_t dim = WrapReferenceDim(GetInt(attributes, "dim", -1, "reference"), x);
  const bool descending = GetBool(attributes, "descending", false, "reference");
  const auto place = [&](const Index& at) {
    return x.rank() > 0 ? static_cast<size_t>(at[dim]) : 0;
  };
  return {FromIndices(x.dtype(), x.shape(),
                      [&](const Index& at) {
                        const std::vector<double> line = Line(x, at, dim);
                        return line[OrderOf(line, descending)[place(at)]];
                      }),
          FromIndices(DType::kI64, x.shape(), [&](const Index& at) {
            return static_cast<double>(OrderOf(Line(x, at, dim), descending)[place(at)]);
          })};
}

std::vector<Array> ArgsortReference(std::span<const Array> inputs, const Attributes& attributes) {
  return {SortReference(inputs, attributes)[1]};
}

// `stable` is taken and makes no difference.
Build Sorting(const std::string& name, Tensors (*call)(const Tensor&, int64_t, bool)) {
  return WithAttributes(name, 1, {"dim", "descending", "stable"},
                        [name, call](const Attributes& attributes) {
                          const int64_t dim = GetInt(attributes, "dim", -1, name);
                          const bool descending = GetBool(attributes, "descending", false, name);
                          GetBool(attributes, "stable", true, name);
                          return [=](const Tensors& in) { return call(in[0], dim, descending); };
                        });
}

std::vector<Argument> Operand() {
  return {{.name = "x", .domain = {.low = -50, .high = 50, .margin = 0.05, .distinct = true}}};
}

std::vector<AttributeSpec> Options() {
  return {{.name = "dim", .kind = AttributeKind::kDim},
          {.name = "descending", .choices = {false, true}}};
}

std::vector<ErrorCase> Errors() {
  return {{.description = "dim past the end",
           .inputs = {{DType::kF64, {3, 4}}},
           .attributes = {{"dim", 2}}},
          {.description = "dim before the start",
           .inputs = {{DType::kF64, {3, 4}}},
           .attributes = {{"dim", -3}}}};
}

const Registration kSort({
    .name = "sort",
    .formula = "values = x[indices] in order along dim; dvalues = dx[indices]",
    .source = "https://pytorch.org/docs/stable/generated/torch.sort.html",
    .arguments = Operand(),
    .attributes = Options(),
    .build = Sorting("sort",
                     [](const Tensor& x, int64_t dim, bool descending) -> Tensors {
                       const SortResult result = Sort(x, dim, descending);
                       return {result.values, result.indices};
                     }),
    .reference = SortReference,
    .error_cases = Errors(),
});

const Registration kArgsort({
    .name = "argsort",
    .formula = "y = the indices that put x in order along dim, no derivative",
    .source = "https://pytorch.org/docs/stable/generated/torch.argsort.html",
    .arguments = Operand(),
    .attributes = Options(),
    .build = Sorting("argsort",
                     [](const Tensor& x, int64_t dim, bool descending) -> Tensors {
                       return {Argsort(x, dim, descending)};
                     }),
    .reference = ArgsortReference,
    .differentiable = false,
    .error_cases = Errors(),
});

}  // namespace
}  // namespace peelcheck
