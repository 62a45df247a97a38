// opinfo_db/ops/diagonal.cc: diagonal and diag_embed, each the transpose of the other.
//
//   BuildOperation("diagonal", {{"offset", 1}})({x})   // [.., m, n] -> [.., k], y_i = x[i, i + 1]
#include <algorithm>

#include "engine/batching.h"
#include "engine/ops/linear_function.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr char kTag[] = "reference";

int64_t DiagonalLength(int64_t rows, int64_t columns, int64_t offset) {
  return std::max<int64_t>(
      0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
}

Tensor DiagonalOfLast(const Tensor& x, int64_t offset);
Tensor EmbedInLast(const Tensor& x, int64_t rows, int64_t columns, int64_t offset);

// [.., m, n] -> [.., k]: a view.
class DiagonalFunction : public LinearFunction {
 public:
  explicit DiagonalFunction(int64_t offset) : offset_(offset) {}
  std::string name() const override { return "diagonal"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    const auto rank = static_cast<size_t>(x.rank());
    Shape shape(x.shape().begin(), x.shape().end() - 2),
        strides(x.strides().begin(), x.strides().end() - 2);
    shape.push_back(DiagonalLength(x.shape()[rank - 2], x.shape()[rank - 1], offset_));
    strides.push_back(x.strides()[rank - 2] + x.strides()[rank - 1]);
    const int64_t start =
        offset_ >= 0 ? offset_ * x.strides()[rank - 1] : -offset_ * x.strides()[rank - 2];
    const int64_t offset = x.offset() + (shape.back() > 0 ? start : 0);
    return {Tensor::FromArray(x.Strided(shape, strides, offset))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {{DiagonalOfLast(BatchToFront(in[0], in_dims[0]), offset_)}, {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec& input) const override {
    const size_t rank = input.shape.size();
    return EmbedInLast(ct, input.shape[rank - 2], input.shape[rank - 1], offset_);
  }

 private:
  int64_t offset_;
};

// [.., k] -> [.., m, n], zero outside of the diagonal.
class EmbedFunction : public LinearFunction {
 public:
  EmbedFunction(int64_t rows, int64_t columns, int64_t offset)
      : rows_(rows), columns_(columns), offset_(offset) {}
  std::string name() const override { return "diag_embed"; }
  Tensors Forward(TensorSpan in) const override {
    const Array x = in[0].array().Contiguous();
    Shape shape(x.shape().begin(), x.shape().end() - 1);
    const int64_t length = x.shape().back();
    shape.insert(shape.end(), {rows_, columns_});
    Array y = Array::Zeros(x.dtype(), shape);
    const int64_t row = offset_ >= 0 ? 0 : -offset_, column = offset_ >= 0 ? offset_ : 0;
    const int64_t matrices = length == 0 ? 0 : x.size() / length;
    VisitDType(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = x.data<T>();
      T* to = y.fresh_data<T>();
      for (int64_t m = 0; m < matrices; ++m, to += rows_ * columns_) {
        for (int64_t i = 0; i < length; ++i) to[(row + i) * columns_ + column + i] = *from++;
      }
    });
    return {Tensor::FromArray(y)};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {{EmbedInLast(BatchToFront(in[0], in_dims[0]), rows_, columns_, offset_)}, {0}};
  }

 protected:
  Tensor Transpose(const Tensor& ct, const TensorSpec&) const override {
    return DiagonalOfLast(ct, offset_);
  }

 private:
  int64_t rows_, columns_, offset_;
};

Tensor DiagonalOfLast(const Tensor& x, int64_t offset) {
  return Call(MakeRef<DiagonalFunction>(offset), {x})[0];
}
Tensor EmbedInLast(const Tensor& x, int64_t rows, int64_t columns, int64_t offset) {
  return Call(MakeRef<EmbedFunction>(rows, columns, offset), {x})[0];
}

struct Planes {
  int64_t offset, dim1, dim2;
};

Planes ReadPlanes(const Attributes& attributes, int64_t dim1, int64_t dim2, int64_t rank,
                  const std::string& tag) {
  Planes planes = {GetInt(attributes, "offset", 0, tag), GetInt(attributes, "dim1", dim1, tag),
                   GetInt(attributes, "dim2", dim2, tag)};
  if (rank < 2) {
    ThrowInvalidArgument(
        absl::StrCat("[", tag, "] the matrix side has rank ", rank, "; expected two axes or more"));
  }
  planes.dim1 = WrapDim(planes.dim1, rank, tag);
  planes.dim2 = WrapDim(planes.dim2, rank, tag);
  if (planes.dim1 == planes.dim2) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] dim1 and dim2 are both ", planes.dim1,
                                      "; expected two different axes"));
  }
  return planes;
}

// The two axes last, in their order, and back.
Tensor PlanesLast(const Tensor& x, const Planes& planes) {
  Dims order;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != planes.dim1 && i != planes.dim2) order.push_back(i);
  }
  order.insert(order.end(), {planes.dim1, planes.dim2});
  return Permute(x, order);
}
Tensor PlanesBack(const Tensor& x, const Planes& planes) {
  Dims order(static_cast<size_t>(x.rank()), -1);
  order[static_cast<size_t>(planes.dim1)] = x.rank() - 2;
  order[static_cast<size_t>(planes.dim2)] = x.rank() - 1;
  int64_t next = 0;
  for (int64_t& from : order) {
    if (from < 0) from = next++;
  }
  return Permute(x, order);
}

// The remaining axes of a position, in order.
Index Without(const Index& at, size_t dim1, size_t dim2) {
  Index rest;
  for (size_t i = 0; i < at.size(); ++i) {
    if (i != dim1 && i != dim2) rest.push_back(at[i]);
  }
  return rest;
}

const Registration kDiagonal({
    .name = "diagonal",
    .formula = "y[.., i] = x[.., i, .., i + offset, ..] at dim1 and dim2; dy likewise",
    .source = "https://pytorch.org/docs/stable/generated/torch.diagonal.html",
    .arguments = {{.name = "x", .shape = "3 5 4"}},
    .attributes = {{.name = "offset", .choices = {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{4}}},
                   {.name = "dim1", .choices = {int64_t{0}, int64_t{-3}}},
                   {.name = "dim2", .choices = {int64_t{1}, int64_t{2}, int64_t{-1}}}},
    .build = WithAttributes("diagonal", 1, {"offset", "dim1", "dim2"},
                            [](const Attributes& attributes) {
                              return [attributes](const Tensors& in) -> Tensors {
                                const Planes planes =
                                    ReadPlanes(attributes, 0, 1, in[0].rank(), "diagonal");
                                return {DiagonalOfLast(PlanesLast(in[0], planes), planes.offset)};
                              };
                            }),
    // Every element of x that is on the diagonal, wherever it goes.
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array& x = inputs[0];
          const int64_t offset = GetInt(attributes, "offset", 0, kTag);
          const size_t dim1 = WrapReferenceDim(GetInt(attributes, "dim1", 0, kTag), x);
          const size_t dim2 = WrapReferenceDim(GetInt(attributes, "dim2", 1, kTag), x);
          const size_t other = 3 - dim1 - dim2;
          std::vector<double> values;
          for (int64_t k = 0; k < x.shape()[other]; ++k) {
            ForEachIndex(x.shape(), [&](const Index& at) {
              if (at[other] == k && at[dim2] - at[dim1] == offset) values.push_back(At(x, at));
            });
          }
          const int64_t length = std::ssize(values) / x.shape()[other];
          return std::vector<Array>{
              Array::FromValues(x.dtype(), {x.shape()[other], length}, values)};
        },
    .error_cases = {{.description = "one axis", .inputs = {{DType::kF64, {3}}}},
                    {.description = "the same axis twice",
                     .inputs = {{DType::kF64, {3, 4}}},
                     .attributes = {{"dim1", int64_t{1}}, {"dim2", int64_t{-1}}}}},
});

const Registration kDiagEmbed({
    .name = "diag_embed",
    .formula = "y[.., i, i + offset] = x[.., i] at dim1 and dim2, else 0; dy likewise",
    .source = "https://pytorch.org/docs/stable/generated/torch.diag_embed.html",
    .arguments = {{.name = "x", .shape = "m n"}},
    .attributes = {{.name = "offset", .choices = {int64_t{0}, int64_t{1}, int64_t{-1}}},
                   {.name = "dim1", .choices = {int64_t{0}, int64_t{-2}}},
                   {.name = "dim2", .choices = {int64_t{2}, int64_t{-1}}}},
    .build = WithAttributes("diag_embed", 1, {"offset", "dim1", "dim2"},
                            [](const Attributes& attributes) {
                              return [attributes](const Tensors& in) -> Tensors {
                                const Tensor& x = in[0];
                                const Planes planes =
                                    ReadPlanes(attributes, -2, -1, x.rank() + 1, "diag_embed");
                                const int64_t n = x.dim(x.rank() - 1) + std::abs(planes.offset);
                                return {PlanesBack(EmbedInLast(x, n, n, planes.offset), planes)};
                              };
                            }),
    .reference =
        [](std::span<const Array> inputs, const Attributes& attributes) {
          const Array& x = inputs[0];
          const int64_t offset = GetInt(attributes, "offset", 0, kTag);
          const int64_t n = x.dim(1) + std::abs(offset);
          const auto axis = [&](const char* name, int64_t fallback) {
            const int64_t dim = GetInt(attributes, name, fallback, kTag);
            return static_cast<size_t>(dim < 0 ? dim + 3 : dim);
          };
          const size_t dim1 = axis("dim1", -2), dim2 = axis("dim2", -1);
          Shape shape(3, n);
          shape[3 - dim1 - dim2] = x.dim(0);
          return std::vector<Array>{FromIndices(x.dtype(), shape, [&](const Index& at) {
            if (at[dim2] - at[dim1] != offset) return 0.0;
            return At(x, {Without(at, dim1, dim2)[0], std::min(at[dim1], at[dim2])});
          })};
        },
    .error_cases = {{.description = "rank 0", .inputs = {{DType::kF64, {}}}}},
});

}  // namespace
}  // namespace peelcheck
