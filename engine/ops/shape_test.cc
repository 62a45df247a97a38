// Shape operations against hand-written index maps: each row of the table says which element of x
// each element of y is. From that follow the values, the whole Jacobian, and the vmap rule at every
// position of the batch axis.
//
//   {"flip", [](const Tensor& x) { return Flip(x, {0}); }, {3}, {3}, [](const Dims& i) -> Source {
//   return Dims{2 - i[0]}; }}
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "engine/ops.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

using Source = std::optional<Dims>;  // where an element comes from; nullopt: it is zero

// The only element of a 0-d tensor.
Source OnlyElement(const Dims&) { return Dims(); }
// For results without elements: never called.
Source NoElement(const Dims&) { return std::nullopt; }

struct ShapeCase {
  std::string name;
  std::function<Tensor(const Tensor&)> op;
  Shape in;
  Shape out;
  std::function<Source(const Dims&)> source;
};

Dims Unravel(int64_t position, const Shape& shape) {
  Dims index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = position % shape[i];
    position /= shape[i];
  }
  return index;
}

int64_t Ravel(const Dims& index, const Shape& shape) {
  int64_t position = 0;
  for (size_t i = 0; i < shape.size(); ++i) position = position * shape[i] + index[i];
  return position;
}

// Position in x of each element of y, -1 for zero.
std::vector<int64_t> SourcePositions(const ShapeCase& c) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < ElementCount(c.out); ++i) {
    const Source source = c.source(Unravel(i, c.out));
    positions.push_back(source.has_value() ? Ravel(*source, c.in) : -1);
  }
  return positions;
}

// All different, none zero, so that no element can stand for another.
Array Distinct(const Shape& shape, double first = 1) {
  std::vector<double> values;
  for (int64_t i = 0; i < ElementCount(shape); ++i)
    values.push_back(first + static_cast<double>(i));
  return Array::FromValues(DType::kF64, shape, values);
}

// The same elements, but with the axes in reverse order in memory and a gap between the elements.
Array Scattered(const Array& x) {
  if (x.rank() == 0 || x.size() == 0) return x;
  Shape shape(x.shape().rbegin(), x.shape().rend());
  shape.push_back(3);
  const Array gaps = Array::Zeros(x.dtype(), shape).Selected(x.rank(), 1);
  Array view =
      gaps.Strided(x.shape(), Shape(gaps.strides().rbegin(), gaps.strides().rend()), gaps.offset());
  for (int64_t i = 0; i < x.size(); ++i) view.SetDouble(i, x.DoubleAt(i));
  return view;
}

std::vector<double> Picked(const Array& x, const std::vector<int64_t>& positions) {
  std::vector<double> values;
  for (int64_t p : positions) values.push_back(p < 0 ? 0 : x.DoubleAt(p));
  return values;
}

std::vector<double> Scattered(const Array& ct, const std::vector<int64_t>& positions,
                              int64_t size) {
  std::vector<double> values(static_cast<size_t>(size), 0);
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] >= 0)
      values[static_cast<size_t>(positions[i])] += ct.DoubleAt(static_cast<int64_t>(i));
  }
  return values;
}

TensorFn FnOf(const ShapeCase& c) {
  return [op = c.op](const Tensors& in) -> Tensors { return {op(in[0])}; };
}

// A function of x and a cotangent: the gradient.
TensorFn PullbackOf(const ShapeCase& c) {
  return [f = FnOf(c)](const Tensors& in) { return Vjp(f, {in[0]}).pullback({in[1]}); };
}

const std::vector<ShapeCase>& Cases() {
  static const std::vector<ShapeCase> cases = {
      {"reshape",
       [](const Tensor& x) {
         return Reshape(x, {4, -1});
       },
       {3, 4},
       {4, 3},
       [](const Dims& i) -> Source {
         return Unravel(i[0] * 3 + i[1], {3, 4});
       }},
      {"reshape to 0-d",
       [](const Tensor& x) { return Reshape(x, {}); },
       {1, 1},
       {},
       [](const Dims&) -> Source {
         return Dims{0, 0};
       }},
      {"reshape of 0-d",
       [](const Tensor& x) {
         return Reshape(x, {1, -1});
       },
       {},
       {1, 1},
       OnlyElement},
      {"reshape that splits an axis",
       [](const Tensor& x) {
         return Reshape(x, {3, 1, 3, 3, 1});
       },
       {3, 9},
       {3, 1, 3, 3, 1},
       [](const Dims& i) -> Source {
         return Dims{i[0], i[2] * 3 + i[3]};
       }},
      {"reshape of an empty",
       [](const Tensor& x) {
         return Reshape(x, {3, -1});
       },
       {0, 4},
       {3, 0},
       NoElement},
      {"unsqueeze",
       [](const Tensor& x) { return Unsqueeze(x, 1); },
       {3, 4},
       {3, 1, 4},
       [](const Dims& i) -> Source {
         return Dims{i[0], i[2]};
       }},
      {"unsqueeze at the end",
       [](const Tensor& x) { return Unsqueeze(x, -1); },
       {3},
       {3, 1},
       [](const Dims& i) -> Source { return Dims{i[0]}; }},
      {"squeeze",
       [](const Tensor& x) { return Squeeze(x, -2); },
       {3, 1, 4},
       {3, 4},
       [](const Dims& i) -> Source {
         return Dims{i[0], 0, i[1]};
       }},
      {"squeeze of an axis that is not 1",
       [](const Tensor& x) { return Squeeze(x, 0); },
       {3, 1},
       {3, 1},
       [](const Dims& i) -> Source { return i; }},
      {"expand",
       [](const Tensor& x) {
         return Expand(x, {5, -1, 4});
       },
       {3, 1},
       {5, 3, 4},
       [](const Dims& i) -> Source {
         return Dims{i[1], 0};
       }},
      {"expand to nothing",
       [](const Tensor& x) {
         return Expand(x, {3, 0});
       },
       {3, 1},
       {3, 0},
       NoElement},
      {"expand of 0-d", [](const Tensor& x) { return Expand(x, {3}); }, {}, {3}, OnlyElement},
      {"permute",
       [](const Tensor& x) {
         return Permute(x, {2, 0, -2});
       },
       {3, 4, 5},
       {5, 3, 4},
       [](const Dims& i) -> Source {
         return Dims{i[1], i[2], i[0]};
       }},
      {"transpose",
       [](const Tensor& x) { return Transpose(x, 0, -1); },
       {3, 4, 5},
       {5, 4, 3},
       [](const Dims& i) -> Source {
         return Dims{i[2], i[1], i[0]};
       }},
      {"movedim",
       [](const Tensor& x) { return MoveDim(x, 0, 2); },
       {3, 4, 5},
       {4, 5, 3},
       [](const Dims& i) -> Source {
         return Dims{i[2], i[0], i[1]};
       }},
      {"flip",
       [](const Tensor& x) {
         return Flip(x, {0, -1});
       },
       {3, 4, 5},
       {3, 4, 5},
       [](const Dims& i) -> Source {
         return Dims{2 - i[0], i[1], 4 - i[2]};
       }},
      {"flip with no dims",
       [](const Tensor& x) { return Flip(x, {}); },
       {3},
       {3},
       [](const Dims& i) -> Source { return i; }},
      {"flip of 0-d",
       [](const Tensor& x) { return Flip(x, {-1}); },
       {},
       {},
       [](const Dims& i) -> Source { return i; }},
      {"flip of an empty",
       [](const Tensor& x) {
         return Flip(x, {0, 1});
       },
       {3, 0},
       {3, 0},
       [](const Dims& i) -> Source { return i; }},
      {"narrow",
       [](const Tensor& x) { return Narrow(x, 1, -3, 3); },
       {3, 4},
       {3, 3},
       [](const Dims& i) -> Source {
         return Dims{i[0], i[1] + 1};
       }},
      {"narrow to nothing at the end",
       [](const Tensor& x) { return Narrow(x, 0, 3, 0); },
       {3, 4},
       {0, 4},
       [](const Dims& i) -> Source { return i; }},
      {"slice",
       [](const Tensor& x) { return Slice(x, 0, 1, 8, 3); },
       {8, 3},
       {3, 3},
       [](const Dims& i) -> Source {
         return Dims{1 + 3 * i[0], i[1]};
       }},
      {"slice with clamped ends",
       [](const Tensor& x) { return Slice(x, 0, -100, 100, 1); },
       {3},
       {3},
       [](const Dims& i) -> Source { return i; }},
      {"slice of exactly one",
       [](const Tensor& x) { return Slice(x, -1, 3, 5, 4); },
       {3, 5},
       {3, 1},
       [](const Dims& i) -> Source {
         return Dims{i[0], 3};
       }},
      {"slice with a step beyond everything",
       [](const Tensor& x) { return Slice(x, 0, 1, 5, std::numeric_limits<int64_t>::max()); },
       {5},
       {1},
       [](const Dims&) -> Source { return Dims{1}; }},
      {"slice of nothing",
       [](const Tensor& x) { return Slice(x, 0, 4, 1, 3); },
       {5, 3},
       {0, 3},
       [](const Dims& i) -> Source { return i; }},
      {"select",
       [](const Tensor& x) { return Select(x, 1, -1); },
       {3, 4, 5},
       {3, 5},
       [](const Dims& i) -> Source {
         return Dims{i[0], 3, i[1]};
       }},
      {"select to 0-d",
       [](const Tensor& x) { return Select(x, 0, 1); },
       {3},
       {},
       [](const Dims&) -> Source { return Dims{1}; }},
      {"pad",
       [](const Tensor& x) { return Pad(x, 1, 1, 2); },
       {3, 4},
       {3, 7},
       [](const Dims& i) {
         return i[1] >= 1 && i[1] < 5 ? Source(Dims{i[0], i[1] - 1}) : std::nullopt;
       }},
      {"pad of an empty",
       [](const Tensor& x) { return Pad(x, 0, 1, 0); },
       {0, 3},
       {1, 3},
       [](const Dims&) -> Source { return std::nullopt; }},
      {"tril",
       [](const Tensor& x) { return Tril(x, -1); },
       {5, 3, 4},
       {5, 3, 4},
       [](const Dims& i) { return i[2] - i[1] <= -1 ? Source(i) : std::nullopt; }},
      {"triu",
       [](const Tensor& x) { return Triu(x, 1); },
       {3, 4},
       {3, 4},
       [](const Dims& i) { return i[1] - i[0] >= 1 ? Source(i) : std::nullopt; }},
      {"cat with itself",
       [](const Tensor& x) {
         return Cat(Tensors{x, x, x}, -1);
       },
       {3, 4},
       {3, 12},
       [](const Dims& i) -> Source {
         return Dims{i[0], i[1] % 4};
       }},
      {"stack in the middle",
       [](const Tensor& x) {
         return Stack(Tensors{x, x, x}, 1);
       },
       {4, 5},
       {4, 3, 5},
       [](const Dims& i) -> Source {
         return Dims{i[0], i[2]};
       }},
      {"stack of 0-d",
       [](const Tensor& x) {
         return Stack(Tensors{x, x, x}, -1);
       },
       {},
       {3},
       OnlyElement},
  };
  return cases;
}

TEST(ShapeOps, ValuesAreThoseOfTheIndexMapForEveryDtypeAndLayout) {
  for (const ShapeCase& c : Cases()) {
    SCOPED_TRACE(c.name);
    for (DType dtype : {DType::kBool, DType::kI64, DType::kF32, DType::kF64}) {
      const Array dense = Distinct(c.in).Cast(dtype);
      const std::vector<double> expected = Picked(dense, SourcePositions(c));
      for (const Array& x : {dense, Scattered(dense)}) {
        const Array y = c.op(Tensor::FromArray(x)).array();
        EXPECT_EQ(y.dtype(), dtype);
        EXPECT_EQ(y.shape(), c.out);
        EXPECT_EQ(y.ToDoubles(), expected)
            << DTypeName(dtype) << (x.is_contiguous() ? " dense" : " scattered");
      }
    }
  }
}

TEST(ShapeOps, GradientAndTangentFollowTheIndexMap) {
  for (const ShapeCase& c : Cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = Tensor::FromArray(Distinct(c.in));
    const std::vector<int64_t> positions = SourcePositions(c);
    const Array ct = Distinct(c.out, 10);
    const Tensor gradient = PullbackOf(c)({x, Tensor::FromArray(ct)})[0];
    EXPECT_EQ(gradient.shape(), c.in);
    EXPECT_EQ(gradient.array().ToDoubles(), Scattered(ct, positions, x.size()));
    const Array tangent = Distinct(c.in, 20);
    const JvpResult jvp = Jvp(FnOf(c), {x}, {Tensor::FromArray(tangent)});
    EXPECT_EQ(jvp.tangents[0].array().ToDoubles(), Picked(tangent, positions));
  }
}

// Slots of different values, laid out so that the batch axis of x is `dim`.
Tensor Batch(const Shape& slot, int64_t size, int64_t dim, double first) {
  Shape shape = slot;
  shape.insert(shape.begin(), size);
  return Tensor::FromArray(Distinct(shape, first).MovedDim(0, dim));
}

TEST(ShapeOps, VmapIsTheLoopOverSlotsAtEveryBatchAxis) {
  for (const ShapeCase& c : Cases()) {
    for (int64_t size : {2, 1, 0}) {
      for (int64_t dim = 0; dim <= static_cast<int64_t>(c.in.size()); ++dim) {
        SCOPED_TRACE(c.name + ", batch of " + std::to_string(size) + " at " + std::to_string(dim));
        const Tensor xs = Batch(c.in, size, dim, 1);
        const Tensor cts = Batch(c.out, size, 0, 1000);
        const Array ys = Vmap(FnOf(c), {.in_dims = {dim}})({xs})[0].array();
        const Array gradients = Vmap(PullbackOf(c), {.in_dims = {dim, 0}})({xs, cts})[0].array();
        ASSERT_EQ(ys.dim(0), size);
        ASSERT_EQ(gradients.dim(0), size);
        for (int64_t slot = 0; slot < size; ++slot) {
          const Array x = xs.array().Selected(dim, slot);
          const Array ct = cts.array().Selected(0, slot);
          EXPECT_EQ(ys.Selected(0, slot).shape(), c.out);
          EXPECT_EQ(ys.Selected(0, slot).ToDoubles(), Picked(x, SourcePositions(c)));
          EXPECT_EQ(gradients.Selected(0, slot).ToDoubles(),
                    Scattered(ct, SourcePositions(c), x.size()));
        }
      }
    }
  }
}

TEST(ShapeOps, ViewsShareStorageAlsoOfAStridedInput) {
  const Array x = Scattered(Distinct({3, 1, 4}));
  const Tensor t = Tensor::FromArray(x);
  for (const Tensor& view :
       {Unsqueeze(t, 1), Squeeze(t, 1), Select(t, 0, 1), Narrow(t, 2, 1, 3), Slice(t, 0, 0, 3, 2),
        Transpose(t, 0, 2), Expand(t, {3, 5, 4}), Reshape(t, {3, 4, 1})}) {
    EXPECT_EQ(view.array().storage(), x.storage());
  }
  EXPECT_FALSE(Reshape(t, {12}).array().storage() ==
               x.storage());  // columns first: cannot be one axis
}

TEST(Flip, ResultIsACopySoThatWritingItLeavesTheInputAlone) {
  const Tensor x = Tensor::FromArray(Distinct({3}));
  MulInPlace(Flip(x, {0}), Tensor::Scalar(100));
  MulInPlace(Flip(x, {}), Tensor::Scalar(100));
  EXPECT_EQ(x.array().ToDoubles(), (std::vector<double>{1, 2, 3}));
}

TEST(Tril, InfinityOutsideOfTheTriangleStaysOut) {
  const Array x = Array::Full(DType::kF64, {3, 3}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(Tril(Tensor::FromArray(x)).array().DoubleAt(1), 0);
}

TEST(Cat, PiecesOfDifferentSizesAndDtypesArePromotedAndGetTheirOwnGradient) {
  const Tensor a = Tensor::FromArray(Array::FromValues(DType::kF32, {3, 1}, {1, 2, 3}));
  const Tensor b = Tensor::FromArray(Array::FromValues(DType::kF64, {3, 0}, {}));
  const Tensor c = Tensor::FromArray(Array::FromValues(DType::kI64, {3, 1}, {4, 5, 6}));
  const TensorFn cat = [](const Tensors& in) -> Tensors { return {Cat(in, 1)}; };
  const VjpResult vjp = Vjp(cat, {a, b, c});
  EXPECT_EQ(vjp.outputs[0].dtype(), DType::kF64);
  EXPECT_EQ(vjp.outputs[0].array().ToDoubles(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  const Tensors gradients = vjp.pullback({Tensor::FromArray(Distinct({3, 2}, 10))});
  ASSERT_EQ(gradients.size(), 2u);  // the integer piece has none
  EXPECT_EQ(gradients[0].dtype(), DType::kF32);
  EXPECT_EQ(gradients[0].array().ToDoubles(), (std::vector<double>{10, 12, 14}));
  EXPECT_EQ(gradients[1].shape(), (Shape{3, 0}));
}

TEST(Cat, VmapRepeatsAPieceThatIsNotBatched) {
  const Tensor xs =
      Tensor::FromArray(Distinct({4, 2}));  // batch axis 1: slots [1, 3, 5, 7] and [2, 4, 6, 8]
  const Tensor y = Tensor::FromArray(Distinct({3}, 100));
  const TensorFn cat = [](const Tensors& in) -> Tensors { return {Cat(Tensors{in[1], in[0]}, 0)}; };
  const Array result = Vmap(cat, {.in_dims = {1, std::nullopt}})({xs, y})[0].array();
  EXPECT_EQ(result.shape(), (Shape{2, 7}));
  EXPECT_EQ(result.ToDoubles(),
            (std::vector<double>{100, 101, 102, 1, 3, 5, 7, 100, 101, 102, 2, 4, 6, 8}));
}

TEST(ShapeOps, WrongArgumentsAreRefusedWithTheSameClassPlainAndUnderVmap) {
  struct Refusal {
    std::function<Tensor(const Tensor&)> op;
    std::string message;  // a part of it
  };
  const std::vector<Refusal> refusals = {
      {[](const Tensor& x) { return Select(x, 0, 7); },
       "[select] index 7 is out of range for a dim of size 3; expected -3..2"},
      {[](const Tensor& x) { return Select(x, 2, 0); },
       "[select] dim=2 for an input of rank 2; expected -2..1"},
      {[](const Tensor& x) { return Narrow(x, 0, 1, 3); },
       "[narrow] start=1 and length=3 for a dim of size 3"},
      {[](const Tensor& x) { return Narrow(x, 0, 1, std::numeric_limits<int64_t>::max()); },
       "[narrow] start=1"},
      {[](const Tensor& x) { return Slice(x, 0, 0, 3, 0); }, "[slice] step=0"},
      {[](const Tensor& x) { return Pad(x, 0, -1, 0); }, "[pad] before=-1"},
      {[](const Tensor& x) {
         return Flip(x, {0, -2});
       },
       "[flip] dim 0 came twice"},
      {[](const Tensor& x) {
         return Permute(x, {0, 0});
       },
       "[permute] dims [0, 0]"},
      {[](const Tensor& x) { return Permute(x, {0}); }, "[permute] dims [0]"},
      {[](const Tensor& x) {
         return Reshape(x, {5, -1});
       },
       "[reshape] shape [5, -1] for an input of shape [3, 4]"},
      {[](const Tensor& x) {
         return Reshape(x, {-1, -1});
       },
       "[reshape]"},
      {[](const Tensor& x) {
         return Reshape(x, {int64_t{1} << 40, int64_t{1} << 40});
       },
       "[reshape]"},
      {[](const Tensor& x) { return Expand(x, {4}); },
       "[expand] shape [4] for an input of shape [3, 4]"},
      {[](const Tensor& x) {
         return Expand(x, {5, 4});
       },
       "[expand]"},
      {[](const Tensor& x) {
         return Expand(x, {-1, 3, 4});
       },
       "[expand] size -1 at position 0"},
      {[](const Tensor& x) { return Unsqueeze(x, 4); }, "[unsqueeze] dim=4"},
      {[](const Tensor& x) { return Tril(Select(x, 0, 0)); }, "[tril] x has shape [4]"},
      {[](const Tensor& x) {
         return Cat(Tensors{x, Select(x, 0, 0)}, 0);
       },
       "[cat] input 1 has shape"},
      {[](const Tensor& x) {
         return Cat(Tensors{x, Narrow(x, 1, 0, 3)}, 0);
       },
       "[cat] input 1 has shape"},
      {[](const Tensor& x) {
         return Stack(Tensors{x, Transpose(x, 0, 1)}, 0);
       },
       "[stack] input 1 has shape [4, 3]"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.message);
    const TensorFn f = [&](const Tensors& in) -> Tensors { return {refusal.op(in[0])}; };
    try {
      f({Tensor::FromArray(Distinct({3, 4}))});
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(refusal.message), std::string::npos) << error.what();
    }
    try {
      Vmap(f)({Tensor::FromArray(Distinct({2, 3, 4}))});
      ADD_FAILURE() << "accepted under vmap";
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument) << error.what();
    }
  }
}

}  // namespace
}  // namespace peelcheck
