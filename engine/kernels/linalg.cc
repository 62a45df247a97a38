// Eigen's decompositions, one matrix of the stack after the other.
#include "engine/kernels/linalg.h"

#include <absl/strings/str_cat.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

namespace peelcheck {
namespace {

// f32 is computed in f64 and rounded once: half of the instances of Eigen's templates to compile,
// and the better result.
template <typename Body>
void InDouble(Body body) {
  body(double{});
}
Array Wide(const Array& a) { return a.Cast(DType::kF64); }
Array Narrowed(const Array& a) { return a.Cast(DType::kF32); }

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

int64_t Rows(const Array& x) { return x.dim(x.rank() - 2); }
int64_t Columns(const Array& x) { return x.dim(x.rank() - 1); }
Shape BatchOf(const Array& x) { return Shape(x.shape().begin(), x.shape().end() - 2); }

Shape With(Shape batch, std::initializer_list<int64_t> sizes) {
  batch.insert(batch.end(), sizes.begin(), sizes.end());
  return batch;
}

Array Expanded(const Array& x, const Shape& batch) {
  return x.Expanded(With(batch, {Rows(x), Columns(x)})).Contiguous();
}

// Matrix number b of a contiguous stack.
template <typename T>
Eigen::Map<const Matrix<T>> In(const Array& x, int64_t b) {
  return {x.data<T>() + b * Rows(x) * Columns(x), Rows(x), Columns(x)};
}
template <typename T>
Eigen::Map<Matrix<T>> Out(Array& x, int64_t b) {
  return {x.fresh_data<T>() + b * Rows(x) * Columns(x), Rows(x), Columns(x)};
}
// Vector number b of a contiguous stack [B.., n].
template <typename T>
Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> VectorOut(Array& x, int64_t b) {
  return {x.fresh_data<T>() + b * Columns(x), Columns(x), 1};
}

template <typename T>
Matrix<T> SymmetricPart(const Array& x, int64_t b) {
  const auto a = In<T>(x, b);
  return (a + a.transpose()) / T(2);
}

// The factor that makes the component of largest size positive; of two of the same size the first.
template <typename Column>
auto SignOf(const Column& column) {
  Eigen::Index largest = 0;
  column.cwiseAbs().maxCoeff(&largest);
  return column[largest] < 0 ? -1 : 1;
}

[[noreturn]] void ThrowSingular(const std::string& tag, int64_t b, const std::string& is) {
  ThrowInvalidArgument(absl::StrCat("[", tag, "] matrix ", b, " of the stack ", is,
                                    "; expected one that is invertible"));
}

}  // namespace

Array SolveArrays(const Array& a, const Array& b) {
  if (a.dtype() == DType::kF32) return Narrowed(SolveArrays(Wide(a), Wide(b)));
  const Shape batch = BroadcastShapes(BatchOf(a), BatchOf(b), "solve");
  const Array left = Expanded(a, batch), right = Expanded(b, batch);
  Array x = Array::Empty(b.dtype(), right.shape());
  if (x.size() == 0) return x;
  InDouble([&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < ElementCount(batch); ++i) {
      const Eigen::PartialPivLU<Matrix<T>> lu(In<T>(left, i));
      if ((lu.matrixLU().diagonal().array() == T(0)).any())
        ThrowSingular("solve", i, "is singular");
      Out<T>(x, i) = lu.solve(In<T>(right, i));
    }
  });
  return x;
}

Array SolveTriangularArrays(const Array& a, const Array& b, bool upper, bool unit) {
  if (a.dtype() == DType::kF32) {
    return Narrowed(SolveTriangularArrays(Wide(a), Wide(b), upper, unit));
  }
  const Shape batch = BroadcastShapes(BatchOf(a), BatchOf(b), "solve_triangular");
  const Array left = Expanded(a, batch), right = Expanded(b, batch);
  Array x = Array::Empty(b.dtype(), right.shape());
  if (x.size() == 0) return x;
  InDouble([&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < ElementCount(batch); ++i) {
      const auto triangle = In<T>(left, i);
      if (!unit && (triangle.diagonal().array() == T(0)).any())
        ThrowSingular("solve_triangular", i, "has a zero on its diagonal");
      auto out = Out<T>(x, i);
      out = In<T>(right, i);
      if (upper && unit) {
        triangle.template triangularView<Eigen::UnitUpper>().solveInPlace(out);
      } else if (upper) {
        triangle.template triangularView<Eigen::Upper>().solveInPlace(out);
      } else if (unit) {
        triangle.template triangularView<Eigen::UnitLower>().solveInPlace(out);
      } else {
        triangle.template triangularView<Eigen::Lower>().solveInPlace(out);
      }
    }
  });
  return x;
}

Array CholeskyOfArray(const Array& a) {
  if (a.dtype() == DType::kF32) return Narrowed(CholeskyOfArray(Wide(a)));
  const Array from = a.Contiguous();
  Array l = Array::Empty(a.dtype(), a.shape());
  if (l.size() == 0) return l;
  InDouble([&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < ElementCount(BatchOf(a)); ++i) {
      const Eigen::LLT<Matrix<T>> llt(SymmetricPart<T>(from, i));
      if (llt.info() != Eigen::Success) {
        ThrowInvalidArgument(absl::StrCat("[cholesky] matrix ", i,
                                          " of the stack is not positive definite; expected "
                                          "eigenvalues > 0 (add a multiple of the identity)"));
      }
      Out<T>(l, i) = llt.matrixL();
    }
  });
  return l;
}

DeterminantArrays DeterminantOfArray(const Array& a) {
  if (a.dtype() == DType::kF32) {
    const DeterminantArrays wide = DeterminantOfArray(Wide(a));
    return {Narrowed(wide.det), Narrowed(wide.sign), Narrowed(wide.logabsdet)};
  }
  const Array from = a.Contiguous();
  const Shape batch = BatchOf(a);
  DeterminantArrays out{Array::Full(a.dtype(), batch, 1), Array::Full(a.dtype(), batch, 1),
                        Array::Zeros(a.dtype(), batch)};
  if (a.size() == 0) return out;
  InDouble([&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < ElementCount(batch); ++i) {
      const Eigen::PartialPivLU<Matrix<T>> lu(In<T>(from, i));
      const auto pivots = lu.matrixLU().diagonal();
      T det = static_cast<T>(lu.permutationP().determinant());
      T sign = det;
      for (const T pivot : pivots) {
        det *= pivot;
        sign *= static_cast<T>((pivot > 0) - (pivot < 0));
      }
      out.det.fresh_data<T>()[i] = det;
      out.sign.fresh_data<T>()[i] = sign;
      out.logabsdet.fresh_data<T>()[i] = pivots.cwiseAbs().array().log().sum();
    }
  });
  return out;
}

QrArrays QrOfArray(const Array& a) {
  if (a.dtype() == DType::kF32) {
    const QrArrays wide = QrOfArray(Wide(a));
    return {Narrowed(wide.q), Narrowed(wide.r)};
  }
  const Array from = a.Contiguous();
  const int64_t n = Columns(a);
  QrArrays out{Array::Empty(a.dtype(), a.shape()),
               Array::Zeros(a.dtype(), With(BatchOf(a), {n, n}))};
  if (a.size() == 0) return out;
  InDouble([&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < ElementCount(BatchOf(a)); ++i) {
      const Eigen::HouseholderQR<Matrix<T>> qr(In<T>(from, i));
      auto q = Out<T>(out.q, i);
      auto r = Out<T>(out.r, i);
      q = qr.householderQ() * Matrix<T>::Identity(Rows(a), n);
      r = qr.matrixQR().topRows(n).template triangularView<Eigen::Upper>();
      for (int64_t k = 0; k < n; ++k) {
        if (r(k, k) >= 0) continue;
        r.row(k) *= T(-1);
        q.col(k) *= T(-1);
      }
    }
  });
  return out;
}

EighArrays EighOfArray(const Array& a) {
  if (a.dtype() == DType::kF32) {
    const EighArrays wide = EighOfArray(Wide(a));
    return {Narrowed(wide.values), Narrowed(wide.vectors)};
  }
  const Array from = a.Contiguous();
  EighArrays out{Array::Empty(a.dtype(), With(BatchOf(a), {Columns(a)})),
                 Array::Empty(a.dtype(), a.shape())};
  if (a.size() == 0) return out;
  InDouble([&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < ElementCount(BatchOf(a)); ++i) {
      const Eigen::SelfAdjointEigenSolver<Matrix<T>> eigh(SymmetricPart<T>(from, i));
      VectorOut<T>(out.values, i) = eigh.eigenvalues();
      auto vectors = Out<T>(out.vectors, i);
      vectors = eigh.eigenvectors();
      for (int64_t k = 0; k < Columns(a); ++k)
        vectors.col(k) *= static_cast<T>(SignOf(vectors.col(k)));
    }
  });
  return out;
}

SvdArrays SvdOfArray(const Array& a) {
  if (a.dtype() == DType::kF32) {
    const SvdArrays wide = SvdOfArray(Wide(a));
    return {Narrowed(wide.u), Narrowed(wide.s), Narrowed(wide.vh)};
  }
  const Array from = a.Contiguous();
  const int64_t n = Columns(a);
  SvdArrays out{Array::Empty(a.dtype(), a.shape()), Array::Empty(a.dtype(), With(BatchOf(a), {n})),
                Array::Zeros(a.dtype(), With(BatchOf(a), {n, n}))};
  if (a.size() == 0) return out;
  InDouble([&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < ElementCount(BatchOf(a)); ++i) {
      const Eigen::JacobiSVD<Matrix<T>> svd(In<T>(from, i),
                                            Eigen::ComputeThinU | Eigen::ComputeThinV);
      auto u = Out<T>(out.u, i);
      auto vh = Out<T>(out.vh, i);
      u = svd.matrixU();
      vh = svd.matrixV().transpose();
      VectorOut<T>(out.s, i) = svd.singularValues();
      for (int64_t k = 0; k < n; ++k) {
        const auto sign = static_cast<T>(SignOf(u.col(k)));
        u.col(k) *= sign;
        vh.row(k) *= sign;
      }
    }
  });
  return out;
}

}  // namespace peelcheck
