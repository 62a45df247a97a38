#include "generators/case.h"

#include <algorithm>

#include "generators/recipe.h"

namespace peelcheck {
namespace {

// What is decided of a stack, from the inside out: transforms, and the signature under each.
struct Plan {
  std::vector<Transform> transforms;   // innermost first
  std::vector<Signature> signatures;   // [0] is the operation's
};

std::vector<bool> DifferentiableInputs(const Entry& entry, const Signature& signature) {
  std::vector<bool> result;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const bool declared = i >= entry.arguments.size() || entry.arguments[i].differentiable;
    result.push_back(declared && IsFloating(signature.inputs[i].dtype));
  }
  return result;
}

void ChooseArgnums(const Entry& entry, const TransformChoice& choice, const Signature& signature, Stream& stream, Transform& t) {
  std::vector<int64_t> able;
  const std::vector<bool> differentiable = DifferentiableInputs(entry, signature);
  bool some_refused = false;
  for (size_t i = 0; i < differentiable.size(); ++i) {
    if (differentiable[i]) able.push_back(static_cast<int64_t>(i));
    some_refused = some_refused || (!differentiable[i] && IsFloating(signature.inputs[i].dtype));
  }
  if (choice.all_argnums) {
    if (some_refused) t.argnums = able;
    return;
  }
  std::vector<int64_t> chosen;
  while (!able.empty() && (chosen.empty() || stream.Chance(1, 2))) {
    const int64_t at = stream.Below(static_cast<int64_t>(able.size()));
    chosen.push_back(able[static_cast<size_t>(at)]);
    able.erase(able.begin() + at);
  }
  if (stream.Chance(1, 3)) chosen[0] -= static_cast<int64_t>(signature.inputs.size());
  t.argnums = chosen;
}

// The argument that decides whether input i is batched: an inverse permutation goes with its permutation.
size_t BatchedWith(const Entry& entry, size_t i) {
  if (i < entry.arguments.size() && entry.arguments[i].kind == ValueKind::kInversePermutation) {
    return static_cast<size_t>(entry.arguments[i].of);
  }
  return i;
}

int64_t SpelledBatchDim(int64_t rank_with_batch, bool plain, Stream& stream) {
  if (plain) return 0;
  return stream.Below(2 * rank_with_batch) - rank_with_batch;
}

void ChooseDims(const Entry& entry, const TransformChoice& choice, const Signature& signature, Stream& stream, Transform& t) {
  const size_t count = signature.inputs.size();
  std::vector<bool> batched(count);
  bool any_floating = false;
  for (size_t i = 0; i < count; ++i) {
    batched[i] = stream.Chance(2, 3) || choice.plain_in;
    any_floating = any_floating || (batched[i] && IsFloating(signature.inputs[i].dtype));
  }
  // At least one input with values to tell the slots apart.
  if (!any_floating) {
    size_t first = 0;
    while (first + 1 < count && !IsFloating(signature.inputs[first].dtype)) ++first;
    batched[first] = true;
  }
  t.batch_size = choice.batch_size;
  t.in_dims.clear();
  t.out_dims.clear();
  for (size_t i = 0; i < count; ++i) {
    const auto rank = static_cast<int64_t>(signature.inputs[i].shape.size()) + 1;
    const int64_t dim = SpelledBatchDim(rank, choice.plain_in, stream);
    t.in_dims.push_back(batched[BatchedWith(entry, i)] ? BatchDim(dim) : std::nullopt);
  }
  for (const ArraySpec& output : signature.outputs) {
    t.out_dims.push_back(SpelledBatchDim(static_cast<int64_t>(output.shape.size()) + 1, choice.plain_out, stream));
  }
}

Shape WithAxis(Shape shape, int64_t dim, int64_t size) {
  shape.insert(shape.begin() + (dim < 0 ? dim + static_cast<int64_t>(shape.size()) + 1 : dim), size);
  return shape;
}

std::vector<size_t> ArgnumsOf(const Transform& t, const Signature& signature) {
  std::vector<size_t> result;
  const auto count = static_cast<int64_t>(signature.inputs.size());
  if (t.argnums.has_value()) {
    for (int64_t argnum : *t.argnums) result.push_back(static_cast<size_t>(argnum < 0 ? argnum + count : argnum));
    return result;
  }
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    if (IsFloating(signature.inputs[i].dtype)) result.push_back(i);
  }
  return result;
}

Signature Around(const Transform& t, const Signature& inner) {
  Signature outer = inner;
  if (t.kind == TransformKind::kVmap) {
    for (size_t i = 0; i < outer.inputs.size(); ++i) {
      if (t.in_dims[i].has_value()) outer.inputs[i].shape = WithAxis(inner.inputs[i].shape, *t.in_dims[i], t.batch_size);
    }
    for (size_t i = 0; i < outer.outputs.size(); ++i) {
      outer.outputs[i].shape = WithAxis(inner.outputs[i].shape, *t.out_dims[i], t.batch_size);
    }
    return outer;
  }
  std::vector<ArraySpec> differentiated, floating_outputs;
  for (size_t argnum : ArgnumsOf(t, inner)) differentiated.push_back(inner.inputs[argnum]);
  for (const ArraySpec& output : inner.outputs) {
    if (IsFloating(output.dtype)) floating_outputs.push_back(output);
  }
  const auto append = [](std::vector<ArraySpec>& to, const std::vector<ArraySpec>& more) { to.insert(to.end(), more.begin(), more.end()); };
  if (t.kind == TransformKind::kJvp) {
    append(outer.inputs, differentiated);
    append(outer.outputs, floating_outputs);
  } else {
    if (t.kind == TransformKind::kVjp) append(outer.inputs, floating_outputs);
    outer.outputs = differentiated;
  }
  return outer;
}

Plan MakePlan(const Entry& entry, const Recipe& recipe, Signature operation) {
  Plan plan;
  plan.signatures.push_back(std::move(operation));
  for (size_t i = recipe.stack.size(); i-- > 0;) {
    const TransformChoice& choice = recipe.stack[i];
    const Signature& inner = plan.signatures.back();
    Stream stream(choice.seed);
    Transform t{.kind = choice.kind};
    if (choice.kind == TransformKind::kVmap) {
      ChooseDims(entry, choice, inner, stream, t);
    } else {
      ChooseArgnums(entry, choice, inner, stream, t);
    }
    plan.signatures.push_back(Around(t, inner));
    plan.transforms.push_back(std::move(t));
  }
  return plan;
}

// Draws the inputs of the program under the innermost `depth` transforms.
class InputDrawer {
 public:
  InputDrawer(const Plan& plan, std::function<std::vector<Array>(Stream&)> base) : plan_(plan), base_(std::move(base)) {}

  std::vector<Array> Draw(size_t depth, Stream& stream) const {
    if (depth == 0) return base_(stream);
    const Transform& t = plan_.transforms[depth - 1];
    if (t.kind == TransformKind::kVmap) return DrawBatch(t, depth, stream);
    std::vector<Array> inputs = Draw(depth - 1, stream);
    const Signature& outer = plan_.signatures[depth];
    for (size_t i = inputs.size(); i < outer.inputs.size(); ++i) inputs.push_back(DrawDirection(outer.inputs[i], stream));
    return inputs;
  }

 private:
  std::vector<Array> DrawBatch(const Transform& t, size_t depth, Stream& stream) const {
    std::vector<std::vector<Array>> slots;
    for (int64_t b = 0; b < std::max<int64_t>(t.batch_size, 1); ++b) {
      std::vector<Array> slot = Draw(depth - 1, stream);
      // A short index or a single value may come twice; another draw tells the slots apart.
      for (int attempt = 0; attempt < 20 && Repeats(t, slots, slot); ++attempt) slot = Draw(depth - 1, stream);
      slots.push_back(std::move(slot));
    }
    std::vector<Array> inputs = slots[0];
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!t.in_dims[i].has_value()) continue;
      if (t.batch_size == 0) {
        inputs[i] = Array::Zeros(inputs[i].dtype(), WithAxis(inputs[i].shape(), *t.in_dims[i], 0));
        continue;
      }
      std::vector<Array> column;
      for (const std::vector<Array>& slot : slots) column.push_back(slot[i]);
      const int64_t dim = *t.in_dims[i];
      inputs[i] = StackArrays(column, dim < 0 ? dim + inputs[i].rank() + 1 : dim);
    }
    return inputs;
  }
  static bool Repeats(const Transform& t, const std::vector<std::vector<Array>>& slots, const std::vector<Array>& slot) {
    return std::any_of(slots.begin(), slots.end(), [&](const std::vector<Array>& earlier) {
      for (size_t i = 0; i < slot.size(); ++i) {
        if (t.in_dims[i].has_value() && !slot[i].BitEquals(earlier[i])) return false;
      }
      return true;
    });
  }
  const Plan& plan_;
  std::function<std::vector<Array>(Stream&)> base_;
};

Signature OperationSignature(const Entry& entry, const Attributes& attributes, const std::vector<Array>& inputs) {
  Signature signature;
  Tensors tensors;
  for (const Array& input : inputs) {
    signature.inputs.push_back({input.dtype(), input.shape()});
    tensors.push_back(Tensor::FromArray(input.Copy()));  // an in-place operation would write it
  }
  for (const Tensor& output : entry.build(attributes)(tensors)) signature.outputs.push_back({output.dtype(), output.shape()});
  return signature;
}

}  // namespace

Case BuildCase(const CaseRequest& request, const Recipe& recipe) {
  const Entry& entry = *request.entry;
  Case result;
  result.sample_class = recipe.sample_class;
  result.program.op = entry.name;
  const std::vector<Shape> shapes = ArgumentShapes(entry, recipe);
  result.program.attributes = ResolveAttributes(entry, shapes, recipe.attribute_seed);
  const auto base = [&](Stream& stream) {
    return DrawArguments(entry, shapes, result.program.attributes, request.dtype, recipe.coarseness, stream);
  };
  Stream stream(recipe.value_seed);
  if (recipe.stack.empty()) {
    result.inputs = base(stream);
    return result;
  }
  Stream probe(recipe.value_seed);
  const Plan plan = MakePlan(entry, recipe, OperationSignature(entry, result.program.attributes, base(probe)));
  result.inputs = InputDrawer(plan, base).Draw(plan.transforms.size(), stream);
  result.program.stack.assign(plan.transforms.rbegin(), plan.transforms.rend());
  return result;
}

}  // namespace peelcheck
