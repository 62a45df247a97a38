// opinfo_db/ops/shape.cc: the same elements under another shape or order of axes.
//
//   BuildOperation("movedim", {{"source", 0}, {"destination", -1}})
//
// All are linear and copy elements, so a reference is only a map from an index of the result to one
// of the input.
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr char kTag[] = "reference";

std::string Docs(const std::string& name) {
  return "https://pytorch.org/docs/stable/generated/torch." + name + ".html";
}

// Axis i of the result is axis order[i] of x.
std::vector<Array> Reordered(const Array& x, const std::vector<size_t>& order) {
  Shape shape;
  for (const size_t axis : order) shape.push_back(x.shape()[axis]);
  return {FromIndices(x.dtype(), shape, [&](const Index& index) {
    Index from(index.size());
    for (size_t i = 0; i < index.size(); ++i) from[order[i]] = index[i];
    return At(x, from);
  })};
}

std::vector<size_t> AxesOf(const Array& x) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < x.shape().size(); ++i) axes.push_back(i);
  return axes;
}

// The elements in row-major order under `shape`.
std::vector<Array> Reshaped(const Array& x, const Shape& shape) {
  return {Array::FromValues(x.dtype(), shape, x.ToDoubles())};
}

std::vector<Array> ReshapeReference(std::span<const Array> inputs, const Attributes& attributes) {
  const std::vector<int64_t> given = RequireInts(attributes, "shape", kTag);
  Shape shape(given.begin(), given.end());
  int64_t known = 1;
  for (const int64_t size : shape) known *= size == -1 ? 1 : size;
  for (int64_t& size : shape) {
    if (size == -1) size = inputs[0].size() / known;
  }
  return Reshaped(inputs[0], shape);
}

const Registration kReshape({
    .name = "reshape",
    .formula = "y = the elements of x in row-major order under another shape; dy likewise",
    .source = Docs("reshape"),
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "shape", .kind = AttributeKind::kReshape}},
    .build = WithAttributes("reshape", 1, {"shape"},
                            [](const Attributes& attributes) {
                              const Dims shape = RequireInts(attributes, "shape", "reshape");
                              return [shape](const Tensors& in) -> Tensors {
                                return {Reshape(in[0], shape)};
                              };
                            }),
    .reference = ReshapeReference,
    .error_cases = {{.description = "another number of elements",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"shape", std::vector<int64_t>{5, 3}}}},
                    {.description = "two sizes left open",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"shape", std::vector<int64_t>{-1, -1}}}}},
});

std::vector<Array> ExpandReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  const std::vector<int64_t> size = RequireInts(attributes, "size", kTag);
  Shape shape(size.begin(), size.end());
  const size_t lead = shape.size() - x.shape().size();
  for (size_t i = lead; i < shape.size(); ++i) {
    if (shape[i] == -1) shape[i] = x.shape()[i - lead];
  }
  return {FromIndices(x.dtype(), shape, [&](const Index& index) {
    Index from(index.begin() + static_cast<std::ptrdiff_t>(lead), index.end());
    for (size_t i = 0; i < from.size(); ++i) {
      if (x.shape()[i] == 1) from[i] = 0;
    }
    return At(x, from);
  })};
}

const Registration kExpand({
    .name = "expand",
    .formula = "y = x repeated along axes of size 1 and new leading axes; dy likewise",
    .source = "https://pytorch.org/docs/stable/generated/torch.Tensor.expand.html",
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "size", .kind = AttributeKind::kExpand}},
    .build = WithAttributes("expand", 1, {"size"},
                            [](const Attributes& attributes) {
                              const Dims size = RequireInts(attributes, "size", "expand");
                              return [size](const Tensors& in) -> Tensors {
                                return {Expand(in[0], size)};
                              };
                            }),
    .reference = ExpandReference,
    .error_cases = {{.description = "an axis that is not 1",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"size", std::vector<int64_t>{5}}}},
                    {.description = "-1 for a new axis",
                     .inputs = {{DType::kF64, {3}}},
                     .attributes = {{"size", std::vector<int64_t>{-1, 3}}}}},
});

const Registration kPermute({
    .name = "permute",
    .formula = "y = x with axis dims[i] as axis i; dy likewise",
    .source = Docs("permute"),
    .arguments = {{.name = "x"}},
    .attributes = {{.name = "dims", .kind = AttributeKind::kPermutation}},
    .build = WithAttributes("permute", 1, {"dims"},
                            [](const Attributes& attributes) {
                              const Dims dims = RequireInts(attributes, "dims", "permute");
                              return [dims](const Tensors& in) -> Tensors {
                                return {Permute(in[0], dims)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          std::vector<size_t> order;
          for (const int64_t dim : RequireInts(attributes, "dims", kTag)) {
            order.push_back(WrapReferenceDim(dim, inputs[0]));
          }
          return Reordered(inputs[0], order);
        },
    .error_cases = {{.description = "a dim twice",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"dims", std::vector<int64_t>{0, -2}}}},
                    {.description = "a dim missing",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"dims", std::vector<int64_t>{0}}}}},
});

// Operations of two dims of x.
Registration TwoDims(const std::string& name, const std::string& from, const std::string& to,
                     Tensor (*call)(const Tensor&, int64_t, int64_t), const std::string& formula,
                     void (*reorder)(std::vector<size_t>&, size_t, size_t),
                     SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source = Docs(name),
          .arguments = {{.name = "x"}},
          .attributes = {{.name = from, .kind = AttributeKind::kDim},
                         {.name = to, .kind = AttributeKind::kDim}},
          .build = WithAttributes(name, 1, {from, to},
                                  [=](const Attributes& attributes) {
                                    const int64_t a = RequireInt(attributes, from, name);
                                    const int64_t b = RequireInt(attributes, to, name);
                                    return [call, a, b](const Tensors& in) -> Tensors {
                                      return {call(in[0], a, b)};
                                    };
                                  }),
          .reference =
              [=](std::span<const Array> inputs, const Attributes& attributes) {
                const Array& x = inputs[0];
                std::vector<size_t> order = AxesOf(x);
                if (x.rank() > 0) {
                  reorder(order, WrapReferenceDim(RequireInt(attributes, from, kTag), x),
                          WrapReferenceDim(RequireInt(attributes, to, kTag), x));
                }
                return Reordered(x, order);
              },
          .error_cases = {{.description = "first dim past the end",
                           .inputs = {{DType::kF64, {3, 4}}},
                           .attributes = {{from, 2}, {to, 0}}},
                          {.description = "second dim before the start",
                           .inputs = {{DType::kF64, {3, 4}}},
                           .attributes = {{from, 0}, {to, -3}}}},
      },
      where);
}

const Registration kTranspose =
    TwoDims("transpose", "dim0", "dim1", Transpose, "y = x with two axes swapped; dy likewise",
            [](std::vector<size_t>& order, size_t a, size_t b) { std::swap(order[a], order[b]); });
const Registration kMoveDim =
    TwoDims("movedim", "source", "destination", MoveDim,
            "y = x with one axis moved, the others in their order; dy likewise",
            [](std::vector<size_t>& order, size_t from, size_t to) {
              order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
              order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), from);
            });

// unsqueeze and squeeze: an axis of size 1 comes or goes.
Registration SizeOneAxis(const std::string& name, AttributeKind kind, const std::string& formula,
                         Tensor (*call)(const Tensor&, int64_t),
                         Shape (*shape)(const Array&, int64_t),
                         SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = name,
          .formula = formula,
          .source = Docs(name),
          .arguments = {{.name = "x"}},
          .attributes = {{.name = "dim", .kind = kind}},
          .build = WithAttributes(name, 1, {"dim"},
                                  [=](const Attributes& attributes) {
                                    const int64_t dim = RequireInt(attributes, "dim", name);
                                    return [call, dim](const Tensors& in) -> Tensors {
                                      return {call(in[0], dim)};
                                    };
                                  }),
          .reference =
              [shape](std::span<const Array> inputs, const Attributes& attributes) {
                return Reshaped(inputs[0], shape(inputs[0], RequireInt(attributes, "dim", kTag)));
              },
          .error_cases = {{.description = "dim past the end",
                           .inputs = {{DType::kF64, {3, 4}}},
                           .attributes = {{"dim", 3}}},
                          {.description = "dim before the start",
                           .inputs = {{DType::kF64, {3, 4}}},
                           .attributes = {{"dim", -4}}}},
      },
      where);
}

const Registration kUnsqueeze =
    SizeOneAxis("unsqueeze", AttributeKind::kNewDim, "y = x with a new axis of size 1; dy likewise",
                Unsqueeze, [](const Array& x, int64_t dim) {
                  Shape shape = x.shape();
                  shape.insert(shape.begin() + (dim < 0 ? dim + x.rank() + 1 : dim), 1);
                  return shape;
                });
const Registration kSqueeze = SizeOneAxis(
    "squeeze", AttributeKind::kDim, "y = x without the axis where its size is 1; dy likewise",
    Squeeze, [](const Array& x, int64_t dim) {
      Shape shape = x.shape();
      const size_t axis = WrapReferenceDim(dim, x);
      if (axis < shape.size() && shape[axis] == 1) {
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
      }
      return shape;
    });

}  // namespace
}  // namespace peelcheck
