// opinfo_db/program.cc: how a transform stack is printed and what its inputs and outputs look like.
//
//   ProgramSignature({.op = "mul", .stack = {Transform{.kind = TransformKind::kVjp}}}, {{x, y},
//   {z}})
//     -> inputs {x, y, z}, outputs {x, y}
//
// How it is run stands in apply_stack.cc, how attributes are read in attributes.cc.
#include "opinfo_db/program.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace peelcheck {
namespace {

std::string DimsToString(const std::vector<BatchDim>& dims) {
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ",";
    text += dims[i].has_value() ? absl::StrCat(*dims[i]) : std::string("_");
  }
  return text;
}

std::string TransformToString(const Transform& transform) {
  std::string text = TransformName(transform.kind);
  if (transform.kind != TransformKind::kVmap) {
    if (!transform.argnums.has_value()) return text;
    text += "[";
    for (size_t i = 0; i < transform.argnums->size(); ++i) {
      absl::StrAppend(&text, i > 0 ? "," : "", (*transform.argnums)[i]);
    }
    return text + "]";
  }
  absl::StrAppend(&text, "(", DimsToString(transform.in_dims));
  const auto is_default = [](const BatchDim& dim) { return dim == BatchDim(0); };
  if (!std::all_of(transform.out_dims.begin(), transform.out_dims.end(), is_default)) {
    absl::StrAppend(&text, " -> ", DimsToString(transform.out_dims));
  }
  if (transform.randomness == Randomness::kSame) text += "; same";
  if (transform.randomness == Randomness::kDifferent) text += "; different";
  return text + ")";
}

// The specs of the inputs that a grad, vjp or jvp differentiates.
std::vector<ArraySpec> Differentiated(const Transform& transform,
                                      const std::vector<ArraySpec>& inputs) {
  const std::string tag = absl::StrCat("[", TransformName(transform.kind), "] ");
  const auto count = static_cast<int64_t>(inputs.size());
  std::vector<ArraySpec> result;
  if (!transform.argnums.has_value()) {
    for (const ArraySpec& input : inputs) {
      if (IsFloating(input.dtype)) result.push_back(input);
    }
    if (result.empty()) {
      ThrowInvalidArgument(absl::StrCat(tag, "none of the ", count,
                                        " inputs is floating; there is nothing to differentiate"));
    }
    return result;
  }
  std::vector<int64_t> seen;
  for (const int64_t argnum : *transform.argnums) {
    if (argnum < -count || argnum >= count) {
      ThrowInvalidArgument(absl::StrCat(tag, "argnum ", argnum, " for a function of ", count,
                                        " inputs; expected ", -count, "..", count - 1));
    }
    const int64_t wrapped = argnum < 0 ? argnum + count : argnum;
    const ArraySpec& input = inputs[static_cast<size_t>(wrapped)];
    if (!IsFloating(input.dtype)) {
      ThrowInvalidArgument(absl::StrCat(tag, "argnum ", argnum, " is ", DTypeName(input.dtype),
                                        "; only floating inputs have a derivative"));
    }
    if (std::find(seen.begin(), seen.end(), wrapped) != seen.end()) {
      ThrowInvalidArgument(absl::StrCat(tag, "argnum ", argnum, " is repeated; name each once"));
    }
    seen.push_back(wrapped);
    result.push_back(input);
  }
  if (result.empty()) {
    ThrowInvalidArgument(absl::StrCat(tag, "argnums is empty; leave it out for all inputs"));
  }
  return result;
}

std::vector<ArraySpec> FloatingOnly(const std::vector<ArraySpec>& specs) {
  std::vector<ArraySpec> result;
  for (const ArraySpec& spec : specs) {
    if (IsFloating(spec.dtype)) result.push_back(spec);
  }
  return result;
}

void Append(std::vector<ArraySpec>& to, const std::vector<ArraySpec>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Gives each spec the batch axis of its dim.
void InsertBatchAxes(std::vector<ArraySpec>& specs, const std::vector<BatchDim>& dims, int64_t size,
                     const char* what) {
  if (dims.size() != 1 && dims.size() != specs.size()) {
    ThrowInvalidArgument(absl::StrCat("[vmap] ", dims.size(), " ", what, " for ", specs.size(),
                                      " tensors; expected 1 or ", specs.size()));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const BatchDim dim = dims.size() == 1 ? dims[0] : dims[i];
    if (!dim.has_value()) continue;
    Shape& shape = specs[i].shape;
    const auto rank = static_cast<int64_t>(shape.size()) + 1;
    if (*dim < -rank || *dim >= rank) {
      ThrowInvalidArgument(absl::StrCat("[vmap] ", what, "=", *dim, " for a tensor of rank ", rank,
                                        "; expected ", -rank, "..", rank - 1));
    }
    shape.insert(shape.begin() + (*dim < 0 ? *dim + rank : *dim), size);
  }
}

void ApplyVmap(const Transform& transform, Signature& signature) {
  if (transform.batch_size < 0) {
    ThrowInvalidArgument("[vmap] batch_size is not given; a signature needs it: 0 or more");
  }
  const auto is_mapped = [](const BatchDim& dim) { return dim.has_value(); };
  if (std::none_of(transform.in_dims.begin(), transform.in_dims.end(), is_mapped)) {
    ThrowInvalidArgument("[vmap] in_dims maps none of the inputs; at least one must have a dim");
  }
  InsertBatchAxes(signature.inputs, transform.in_dims, transform.batch_size, "in_dims");
  InsertBatchAxes(signature.outputs, transform.out_dims, transform.batch_size, "out_dims");
}

}  // namespace

const char* TransformName(TransformKind kind) {
  switch (kind) {
    case TransformKind::kGrad: return "grad";
    case TransformKind::kVjp: return "vjp";
    case TransformKind::kJvp: return "jvp";
    case TransformKind::kVmap: break;
  }
  return "vmap";
}

std::optional<TransformKind> TransformFromName(const std::string& name) {
  for (const TransformKind kind :
       {TransformKind::kGrad, TransformKind::kVjp, TransformKind::kJvp, TransformKind::kVmap}) {
    if (name == TransformName(kind)) return kind;
  }
  return std::nullopt;
}

std::string ProgramToString(const Program& program) {
  std::string text;
  for (const Transform& transform : program.stack) {
    absl::StrAppend(&text, TransformToString(transform), " ");
  }
  text += program.op;
  if (program.attributes.empty()) return text;
  const char* separator = "(";
  for (const auto& [name, value] : program.attributes) {
    absl::StrAppend(&text, separator, name, "=", AttributeToString(value));
    separator = ", ";
  }
  return text + ")";
}

std::string StackWord(const Program& program) {
  if (program.stack.empty()) return "value";
  std::string word;
  for (const Transform& transform : program.stack) word += TransformName(transform.kind);
  return word;
}

Program Peeled(const Program& program) {
  if (program.stack.empty()) {
    ThrowInvalidArgument(
        absl::StrCat("[peel] `", program.op, "` has no transform left; peel a program with one"));
  }
  Program peeled = program;
  peeled.stack.erase(peeled.stack.begin());
  return peeled;
}

Signature ProgramSignature(const Program& program, const Signature& operation) {
  Signature signature = operation;
  for (size_t i = program.stack.size(); i-- > 0;) {  // innermost first
    const Transform& transform = program.stack[i];
    if (transform.kind == TransformKind::kVmap) {
      ApplyVmap(transform, signature);
      continue;
    }
    const std::vector<ArraySpec> differentiated = Differentiated(transform, signature.inputs);
    const std::vector<ArraySpec> outputs = FloatingOnly(signature.outputs);
    if (transform.kind == TransformKind::kJvp) {
      Append(signature.inputs, differentiated);
      Append(signature.outputs, outputs);
      continue;
    }
    if (outputs.empty()) {
      ThrowInvalidArgument(absl::StrCat("[", TransformName(transform.kind), "] none of the ",
                                        signature.outputs.size(),
                                        " outputs is floating; there is nothing to differentiate"));
    }
    if (transform.kind == TransformKind::kVjp) Append(signature.inputs, outputs);
    signature.outputs = differentiated;
  }
  return signature;
}

}  // namespace peelcheck
