// Comparisons: broadcast and promoted like arithmetic, bool results, no derivative.
#include "engine/ops/elementwise_rows.h"

namespace peelcheck {

#define PEELCHECK_COMPARE(Function, name, sign)                   \
  Tensor Function(const Tensor& x, const Tensor& y) {             \
    static const BinaryOp op({name, PROMOTED_TO_BOOL(v sign w)}); \
    return op(x, y);                                              \
  }

PEELCHECK_COMPARE(Eq, "eq", ==)
PEELCHECK_COMPARE(Ne, "ne", !=)
PEELCHECK_COMPARE(Lt, "lt", <)
PEELCHECK_COMPARE(Le, "le", <=)
PEELCHECK_COMPARE(Gt, "gt", >)
PEELCHECK_COMPARE(Ge, "ge", >=)

#undef PEELCHECK_COMPARE

}  // namespace peelcheck
