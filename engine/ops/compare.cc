// Comparisons: broadcast and promoted like arithmetic, bool results, no derivative.
#include "engine/ops/elementwise_function.h"

namespace peelcheck {
namespace {

template <auto f>
Array Compare(const Array& x, const Array& y) {
  const DType dtype = PromoteTypes(x.dtype(), y.dtype());
  const Array a = x.Cast(dtype);
  const Array b = y.Cast(dtype);
  const Shape shape = BroadcastShapes(a.shape(), b.shape(), "broadcast");
  return VisitDType(dtype, [&](auto tag) {
    using V = decltype(tag);
    return MapBinary<V, uint8_t>(a, b, shape, [](V v, V w) -> uint8_t { return f(v, w) ? 1 : 0; });
  });
}

}  // namespace

#define PEELCHECK_COMPARE(Function, name, sign)                                                    \
  Tensor Function(const Tensor& x, const Tensor& y) {                                              \
    static const BinaryOp op(BinaryRow{name, Compare<[](auto v, auto w) { return (v sign w); }>}); \
    return op(x, y);                                                                               \
  }

PEELCHECK_COMPARE(Eq, "eq", ==)
PEELCHECK_COMPARE(Ne, "ne", !=)
PEELCHECK_COMPARE(Lt, "lt", <)
PEELCHECK_COMPARE(Le, "le", <=)
PEELCHECK_COMPARE(Gt, "gt", >)
PEELCHECK_COMPARE(Ge, "ge", >=)

#undef PEELCHECK_COMPARE

}  // namespace peelcheck
