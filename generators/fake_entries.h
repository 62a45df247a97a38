// generators/fake_entries.h: entries for the tests of generators, whose operation is the identity
// of its first argument.
//
//   const Entry entry = Fake({{.name = "x"}}, {{.name = "dim", .kind = AttributeKind::kDim}});
#pragma once

#include <utility>
#include <vector>

#include "generators/case.h"

namespace peelcheck {

inline Entry Fake(std::vector<Argument> arguments, std::vector<AttributeSpec> attributes = {}) {
  return {.name = "fake",
          .formula = "y = x",
          .arguments = std::move(arguments),
          .attributes = std::move(attributes),
          .build = [](const Attributes&) -> TensorFn {
            return [](const Tensors& in) -> Tensors { return {in[0]}; };
          }};
}

inline std::vector<Case> Samples(const Entry& entry, const std::vector<TransformKind>& word,
                                 int64_t count) {
  std::vector<Case> cases;
  for (int64_t i = 0; i < count; ++i) {
    cases.push_back(GenerateCase({.entry = &entry, .word = word, .seed = 42, .index = i}));
  }
  return cases;
}

}  // namespace peelcheck
