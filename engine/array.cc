#include "engine/array.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace peelcheck {

std::string ShapeToString(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) absl::StrAppend(&text, i > 0 ? ", " : "", shape[i]);
  return text + "]";
}

int64_t ElementCount(const Shape& shape) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  int64_t count = 1;
  bool huge = false;
  for (int64_t size : shape) {
    if (size < 0) {
      ThrowInvalidArgument(absl::StrCat("[array] shape ", ShapeToString(shape),
                                        " has a negative size; sizes are 0 or more"));
    }
    if (size == 0) return 0;
    huge = huge || count > kLimit / size;
    if (!huge) count *= size;
  }
  if (huge) {
    ThrowInvalidArgument(absl::StrCat("[array] shape ", ShapeToString(shape),
                                      " has more than 2^40 elements; use a smaller one"));
  }
  return count;
}

Shape ContiguousStrides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Shape BroadcastShapes(const Shape& a, const Shape& b, const std::string& tag) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = result[lead + i];
    if (size == 1) {
      size = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != size) {
      ThrowInvalidArgument(absl::StrCat("[", tag, "] shapes ", ShapeToString(a), " and ",
                                        ShapeToString(b),
                                        " do not broadcast: counted from the last axis, sizes "
                                        "must be equal or 1; reshape one of them"));
    }
  }
  return result;
}

int64_t WrapDim(int64_t dim, int64_t rank, const std::string& tag) {
  const int64_t limit = std::max<int64_t>(rank, 1);
  if (dim < -limit || dim >= limit) {
    ThrowInvalidArgument(absl::StrCat("[", tag, "] dim=", dim, " for an input of rank ", rank,
                                      "; expected ", -limit, "..", limit - 1));
  }
  return dim < 0 ? dim + limit : dim;
}

Storage::Storage(int64_t bytes) : bytes_(bytes) {
  // calloc's alignment (16) is what the loops vectorise with; zero bytes still need a valid
  // address.
  data_ = static_cast<std::byte*>(std::malloc(static_cast<size_t>(std::max<int64_t>(bytes, 1))));
  if (data_ == nullptr) throw std::bad_alloc();
}

Storage::~Storage() { std::free(data_); }

Array Array::Empty(DType dtype, const Shape& shape) {
  Array array;
  array.dtype_ = dtype;
  array.shape_ = shape;
  array.strides_ = ContiguousStrides(shape);
  array.size_ = ElementCount(shape);
  array.storage_ = MakeRef<Storage>(array.size_ * ItemSize(dtype));
  return array;
}

Array Array::Zeros(DType dtype, const Shape& shape) {
  Array array = Empty(dtype, shape);
  std::memset(array.storage_->data(), 0, static_cast<size_t>(array.storage_->bytes()));
  return array;
}

Array Array::Full(DType dtype, const Shape& shape, double value) {
  Array array = Empty(dtype, shape);
  VisitDType(dtype, [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(array.fresh_data<T>(), array.size_, static_cast<T>(value));
  });
  return array;
}

Array Array::FromValues(DType dtype, const Shape& shape, std::span<const double> values) {
  Array array = Empty(dtype, shape);
  if (static_cast<int64_t>(values.size()) != array.size_) {
    ThrowInvalidArgument(absl::StrCat("[array] ", values.size(), " values for shape ",
                                      ShapeToString(shape), "; expected ", array.size_));
  }
  VisitDType(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = array.fresh_data<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      data[i] = dtype == DType::kBool ? static_cast<T>(values[i] != 0) : static_cast<T>(values[i]);
    }
  });
  return array;
}

Array Array::FromValues(DType dtype, const Shape& shape, std::initializer_list<double> values) {
  return FromValues(dtype, shape, std::span<const double>(values.begin(), values.size()));
}

Array Array::FromInts(const Shape& shape, std::span<const int64_t> values) {
  Array array = Empty(DType::kI64, shape);
  if (static_cast<int64_t>(values.size()) != array.size_) {
    ThrowInvalidArgument(absl::StrCat("[array] ", values.size(), " values for shape ",
                                      ShapeToString(shape), "; expected ", array.size_));
  }
  std::copy(values.begin(), values.end(), array.fresh_data<int64_t>());
  return array;
}

bool Array::is_contiguous() const {
  int64_t stride = 1;
  for (size_t i = shape_.size(); i-- > 0;) {
    if (shape_[i] != 1 && strides_[i] != stride) return size_ == 0;
    stride *= shape_[i];
  }
  return true;
}

namespace {

// Offset in elements of a row-major position.
int64_t OffsetOf(const Array& array, int64_t position) {
  int64_t offset = 0;
  for (size_t i = array.shape().size(); i-- > 0;) {
    offset += position % array.shape()[i] * array.strides()[i];
    position /= array.shape()[i];
  }
  return offset;
}

}  // namespace

double Array::DoubleAt(int64_t position) const {
  const int64_t offset = OffsetOf(*this, position);
  return VisitDType(dtype_,
                    [&](auto tag) { return static_cast<double>(data<decltype(tag)>()[offset]); });
}

int64_t Array::IntAt(int64_t position) const {
  const int64_t offset = OffsetOf(*this, position);
  return VisitDType(dtype_,
                    [&](auto tag) { return static_cast<int64_t>(data<decltype(tag)>()[offset]); });
}

void Array::SetDouble(int64_t position, double value) {
  const int64_t offset = OffsetOf(*this, position);
  VisitDType(dtype_, [&](auto tag) {
    using T = decltype(tag);
    mutable_data<T>()[offset] = static_cast<T>(value);
  });
}

std::vector<double> Array::ToDoubles() const {
  std::vector<double> values(static_cast<size_t>(size_));
  for (int64_t i = 0; i < size_; ++i) values[static_cast<size_t>(i)] = DoubleAt(i);
  return values;
}

Array Array::Strided(Shape shape, Shape strides, int64_t offset) const {
  Array view;
  view.dtype_ = dtype_;
  view.size_ = ElementCount(shape);
  view.shape_ = std::move(shape);
  view.strides_ = std::move(strides);
  view.offset_ = offset;
  view.storage_ = storage_;
  return view;
}

Array Array::Expanded(const Shape& shape) const {
  if (shape == shape_) return *this;
  const size_t lead = shape.size() - shape_.size();
  Shape strides(shape.size(), 0);
  bool fits = shape.size() >= shape_.size();
  for (size_t i = 0; fits && i < shape_.size(); ++i) {
    if (shape_[i] == shape[lead + i]) {
      strides[lead + i] = strides_[i];
    } else if (shape_[i] != 1) {
      fits = false;
    }
  }
  if (!fits) {
    ThrowInvalidArgument(absl::StrCat("[expand] shape ", ShapeToString(shape_),
                                      " does not broadcast to ", ShapeToString(shape),
                                      "; only axes of size 1 and new leading axes may grow"));
  }
  return Strided(shape, std::move(strides), offset_);
}

Array Array::MovedDim(int64_t from, int64_t to) const {
  if (from == to) return *this;
  Array view = *this;
  const auto move = [from, to](Shape& values) {
    const int64_t value = values[static_cast<size_t>(from)];
    values.erase(values.begin() + from);
    values.insert(values.begin() + to, value);
  };
  move(view.shape_);
  move(view.strides_);
  return view;
}

Array Array::Selected(int64_t dim, int64_t index) const {
  Shape shape = shape_;
  Shape strides = strides_;
  shape.erase(shape.begin() + dim);
  strides.erase(strides.begin() + dim);
  return Strided(std::move(shape), std::move(strides),
                 offset_ + index * strides_[static_cast<size_t>(dim)]);
}

namespace {

template <typename From, typename To>
void CopyElements(const Array& from, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    if (from.is_contiguous()) {
      std::memcpy(to, from.data<From>(), static_cast<size_t>(from.size()) * sizeof(From));
      return;
    }
  }
  const From* data = from.data<From>();
  if (from.is_contiguous()) {
    for (int64_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(data[i]);
    return;
  }
  // Row by row along the last axis; an odometer walks the leading ones.
  const size_t rank = from.shape().size();
  const int64_t row = from.shape()[rank - 1];
  const int64_t step = from.strides()[rank - 1];
  Shape index(rank, 0);
  int64_t offset = 0;
  for (int64_t done = 0; done < from.size(); done += row) {
    for (int64_t i = 0; i < row; ++i) *to++ = static_cast<To>(data[offset + i * step]);
    for (size_t axis = rank - 1; axis-- > 0;) {
      offset += from.strides()[axis];
      if (++index[axis] < from.shape()[axis]) break;
      offset -= from.strides()[axis] * from.shape()[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Array Array::Contiguous() const { return is_contiguous() ? *this : Copy(); }

Array Array::Copy() const {
  Array copy = Empty(dtype_, shape_);
  if (size_ == 0) return copy;
  VisitDType(dtype_, [&](auto tag) {
    using T = decltype(tag);
    CopyElements<T, T>(*this, copy.fresh_data<T>());
  });
  return copy;
}

Array Array::Cast(DType dtype) const {
  if (dtype == dtype_) return *this;
  Array result = Empty(dtype, shape_);
  if (size_ == 0) return result;
  if (dtype == DType::kBool) {
    uint8_t* out = result.fresh_data<uint8_t>();
    for (int64_t i = 0; i < size_; ++i) out[i] = DoubleAt(i) != 0;
    return result;
  }
  VisitDType(dtype_, [&](auto from) {
    VisitDType(dtype, [&](auto to) {
      CopyElements<decltype(from)>(*this, result.fresh_data<decltype(to)>());
    });
  });
  return result;
}

bool Array::BitEquals(const Array& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  const Array a = Contiguous();
  const Array b = other.Contiguous();
  return std::memcmp(a.raw(), b.raw(), static_cast<size_t>(size_ * ItemSize(dtype_))) == 0;
}

namespace {

void AppendElement(const Array& array, int64_t position, std::string* text) {
  switch (array.dtype()) {
    case DType::kBool: absl::StrAppend(text, array.IntAt(position) != 0 ? "true" : "false"); break;
    case DType::kI64: absl::StrAppend(text, array.IntAt(position)); break;
    case DType::kF32: absl::StrAppendFormat(text, "%.7g", array.DoubleAt(position)); break;
    case DType::kF64: absl::StrAppendFormat(text, "%.10g", array.DoubleAt(position)); break;
  }
}

void AppendAxis(const Array& array, int64_t axis, int64_t limit, int64_t* position,
                std::string* text) {
  if (axis == array.rank()) {
    AppendElement(array, (*position)++, text);
    return;
  }
  *text += "{";
  for (int64_t i = 0; i < array.dim(axis); ++i) {
    if (i > 0) *text += ", ";
    if (*position >= limit) {
      *text += "...";
      break;
    }
    AppendAxis(array, axis + 1, limit, position, text);
  }
  *text += "}";
}

}  // namespace

std::string Array::ToString(int64_t limit) const {
  if (!defined()) return "undefined";
  std::string text = absl::StrCat(DTypeName(dtype_), ShapeToString(shape_), " ");
  int64_t position = 0;
  AppendAxis(*this, 0, limit, &position, &text);
  return text;
}

Array StackArrays(std::span<const Array> arrays, int64_t dim) {
  if (arrays.empty()) ThrowInvalidArgument("[stack] no arrays came; expected at least one");
  const Array& first = arrays.front();
  Shape shape = first.shape();
  shape.insert(shape.begin(), static_cast<int64_t>(arrays.size()));
  Array stacked = Array::Empty(first.dtype(), shape);
  const size_t bytes = static_cast<size_t>(first.size() * ItemSize(first.dtype()));
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].shape() != first.shape() || arrays[i].dtype() != first.dtype()) {
      ThrowInvalidArgument(absl::StrCat("[stack] array ", i, " is ", DTypeName(arrays[i].dtype()),
                                        ShapeToString(arrays[i].shape()), "; expected ",
                                        DTypeName(first.dtype()), ShapeToString(first.shape()),
                                        " as the first"));
    }
    const Array dense = arrays[i].Contiguous();
    std::memcpy(stacked.raw() + i * bytes, dense.raw(), bytes);
  }
  return dim == 0 ? stacked : stacked.MovedDim(0, dim).Contiguous();
}

}  // namespace peelcheck
