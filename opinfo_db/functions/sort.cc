// opinfo_db/functions/sort.cc: OpaqueSort and SortGenVmap: (sorted, index, inverse) along a dim.
//
// Pins down integer outputs that are marked non-differentiable and saved, a dim as attribute, and
// that a negative dim counts from the end of the logical shape, not of the one with a batch axis.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/batching.h"
#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

class SortRules : public Function {
 public:
  explicit SortRules(int64_t dim) : dim_(dim) {}
  void SetupContext(Context& ctx, TensorSpan, TensorSpan out) const override {
    ctx.MarkNonDifferentiable(out[1]);
    ctx.MarkNonDifferentiable(out[2]);
    ctx.Save({out[1], out[2]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return {Take(ct[0], ctx.saved()[1], ctx.saved()[0])};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Take(tangents[0], ctx.saved()[0], ctx.saved()[1]), Tensor(), Tensor()};
  }

 protected:
  virtual Tensor Take(const Tensor& x, const Tensor& ind, const Tensor& ind_inv) const = 0;
  int64_t dim_;  // as it was given: negative counts from the end
};

class OpaqueSortFunction : public SortRules {
 public:
  using SortRules::SortRules;
  std::string name() const override { return "OpaqueSort"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    const int64_t dim = WrapDim(dim_, in[0].rank(), name());
    const Array& x = in[0].array();
    const Array rows = x.rank() == 0 ? x : x.MovedDim(dim, x.rank() - 1).Contiguous();
    const int64_t length = x.rank() == 0 ? 1 : x.dim(dim);
    Array sorted = Array::Empty(x.dtype(), rows.shape());
    Array index = Array::Empty(DType::kI64, rows.shape()), inverse = index.Copy();
    VisitFloating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      int64_t *order = index.fresh_data<int64_t>(), *back = inverse.fresh_data<int64_t>();
      for (int64_t start = 0; start < rows.size();
           start += length, order += length, back += length) {
        const T* row = rows.data<T>() + start;
        std::iota(order, order + length, 0);
        std::stable_sort(order, order + length, [&](int64_t a, int64_t b) {
          return std::isnan(row[b]) ? !std::isnan(row[a]) : row[a] < row[b];  // nan comes last
        });
        for (int64_t i = 0; i < length; ++i) {
          sorted.fresh_data<T>()[start + i] = row[order[i]];
          back[order[i]] = i;
        }
      }
    });
    Tensors outputs;
    for (const Array& rowwise : {sorted, index, inverse}) {
      outputs.push_back(
          Tensor::FromArray(x.rank() == 0 ? rowwise : rowwise.MovedDim(x.rank() - 1, dim)));
    }
    return outputs;
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const int64_t rank = LogicalRank(in[0], in_dims[0]);
    const int64_t dim = WrapDim(dim_, rank, name()) + 1;
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    Tensors outputs = OpaqueSort(rank == 0 ? Unsqueeze(x, 1) : x, dim);
    for (Tensor& output : outputs) output = rank == 0 ? Squeeze(output, 1) : output;
    return {std::move(outputs), {0}};
  }
  bool has_vmap_rule() const override { return true; }

 protected:
  Tensor Take(const Tensor& x, const Tensor& ind, const Tensor& ind_inv) const override {
    return OpaqueTake(x, ind, ind_inv, dim_);
  }
};

class SortGenVmapFunction : public SortRules {
 public:
  using SortRules::SortRules;
  std::string name() const override { return "SortGenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    const int64_t dim = WrapDim(dim_, in[0].rank(), name());
    const Tensor index = Argsort(in[0], dim);
    return {Gather(in[0], dim, index), index, Argsort(index, dim)};
  }
  bool generate_vmap_rule() const override { return true; }

 protected:
  Tensor Take(const Tensor& x, const Tensor& ind, const Tensor& ind_inv) const override {
    return TakeGenVmap(x, ind, ind_inv, dim_);
  }
};

// By counting: a value's place is the number of smaller ones in its line (all differ).
std::vector<Array> SortReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", "reference"), x);
  const auto place_of = [&](const Index& at, double value) {
    const std::vector<double> line = Line(x, at, dim);
    return std::count_if(line.begin(), line.end(), [&](double other) { return other < value; });
  };
  const auto source_of = [&](const Index& at) {  // the index whose value belongs to place at[dim]
    const std::vector<double> line = Line(x, at, dim);
    const int64_t place = at.empty() ? 0 : at[dim];
    size_t i = 0;
    while (place_of(at, line[i]) != place) ++i;
    return i;
  };
  return {FromIndices(x.dtype(), x.shape(),
                      [&](const Index& at) { return Line(x, at, dim)[source_of(at)]; }),
          FromIndices(DType::kI64, x.shape(),
                      [&](const Index& at) { return static_cast<double>(source_of(at)); }),
          FromIndices(DType::kI64, x.shape(), [&](const Index& at) {
            return static_cast<double>(place_of(at, At(x, at)));
          })};
}

Registration Sorting(const std::string& name, const std::string& source,
                     const std::string& pins_down, Tensors (*call)(const Tensor&, int64_t),
                     SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula =
           "y = x[index] in ascending order along dim, inverse[index[i]] = i; dy = dx[index]",
       .source = source,
       .pins_down = pins_down,
       .arguments = {{.name = "x",
                      .domain = {.low = -50, .high = 50, .margin = 0.05, .distinct = true}}},
       .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
       .build = WithAttributes(name, 1, {"dim"},
                               [=](const Attributes& attributes) {
                                 const int64_t dim = RequireInt(attributes, "dim", name);
                                 return [=](const Tensors& in) { return call(in[0], dim); };
                               }),
       .reference = SortReference,
       .custom_function = true,
       .error_cases = {{.description = "dim past the end",
                        .inputs = {{DType::kF64, {3, 4}}},
                        .attributes = {{"dim", 2}}},
                       {.description = "dim before the start",
                        .inputs = {{DType::kF64, {3, 4}}},
                        .attributes = {{"dim", -3}}},
                       {.description = "an integer input",
                        .inputs = {{DType::kI64, {3}}},
                        .attributes = {{"dim", 0}}}}},
      where);
}

const Registration kOpaqueSort =
    Sorting("OpaqueSort", "PyTorch autograd_function_db: NumpySortAutogradFunction",
            "integer outputs, mark_non_differentiable, attribute argument, negative dim under vmap",
            OpaqueSort);
const Registration kSortGenVmap =
    Sorting("SortGenVmap", "PyTorch autograd_function_db: SortGenVmapAutogradFunction",
            "generated rule with integer outputs", SortGenVmap);

}  // namespace

Tensors OpaqueSort(const Tensor& x, int64_t dim) {
  return Call(MakeRef<OpaqueSortFunction>(dim), {x});
}
Tensors SortGenVmap(const Tensor& x, int64_t dim) {
  return Call(MakeRef<SortGenVmapFunction>(dim), {x});
}

}  // namespace peelcheck
