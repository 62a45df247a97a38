// opinfo_db/ops/folds.h: what operations over dims share: reading `dim` and `keepdim`, references
// that collect the values that fall together and fold them, error cases.
//
//   .reference = FoldReference([](const Values& v, const Attributes&) { return v[0]; }),
#pragma once

#include <optional>

#include "engine/ops.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {

using Values = std::vector<double>;

// `dim` absent, one, or a list; as in PyTorch an empty list stands for all dims.
inline std::optional<Dims> DimsOrAll(const Attributes& attributes, const std::string& tag) {
  std::optional<Dims> dims = GetOptionalInts(attributes, "dim", tag);
  if (dims.has_value() && dims->empty()) return std::nullopt;
  return dims;
}

inline AttributeSpec KeepDim() { return {.name = "keepdim", .choices = {false, true}}; }

inline std::vector<ErrorCase> DimErrors() {
  return {{.description = "dim past the end",
           .inputs = {{DType::kF64, {3, 4}}},
           .attributes = {{"dim", 2}}},
          {.description = "dim before the start",
           .inputs = {{DType::kF64, {3, 4}}},
           .attributes = {{"dim", -3}}}};
}

// The dims that an attribute names; absent: all. For references.
inline std::vector<bool> ReferenceAxes(const Array& x, const std::optional<Dims>& dims) {
  std::vector<bool> reduced(x.shape().size(), !dims.has_value());
  for (const int64_t dim : dims.value_or(Dims())) {
    if (x.rank() > 0) reduced[WrapReferenceDim(dim, x)] = true;
  }
  return reduced;
}

// One value from those that fall together over `dim`, in row-major order; `dtype` absent: that of
// x.
inline Reference FoldReference(std::function<double(const Values&, const Attributes&)> fold,
                               std::optional<DType> dtype = std::nullopt) {
  return
      [fold = std::move(fold), dtype](std::span<const Array> inputs, const Attributes& attributes) {
        const Array& x = inputs[0];
        const std::vector<bool> reduced = ReferenceAxes(x, DimsOrAll(attributes, "reference"));
        const bool keepdim = GetBool(attributes, "keepdim", false, "reference");
        Shape kept, result_shape;
        for (size_t i = 0; i < reduced.size(); ++i) {
          kept.push_back(reduced[i] ? 1 : x.shape()[i]);
          if (!reduced[i] || keepdim) result_shape.push_back(kept.back());
        }
        std::vector<Values> groups(static_cast<size_t>(ElementCount(kept)));
        ForEachIndex(x.shape(), [&](const Index& index) {
          int64_t group = 0;
          for (size_t i = 0; i < index.size(); ++i) {
            group = group * kept[i] + (reduced[i] ? 0 : index[i]);
          }
          groups[static_cast<size_t>(group)].push_back(At(x, index));
        });
        Array result = Array::Zeros(dtype.value_or(x.dtype()), result_shape);
        for (int64_t i = 0; i < result.size(); ++i) {
          result.SetDouble(i, fold(groups[static_cast<size_t>(i)], attributes));
        }
        return std::vector<Array>{result};
      };
}

}  // namespace peelcheck
