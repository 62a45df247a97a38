// engine/ops/reduction_function.h: what operations over a set of dims share: reading `dims`, and
// moving them past a batch axis. Internal to engine/ops.
#pragma once

#include "engine/batching.h"
#include "engine/ops/linear_function.h"

namespace peelcheck {

// Which axes `dims` names (absent = all); negative ones wrap. Errors: out of range, repeated.
std::vector<bool> ReducedAxes(const std::optional<Dims>& dims, int64_t rank,
                              const std::string& tag);

// Drops the axes that were reduced and have size 1.
Array DropReduced(const Array& array, const std::vector<bool>& reduced);

// The shape of a result with the reduced axes kept at size 1.
Shape KeepdimShape(const Shape& shape, const std::vector<bool>& reduced);

// A cotangent without the reduced axes, with them again (size 1).
Tensor RestoreReduced(const Tensor& t, const Shape& input, const std::vector<bool>& reduced);

// The dims of a vmapped call: the batch axis is in front, so each moves by one; absent = all but
// the batch axis.
Dims PhysicalDims(const std::optional<Dims>& dims, int64_t logical_rank, const std::string& tag);

}  // namespace peelcheck
