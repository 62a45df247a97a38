// opinfo_db/ops/matmul.cc: matrix products under PyTorch's names, one row each: matmul, mm, bmm,
// mv, dot.
//
//   Row({"mv", "m k", "k", 2, 1, "z_i = sum_k x_ik y_k"})
#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

// Batch axes by broadcasting, then a loop over k for each element.
std::vector<Array> ProductReference(std::span<const Array> inputs, const Attributes&) {
  const Array &x = inputs[0], &y = inputs[1];
  // [.., m, k] and [.., k, n], without m or n for vectors.
  const bool x_vector = x.rank() == 1, y_vector = y.rank() == 1;
  const auto batch_of = [](const Array& a) {
    return Shape(a.shape().begin(), a.shape().end() - std::min<int64_t>(a.rank(), 2));
  };
  const Shape x_batch = batch_of(x), y_batch = batch_of(y);
  const Shape batch = BroadcastShapes(x_batch, y_batch, "reference");
  Shape shape = batch;
  if (!x_vector) shape.push_back(x.dim(x.rank() - 2));
  if (!y_vector) shape.push_back(y.dim(y.rank() - 1));
  // The batch axes of one operand that belong to an index of the result.
  const auto own = [&](const Index& index, const Shape& own_batch) {
    Index result;
    for (size_t i = 0; i < own_batch.size(); ++i) {
      const int64_t position = index[batch.size() - own_batch.size() + i];
      result.push_back(own_batch[i] == 1 ? 0 : position);
    }
    return result;
  };
  return {FromIndices(PromoteTypes(x.dtype(), y.dtype()), shape, [&](const Index& index) {
    double sum = 0;
    for (int64_t k = 0; k < x.dim(x.rank() - 1); ++k) {
      Index left = own(index, x_batch), right = own(index, y_batch);
      if (!x_vector) left.push_back(index[batch.size()]);
      left.push_back(k);
      right.push_back(k);
      if (!y_vector) right.push_back(index.back());
      sum += At(x, left) * At(y, right);
    }
    return sum;
  })};
}

struct Product {
  std::string name;
  std::string x_shape, y_shape;
  int64_t x_rank = -1, y_rank = -1;  // -1: any
  std::string formula;
  ErrorCase error;
};

void RequireRank(const std::string& name, const char* which, const Tensor& tensor, int64_t rank) {
  if (rank < 0 || tensor.rank() == rank) return;
  ThrowInvalidArgument(absl::StrCat("[", name, "] ", which, " has shape ",
                                    ShapeToString(tensor.shape()), "; expected rank ", rank,
                                    " (matmul takes any)"));
}

Registration Row(Product row, SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {
          .name = row.name,
          .formula = row.formula + "; dz = dx y + x dy",
          .source = "https://pytorch.org/docs/stable/generated/torch." + row.name + ".html",
          .arguments = {{.name = "x", .shape = row.x_shape}, {.name = "y", .shape = row.y_shape}},
          .build = Plain(row.name, 2,
                         [row](const Tensors& in) -> Tensors {
                           RequireRank(row.name, "x", in[0], row.x_rank);
                           RequireRank(row.name, "y", in[1], row.y_rank);
                           return {MatMul(in[0], in[1])};
                         }),
          .reference = ProductReference,
          .error_cases = {row.error,
                          {.description = "a 0-d operand",
                           .inputs = {{DType::kF64, {}}, {DType::kF64, {3}}}}},
      },
      where);
}

ErrorCase Unequal(const Shape& x, const Shape& y) {
  return {.description = "the sizes of k differ", .inputs = {{DType::kF64, x}, {DType::kF64, y}}};
}

const Registration kRows[] = {
    Row({"matmul", "... m k", "... k n", -1, -1, "z_..ij = sum over k of x_..ik y_..kj",
         Unequal({3, 4}, {5, 3})}),
    Row({"mm", "m k", "k n", 2, 2, "z_ij = sum over k of x_ik y_kj", Unequal({3, 4}, {5, 3})}),
    Row({"bmm", "b m k", "b k n", 3, 3, "z_bij = sum over k of x_bik y_bkj",
         Unequal({3, 4, 5}, {3, 7, 4})}),
    Row({"mv", "m k", "k", 2, 1, "z_i = sum over k of x_ik y_k", Unequal({3, 4}, {5})}),
    Row({"dot", "k", "k", 1, 1, "z = sum over k of x_k y_k", Unequal({3}, {4})}),
};

}  // namespace
}  // namespace peelcheck
