#include "generators/plan.h"

#include <algorithm>
#include <utility>

namespace peelcheck {
namespace {

int64_t Unsigned(int64_t dim, int64_t count) { return dim < 0 ? dim + count : dim; }

// The inputs that a gradient may be taken for. Behind the arguments stand tangents and cotangents,
// which are ordinary floating inputs of the transforms around.
std::vector<int64_t> DifferentiableInputs(const Entry& entry, const Signature& signature) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const bool declared = i >= entry.arguments.size() || entry.arguments[i].differentiable;
    if (declared && IsFloating(signature.inputs[i].dtype))
      result.push_back(static_cast<int64_t>(i));
  }
  return result;
}

int64_t FloatingInputs(const Signature& signature) {
  return std::count_if(signature.inputs.begin(), signature.inputs.end(),
                       [](const ArraySpec& spec) { return IsFloating(spec.dtype); });
}

void ChooseArgnums(const Entry& entry, const TransformChoice& choice, const Signature& signature,
                   Transform& t) {
  std::vector<int64_t> able = DifferentiableInputs(entry, signature);
  if (able.empty()) return;  // the transform says so itself
  if (choice.all_argnums) {
    // Absent means all floating inputs; one that is not differentiable must be left out by name.
    if (std::ssize(able) < FloatingInputs(signature)) t.argnums = able;
    return;
  }
  Stream stream(choice.seed);
  stream.Shuffle(able);
  able.resize(1 + static_cast<size_t>(stream.Below(std::ssize(able))));
  if (choice.only_argnum >= 0) able = {able[static_cast<size_t>(choice.only_argnum) % able.size()]};
  for (int64_t& argnum : able) {
    if (stream.Chance(1, 3) && !choice.unsigned_dims) argnum -= std::ssize(signature.inputs);
  }
  t.argnums = able;
}

// The argument that decides whether input i is batched: an inverse permutation goes with its
// permutation.
size_t BatchedWith(const Entry& entry, size_t i) {
  const bool inverse =
      i < entry.arguments.size() && entry.arguments[i].kind == ValueKind::kInversePermutation;
  return inverse ? static_cast<size_t>(entry.arguments[i].of) : i;
}

// Two of three inputs, at least one of them floating where there is one: values tell the slots
// apart.
std::vector<bool> ChooseBatched(const Entry& entry, const TransformChoice& choice,
                                const Signature& signature, Stream& stream) {
  const size_t count = signature.inputs.size();
  std::vector<bool> batched(count);
  bool told_apart = false;
  size_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool floating = IsFloating(signature.inputs[i].dtype);
    batched[i] = stream.Chance(2, 3) || choice.all_batched;
    told_apart = told_apart || (batched[i] && floating);
    if (floating && !IsFloating(signature.inputs[first].dtype)) first = i;
  }
  if (!told_apart && count > 0) batched[first] = true;
  for (size_t i = 0; i < count; ++i) batched[i] = batched[BatchedWith(entry, i)];
  return batched;
}

// One of the 2 * rank spellings of a batch dim.
int64_t ChooseDim(int64_t rank, bool plain, bool unsigned_dims, Stream& stream) {
  const int64_t dim = stream.Below(2 * rank) - rank;
  if (plain) return 0;
  return unsigned_dims ? Unsigned(dim, rank) : dim;
}

void ChooseDims(const Entry& entry, const TransformChoice& choice, const Signature& signature,
                Transform& t) {
  Stream stream(choice.seed);
  const std::vector<bool> batched = ChooseBatched(entry, choice, signature, stream);
  const auto choose = [&](const ArraySpec& spec, bool plain) {
    return ChooseDim(std::ssize(spec.shape) + 1, plain, choice.unsigned_dims, stream);
  };
  t.batch_size = choice.batch_size;
  if (entry.random) t.randomness = Randomness::kSame;
  t.in_dims.clear();
  t.out_dims.clear();
  for (size_t i = 0; i < batched.size(); ++i) {
    const int64_t dim =
        choose(signature.inputs[i], choice.all_batched || (choice.plain_in >> i & 1) != 0);
    t.in_dims.push_back(batched[i] ? BatchDim(dim) : std::nullopt);
  }
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    t.out_dims.push_back(choose(signature.outputs[i], (choice.plain_out >> i & 1) != 0));
  }
}

std::vector<ArraySpec> Floating(const std::vector<ArraySpec>& specs) {
  std::vector<ArraySpec> result;
  for (const ArraySpec& spec : specs) {
    if (IsFloating(spec.dtype)) result.push_back(spec);
  }
  return result;
}

std::vector<ArraySpec> Differentiated(const Transform& t, const Signature& signature) {
  if (!t.argnums.has_value()) return Floating(signature.inputs);
  std::vector<ArraySpec> result;
  for (int64_t argnum : *t.argnums) {
    result.push_back(
        signature.inputs[static_cast<size_t>(Unsigned(argnum, std::ssize(signature.inputs)))]);
  }
  return result;
}

// The signature of the program that `t` makes of one with the signature `inner`. ProgramSignature
// says the same of a whole stack; here each suffix is needed while the next transform is still to
// be chosen.
Signature Around(const Transform& t, const Signature& inner) {
  Signature outer = inner;
  if (t.kind == TransformKind::kVmap) {
    for (size_t i = 0; i < outer.inputs.size(); ++i) {
      if (t.in_dims[i])
        outer.inputs[i].shape = WithAxis(inner.inputs[i].shape, *t.in_dims[i], t.batch_size);
    }
    for (size_t i = 0; i < outer.outputs.size(); ++i) {
      outer.outputs[i].shape = WithAxis(inner.outputs[i].shape, *t.out_dims[i], t.batch_size);
    }
    return outer;
  }
  const std::vector<ArraySpec> differentiated = Differentiated(t, inner);
  const std::vector<ArraySpec> floating = Floating(inner.outputs);
  const auto append = [](std::vector<ArraySpec>& to, const std::vector<ArraySpec>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  if (t.kind == TransformKind::kJvp) {
    append(outer.inputs, differentiated);
    append(outer.outputs, floating);
  } else {
    if (t.kind == TransformKind::kVjp) append(outer.inputs, floating);
    outer.outputs = differentiated;
  }
  return outer;
}

}  // namespace

Shape WithAxis(Shape shape, int64_t dim, int64_t size) {
  shape.insert(shape.begin() + Unsigned(dim, std::ssize(shape) + 1), size);
  return shape;
}

Plan MakePlan(const Entry& entry, const Recipe& recipe, Signature operation) {
  Plan plan;
  plan.signatures.push_back(std::move(operation));
  for (auto choice = recipe.stack.rbegin(); choice != recipe.stack.rend(); ++choice) {
    const Signature& inner = plan.signatures.back();
    Transform t{.kind = choice->kind};
    if (choice->kind == TransformKind::kVmap) {
      ChooseDims(entry, *choice, inner, t);
    } else {
      ChooseArgnums(entry, *choice, inner, t);
    }
    Signature outer = Around(t, inner);
    plan.signatures.push_back(std::move(outer));
    plan.transforms.push_back(std::move(t));
  }
  return plan;
}

}  // namespace peelcheck
