// opinfo_db/functions/split.cc: SplitGenVmap: x in three pieces of 3, 4 and 5 along dim 0.
//
// Pins down a list of outputs of different shapes: cotangents, tangents and batch dims must not be
// mixed up, and an output that is not used gets a cotangent of zeros of its own shape.
#include "engine/ops.h"
#include "opinfo_db/functions/helpers.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {
namespace {

constexpr int64_t kSizes[] = {3, 4, 5};
constexpr int64_t kTotal = 12;

class SplitGenVmap : public Function {
 public:
  std::string name() const override { return "SplitGenVmap"; }
  Tensors Forward(TensorSpan in) const override {
    if (in[0].rank() == 0 || in[0].dim(0) != kTotal) {
      ThrowInvalidArgument(absl::StrCat("[", name(), "] x has shape ", ShapeToString(in[0].shape()),
                                        "; expected [12, ..], to be split in 3 + 4 + 5"));
    }
    return Pieces(in[0]);
  }
  Tensors Backward(Context&, TensorSpan ct) const override { return {Cat(ct, 0)}; }
  Tensors Jvp(Context&, TensorSpan tangents) const override { return Pieces(tangents[0]); }
  bool generate_vmap_rule() const override { return true; }

 private:
  static Tensors Pieces(const Tensor& x) {
    Tensors pieces;
    int64_t start = 0;
    for (const int64_t size : kSizes) {
      pieces.push_back(Narrow(x, 0, start, size));
      start += size;
    }
    return pieces;
  }
};

std::vector<Array> SplitReference(std::span<const Array> inputs, const Attributes&) {
  std::vector<Array> pieces;
  int64_t start = 0;
  for (const int64_t size : kSizes) {
    Shape shape = inputs[0].shape();
    shape[0] = size;
    pieces.push_back(FromIndices(inputs[0].dtype(), shape, [&](Index at) {
      at[0] += start;
      return At(inputs[0], at);
    }));
    start += size;
  }
  return pieces;
}

const Registration kSplitGenVmap({
    .name = "SplitGenVmap",
    .formula = "a, b, c = x[0:3], x[3:7], x[7:12]; da, db, dc likewise of dx",
    .pins_down = "list outputs of different shapes through a generated rule",
    .arguments = {{.name = "x", .shape = "12 ..."}},
    .build = Plain("SplitGenVmap", 1,
                   [](const Tensors& in) { return Call(Shared<SplitGenVmap>(), in); }),
    .reference = SplitReference,
    .custom_function = true,
    .error_cases = {{.description = "another size", .inputs = {{DType::kF64, {11, 3}}}},
                    {.description = "no axis", .inputs = {{DType::kF64, {}}}}},
});

}  // namespace
}  // namespace peelcheck
