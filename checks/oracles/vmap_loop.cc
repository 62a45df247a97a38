// vmap: a loop over the batch. The engine runs the rest of the stack slot by slot; the results are stacked at the out_dims.
#include <absl/strings/str_cat.h>

#include "checks/numerics.h"
#include "checks/oracle.h"

namespace peelcheck {
namespace {

std::vector<Array> SlotInputs(const Transform& t, const std::vector<Array>& inputs, int64_t slot) {
  std::vector<Array> result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BatchDim dim = t.in_dims.size() == 1 ? t.in_dims[0] : t.in_dims[i];
    if (!dim.has_value()) {
      result.push_back(inputs[i]);
      continue;
    }
    // A copy: the plain call must not depend on the layout of the batch.
    result.push_back(inputs[i].Selected(*dim < 0 ? *dim + inputs[i].rank() : *dim, slot).Copy());
  }
  return result;
}

int64_t OutDim(const Transform& t, size_t output, int64_t rank_with_batch) {
  const BatchDim dim = t.out_dims.size() == 1 ? t.out_dims[0] : t.out_dims[output];
  const int64_t value = dim.value_or(0);
  return value < 0 ? value + rank_with_batch : value;
}

}  // namespace

Judgement AgainstLoop(const CheckedCase& c) {
  constexpr const char* kOracle = "loop over the batch";
  Judgement judgement;
  const Transform& t = c.sample.program.stack.front();
  const Program peeled = Peeled(c.sample.program);
  std::vector<std::vector<Array>> by_output;
  for (int64_t slot = 0; slot < t.batch_size; ++slot) {
    absl::StatusOr<std::vector<Array>> outputs = c.engine.Run(peeled, SlotInputs(t, c.sample.inputs, slot));
    if (!outputs.ok()) {
      judgement.NotePeeledError(kOracle, peeled, outputs.status());
      return judgement;
    }
    by_output.resize(outputs->size());
    for (size_t o = 0; o < outputs->size(); ++o) by_output[o].push_back((*outputs)[o]);
  }
  // An empty batch has no slot to compare; that it ran, and gave an axis of size 0, is all there is.
  if (t.batch_size == 0) {
    for (size_t o = 0; o < c.outputs.size(); ++o) {
      if (c.outputs[o].size() == 0 || judgement.finding.has_value()) continue;
      judgement.finding = Finding{.oracle = kOracle, .summary = absl::StrCat("output ", o, " of an empty batch has shape ",
                                                                             ShapeToString(c.outputs[o].shape()))};
    }
    return judgement;
  }
  if (!judgement.CheckCount(kOracle, c.outputs.size(), by_output.size())) return judgement;
  for (size_t o = 0; o < by_output.size(); ++o) {
    const Array expected = StackArrays(by_output[o], OutDim(t, o, by_output[o][0].rank() + 1));
    judgement.Compare(kOracle, absl::StrCat("output ", o), static_cast<int64_t>(o), c.outputs[o], expected,
                      UniformBounds(expected, kReorderUnits, c.dtype));
  }
  return judgement;
}

}  // namespace peelcheck
