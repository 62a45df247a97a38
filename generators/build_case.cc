// From a recipe to a case: one run of the operation tells the output shapes, which give the plan of
// the stack; then inputs are drawn from the inside out.
//
//   vmap(0,_) vjp mul: two draws of (x, y, cotangent); x and cotangent stacked, y of slot 0
#include <algorithm>
#include <utility>

#include "generators/arguments.h"
#include "generators/plan.h"
#include "generators/slots.h"

namespace peelcheck {
namespace {

// What the case is, which need not be what was drawn: shrinking takes axes and slots away.
std::string ClassOf(const Entry& entry, const Recipe& recipe) {
  for (const TransformChoice& choice : recipe.stack) {
    const bool usual = choice.batch_size != 0 && choice.batch_size != 1 && choice.batch_size != 3;
    if (choice.kind == TransformKind::kVmap && !usual)
      return "batch " + std::to_string(choice.batch_size);
  }
  const auto has_axis = [&](int64_t size) {
    return std::find(recipe.leading.begin(), recipe.leading.end(), size) != recipe.leading.end() ||
           std::any_of(recipe.axes.begin(), recipe.axes.end(),
                       [&](const auto& axis) { return axis.second == size; });
  };
  if (has_axis(0)) return "empty";
  if (has_axis(1)) return "size 1";
  return recipe.leading.empty() && FewestFixedAxes(entry) == 0 ? "0-d" : "general";
}

// Draws the inputs of the program under the innermost `depth` transforms; nullopt where slots
// cannot be told apart.
class InputDrawer {
 public:
  InputDrawer(const Plan& plan, const ArgumentDrawer& arguments, bool copied_slots)
      : plan_(plan), arguments_(arguments), copied_slots_(copied_slots) {}

  std::optional<std::vector<Array>> Draw(size_t depth, Stream& stream) const {
    if (depth == 0) return arguments_.Draw(stream);
    const Transform& t = plan_.transforms[depth - 1];
    if (t.kind == TransformKind::kVmap) return DrawBatch(t, depth, stream);
    std::optional<std::vector<Array>> inputs = Draw(depth - 1, stream);
    if (!inputs) return inputs;
    const Signature& outer = plan_.signatures[depth];
    for (size_t i = inputs->size(); i < outer.inputs.size(); ++i) {
      inputs->push_back(arguments_.DrawDirection(outer.inputs[i], stream));
    }
    return inputs;
  }

 private:
  using Slots = std::vector<std::vector<Array>>;

  std::optional<std::vector<Array>> DrawBatch(const Transform& t, size_t depth,
                                              Stream& stream) const {
    Slots slots;
    for (int64_t b = 0; b < std::max<int64_t>(t.batch_size, 1); ++b) {
      if (copied_slots_ && b > 0) {
        slots.push_back(slots[0]);
        continue;
      }
      // A short index or a single value may come twice; another draw tells the slots apart.
      std::optional<std::vector<Array>> slot = Draw(depth - 1, stream);
      for (int attempt = 0; slot && Repeats(t, slots, *slot); ++attempt) {
        if (attempt == 20) return std::nullopt;
        slot = Draw(depth - 1, stream);
      }
      if (!slot) return std::nullopt;
      slots.push_back(std::move(*slot));
    }
    std::vector<Array> inputs = slots[0];
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (t.in_dims[i].has_value()) inputs[i] = Stacked(t, slots, i);
    }
    return inputs;
  }

  static Array Stacked(const Transform& t, const Slots& slots, size_t i) {
    const int64_t dim = *t.in_dims[i];
    const Array& first = slots[0][i];
    if (t.batch_size == 0) return Array::Zeros(first.dtype(), WithAxis(first.shape(), dim, 0));
    std::vector<Array> column;
    for (const std::vector<Array>& slot : slots) column.push_back(slot[i]);
    return StackArrays(column, dim < 0 ? dim + first.rank() + 1 : dim);
  }

  static bool Repeats(const Transform& t, const Slots& earlier, const std::vector<Array>& slot) {
    return std::any_of(earlier.begin(), earlier.end(),
                       [&](const std::vector<Array>& other) { return SameSlot(t, other, slot); });
  }

  const Plan& plan_;
  const ArgumentDrawer& arguments_;
  bool copied_slots_;
};

// Whether the slots of every batch differ, in the inputs as they came out: an input that an outer
// vmap does not batch is that of its slot 0, and may make slots of an inner one equal that were
// drawn different.
bool SlotsDiffer(const Plan& plan, size_t depth, std::vector<Array> inputs) {
  if (depth == 0) return true;
  const Transform& t = plan.transforms[depth - 1];
  if (t.kind != TransformKind::kVmap) {
    inputs.resize(plan.signatures[depth - 1].inputs.size());
    return SlotsDiffer(plan, depth - 1, std::move(inputs));
  }
  std::vector<std::vector<Array>> slots;
  for (int64_t b = 0; b < t.batch_size; ++b) {
    std::vector<Array> slot = SlotOf(t, inputs, b);
    for (const std::vector<Array>& earlier : slots) {
      if (SameSlot(t, earlier, slot)) return false;
    }
    if (!SlotsDiffer(plan, depth - 1, slot)) return false;
    slots.push_back(std::move(slot));
  }
  return true;
}

bool HasNestedBatches(const Plan& plan) {
  return std::count_if(plan.transforms.begin(), plan.transforms.end(),
                       [](const Transform& t) { return t.kind == TransformKind::kVmap; }) > 1;
}

// nullopt where no draw tells the slots apart.
std::optional<std::vector<Array>> DrawInputs(const Plan& plan, const ArgumentDrawer& arguments,
                                             bool copied_slots, Stream stream) {
  const InputDrawer drawer(plan, arguments, copied_slots);
  const bool nested = HasNestedBatches(plan) && !copied_slots;
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::optional<std::vector<Array>> inputs = drawer.Draw(plan.transforms.size(), stream);
    if (!inputs || !nested || SlotsDiffer(plan, plan.transforms.size(), *inputs)) return inputs;
  }
  return std::nullopt;
}

Signature OperationSignature(const Entry& entry, const Attributes& attributes,
                             std::vector<Array> inputs) {
  Signature signature;
  Tensors tensors;
  for (Array& input : inputs) {
    signature.inputs.push_back({input.dtype(), input.shape()});
    tensors.push_back(Tensor::FromArray(std::move(input)));
  }
  for (const Tensor& output : entry.build(attributes)(tensors)) {
    signature.outputs.push_back({output.dtype(), output.shape()});
  }
  return signature;
}

}  // namespace

std::optional<Case> BuildCase(const CaseRequest& request, const Recipe& recipe) {
  const Entry& entry = *request.entry;
  Case result;
  result.sample_class = ClassOf(entry, recipe);
  result.program.op = entry.name;
  const std::vector<Shape> shapes = ArgumentShapes(entry, recipe);
  result.program.attributes = ResolveAttributes(entry, shapes, recipe);
  const ArgumentDrawer arguments(entry, shapes, result.program.attributes, request.dtype, recipe);
  // An own draw for the operation, which may write to it.
  Stream probe(recipe.value_seed);
  Signature operation = OperationSignature(entry, result.program.attributes, arguments.Draw(probe));
  Plan plan = MakePlan(entry, recipe, std::move(operation));
  std::optional<std::vector<Array>> inputs =
      DrawInputs(plan, arguments, request.style.copied_slots, Stream(recipe.value_seed));
  if (!inputs) return std::nullopt;
  result.inputs = std::move(*inputs);
  for (const Override& set : recipe.overrides)
    result.inputs[set.input].SetDouble(set.element, set.value);
  result.program.stack.assign(std::make_move_iterator(plan.transforms.rbegin()),
                              std::make_move_iterator(plan.transforms.rend()));
  return result;
}

}  // namespace peelcheck
