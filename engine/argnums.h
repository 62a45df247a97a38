// engine/argnums.h: which inputs a transform differentiates. Internal to the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace peelcheck {

// The differentiated inputs as 0..n-1, in the order in which `argnums` names them; absent = all
// floating ones. invalid_argument: out of range, empty, repeated, not floating, none floating.
std::vector<size_t> ResolveArgnums(const std::optional<std::vector<int64_t>>& argnums,
                                   const Tensors& inputs, const std::string& tag);

}  // namespace peelcheck
