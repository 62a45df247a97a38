// opinfo_db/functions/sign_bucket.cc: OpaqueSignBucket and SignBucketGenVmap: -1, 0 or 1 as an
// integer.
//
// Pins down a function whose only output is an integer: nothing to differentiate, so its rules for
// derivatives are never called, and it has none.
#include <cmath>

#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"

namespace peelcheck {
namespace {

class OpaqueSignBucket : public Function {
 public:
  std::string name() const override { return "OpaqueSignBucket"; }
  Tensors Forward(TensorSpan in) const override {
    const Tensor sign = OpaqueMap(name(), in[0], [](auto x) { return x > 0 ? 1 : x < 0 ? -1 : 0; });
    return {Tensor::FromArray(sign.array().Cast(DType::kI64))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    return {Call(Ref<const Function>(this), in), in_dims};
  }
  bool has_vmap_rule() const override { return true; }
};

class SignBucketGenVmap : public Function {
 public:
  std::string name() const override { return "SignBucketGenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    RequireFloating(in[0], name());
    return {To(Sign(in[0]), DType::kI64)};
  }
  bool generate_vmap_rule() const override { return true; }
};

template <typename F>
Registration Bucket(const std::string& name, const std::string& pins_down,
                    SourceLocation where = SourceLocation::Current()) {
  return Registration(
      {.name = name,
       .formula = "k = -1, 0 or 1 (i64), the sign of x; no derivative",
       .pins_down = pins_down,
       .arguments = {{.name = "x", .domain = {.kinks = {0}}}},
       .build = Plain(name, 1, [](const Tensors& in) { return Call(Shared<F>(), in); }),
       .reference =
           [](std::span<const Array> inputs, const Attributes&) {
             Array bucket = Array::Zeros(DType::kI64, inputs[0].shape());
             for (int64_t i = 0; i < bucket.size(); ++i) {
               bucket.SetDouble(i, std::copysign(1.0, inputs[0].DoubleAt(i)));
             }
             return std::vector<Array>{bucket};
           },
       .differentiable = false,
       .custom_function = true,
       .error_cases = {IntegerInput()}},
      where);
}

const Registration kOpaqueSignBucket =
    Bucket<OpaqueSignBucket>("OpaqueSignBucket", "integer outputs only, written rule");
const Registration kSignBucketGenVmap =
    Bucket<SignBucketGenVmap>("SignBucketGenVmap", "integer outputs only, generated rule");

}  // namespace
}  // namespace peelcheck
