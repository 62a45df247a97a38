// engine/array.h: n-dimensional arrays with strides over shared, versioned storage.
//
//   Array a = Array::FromValues(DType::kF64, {3, 1}, {1, 2, 3});
//   Array view = a.Expanded({3, 4});  // stride 0 along the last axis, no copy
//   view.DoubleAt(5);                 // 2.0: the element at row-major position 5
//
// An Array is plain data: it knows nothing of transforms. Views share storage; kernels accept any
// strides.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "engine/dtype.h"
#include "engine/error.h"
#include "engine/ref.h"

namespace peelcheck {

// Sizes, strides or dims; strides are in elements.
using Shape = absl::InlinedVector<int64_t, 6>;

// "[3, 4]", "[]".
std::string ShapeToString(const Shape& shape);
// Product of the sizes; throws invalid_argument where it exceeds 2^40 or a size is negative.
int64_t ElementCount(const Shape& shape);
// Row-major strides of a shape.
Shape ContiguousStrides(const Shape& shape);
// NumPy broadcasting of two shapes; throws invalid_argument with `tag` and both shapes.
Shape BroadcastShapes(const Shape& a, const Shape& b, const std::string& tag);
// Wraps a dim in -rank..rank-1 to 0..rank-1; throws invalid_argument with `tag` otherwise. Rank 0
// accepts -1 and 0.
int64_t WrapDim(int64_t dim, int64_t rank, const std::string& tag);

// Bytes that one or several arrays look into. `version` counts writes, so that a saved value that
// was overwritten is noticed.
class Storage : public RefCounted {
 public:
  explicit Storage(int64_t bytes);
  ~Storage() override;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  int64_t version() const { return version_; }
  void BumpVersion() { ++version_; }
  // The differentiating level that wrote a tracked value into what was a constant until then; 0:
  // none. Views that do not know of it are refused by it (engine/level.h).
  int64_t tracked_level() const { return tracked_level_; }
  void SetTrackedLevel(int64_t level) { tracked_level_ = level; }

 private:
  std::byte* data_;
  int64_t bytes_;
  int64_t version_ = 0;
  int64_t tracked_level_ = 0;
};

class Array {
 public:
  Array() = default;  // undefined: no storage; only defined() may be asked

  static Array Empty(DType dtype, const Shape& shape);  // contiguous, not initialised
  static Array Zeros(DType dtype, const Shape& shape);
  static Array Full(DType dtype, const Shape& shape, double value);
  // Row-major values; throws invalid_argument where their number is not that of the shape.
  static Array FromValues(DType dtype, const Shape& shape, std::span<const double> values);
  static Array FromValues(DType dtype, const Shape& shape, std::initializer_list<double> values);
  static Array FromInts(const Shape& shape, std::span<const int64_t> values);

  bool defined() const { return static_cast<bool>(storage_); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t dim(int64_t i) const { return shape_[static_cast<size_t>(i)]; }
  int64_t size() const { return size_; }
  int64_t offset() const { return offset_; }
  bool is_contiguous() const;
  const Ref<Storage>& storage() const { return storage_; }
  int64_t version() const { return storage_->version(); }

  // The element at index [0, ..., 0]. `T` must be the C++ type of dtype().
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(storage_->data()) + offset_;
  }
  // The same for writing. Counts as a modification of the storage.
  template <typename T>
  T* mutable_data() {
    storage_->BumpVersion();
    return reinterpret_cast<T*>(storage_->data()) + offset_;
  }
  // For the kernel that fills a fresh array: no version bump.
  template <typename T>
  T* fresh_data() {
    return reinterpret_cast<T*>(storage_->data()) + offset_;
  }
  const std::byte* raw() const { return storage_->data() + offset_ * ItemSize(dtype_); }
  std::byte* raw() { return storage_->data() + offset_ * ItemSize(dtype_); }

  // Elements by row-major position, converted. Slow: for tests, reports and small index arrays.
  double DoubleAt(int64_t position) const;
  int64_t IntAt(int64_t position) const;
  void SetDouble(int64_t position, double value);
  std::vector<double> ToDoubles() const;

  // Views: shared storage, no copy.
  Array Strided(Shape shape, Shape strides, int64_t offset) const;
  Array Expanded(const Shape& shape) const;  // broadcasts; throws invalid_argument
  Array MovedDim(int64_t from, int64_t to) const;
  Array Selected(int64_t dim, int64_t index) const;  // drops `dim`

  // Copies.
  Array Contiguous() const;       // itself where it is contiguous already
  Array Copy() const;             // always new storage, contiguous
  Array Cast(DType dtype) const;  // itself where the dtype is right already

  // Same dtype, shape and bits (nan equals nan of the same bits).
  bool BitEquals(const Array& other) const;
  // "f64[2, 3] {{1, 2, 3}, {4, 5, 6}}", long arrays abbreviated after `limit` elements.
  std::string ToString(int64_t limit = 100) const;

 private:
  DType dtype_ = DType::kF64;
  Shape shape_;
  Shape strides_;
  int64_t offset_ = 0;
  int64_t size_ = 0;
  Ref<Storage> storage_;
};

// Stacks arrays of one shape and dtype along a new axis `dim` (0..rank).
Array StackArrays(std::span<const Array> arrays, int64_t dim);

}  // namespace peelcheck
