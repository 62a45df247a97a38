// docs/testing/prelude.h: what the code blocks of the documents may use without saying so.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "engine/jacobian.h"
#include "engine/ops.h"
#include "engine/pytree.h"
#include "engine/trace.h"
#include "engine/transforms.h"
#include "opinfo_db/entry.h"
#include "opinfo_db/ops/build.h"
#include "opinfo_db/ops/reference.h"

namespace peelcheck {

// Prints a tensor in one line.
inline void Print(const Tensor& tensor) { std::printf("%s\n", tensor.array().ToString().c_str()); }

}  // namespace peelcheck
