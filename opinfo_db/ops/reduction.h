// opinfo_db/ops/reduction.h: the `reduction` of loss functions: none, mean (the default) or sum.
//
//   .attributes = {Reductions()},
//   return {Reduced(Square(x - y), ReductionOf(attributes, "mse_loss"))};
#pragma once

#include <absl/strings/str_cat.h>

#include <string>
#include <vector>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {

enum class Reduction { kNone, kMean, kSum };

inline AttributeSpec Reductions() {
  return {.name = "reduction",
          .choices = {std::string("mean"), std::string("none"), std::string("sum")}};
}

inline Reduction ReductionOf(const Attributes& attributes, const std::string& tag) {
  const auto found = attributes.find("reduction");
  if (found == attributes.end()) return Reduction::kMean;
  const auto* name = std::get_if<std::string>(&found->second);
  if (name != nullptr && *name == "none") return Reduction::kNone;
  if (name != nullptr && *name == "mean") return Reduction::kMean;
  if (name != nullptr && *name == "sum") return Reduction::kSum;
  ThrowInvalidArgument(absl::StrCat("[", tag, "] reduction=", AttributeToString(found->second),
                                    "; expected \"none\", \"mean\" or \"sum\""));
}

inline Tensor Reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::kNone) return losses;
  return reduction == Reduction::kSum ? Sum(losses) : Mean(losses);
}

// The same of a reference's losses.
inline Array ReducedReference(const Array& losses, Reduction reduction) {
  if (reduction == Reduction::kNone) return losses;
  double total = 0;
  for (const double loss : losses.ToDoubles()) total += loss;
  if (reduction == Reduction::kMean) total /= static_cast<double>(losses.size());
  return Array::Full(losses.dtype(), {}, total);
}

}  // namespace peelcheck
