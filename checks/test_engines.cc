// checks/test_engines.cc: the wrong engines of test_engines.h: the built-in one, with its results
// spoiled.
#include "checks/test_engines.h"

#include <cmath>
#include <limits>

namespace peelcheck {
namespace {

using Change = double (*)(double);

void ChangeAll(Array& array, Change change) {
  if (!IsFloating(array.dtype())) return;
  array = array.Copy();
  for (int64_t i = 0; i < array.size(); ++i) array.SetDouble(i, change(array.DoubleAt(i)));
}

int64_t OutDim(const Transform& vmap, size_t output, int64_t rank) {
  const int64_t dim =
      (vmap.out_dims.size() == 1 ? vmap.out_dims[0] : vmap.out_dims[output]).value_or(0);
  return dim < 0 ? dim + rank : dim;
}

// slot_of(b, B): which slot stands at b.
void PermuteSlots(const Transform& vmap, std::vector<Array>& outputs,
                  int64_t (*slot_of)(int64_t, int64_t)) {
  for (size_t o = 0; o < outputs.size(); ++o) {
    const int64_t dim = OutDim(vmap, o, outputs[o].rank());
    std::vector<Array> slots;
    for (int64_t b = 0; b < outputs[o].dim(dim); ++b) {
      slots.push_back(outputs[o].Selected(dim, slot_of(b, outputs[o].dim(dim))));
    }
    if (!slots.empty()) outputs[o] = StackArrays(slots, dim);
  }
}

void SpoilLastSlot(const Transform& vmap, std::vector<Array>& outputs) {
  for (size_t o = 0; o < outputs.size(); ++o) {
    const int64_t dim = OutDim(vmap, o, outputs[o].rank());
    std::vector<Array> slots;
    for (int64_t b = 0; b < outputs[o].dim(dim); ++b) slots.push_back(outputs[o].Selected(dim, b));
    if (slots.empty()) continue;
    ChangeAll(slots.back(), [](double x) { return x * 1.0001 + 1e-6; });
    outputs[o] = StackArrays(slots, dim);
  }
}

void SpoilGradient(Fault fault, std::vector<Array>& outputs) {
  for (Array& output : outputs) {
    if (fault == Fault::kScaledGradient) ChangeAll(output, [](double x) { return x * 1.0001; });
    if (fault == Fault::kZeroGradient) ChangeAll(output, [](double) { return 0.0; });
    if (fault == Fault::kSparseGradient && output.size() > 0) {
      output = output.Copy();
      output.SetDouble(output.size() - 1, output.DoubleAt(output.size() - 1) * 1.0001);
    }
    if (fault == Fault::kWrongShape) {
      Shape shape = output.shape();
      shape.insert(shape.begin(), 1);
      output = output.Expanded(shape).Copy();
    }
  }
}

}  // namespace

FaultyEngine::FaultyEngine(Fault fault) : fault_(fault), right_(FindEngine("builtin")->make()) {}

absl::StatusOr<std::vector<Array>> FaultyEngine::Run(const Program& program,
                                                     std::span<const Array> inputs) {
  const bool transformed = !program.stack.empty();
  if (transformed && fault_ == Fault::kThrows) throw std::runtime_error("index out of range");
  if (transformed && fault_ == Fault::kRefuses) return absl::UnimplementedError("no rule");
  if (transformed && fault_ == Fault::kWrongClass) return absl::InvalidArgumentError("no");
  absl::StatusOr<std::vector<Array>> outputs = right_->Run(program, inputs);
  if (!outputs.ok() && fault_ == Fault::kSwallowsErrors) {
    return std::vector<Array>(inputs.begin(), inputs.end());
  }
  if (!outputs.ok()) return outputs;
  ++runs_;
  if (fault_ == Fault::kMutatesInput && inputs[0].size() > 0) {
    Array input = inputs[0];
    input.SetDouble(0, input.DoubleAt(0) + 1);
  }
  Spoil(program, *outputs);
  return outputs;
}

void FaultyEngine::Spoil(const Program& program, std::vector<Array>& outputs) {
  for (Array& output : outputs) {
    if (fault_ == Fault::kZeros) ChangeAll(output, [](double) { return 0.0; });
    if (fault_ == Fault::kNanOnce && runs_ == 20) {
      ChangeAll(output, [](double) { return std::numeric_limits<double>::quiet_NaN(); });
    }
    if (fault_ == Fault::kDrifts && IsFloating(output.dtype()) && output.size() > 0) {
      output = output.Copy();
      output.SetDouble(0, output.DoubleAt(0) * (1 + 1e-15 * static_cast<double>(runs_)) + 1e-300);
    }
    if (fault_ == Fault::kNoisy && program.stack.empty()) {
      ChangeAll(output, [](double x) { return std::round(x * 1e4) / 1e4; });
    }
  }
  if (program.stack.empty()) return;
  const Transform& outermost = program.stack[0];
  if (fault_ == Fault::kWrongDType) {
    for (Array& output : outputs) {
      output = output.Cast(output.dtype() == DType::kF32 ? DType::kF64 : DType::kF32);
    }
  }
  if (fault_ == Fault::kExtraOutput) outputs.push_back(outputs[0]);
  if (fault_ == Fault::kUndefinedOutput) outputs[0] = Array();
  if (outermost.kind == TransformKind::kJvp && fault_ == Fault::kScaledTangent) {
    ChangeAll(outputs.back(), [](double x) { return x * 1.0001; });
  }
  if (outermost.kind == TransformKind::kVjp || outermost.kind == TransformKind::kGrad) {
    SpoilGradient(fault_, outputs);
  }
  if (outermost.kind != TransformKind::kVmap) return;
  if (fault_ == Fault::kSwappedSlots) {
    PermuteSlots(outermost, outputs, [](int64_t b, int64_t size) { return size - 1 - b; });
  }
  if (fault_ == Fault::kFirstSlotForAll) {
    PermuteSlots(outermost, outputs, [](int64_t, int64_t) { return int64_t{0}; });
  }
  if (fault_ == Fault::kLastSlotWrong) SpoilLastSlot(outermost, outputs);
}

}  // namespace peelcheck
