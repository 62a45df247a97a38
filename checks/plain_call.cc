// checks/plain_call.cc: from the inputs of a whole stack to those of its bare operation; see
// plain_call.h.
#include "checks/plain_call.h"

namespace peelcheck {
namespace {

// The dim of input i, wrapped; nullopt: not mapped, or a dim that the input does not have.
BatchDim DimOf(const Transform& vmap, std::span<const Array> inputs, size_t i) {
  const size_t position = vmap.in_dims.size() == 1 ? 0 : i;
  if (position >= vmap.in_dims.size() || !vmap.in_dims[position].has_value()) return std::nullopt;
  const int64_t dim = *vmap.in_dims[position];
  const int64_t wrapped = dim < 0 ? dim + inputs[i].rank() : dim;
  if (wrapped < 0 || wrapped >= inputs[i].rank()) return std::nullopt;
  return wrapped;
}

}  // namespace

int64_t BatchSizeOf(const Transform& vmap, std::span<const Array> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const BatchDim dim = DimOf(vmap, inputs, i)) return inputs[i].dim(*dim);
  }
  return -1;
}

std::vector<Array> SlotInputs(const Transform& vmap, std::span<const Array> inputs, int64_t slot) {
  std::vector<Array> result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BatchDim dim = DimOf(vmap, inputs, i);
    if (!dim.has_value()) {
      result.push_back(inputs[i]);
    } else if (inputs[i].dim(*dim) == 0) {
      Shape shape = inputs[i].shape();
      shape.erase(shape.begin() + *dim);
      result.push_back(Array::Zeros(inputs[i].dtype(), shape));
    } else {
      result.push_back(inputs[i].Selected(*dim, slot).Copy());
    }
  }
  return result;
}

PlainCall CallPlainly(EngineUnderTest& engine, const Entry& entry, const Program& program,
                      std::span<const Array> inputs) {
  PlainCall result;
  std::vector<Array> bare(inputs.begin(), inputs.end());
  const std::vector<int64_t> counts =
      InputCounts(program, static_cast<int64_t>(entry.arguments.size()), inputs);
  for (size_t i = 0; i < program.stack.size(); ++i) {
    const Transform& transform = program.stack[i];
    if (transform.kind == TransformKind::kVmap) {
      result.made_up = result.made_up || BatchSizeOf(transform, bare) == 0;
      bare = SlotInputs(transform, bare, 0);
    }
    // counts[k] belongs to the innermost k transforms.
    bare.resize(static_cast<size_t>(counts[program.stack.size() - 1 - i]));
  }
  for (const Array& input : bare) {
    result.signature.inputs.push_back({input.dtype(), input.shape()});
  }
  const Program operation{.op = program.op, .attributes = program.attributes};
  const absl::StatusOr<std::vector<Array>> outputs = engine.Run(operation, bare);
  result.status = outputs.status();
  if (!outputs.ok()) return result;
  for (const Array& output : *outputs) {
    result.signature.outputs.push_back({output.dtype(), output.shape()});
  }
  return result;
}

}  // namespace peelcheck
