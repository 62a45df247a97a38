// opinfo_db/ops/symmetric_eigen_reference.h: Jacobi's rotations for the references of eigh and svd.
//
//   EigenReference e = JacobiEigen({{2, 1}, {1, 2}});   // values 1, 3; a vector per column
#pragma once

#include <algorithm>
#include <numeric>

#include "opinfo_db/ops/matrix_reference.h"

namespace peelcheck {

struct EigenReference {
  std::vector<double> values;  // ascending
  MatrixRows vectors;
};

// Cyclic Jacobi (Golub & Van Loan, 8.5): each rotation zeroes one pair of elements.
inline EigenReference JacobiEigen(MatrixRows a) {
  const size_t n = a.size();
  MatrixRows v = IdentityRows(n);
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0) continue;
        const double tau = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::hypot(1.0, tau));
        const double c = 1 / std::hypot(1.0, t), s = t * c;
        for (size_t k = 0; k < n; ++k) {
          const double kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (size_t k = 0; k < n; ++k) {
          const double pk = a[p][k], qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
          const double vp = v[k][p], vq = v[k][q];
          v[k][p] = c * vp - s * vq;
          v[k][q] = s * vp + c * vq;
        }
      }
    }
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return a[i][i] < a[j][j]; });
  EigenReference result{.values = {}, .vectors = v};
  for (size_t k = 0; k < n; ++k) {
    result.values.push_back(a[order[k]][order[k]]);
    for (size_t i = 0; i < n; ++i) result.vectors[i][k] = v[i][order[k]];
  }
  return result;
}

}  // namespace peelcheck
