// opinfo_db/ops/build.h: the `build` of an operation with attributes.
//
//   .build = WithAttributes("softmax", 1, {"dim"}, [](const Attributes& a) {
//     const int64_t dim = RequireInt(a, "dim", "softmax");
//     return [dim](const Tensors& in) -> Tensors { return {Softmax(in[0], dim)}; };
//   }),
#pragma once

#include <absl/strings/str_cat.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "opinfo_db/entry.h"

namespace peelcheck {

using Build = std::function<TensorFn(const Attributes&)>;

// Refuses unknown attributes, then lets `make` read the known ones; the operation refuses a wrong
// number of inputs. `arity` -1: any number of inputs from one on, and one floating output.
inline Build WithAttributes(std::string name, int64_t arity, std::vector<std::string> known,
                            std::function<TensorFn(const Attributes&)> make) {
  return [name = std::move(name), arity, known = std::move(known),
          make = std::move(make)](const Attributes& attributes) -> TensorFn {
    RefuseUnknownAttributes(attributes, known, name);
    auto call = [name, arity, made = make(attributes)](const Tensors& inputs) {
      const auto came = static_cast<int64_t>(inputs.size());
      if (arity < 0 ? came == 0 : came != arity) {
        ThrowInvalidArgument(absl::StrCat("[", name, "] ", came, " inputs came; expected ",
                                          arity < 0 ? "at least 1" : absl::StrCat(arity)));
      }
      return made(inputs);
    };
    return NamedOperation{.name = name,
                          .arity = arity,
                          .floating_outputs = arity < 0 ? 1 : -1,
                          .call = std::move(call)};
  };
}

}  // namespace peelcheck
