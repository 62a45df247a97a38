// vmap: dims, chunks, trees, nesting, the fallback, and each mistake of a caller.
#include "engine/ops.h"
#include "engine/pytree.h"
#include "engine/testing.h"
#include "engine/transforms.h"

namespace peelcheck {
namespace {

const TensorFn kMul = [](const Tensors& in) -> Tensors { return {in[0] * in[1]}; };
const TensorFn kIdentity = [](const Tensors& in) -> Tensors { return in; };

TEST(semantics_vmap, InDimsAndOutDimsOverEveryAxis) {
  const Tensor x = F64({3, 1, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (int64_t in_dim = -3; in_dim < 3; ++in_dim) {
    for (int64_t out_dim = -3; out_dim < 3; ++out_dim) {
      const Tensor y = Vmap(kIdentity, {.in_dims = {in_dim}, .out_dims = {out_dim}})({x})[0];
      const Tensor expected = MoveDim(x, in_dim, out_dim);
      EXPECT_TRUE(y.array().BitEquals(expected.array())) << in_dim << " -> " << out_dim;
    }
  }
}

TEST(semantics_vmap, OutputThatIsNotBatchedIsExpandedAtItsOutDim) {
  const Tensor constant = F64({3}, {1, 2, 3});
  const TensorFn f = [&](const Tensors&) -> Tensors { return {constant}; };
  EXPECT_EQ(Vmap(f, {.out_dims = {-1}})({F64({4}, {0, 0, 0, 0})})[0].shape(), (Shape{3, 4}));
  EXPECT_EQ(Vmap(f, {.out_dims = {std::nullopt}})({F64({4}, {0, 0, 0, 0})})[0].shape(), (Shape{3}));
}

TEST(semantics_vmap, BatchSizeZeroKeepsShapeAndDtype) {
  const TensorFn row_sum = [](const Tensors& in) -> Tensors { return {Sum(in[0]), in[0] * 2.0}; };
  const Tensors outputs = Vmap(row_sum)({Tensor::FromArray(Array::Zeros(DType::kF32, {0, 3}))});
  EXPECT_EQ(outputs[0].shape(), (Shape{0}));
  EXPECT_EQ(outputs[1].shape(), (Shape{0, 3}));
  EXPECT_EQ(outputs[1].dtype(), DType::kF32);
}

TEST(semantics_vmap, ChunkedEqualsUnchunkedForEveryChunkSize) {
  const Tensor x = F64({5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  const TensorFn f = [](const Tensors& in) -> Tensors { return {Sum(in[0]), in[0] * in[0]}; };
  const Tensors whole = Vmap(f, {.out_dims = {0, -1}})({x});
  for (int64_t chunk = 1; chunk <= 6; ++chunk) {
    const Tensors chunked = Vmap(f, {.out_dims = {0, -1}, .chunk_size = chunk})({x});
    EXPECT_TRUE(chunked[0].array().BitEquals(whole[0].array())) << chunk;
    EXPECT_TRUE(chunked[1].array().BitEquals(whole[1].array())) << chunk;
  }
}

TEST(semantics_vmap, ScalarConstantDoesNotPromote) {
  const TensorFn f = [](const Tensors& in) -> Tensors { return {in[0] * 0.1}; };
  EXPECT_EQ(Vmap(f)({Tensor::FromArray(Array::Zeros(DType::kF32, {3}))})[0].dtype(), DType::kF32);
}

TEST(semantics_vmap, NestedOverDifferentArgumentsGivesTheOuterProduct) {
  const TensorFn inner = Vmap(kMul, {.in_dims = {std::nullopt, 0}});
  const Tensor outer = Vmap(inner, {.in_dims = {0, std::nullopt}})(
      {F64({3}, {1, 2, 3}), F64({4}, {1, 10, 100, 1000})})[0];
  EXPECT_EQ(outer.shape(), (Shape{3, 4}));
  EXPECT_EQ(Values(outer)[7], 2000);
}

// Nested to depth 5, every level with an in_dim, an out_dim and a size of its own; slot by slot the
// result is that of the plain call.
TEST(semantics_vmap, NestedToDepthFiveEachLevelWithItsOwnDims) {
  const Shape sizes = {3, 1, 4, 5, 7};
  const TensorFn f = [](const Tensors& in) -> Tensors { return {in[0] * in[1] + 1.0}; };
  TensorFn mapped = f;
  // The innermost level takes the last axis of x, the others the first one that is left.
  for (int depth = 0; depth < 5; ++depth) {
    mapped = Vmap(mapped, {.in_dims = {depth % 2 == 0 ? 0 : -1, std::nullopt},
                           .out_dims = {depth % 2 == 0 ? 0 : -1}});
  }
  const Tensor x = Ramp(sizes);
  const Tensor y = Tensor::Scalar(3.0);
  ExpectNear(mapped({x, y})[0], x * 3.0 + 1.0);
  // vmap of vmap of a product of two axes of equal size is an outer product, not a diagonal.
  const TensorFn outer =
      Vmap(Vmap(kMul, {.in_dims = {std::nullopt, 0}}), {.in_dims = {0, std::nullopt}});
  EXPECT_EQ(Values(outer({F64({3}, {1, 2, 3}), F64({3}, {1, 10, 100})})[0]),
            (std::vector<double>{1, 10, 100, 2, 20, 200, 3, 30, 300}));
}

// All nine nestings of (0, none), (none, 0), (0, 0).
TEST(semantics_vmap, B65NestedMapsOverEitherOrBothOperands) {
  const std::vector<std::vector<BatchDim>> choices = {{0, std::nullopt}, {std::nullopt, 0}, {0, 0}};
  for (const auto& outer : choices) {
    for (const auto& inner : choices) {
      Tensors inputs;
      for (size_t i = 0; i < 2; ++i) {
        Shape shape;
        if (outer[i].has_value()) shape.push_back(3);
        if (inner[i].has_value()) shape.push_back(4);
        shape.push_back(5);
        inputs.push_back(Ramp(shape));
      }
      const TensorFn gather = [](const Tensors& in) -> Tensors {
        return {Gather(in[0], 0, Argsort(in[1], 0, true))};
      };
      const Tensor came = Vmap(Vmap(gather, {.in_dims = inner}), {.in_dims = outer})(inputs)[0];
      ASSERT_EQ(came.shape(), (Shape{3, 4, 5}));
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 4; ++j) {
          Tensors slot = inputs;
          for (size_t k = 0; k < 2; ++k) {
            if (outer[k].has_value()) slot[k] = Select(slot[k], 0, i);
            if (inner[k].has_value()) slot[k] = Select(slot[k], 0, j);
          }
          ExpectNear(Select(Select(came, 0, i), 0, j), gather(slot)[0]);
        }
      }
    }
  }
}

TEST(semantics_vmap, TreesWithPrefixDims) {
  const TreeFn f = [](const Tree& in) -> Tree {
    const Tensor x = TensorOf(in[0]);
    const Tensor scale = TensorOf(in[1]["scale"]);
    return Tree::Dict(
        {{"product", x * scale}, {"pair", Tree::List({Sum(x), scale})}, {"name", in[1]["name"]}});
  };
  const Tree batch = Tree::List(
      {F64({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
       Tree::Dict({{"scale", Tensor::Scalar(10.0)}, {"name", ValueLeaf(std::string("run"))}})});
  const TreeVmapOptions options = {
      .in_dims = DimTree::List({-1, std::nullopt}),
      .out_dims = DimTree::Dict({{"product", 1}, {"pair", 0}, {"name", std::nullopt}})};
  for (const std::optional<int64_t> chunk : {std::optional<int64_t>(), std::optional<int64_t>(3)}) {
    TreeVmapOptions chunked = options;
    chunked.chunk_size = chunk;
    const Tree out = VmapTree(f, chunked)(batch);
    EXPECT_EQ(TensorOf(out["product"]).shape(), (Shape{3, 4}));
    EXPECT_EQ(Values(TensorOf(out["product"]))[5], 60.0);
    EXPECT_EQ(Values(TensorOf(out["pair"][0])), (std::vector<double>{15, 18, 21, 24}));
    EXPECT_EQ(TensorOf(out["pair"][1]).shape(), (Shape{4}));  // expanded to the batch
    EXPECT_EQ(std::any_cast<std::string>(out["name"].leaf().value()), "run");
  }
}

TEST(semantics_vmap, EachMistakeInATreeNamesItsPlace) {
  const Tensor x = Ramp({3, 4});
  const Tree argument = Tree::List({x, Tree::Dict({{"w", x}, {"flag", ValueLeaf(true)}})});
  const TreeFn identity = [](const Tree& in) { return in; };
  const auto run = [&](TreeVmapOptions options) {
    return [=] { VmapTree(identity, options)(argument); };
  };
  const DimTree fitting = DimTree::List({0, DimTree::Dict({{"w", 0}, {"flag", std::nullopt}})});
  const auto expect = [](const std::function<void()>& body, const std::string& text) {
    ExpectThrows(body, ErrorClass::kInvalidArgument, text);
  };
  EXPECT_NO_THROW(run({.in_dims = fitting, .out_dims = fitting})());
  expect(run({.in_dims = DimTree::List({0})}),
         "[vmap] in_dims has a list of 1 where inputs is a list of 2");
  expect(run({.in_dims = DimTree::List({0, DimTree::Dict({{"v", 0}, {"flag", 0}})})}),
         "in_dims has a dict of {flag, v} where inputs[1] is a dict of {flag, w}");
  expect(run({.in_dims = 0}), "in_dims=0 for inputs[1].flag, which is no tensor; use none for it");
  expect(run({.in_dims = fitting, .out_dims = 0}), "out_dims=0 for outputs[1].flag");
  expect(run({.in_dims = fitting, .out_dims = DimTree::List({0, 0, 0})}),
         "out_dims has a list of 3 where outputs is a list of 2");
  expect(run({.in_dims = DimTree::List({0, DimTree::Dict({{"w", 2}, {"flag", std::nullopt}})})}),
         "in_dims=2 for inputs[1].w of rank 2");
  expect(run({.in_dims = DimTree::List({1, DimTree::Dict({{"w", 0}, {"flag", std::nullopt}})})}),
         "(inputs[0]: 4, inputs[1].w: 3)");
  expect([&] { VmapTree(identity, {.in_dims = std::nullopt})(Tree::List({ValueLeaf(1)})); },
         "hold no tensor");
}

class Doubling : public Function {  // no batching rule
 public:
  explicit Doubling(bool loop) : loop_(loop) {}
  std::string name() const override { return "Doubling"; }
  Tensors Forward(TensorSpan in) const override { return {in[0] * 2.0}; }
  bool allow_vmap_fallback() const override { return loop_; }

 private:
  bool loop_;
};

TEST(semantics_vmap, LoopFallbackIsCountedAndCanBeAnError) {
  const auto with = [](bool loop) -> TensorFn {
    return [loop](const Tensors& in) { return Call(MakeRef<Doubling>(loop), {in[0]}); };
  };
  const Tensor x = Ramp({3, 4});
  const int64_t before = VmapFallbackCount();
  ExpectNear(Vmap(with(true), {.in_dims = {1}, .out_dims = {1}})({x})[0], x * 2.0);
  EXPECT_EQ(VmapFallbackCount(), before + 1);
  ExpectThrows([&] { Vmap(with(true), {.fallback_is_error = true})({x}); },
               ErrorClass::kUnimplemented, "fallback_is_error");
  ExpectThrows([&] { Vmap(with(false))({x}); }, ErrorClass::kUnimplemented, "[Doubling]");
  EXPECT_EQ(VmapFallbackCount(), before + 1);
}

TEST(semantics_vmap, B63MappedSizesMustAgreeAndRanksMayDiffer) {
  ExpectThrows(
      [] {
        Vmap(kMul)({Ramp({10, 1}), Ramp({1, 1, 1, 5})});
      },
      ErrorClass::kInvalidArgument, "sizes in the mapped axes differ");
  const Tensor x = Ramp({3}), y = Ramp({3, 4, 5});  // logical ranks 0 and 2
  const Tensor came = Vmap(kMul)({x, y})[0];
  for (int64_t i = 0; i < 3; ++i) {
    ExpectNear(Select(came, 0, i), Select(x, 0, i) * Select(y, 0, i));
  }
}

// The batch axis of an output that is the same in all slots, at every out_dim.
TEST(semantics_vmap, B67UnbatchedOutputAtNegativeOutDims) {
  const Tensor constant = Ramp({4, 5});
  const TensorFn f = [&](const Tensors&) -> Tensors { return {constant}; };
  for (int64_t out_dim = -3; out_dim < 3; ++out_dim) {
    const Tensor came = Vmap(f, {.out_dims = {out_dim}})({Ramp({3})})[0];
    for (int64_t slot = 0; slot < 3; ++slot) ExpectNear(Select(came, out_dim, slot), constant);
  }
}

// A predicate mapped by one level and a value by the other, with different and with equal sizes.
TEST(semantics_vmap, B71LevelsAreToldApartByIdNotBySize) {
  const TensorFn choose = [](const Tensors& in) -> Tensors {
    return {Where(Gt(in[0], Tensor::Scalar(1.0)), in[1], -in[1])};
  };
  for (const int64_t n : {int64_t{3}, int64_t{4}}) {
    const Tensor predicate = Ramp({3}), carry = Ramp({n});
    const Tensor came = Vmap(Vmap(choose, {.in_dims = {std::nullopt, 0}}),
                             {.in_dims = {0, std::nullopt}})({predicate, carry})[0];
    for (int64_t i = 0; i < 3; ++i) {
      ExpectNear(Select(came, 0, i), choose({Select(predicate, 0, i), carry})[0]);
    }
  }
}

// Batch size 1 and logical rank 0: a reduction must not take the batch axis with it.
TEST(semantics_vmap, B73ReductionOfAScalarInABatchOfOne) {
  for (const bool keepdim : {false, true}) {
    const TensorFn f = [keepdim](const Tensors& in) -> Tensors {
      return {Sum(in[0], Dims{0}, keepdim), Amax(in[0], std::nullopt, keepdim), Mean(in[0])};
    };
    for (const Tensor& out : Vmap(f)({Ramp({1})})) EXPECT_EQ(out.shape(), (Shape{1}));
  }
}

}  // namespace
}  // namespace peelcheck
