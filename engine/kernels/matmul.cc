// Products by Eigen; small ones by a loop.
#include "engine/kernels/matmul.h"

#include <Eigen/Core>

#include "engine/kernels/elementwise.h"

namespace peelcheck {
namespace {

struct Strides {
  int64_t row, column;
};

// Below this many multiplications the loop is faster than setting up Eigen's blocking.
constexpr int64_t kSmallProduct = 100;

template <typename T>
void SmallProduct(const T* x, Strides xs, const T* y, Strides ys, T* z, int64_t m, int64_t k,
                  int64_t n) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum = static_cast<T>(sum + x[i * xs.row + l * xs.column] * y[l * ys.row + j * ys.column]);
      z[i * n + j] = sum;
    }
  }
}

template <typename T>
void LargeProduct(const T* x, Strides xs, const T* y, Strides ys, T* z, int64_t m, int64_t k,
                  int64_t n) {
  using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using ColMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Step = Eigen::OuterStride<>;
  Eigen::Map<RowMajor> out(z, m, n);
  const auto with_x = [&](const auto& a) {
    if (ys.column == 1) {
      out.noalias() = a * Eigen::Map<const RowMajor, 0, Step>(y, k, n, Step(ys.row));
    } else {
      out.noalias() = a * Eigen::Map<const ColMajor, 0, Step>(y, k, n, Step(ys.column));
    }
  };
  if (xs.column == 1) {
    with_x(Eigen::Map<const RowMajor, 0, Step>(x, m, k, Step(xs.row)));
  } else {
    with_x(Eigen::Map<const ColMajor, 0, Step>(x, m, k, Step(xs.column)));
  }
}

// Eigen takes one free stride: the matrix must be dense along a row or along a column.
Array DenseMatrix(const Array& x) {
  const Shape& strides = x.strides();
  const size_t rank = strides.size();
  return strides[rank - 1] == 1 || strides[rank - 2] == 1 ? x : x.Copy();
}

template <typename T>
void Multiply(const Array& x, const Array& y, const Shape& batch, Array& z) {
  const size_t xr = x.shape().size();
  const size_t yr = y.shape().size();
  const int64_t m = x.shape()[xr - 2], k = x.shape()[xr - 1], n = y.shape()[yr - 1];
  const Strides xs{x.strides()[xr - 2], x.strides()[xr - 1]};
  const Strides ys{y.strides()[yr - 2], y.strides()[yr - 1]};
  const Array x_batch = x.Strided(Shape(x.shape().begin(), x.shape().end() - 2),
                                  Shape(x.strides().begin(), x.strides().end() - 2), 0);
  const Array y_batch = y.Strided(Shape(y.shape().begin(), y.shape().end() - 2),
                                  Shape(y.strides().begin(), y.strides().end() - 2), 0);
  T* out = z.fresh_data<T>();
  ForEachRun(LoopAxes<2>(batch, {&x_batch, &y_batch}),
             [&](int64_t count, const auto& offset, const auto& step) {
               for (int64_t b = 0; b < count; ++b, out += m * n) {
                 const T* a = x.data<T>() + offset[0] + b * step[0];
                 const T* c = y.data<T>() + offset[1] + b * step[1];
                 if constexpr (std::is_floating_point_v<T>) {
                   if (m * k * n > kSmallProduct) {
                     LargeProduct(a, xs, c, ys, out, m, k, n);
                     continue;
                   }
                 }
                 SmallProduct(a, xs, c, ys, out, m, k, n);
               }
             });
}

}  // namespace

Array MatMulArrays(const Array& x, const Array& y) {
  const Array a = DenseMatrix(x);
  const Array b = DenseMatrix(y);
  const Shape batch = BroadcastShapes(Shape(x.shape().begin(), x.shape().end() - 2),
                                      Shape(y.shape().begin(), y.shape().end() - 2), "matmul");
  Shape shape = batch;
  shape.push_back(x.dim(x.rank() - 2));
  shape.push_back(y.dim(y.rank() - 1));
  Array z = Array::Zeros(x.dtype(), shape);
  if (z.size() == 0 || a.size() == 0) return z;
  VisitDType(x.dtype(), [&](auto tag) { Multiply<decltype(tag)>(a, b, batch, z); });
  return z;
}

}  // namespace peelcheck
