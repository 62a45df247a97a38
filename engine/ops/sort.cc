// argsort and sort along a dim, stable; nan counts as the largest value: last, or, descending,
// first.
//
//   Sort(x, -1);  // values, and the i64 indices that gather them
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/batching.h"

namespace peelcheck {
namespace {

template <typename T>
bool Less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(b)) return !std::isnan(a);
  }
  return a < b;
}

template <typename T>
void ArgsortRows(const Array& rows, int64_t length, bool descending, int64_t* out) {
  const T* data = rows.data<T>();
  for (int64_t start = 0; start < rows.size(); start += length, out += length) {
    std::iota(out, out + length, 0);
    const T* row = data + start;
    std::stable_sort(out, out + length, [&](int64_t a, int64_t b) {
      return descending ? Less(row[b], row[a]) : Less(row[a], row[b]);
    });
  }
}

class ArgsortFunction : public Function {
 public:
  ArgsortFunction(int64_t dim, bool descending) : dim_(dim), descending_(descending) {}
  std::string name() const override { return "argsort"; }
  Tensors Forward(TensorSpan in) const override {
    const Array& x = in[0].array();
    if (x.rank() == 0) return {Tensor::FromArray(Array::Zeros(DType::kI64, {}))};
    const Array rows = x.MovedDim(dim_, x.rank() - 1).Contiguous();
    Array order = Array::Empty(DType::kI64, rows.shape());
    if (order.size() > 0) {
      VisitDType(x.dtype(), [&](auto tag) {
        ArgsortRows<decltype(tag)>(rows, rows.dim(rows.rank() - 1), descending_,
                                   order.fresh_data<int64_t>());
      });
    }
    return {Tensor::FromArray(order.MovedDim(x.rank() - 1, dim_))};
  }
  VmapResult Vmap(const VmapInfo&, const BatchDims& in_dims, TensorSpan in) const override {
    const Tensor x = BatchToFront(in[0], in_dims[0]);
    if (x.rank() == 1) return {{Full(x.shape(), 0.0, DType::kI64)}, {0}};
    return {{Argsort(x, dim_ + 1, descending_)}, {0}};
  }
  bool has_vmap_rule() const override { return true; }
  bool handles_undefined() const override { return true; }

 private:
  int64_t dim_;  // wrapped
  bool descending_;
};

}  // namespace

Tensor Argsort(const Tensor& x, int64_t dim, bool descending) {
  return Call(
      Ref<const Function>(MakeRef<ArgsortFunction>(WrapDim(dim, x.rank(), "argsort"), descending)),
      {x})[0];
}

SortResult Sort(const Tensor& x, int64_t dim, bool descending) {
  const int64_t axis = WrapDim(dim, x.rank(), "sort");
  const Tensor order = Argsort(x, axis, descending);
  return {Gather(x, axis, order), order};
}

}  // namespace peelcheck
