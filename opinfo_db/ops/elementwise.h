// opinfo_db/ops/elementwise.h: elementwise operations of the database that formulas of other rows
// use; each stands in the file that its comment names.
#pragma once

#include "engine/ops.h"

namespace peelcheck {

Tensor Erfc(const Tensor& x);                    // special_functions.cc
Tensor Hypot(const Tensor& x, const Tensor& y);  // binary.cc
Tensor IsInf(const Tensor& x);                   // predicates.cc
Tensor IsNan(const Tensor& x);                   // predicates.cc

}  // namespace peelcheck
