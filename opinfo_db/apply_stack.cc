// opinfo_db/apply_stack.cc: runs a transform stack, which is data, with the engine's transforms;
// declared in program.h.
//
//   ApplyStack(mul, {vjp, vjp})({x, y, ct, ct_x, ct_y})   // 2 primals of mul, 1 cotangent; 2
//   cotangents of the outer vjp
//
// The one difficulty: a flat list does not say where the primals end. Inputs are only ever
// appended, innermost transform first, so the inputs of each inner program are a prefix of the
// outer one's; and the length of each prefix follows from how many inputs and floating outputs the
// bare operation has. One of the two numbers is known, the total gives the other.
#include <absl/strings/str_cat.h>

#include <memory>

#include "engine/ops.h"
#include "opinfo_db/program.h"

namespace peelcheck {
namespace {

// Number of inputs and of floating outputs of a program.
struct Counts {
  int64_t inputs = 0;
  int64_t floating_outputs = 0;
};

// Whether each of the given inputs is floating.
using Flags = std::vector<bool>;

// How many of the first `count` inputs are floating; what is not there (too few came) counts as
// floating.
int64_t FloatingAmong(const Flags& flags, int64_t count) {
  int64_t result = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i >= static_cast<int64_t>(flags.size()) || flags[static_cast<size_t>(i)]) ++result;
  }
  return result;
}

// The counts of the program around one with `inner` counts.
Counts Around(const Transform& transform, Counts inner, const Flags& flags) {
  if (transform.kind == TransformKind::kVmap) return inner;
  const int64_t differentiated = transform.argnums.has_value()
                                     ? static_cast<int64_t>(transform.argnums->size())
                                     : FloatingAmong(flags, inner.inputs);
  switch (transform.kind) {
    case TransformKind::kJvp: return {inner.inputs + differentiated, 2 * inner.floating_outputs};
    case TransformKind::kVjp: return {inner.inputs + inner.floating_outputs, differentiated};
    default: return {inner.inputs, differentiated};
  }
}

// Counts for the operation (front) and for the program under each transform, innermost first (back:
// the whole stack).
std::vector<Counts> CountsOf(const std::vector<Transform>& stack, Counts operation,
                             const Flags& flags) {
  std::vector<Counts> result = {operation};
  for (size_t i = stack.size(); i-- > 0;) {
    result.push_back(Around(stack[i], result.back(), flags));
  }
  return result;
}

std::string Plural(int64_t count, const std::string& noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// "2 primals and 1 cotangent": what a stack takes, the operation's inputs first.
std::string Expected(const std::vector<Transform>& stack, const std::vector<Counts>& counts) {
  std::vector<std::string> parts = {
      Plural(counts[0].inputs, counts.back().inputs > counts[0].inputs ? "primal" : "input")};
  for (size_t i = 1; i < counts.size(); ++i) {
    const int64_t added = counts[i].inputs - counts[i - 1].inputs;
    if (added == 0) continue;
    const bool is_jvp = stack[stack.size() - i].kind == TransformKind::kJvp;
    parts.push_back(Plural(added, is_jvp ? "tangent" : "cotangent"));
  }
  std::string text = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    absl::StrAppend(&text, i + 1 == parts.size() ? " and " : ", ", parts[i]);
  }
  return text;
}

[[noreturn]] void ThrowWrongCount(const NamedOperation& operation,
                                  const std::vector<Transform>& stack,
                                  const std::vector<Counts>& expected, int64_t came) {
  std::string tag;
  for (const Transform& transform : stack) {
    absl::StrAppend(&tag, tag.empty() ? "" : " ", TransformName(transform.kind));
  }
  if (tag.empty()) tag = operation.name;
  ThrowInvalidArgument(absl::StrCat("[", tag, "] ", Plural(came, "input"), " for `", operation.name,
                                    "` came; expected ", Expected(stack, expected)));
}

// Finds the counts that add up to the number of inputs.
std::vector<Counts> Solve(const NamedOperation& operation, const std::vector<Transform>& stack,
                          const Flags& flags) {
  const auto total = static_cast<int64_t>(flags.size());
  // The unknown of the two; with neither known, one floating output is assumed.
  const bool arity_known = operation.arity >= 0;
  const bool outputs_known = operation.floating_outputs >= 0 || !arity_known;
  const int64_t outputs = operation.floating_outputs >= 0 ? operation.floating_outputs : 1;
  const auto counts_for = [&](int64_t arity, int64_t floating_outputs) {
    return CountsOf(stack, {arity, floating_outputs}, flags);
  };
  std::vector<Counts> counts;
  // No stack takes fewer inputs than its operation, nor needs more cotangents than came.
  const int64_t first_arity = arity_known ? operation.arity : total;
  const int64_t last_arity = arity_known ? operation.arity : 0;
  for (int64_t arity = first_arity; arity >= last_arity; --arity) {
    for (int64_t m = outputs_known ? outputs : 0; m <= (outputs_known ? outputs : total); ++m) {
      counts = counts_for(arity, m);
      if (counts.back().inputs == total) return counts;
    }
  }
  // The nearest that would do: one output, and as many inputs as the operation takes or, unknown,
  // the fewest.
  ThrowWrongCount(operation, stack, counts_for(arity_known ? operation.arity : 1, outputs), total);
}

Tensors FloatingOnly(const Tensors& tensors) {
  Tensors result;
  for (const Tensor& tensor : tensors) {
    if (IsFloating(tensor.dtype())) result.push_back(tensor);
  }
  return result;
}

Tensors Concatenated(Tensors first, const Tensors& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void CheckBatchSize(const Transform& transform, const Tensors& inputs) {
  if (transform.batch_size < 0) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t position = transform.in_dims.size() == 1 ? 0 : i;
    if (position >= transform.in_dims.size()) return;  // Vmap refuses it with a better message
    const BatchDim dim = transform.in_dims[position];
    if (!dim.has_value() || *dim < -inputs[i].rank() || *dim >= inputs[i].rank()) continue;
    const int64_t size = inputs[i].dim(*dim < 0 ? *dim + inputs[i].rank() : *dim);
    if (size == transform.batch_size) continue;
    ThrowInvalidArgument(absl::StrCat("[vmap] batch_size=", transform.batch_size, ", but input ", i,
                                      " has size ", size, " at dim ", *dim, " of its shape ",
                                      ShapeToString(inputs[i].shape()),
                                      "; expected the same (or no batch_size)"));
  }
}

Tensors RunJvp(const TensorFn& inner, const DiffOptions& options, const Tensors& primals,
               const Tensors& tangents) {
  JvpResult result = Jvp(inner, primals, tangents, options);
  return Concatenated(std::move(result.outputs), result.tangents);
}

Tensors RunGrad(const TensorFn& inner, const DiffOptions& options, const Tensors& primals) {
  const VjpResult result = Vjp(inner, primals, options);
  Tensors ones;
  for (const Tensor& output : FloatingOnly(result.outputs)) ones.push_back(OnesLike(output));
  if (ones.empty()) {
    ThrowInvalidArgument(absl::StrCat("[grad] none of the ", result.outputs.size(),
                                      " outputs is floating; there is nothing to differentiate"));
  }
  return result.pullback(ones);
}

// What the layers of one call share.
struct Plan {
  NamedOperation operation;
  std::vector<Transform> stack;  // outermost first
};

Tensors RunVjp(const Plan& plan, size_t position, const TensorFn& inner, const DiffOptions& options,
               const Tensors& primals, const Tensors& cotangents) {
  const VjpResult result = Vjp(inner, primals, options);
  const Tensors outputs = FloatingOnly(result.outputs);
  // Vjp would refuse it as well, but does not know what the inputs were taken for.
  if (outputs.size() != cotangents.size()) {
    // The operation has another number of floating outputs than the total of the inputs let it
    // seem.
    std::vector<Transform> suffix(plan.stack.begin() + static_cast<std::ptrdiff_t>(position) + 1,
                                  plan.stack.end());
    const std::string inner_word =
        suffix.empty()
            ? plan.operation.name
            : absl::StrCat(StackWord({.op = "", .stack = suffix}), " ", plan.operation.name);
    ThrowInvalidArgument(absl::StrCat(
        "[vjp] ", Plural(static_cast<int64_t>(primals.size() + cotangents.size()), "input"),
        " for `", inner_word, "` came; expected ",
        Plural(static_cast<int64_t>(primals.size()), "primal"), " and ",
        Plural(static_cast<int64_t>(outputs.size()), "cotangent")));
  }
  return result.pullback(cotangents);
}

// The function under the transform at `position`, given the one below it and how many inputs that
// takes.
TensorFn Layer(const std::shared_ptr<const Plan>& plan, size_t position, TensorFn inner,
               int64_t inner_inputs) {
  const Transform& transform = plan->stack[position];
  const auto split = static_cast<size_t>(inner_inputs);
  return [plan, position, split, &transform, inner = std::move(inner)](const Tensors& inputs) {
    if (transform.kind == TransformKind::kVmap) {
      CheckBatchSize(transform, inputs);
      return Vmap(inner, {.in_dims = transform.in_dims,
                          .out_dims = transform.out_dims,
                          .randomness = transform.randomness})(inputs);
    }
    const DiffOptions options{.argnums = transform.argnums};
    const auto middle = inputs.begin() + static_cast<std::ptrdiff_t>(split);
    const Tensors primals(inputs.begin(), middle);
    const Tensors rest(middle, inputs.end());
    if (transform.kind == TransformKind::kJvp) return RunJvp(inner, options, primals, rest);
    if (transform.kind == TransformKind::kVjp) {
      return RunVjp(*plan, position, inner, options, primals, rest);
    }
    return RunGrad(inner, options, primals);
  };
}

}  // namespace

TensorFn ApplyStack(const TensorFn& operation, const std::vector<Transform>& stack) {
  auto plan = std::make_shared<Plan>();
  const NamedOperation* named = operation.target<NamedOperation>();
  plan->operation = named != nullptr ? *named : NamedOperation{.call = operation};
  plan->stack = stack;
  return [plan = std::shared_ptr<const Plan>(plan)](const Tensors& inputs) {
    Flags flags;
    for (const Tensor& input : inputs) {
      flags.push_back(!input.defined() || IsFloating(input.dtype()));
    }
    const std::vector<Counts> counts = Solve(plan->operation, plan->stack, flags);
    TensorFn function = plan->operation.call;
    for (size_t i = plan->stack.size(); i-- > 0;) {
      function = Layer(plan, i, std::move(function), counts[plan->stack.size() - 1 - i].inputs);
    }
    return function(inputs);
  };
}

std::vector<int64_t> InputCounts(const Program& program, int64_t arity,
                                 std::span<const Array> inputs) {
  Flags flags;
  for (const Array& input : inputs) flags.push_back(IsFloating(input.dtype()));
  const NamedOperation operation{.name = program.op, .arity = arity};
  std::vector<int64_t> result;
  for (const Counts& counts : Solve(operation, program.stack, flags))
    result.push_back(counts.inputs);
  return result;
}

}  // namespace peelcheck
