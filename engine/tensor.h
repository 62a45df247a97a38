// engine/tensor.h: what functions compute with: a handle on an Array, or on a wrapper that one
// level owns.
//
//   Tensor x = Tensor::FromArray(Array::FromValues(DType::kF64, {3}, {1, 2, 3}));
//   Tensor y = x * x + 1.0;   // operators: engine/ops.h
//
// Under a transform the same code sees wrappers: shape() and dtype() are the logical ones (a vmap
// hides its batch axis). Copies of a Tensor are the same tensor: identity (`is`) is what in-place
// functions are about.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/array.h"

namespace peelcheck {

struct TensorImpl;

class Tensor {
 public:
  Tensor();  // undefined: stands for "no tangent", "no cotangent"
  ~Tensor();
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  explicit Tensor(Ref<TensorImpl> impl);

  static Tensor FromArray(Array array);
  static Tensor Scalar(double value, DType dtype = DType::kF64);  // 0-d

  bool defined() const { return static_cast<bool>(impl_); }
  DType dtype() const;
  const Shape& shape() const;  // logical
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  int64_t dim(int64_t i) const { return shape()[static_cast<size_t>(i)]; }
  int64_t size() const;

  // The array of a plain tensor; a wrapper throws failed_precondition: its function needs a rule
  // for the transform.
  const Array& array() const;
  // The value of a 0-d (or one-element) tensor for control flow. Grad and jvp wrappers give their
  // primal's value; a batched tensor has many values and throws failed_precondition with advice.
  double item() const;

  // Same tensor, not merely equal values.
  bool is(const Tensor& other) const { return impl_ == other.impl_; }
  // Number of writes to the storage underneath, through all wrappers.
  int64_t version() const;

  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }

 private:
  Ref<TensorImpl> impl_;
};

// A few tensors: inputs, outputs, cotangents. Inline for up to three.
using Tensors = absl::InlinedVector<Tensor, 3>;
using TensorSpan = std::span<const Tensor>;

// The batch axis of a tensor at one vmap, or nullopt: not batched.
using BatchDim = std::optional<int64_t>;
using BatchDims = absl::InlinedVector<BatchDim, 3>;

}  // namespace peelcheck
