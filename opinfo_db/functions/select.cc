// opinfo_db/functions/select.cc: Select, SelectGenVmap and ForwardHasDefaultArgs: x[idx] along dim
// 0.
//
// Pins down why setup_context runs under vmap: all that is kept is a shape, and it must be the
// logical one. ForwardHasDefaultArgs is the same with idx = 2 where it is not given.
#include "engine/batching.h"
#include "opinfo_db/functions/helpers.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

class RowRules : public Function {
 public:
  explicit RowRules(int64_t idx = 2) : idx_(idx) {}
  Tensors Forward(TensorSpan in) const override {
    RequireAxis(in[0].rank());
    const int64_t n = in[0].dim(0);
    if (idx_ < -n || idx_ >= n) {
      ThrowInvalidArgument(absl::StrCat("[", name(), "] idx=", idx_, " for an axis of size ", n,
                                        "; expected ", -n, "..", n - 1));
    }
    return {Select(in[0], 0, idx_)};
  }
  void SetupContext(Context& ctx, TensorSpan in, TensorSpan) const override {
    ctx.Set("x_shape", in[0].shape());
  }
  Tensors Backward(Context& ctx, TensorSpan ct) const override {
    const int64_t n = ctx.Get<Shape>("x_shape")[0];
    const int64_t before = idx_ < 0 ? idx_ + n : idx_;
    // As large as the shape that was kept, whatever the cotangent's is.
    Dims row(ctx.Get<Shape>("x_shape").begin(), ctx.Get<Shape>("x_shape").end());
    row[0] = 1;
    return {Pad(Reshape(ct[0], row), 0, before, n - 1 - before)};
  }
  Tensors Jvp(Context&, TensorSpan tangents) const override {
    return Call(Ref<const Function>(this), tangents);
  }

 protected:
  void RequireAxis(int64_t rank) const {
    if (rank > 0) return;
    ThrowInvalidArgument(
        absl::StrCat("[", name(), "] x is 0-d; expected at least one axis to index"));
  }
  int64_t idx_;
};

// The batch axis goes behind the one that is indexed.
class WrittenRow : public RowRules {
 public:
  using RowRules::RowRules;
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    RequireAxis(LogicalRank(in[0], in_dims[0]));
    return {Call(Ref<const Function>(this), {MoveDim(in[0], *in_dims[0], 1)}), {0}};
  }
  bool has_vmap_rule() const override { return true; }
};

class SelectFunction : public WrittenRow {
 public:
  using WrittenRow::WrittenRow;
  std::string name() const override { return "Select"; }
};

class ForwardHasDefaultArgsFunction : public WrittenRow {
 public:
  using WrittenRow::WrittenRow;
  std::string name() const override { return "ForwardHasDefaultArgs"; }
};

class SelectGenVmapFunction : public RowRules {
 public:
  using RowRules::RowRules;
  std::string name() const override { return "SelectGenVmap"; }
  bool generate_vmap_rule() const override { return true; }
};

std::vector<Array> RowReference(std::span<const Array> inputs, const Attributes& attributes) {
  const Array& x = inputs[0];
  int64_t idx = GetInt(attributes, "idx", 2, "reference");
  if (idx < 0) idx += x.dim(0);
  return {FromIndices(x.dtype(), Shape(x.shape().begin() + 1, x.shape().end()), [&](Index at) {
    at.insert(at.begin(), idx);
    return At(x, at);
  })};
}

// `shape` is x's; `idx` the values that fit it.
template <typename F>
Registration Row(const std::string& name, const std::string& shape, AttributeSpec idx,
                 const std::string& pins_down, Attributes outside,
                 SourceLocation where = SourceLocation::Current()) {
  return Registration({.name = name,
                       .formula = "y = x[idx]; dy = dx[idx]",
                       .source = "PyTorch autograd_function_db: " + name + "AutogradFunction",
                       .pins_down = pins_down,
                       .arguments = {{.name = "x", .shape = shape}},
                       .attributes = {std::move(idx)},
                       .allows_empty = false,
                       .build = WithAttributes(name, 1, {"idx"},
                                               [name](const Attributes& attributes) -> TensorFn {
                                                 const auto given =
                                                     GetOptionalInt(attributes, "idx", name);
                                                 const Ref<const Function> function =
                                                     given ? MakeRef<F>(*given) : MakeRef<F>();
                                                 return [function](const Tensors& in) {
                                                   return Call(function, in);
                                                 };
                                               }),
                       .reference = RowReference,
                       .custom_function = true,
                       .error_cases = {{.description = "idx past the end",
                                        .inputs = {{DType::kF64, {1, 4}}},
                                        .attributes = std::move(outside)},
                                       {.description = "no axis", .inputs = {{DType::kF64, {}}}}}},
                      where);
}

const Registration kSelect =
    Row<SelectFunction>("Select", "n ...", {.name = "idx", .kind = AttributeKind::kIndexAlong},
                        "saves only a shape: why setup_context runs under vmap", {{"idx", 1}});
const Registration kSelectGenVmap = Row<SelectGenVmapFunction>(
    "SelectGenVmap", "n ...", {.name = "idx", .kind = AttributeKind::kIndexAlong},
    "generated rule that keeps only a shape", {{"idx", -3}});
// Seven rows in every sample, so that the default is in range.
const Registration kForwardHasDefaultArgs = Row<ForwardHasDefaultArgsFunction>(
    "ForwardHasDefaultArgs", "7 ...", {.name = "idx", .choices = {std::monostate(), 0, -1, 4}},
    "default arguments", {});

}  // namespace
}  // namespace peelcheck
