// checks/names.cc: names from the inside of a stack to its outside; see names.h.
#include "checks/names.h"

#include <absl/strings/str_cat.h>

namespace peelcheck {
namespace {

// Names with what decides whether they are differentiated.
struct Named {
  std::vector<std::string> names;
  std::vector<bool> floating;

  void Add(const std::string& name, bool is_floating) {
    names.push_back(name);
    floating.push_back(is_floating);
  }
};

std::vector<size_t> Differentiated(const Transform& transform, const Named& inputs) {
  std::vector<size_t> result;
  const auto count = static_cast<int64_t>(inputs.names.size());
  if (!transform.argnums.has_value()) {
    for (size_t i = 0; i < inputs.names.size(); ++i) {
      if (inputs.floating[i]) result.push_back(i);
    }
    return result;
  }
  for (const int64_t argnum : *transform.argnums) {
    const int64_t wrapped = argnum < 0 ? argnum + count : argnum;
    // A program that does not fit is refused by the engine; here it must only not crash.
    if (wrapped >= 0 && wrapped < count) result.push_back(static_cast<size_t>(wrapped));
  }
  return result;
}

void Surround(const Transform& transform, Named& inputs, Named& outputs) {
  if (transform.kind == TransformKind::kVmap) return;
  const std::vector<size_t> differentiated = Differentiated(transform, inputs);
  if (transform.kind == TransformKind::kJvp) {
    for (const size_t i : differentiated) inputs.Add("tangent of " + inputs.names[i], true);
    const size_t primal_outputs = outputs.names.size();
    for (size_t o = 0; o < primal_outputs; ++o) {
      if (outputs.floating[o]) outputs.Add("tangent of " + outputs.names[o], true);
    }
    return;
  }
  Named gradients;
  for (const size_t i : differentiated) gradients.Add("gradient of " + inputs.names[i], true);
  for (size_t o = 0; transform.kind == TransformKind::kVjp && o < outputs.names.size(); ++o) {
    if (outputs.floating[o]) inputs.Add("cotangent of " + outputs.names[o], true);
  }
  outputs = std::move(gradients);
}

}  // namespace

ProgramNames NamesOf(const Entry& entry, const Program& program, const Signature& operation) {
  Named inputs, outputs;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    const bool known = i < entry.arguments.size();
    inputs.Add(known ? entry.arguments[i].name : absl::StrCat("input ", i),
               IsFloating(operation.inputs[i].dtype));
  }
  for (size_t o = 0; o < operation.outputs.size(); ++o) {
    outputs.Add(absl::StrCat("output ", o), IsFloating(operation.outputs[o].dtype));
  }
  for (size_t i = program.stack.size(); i-- > 0;) Surround(program.stack[i], inputs, outputs);
  return {std::move(inputs.names), std::move(outputs.names)};
}

std::string NameAt(const std::vector<std::string>& names, size_t i, const char* what) {
  return i < names.size() ? names[i] : absl::StrCat(what, " ", i);
}

}  // namespace peelcheck
