#include "engine/function.h"

#include <absl/strings/str_cat.h>

namespace peelcheck {

void Function::SetupContext(Context&, TensorSpan, TensorSpan) const {}

Tensors Function::Backward(Context&, TensorSpan) const {
  ThrowUnimplemented(absl::StrCat(
      "[", name(),
      "] has no backward; write Function::Backward to differentiate it in reverse mode"));
}

Tensors Function::Jvp(Context&, TensorSpan) const {
  ThrowUnimplemented(absl::StrCat(
      "[", name(), "] has no jvp; write Function::Jvp to differentiate it in forward mode"));
}

VmapResult Function::Vmap(const VmapInfo&, const BatchDims&, TensorSpan) const {
  ThrowUnimplemented(absl::StrCat("[", name(),
                                  "] has no vmap rule; write Function::Vmap (and has_vmap_rule), "
                                  "or let generate_vmap_rule return true"));
}

Tensor Function::NewValue(TensorSpan) const { return Tensor(); }

}  // namespace peelcheck
