// Context: what a function keeps between its forward and its rules. Declared in engine/function.h.
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/context_access.h"
#include "engine/fault_points.h"
#include "engine/function.h"

namespace peelcheck {
namespace {

// A NumPy-like habit from other libraries is to overwrite these; here they have functions of their
// own.
constexpr const char* kReservedNames[] = {"saved", "needs_input_grad", "dirty",
                                          "non_differentiable", "materialize_grads"};

std::string OwnerName(const Function* owner) {
  return owner != nullptr ? owner->name() : "context";
}

absl::InlinedVector<int64_t, 3> Versions(const Tensors& tensors) {
  absl::InlinedVector<int64_t, 3> versions;
  for (const Tensor& tensor : tensors) versions.push_back(tensor.defined() ? tensor.version() : 0);
  return versions;
}

}  // namespace

void Context::SaveForBackward(Tensors tensors) {
  for_backward_.versions = Versions(tensors);
  for_backward_.tensors = std::move(tensors);
}

void Context::SaveForForward(Tensors tensors) {
  for_forward_.versions = Versions(tensors);
  for_forward_.tensors = std::move(tensors);
}

void Context::Save(Tensors tensors) {
  SaveForBackward(std::move(tensors));
  shared_ = true;
}

const Tensors& Context::saved() const {
  const auto same_shape = [](const Tensor& a, const Tensor& b) {
    return a.defined() && b.defined() && a.shape() == b.shape();
  };
  const bool mixed_up =
      Faulty(FaultPoint::kSavedOfBackward) &&
      std::equal(for_backward_.tensors.begin(), for_backward_.tensors.end(),
                 for_forward_.tensors.begin(), for_forward_.tensors.end(), same_shape);
  const Saved& list = forward_ && !shared_ && !mixed_up ? for_forward_ : for_backward_;
  for (size_t i = 0; i < list.tensors.size(); ++i) {
    if (list.tensors[i].defined() && list.tensors[i].version() != list.versions[i]) {
      ThrowFailedPrecondition(absl::StrCat(
          "[", OwnerName(owner_), "] saved tensor ", i,
          " was written in place after it was saved: it is at version ", list.tensors[i].version(),
          ", expected ", list.versions[i], "; clone it before the in-place operation"));
    }
  }
  return list.tensors;
}

void Context::SetAny(const std::string& name, std::any value) {
  for (const char* reserved : kReservedNames) {
    if (name == reserved) {
      ThrowInvalidArgument(absl::StrCat("[", OwnerName(owner_), "] context attribute \"", name,
                                        "\" is reserved; choose another name"));
    }
  }
  if (attributes_ == nullptr) attributes_ = std::make_shared<std::map<std::string, std::any>>();
  (*attributes_)[name] = std::move(value);
}

const std::any& Context::GetAny(const std::string& name) const {
  if (attributes_ != nullptr) {
    const auto found = attributes_->find(name);
    if (found != attributes_->end()) return found->second;
  }
  ThrowInvalidArgument(absl::StrCat("[", OwnerName(owner_), "] context has no attribute \"", name,
                                    "\"; set it in SetupContext"));
}

void Context::MarkDirty(const Tensor& input) { dirty_.push_back(input); }

void Context::MarkNonDifferentiable(const Tensor& output) { non_differentiable_.push_back(output); }

Context ContextAccess::WithSaved(const Context& ctx, Tensors for_backward, Tensors for_forward) {
  Context result;
  result.owner_ = ctx.owner_;
  result.materialize_grads_ = ctx.materialize_grads_;
  result.needs_input_grad_ = ctx.needs_input_grad_;
  if (!Faulty(FaultPoint::kGenAttributesLost)) result.attributes_ = ctx.attributes_;
  result.forward_ = ctx.forward_;
  result.SaveForBackward(std::move(for_backward));
  result.SaveForForward(std::move(for_forward));
  return result;
}

}  // namespace peelcheck
