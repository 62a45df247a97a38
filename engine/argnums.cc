#include "engine/argnums.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace peelcheck {

std::vector<size_t> ResolveArgnums(const std::optional<std::vector<int64_t>>& asked,
                                   const Tensors& inputs, const std::string& tag) {
  std::vector<size_t> argnums;
  const auto count = static_cast<int64_t>(inputs.size());
  if (!asked.has_value()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (IsFloating(inputs[i].dtype())) argnums.push_back(i);
    }
    if (argnums.empty()) {
      ThrowInvalidArgument(
          absl::StrCat("[", tag, "] none of the ", count,
                       " inputs is floating; expected at least one to differentiate"));
    }
    return argnums;
  }
  if (asked->empty()) {
    ThrowInvalidArgument(
        absl::StrCat("[", tag, "] argnums is empty; name at least one of the ", count, " inputs"));
  }
  for (int64_t argnum : *asked) {
    if (argnum < -count || argnum >= count) {
      ThrowInvalidArgument(absl::StrCat("[", tag, "] argnums has ", argnum, " for ", count,
                                        " inputs; expected ", -count, "..", count - 1));
    }
    const auto index = static_cast<size_t>(argnum < 0 ? argnum + count : argnum);
    if (std::find(argnums.begin(), argnums.end(), index) != argnums.end()) {
      ThrowInvalidArgument(
          absl::StrCat("[", tag, "] argnums names input ", index, " twice; name each once"));
    }
    if (!IsFloating(inputs[index].dtype())) {
      ThrowInvalidArgument(absl::StrCat("[", tag, "] argnums names input ", index, ", which is ",
                                        DTypeName(inputs[index].dtype()),
                                        "; only floating inputs have a derivative"));
    }
    argnums.push_back(index);
  }
  return argnums;
}

}  // namespace peelcheck
