#include "engine/tensor.h"

#include <absl/strings/str_cat.h>

#include "engine/level.h"

namespace peelcheck {

Tensor::Tensor() = default;
Tensor::~Tensor() = default;
Tensor::Tensor(const Tensor&) = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

Tensor Tensor::FromArray(Array array) {
  auto impl = MakeRef<TensorImpl>();
  impl->birth = NewestLevelId();
  impl->array = std::move(array);
  return Tensor(std::move(impl));
}

Tensor Tensor::Scalar(double value, DType dtype) {
  return FromArray(Array::Full(dtype, {}, value));
}

namespace {

const TensorImpl& Checked(const Ref<TensorImpl>& impl, const char* what) {
  if (!impl) {
    ThrowInvalidArgument(
        absl::StrCat("[tensor] ", what, " of an undefined tensor was asked; test defined() first"));
  }
  return *impl;
}

// The plain tensor underneath all wrappers.
const TensorImpl& Innermost(const TensorImpl& impl) {
  const TensorImpl* at = &impl;
  while (at->kind != TensorKind::kPlain) at = at->inner.impl();
  return *at;
}

}  // namespace

DType Tensor::dtype() const { return Innermost(Checked(impl_, "dtype")).array.dtype(); }

const Shape& Tensor::shape() const {
  const TensorImpl* at = &Checked(impl_, "shape");
  while (true) {
    if (at->kind == TensorKind::kPlain) return at->array.shape();
    if (at->kind == TensorKind::kBatched) return at->logical_shape;
    at = at->inner.impl();
  }
}

int64_t Tensor::size() const {
  int64_t count = 1;
  for (int64_t size : shape()) count *= size;
  return count;
}

const Array& Tensor::array() const {
  const TensorImpl* at = &Checked(impl_, "array");
  while (at->kind != TensorKind::kPlain) {
    const Level* level = FindLiveLevel(at->level_id);
    if (at->kind == TensorKind::kBatched) {
      if (level == nullptr) ThrowEscapedBatched("tensor");
      ThrowFailedPrecondition(
          "[tensor] the array of a batched tensor was asked: it holds one value per slot; give the "
          "function a vmap rule "
          "(Function::Vmap), or write it with engine operations and generate_vmap_rule");
    }
    if (level != nullptr) {
      ThrowFailedPrecondition(
          absl::StrCat("[tensor] the array of a tensor that ", LevelKindName(level->kind),
                       " differentiates was asked: its derivative would be lost; move the code "
                       "into a Function with a rule"));
    }
    at = at->inner.impl();  // a dead grad or jvp wrapper is its value
  }
  return at->array;
}

double Tensor::item() const {
  const TensorImpl* at = &Checked(impl_, "item()");
  if (size() != 1) {
    ThrowInvalidArgument(absl::StrCat("[item] a tensor of shape ", ShapeToString(shape()),
                                      " has no single value; expected one element"));
  }
  while (at->kind != TensorKind::kPlain) {
    if (at->kind == TensorKind::kBatched) {
      ThrowFailedPrecondition(
          "[item] a batched tensor has one value per slot, so it cannot steer control flow; use "
          "where(condition, x, y), or "
          "move the branch out of the vmap");
    }
    at = at->inner.impl();
  }
  return at->array.DoubleAt(0);
}

int64_t Tensor::version() const { return Innermost(Checked(impl_, "version")).array.version(); }

}  // namespace peelcheck
