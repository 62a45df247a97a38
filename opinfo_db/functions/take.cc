// opinfo_db/functions/take.cc: OpaqueTake and TakeGenVmap: x gathered along a dim by a permutation.
//
// Pins down integer inputs (no tangent, an undefined gradient), inputs of which only some are
// batched, and a rule that needs the batch size. As ind is a permutation along dim, taking by its
// inverse is the transpose.
#include "engine/batching.h"
#include "opinfo_db/functions/functions.h"
#include "opinfo_db/functions/helpers.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

class TakeRules : public Function {
 public:
  explicit TakeRules(int64_t dim) : dim_(dim) {}
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Save({in[1], in[2]});
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    return {Take(ct[0], ctx.saved()[1], ctx.saved()[0]), Tensor(), Tensor()};
  }
  Tensors Jvp(Context& ctx, TensorSpan tangents) const override {
    return {Take(tangents[0], ctx.saved()[0], ctx.saved()[1])};
  }

 protected:
  Tensor Take(const Tensor& x, const Tensor& ind, const Tensor& ind_inv) const {
    return Call(Ref<const Function>(this), {x, ind, ind_inv})[0];
  }
  // dim, wrapped.
  int64_t Checked(TensorSpan in) const {
    for (const Tensor& index : {in[1], in[2]}) {
      if (index.dtype() == DType::kI64 && index.shape() == in[0].shape()) continue;
      ThrowInvalidArgument(absl::StrCat("[", name(), "] an index is ", DTypeName(index.dtype()),
                                        ShapeToString(index.shape()), "; expected i64",
                                        ShapeToString(in[0].shape()), ", the shape of x"));
    }
    return WrapDim(dim_, in[0].rank(), name());
  }
  int64_t dim_;  // as it was given: negative counts from the end
};

class OpaqueTakeFunction : public TakeRules {
 public:
  using TakeRules::TakeRules;
  std::string name() const override { return "OpaqueTake"; }
  Tensors Forward(TensorSpan in) const override {
    const int64_t dim = Checked(in);
    const bool scalar = in[0].rank() == 0;
    const auto rows_of = [&](const Tensor& t) {
      return scalar ? t.array() : t.array().MovedDim(dim, t.rank() - 1).Contiguous();
    };
    const Array x = rows_of(in[0]), index = rows_of(in[1]);
    const int64_t length = scalar ? 1 : in[0].dim(dim);
    Array taken = Array::Empty(x.dtype(), x.shape());
    VisitDType(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < x.size(); ++i) {
        const int64_t position = index.data<int64_t>()[i];
        if (position < 0 || position >= length) {
          ThrowInvalidArgument(absl::StrCat("[", name(), "] index ", position,
                                            " along an axis of size ", length, "; expected 0..",
                                            length - 1));
        }
        taken.fresh_data<T>()[i] = x.data<T>()[i / length * length + position];
      }
    });
    return {Tensor::FromArray(scalar ? taken : taken.MovedDim(in[0].rank() - 1, dim))};
  }
  VmapResult Vmap(const VmapInfo& info, const BatchDims& in_dims, TensorSpan in) const override {
    const int64_t rank = LogicalRank(in[0], in_dims[0]);
    const int64_t dim = WrapDim(dim_, rank, name()) + 1;
    Tensors front;
    for (size_t i = 0; i < in.size(); ++i) {
      const Tensor t = EnsureBatchAtFront(in[i], in_dims[i], info.batch_size);
      front.push_back(rank == 0 ? Unsqueeze(t, 1) : t);
    }
    const Tensor taken = OpaqueTake(front[0], front[1], front[2], dim);
    return {{rank == 0 ? Squeeze(taken, 1) : taken}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
};

class TakeGenVmapFunction : public TakeRules {
 public:
  using TakeRules::TakeRules;
  std::string name() const override { return "TakeGenVmap"; }
  Tensors Forward(TensorSpan in) const override { return {Gather(in[0], Checked(in), in[1])}; }
  bool generate_vmap_rule() const override { return true; }
};

std::vector<Array> TakeReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array &x = inputs[0], &ind = inputs[1];
  const size_t dim = WrapReferenceDim(RequireInt(attributes, "dim", "reference"), x);
  return {FromIndices(x.dtype(), x.shape(), [&](const Index& at) {
    return Line(x, at, dim)[static_cast<size_t>(At(ind, at))];
  })};
}

using TakeCall = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, int64_t);

Registration Taking(const std::string& name, const std::string& source,
                    const std::string& pins_down, TakeCall call,
                    SourceLocation where = SourceLocation::Current()) {
  const ArraySpec x = {DType::kF64, {3, 4}}, index = {DType::kI64, {3, 4}},
                  short_index = {DType::kI64, {3, 1}};
  return Registration(
      {.name = name,
       .formula = "y = x[ind] along dim; dy = dx[ind], the gradient is ct[ind_inv]",
       .source = source,
       .pins_down = pins_down,
       .arguments =
           {{.name = "x"},
            {.name = "ind", .kind = ValueKind::kPermutation, .of = 0, .dim_attribute = "dim"},
            {.name = "ind_inv",
             .kind = ValueKind::kInversePermutation,
             .of = 1,
             .dim_attribute = "dim"}},
       .attributes = {{.name = "dim", .kind = AttributeKind::kDim}},
       .build = WithAttributes(name, 3, {"dim"},
                               [=](const Attributes& attributes) {
                                 const int64_t dim = RequireInt(attributes, "dim", name);
                                 return [=](const Tensors& in) -> Tensors {
                                   return {call(in[0], in[1], in[2], dim)};
                                 };
                               }),
       .reference = TakeReference,
       .custom_function = true,
       .error_cases = {{.description = "dim past the end",
                        .inputs = {x, index, index},
                        .attributes = {{"dim", 2}}},
                       {.description = "a floating index",
                        .inputs = {x, x, index},
                        .attributes = {{"dim", 0}}},
                       {.description = "an index of another shape",
                        .inputs = {x, short_index, index},
                        .attributes = {{"dim", 1}}}}},
      where);
}

const Registration kOpaqueTake =
    Taking("OpaqueTake", "PyTorch autograd_function_db: NumpyTakeAutogradFunction",
           "integer inputs, partly batched, uses batch_size", OpaqueTake);
const Registration kTakeGenVmap =
    Taking("TakeGenVmap", "PyTorch autograd_function_db: TakeGenVmapAutogradFunction",
           "generated rule with integer inputs, partly batched", TakeGenVmap);

}  // namespace

Tensor OpaqueTake(const Tensor& x, const Tensor& ind, const Tensor& ind_inv, int64_t dim) {
  return Call(MakeRef<OpaqueTakeFunction>(dim), {x, ind, ind_inv})[0];
}
Tensor TakeGenVmap(const Tensor& x, const Tensor& ind, const Tensor& ind_inv, int64_t dim) {
  return Call(MakeRef<TakeGenVmapFunction>(dim), {x, ind, ind_inv})[0];
}

}  // namespace peelcheck
