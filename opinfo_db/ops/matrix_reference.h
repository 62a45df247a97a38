// opinfo_db/ops/matrix_reference.h: stacks of matrices as nested vectors, for references that share
// nothing with the kernels.
//
//   return {FromMatrices(x.dtype(), BatchOf(x), n, n, [&](int64_t b) { return Inverted(RowsOf(x,
//   b)); })};
#pragma once

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "engine/array.h"
#include "opinfo_db/entry.h"

namespace peelcheck {

using MatrixRows = std::vector<std::vector<double>>;

inline Shape BatchOf(const Array& x) { return Shape(x.shape().begin(), x.shape().end() - 2); }
inline size_t RowCount(const Array& x) { return static_cast<size_t>(x.dim(x.rank() - 2)); }
inline size_t ColumnCount(const Array& x) { return static_cast<size_t>(x.dim(x.rank() - 1)); }

inline MatrixRows ZeroRows(size_t m, size_t n) {
  return MatrixRows(m, std::vector<double>(n, 0.0));
}

// Matrix number b of a stack, in row-major order of the leading axes.
inline MatrixRows RowsOf(const Array& x, int64_t b) {
  const size_t m = RowCount(x), n = ColumnCount(x);
  MatrixRows rows = ZeroRows(m, n);
  int64_t position = b * static_cast<int64_t>(m * n);
  for (auto& row : rows)
    for (double& value : row) value = x.DoubleAt(position++);
  return rows;
}

inline Array FromMatrices(DType dtype, Shape batch, size_t m, size_t n,
                          const std::function<MatrixRows(int64_t)>& matrix) {
  const int64_t count = ElementCount(batch);
  batch.push_back(static_cast<int64_t>(m));
  batch.push_back(static_cast<int64_t>(n));
  Array result = Array::Zeros(dtype, batch);
  if (result.size() == 0) return result;
  int64_t position = 0;
  for (int64_t b = 0; b < count; ++b)
    for (const auto& row : matrix(b))
      for (const double value : row) result.SetDouble(position++, value);
  return result;
}

// A vector (or with n = nullopt a number) per matrix: [B.., n] or [B..].
inline Array FromVectors(DType dtype, Shape batch, std::optional<size_t> n,
                         const std::function<std::vector<double>(int64_t)>& vector) {
  const int64_t count = ElementCount(batch);
  if (n.has_value()) batch.push_back(static_cast<int64_t>(*n));
  Array result = Array::Zeros(dtype, batch);
  int64_t position = 0;
  for (int64_t b = 0; b < count && result.size() > 0; ++b)
    for (const double value : vector(b)) result.SetDouble(position++, value);
  return result;
}

inline MatrixRows Symmetrised(const MatrixRows& a) {
  MatrixRows s = a;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a.size(); ++j) s[i][j] = (a[i][j] + a[j][i]) / 2;
  return s;
}

inline MatrixRows Multiplied(const MatrixRows& a, const MatrixRows& b) {
  MatrixRows c = ZeroRows(a.size(), b.empty() ? 0 : b[0].size());
  for (size_t i = 0; i < c.size(); ++i)
    for (size_t j = 0; j < c[i].size(); ++j)
      for (size_t k = 0; k < b.size(); ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}

// Gauss-Jordan: A X = B, with complete rows exchanged for the largest pivot.
inline MatrixRows Eliminated(MatrixRows a, MatrixRows b) {
  const size_t n = a.size();
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t i = column; i < n; ++i)
      if (std::abs(a[i][column]) > std::abs(a[pivot][column])) pivot = i;
    std::swap(a[column], a[pivot]);
    std::swap(b[column], b[pivot]);
    for (size_t i = 0; i < n; ++i) {
      if (i == column) continue;
      const double factor = a[i][column] / a[column][column];
      for (size_t j = 0; j < n; ++j) a[i][j] -= factor * a[column][j];
      for (size_t j = 0; j < b[i].size(); ++j) b[i][j] -= factor * b[column][j];
    }
  }
  for (size_t i = 0; i < n; ++i)
    for (double& value : b[i]) value /= a[i][i];
  return b;
}

inline MatrixRows IdentityRows(size_t n) {
  MatrixRows rows = ZeroRows(n, n);
  for (size_t i = 0; i < n; ++i) rows[i][i] = 1;
  return rows;
}

}  // namespace peelcheck
