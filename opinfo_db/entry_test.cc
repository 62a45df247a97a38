// The registry, and every entry against its own declarations: its reference, its error cases, its
// files.
#include "opinfo_db/entry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "engine/ops.h"

namespace peelcheck {
namespace {

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::kInvalidArgument) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Registry, EntriesAreSortedAndFound) {
  ASSERT_GE(AllEntries().size(), 45u);
  for (size_t i = 1; i < AllEntries().size(); ++i) {
    EXPECT_LT(AllEntries()[i - 1]->name, AllEntries()[i]->name);
  }
  ASSERT_NE(FindEntry("mul"), nullptr);
  EXPECT_EQ(FindEntry("mul")->name, "mul");
  EXPECT_EQ(FindEntry("nope"), nullptr);
}

// A file whose objects the linker dropped, or that registers nothing, is missed here.
TEST(Registry, EveryFileRegistersAnEntry) {
  std::set<std::string> registered;
  for (const Entry* entry : AllEntries()) {
    registered.insert(std::filesystem::path(entry->file).filename().string());
    EXPECT_GT(entry->line, 0) << entry->name;
  }
  int64_t files = 0;
  for (const char* folder : {"opinfo_db/ops", "opinfo_db/functions"}) {
    const auto path = std::filesystem::path(PEELCHECK_SOURCE_DIR) / folder;
    for (const auto& file : std::filesystem::directory_iterator(path)) {
      const std::string name = file.path().filename().string();
      if (!name.ends_with(".cc") || name.ends_with("_test.cc")) continue;
      EXPECT_TRUE(registered.contains(name)) << folder << "/" << name << " registers no entry";
      ++files;
    }
  }
  EXPECT_GE(files, 10);
}

TEST(Registry, RowsOfATableHaveTheirOwnLines) {
  const Entry *sin = FindEntry("sin"), *cos = FindEntry("cos");
  EXPECT_EQ(sin->file, cos->file);
  EXPECT_EQ(sin->line + 1, cos->line);
}

TEST(Registry, ADuplicateNamesBothPlaces) {
  const std::string error = ErrorOf([] {
    Registration({.name = "sin", .build = Plain("sin", 1, [](const Tensors& in) { return in; })});
  });
  EXPECT_NE(error.find("unary.cc:"), std::string::npos) << error;
  EXPECT_NE(error.find("entry_test.cc:"), std::string::npos) << error;
}

TEST(BuildOperation, AnUnknownNameSuggestsTheClosest) {
  const std::string error = ErrorOf([] { BuildOperation("sine", {}); });
  EXPECT_NE(error.find("unknown operation `sine`; did you mean sin, "), std::string::npos) << error;
  EXPECT_NE(error.find("list ops"), std::string::npos) << error;
}

TEST(BuildOperation, SurrogatesAreNamedByASuffix) {
  const Tensors x = {Tensor::Scalar(3)};
  EXPECT_EQ(BuildOperation("detach", {})(x)[0].item(), 3);
  EXPECT_EQ(BuildOperation("detach#surrogate", {})(x)[0].item(), 0);
  EXPECT_EQ(ErrorOf([] { BuildOperation("sin#surrogate", {}); }),
            "[registry] `sin` has no surrogate: its derivative is its own; use `sin`");
}

TEST(BuildOperation, ResultsKnowTheirArity) {
  for (const Entry* entry : AllEntries()) {
    if (!entry->attributes.empty()) continue;  // some must be given
    const TensorFn operation = BuildOperation(entry->name, {});
    const auto* named = operation.target<NamedOperation>();
    ASSERT_NE(named, nullptr) << entry->name;
    EXPECT_EQ(named->arity, static_cast<int64_t>(entry->arguments.size())) << entry->name;
  }
  const TensorFn cat = BuildOperation("cat", {});
  EXPECT_EQ(cat.target<NamedOperation>()->arity, -1);
  EXPECT_EQ(cat.target<NamedOperation>()->floating_outputs, 1);
}

TEST(Plain, RefusesAttributesAndOtherNumbersOfInputs) {
  EXPECT_EQ(ErrorOf([] {
              BuildOperation("sin", {{"dim", 0}});
            }),
            "[sin] unknown attribute dim=0; expected no attributes");
  EXPECT_EQ(ErrorOf([] { BuildOperation("sin", {})({}); }), "[sin] 0 inputs came; expected 1");
}

TEST(ClosestNames, ByEditDistanceThenName) {
  const std::vector<std::string> known = {"cosh", "sin", "sinh", "tan", "sum"};
  EXPECT_EQ(ClosestNames("sin", known), (std::vector<std::string>{"sin", "sinh", "sum"}));
  EXPECT_EQ(ClosestNames("sih", known), (std::vector<std::string>{"sin", "sinh", "sum"}));
  EXPECT_TRUE(ClosestNames("x", {}).empty());
}

TEST(ElementwiseReference, BroadcastsAndPromotes) {
  const Reference difference = ElementwiseReference([](double x, double y) { return x - y; });
  const std::vector<Array> inputs = {Array::FromValues(DType::kI64, {2, 1}, {10, 20}),
                                     Array::FromValues(DType::kF32, {3}, {1, 2, 3})};
  const Array result = difference(inputs, {})[0];
  EXPECT_EQ(result.dtype(), DType::kF32);
  EXPECT_EQ(result.shape(), (Shape{2, 3}));
  EXPECT_EQ(result.ToDoubles(), (std::vector<double>{9, 8, 7, 19, 18, 17}));
}

TEST(Entries, ErrorCasesFailAsDeclared) {
  int64_t cases = 0;
  for (const Entry* entry : AllEntries()) {
    for (const ErrorCase& error_case : entry->error_cases) {
      SCOPED_TRACE(entry->name + ": " + error_case.description);
      Tensors inputs;
      for (const ArraySpec& spec : error_case.inputs) {
        inputs.push_back(Tensor::FromArray(Array::Zeros(spec.dtype, spec.shape)));
      }
      try {
        BuildOperation(entry->name, error_case.attributes)(inputs);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const Error& error) {
        EXPECT_EQ(error.error_class(), error_case.error_class) << error.what();
        EXPECT_EQ(std::string(error.what()).front(), '[') << error.what();
      }
      ++cases;
    }
  }
  EXPECT_GT(cases, 50);
}

TEST(Entries, SayWhatTheyCompute) {
  for (const Entry* entry : AllEntries()) {
    EXPECT_FALSE(entry->formula.empty()) << entry->name;
    EXPECT_FALSE(entry->arguments.empty()) << entry->name;
    for (const Argument& argument : entry->arguments) {
      EXPECT_LT(argument.domain.low, argument.domain.high) << entry->name << " " << argument.name;
      EXPECT_LT(argument.of, static_cast<int>(entry->arguments.size())) << entry->name;
    }
    for (const AttributeSpec& attribute : entry->attributes) {
      EXPECT_EQ(attribute.kind == AttributeKind::kChoice, !attribute.choices.empty())
          << entry->name << " " << attribute.name;
    }
  }
}

// -- operations against their references, on inputs by hand: the generators' samples come on top of
// these ------------------------

struct Call {
  std::string op;
  Attributes attributes;
  std::vector<Array> inputs;
};

// Irregular values within (0.25, 0.95): inside every domain, no ties, no kinks.
Array Sample(const Shape& shape, int which = 0, DType dtype = DType::kF64) {
  Array array = Array::Zeros(dtype, shape);
  for (int64_t i = 0; i < array.size(); ++i) {
    const double turn = 0.618033988749895 * static_cast<double>(i + 1) + 0.37 * which;
    array.SetDouble(i, 0.25 + 0.7 * (turn - std::floor(turn)));
  }
  return array;
}

void ExpectReferenceAgrees(const Call& call) {
  const Entry* entry = FindEntry(call.op);
  ASSERT_NE(entry, nullptr) << call.op;
  SCOPED_TRACE(ProgramToString({.op = call.op, .attributes = call.attributes}) + " of " +
               call.inputs[0].ToString(4));
  Tensors inputs;
  for (const Array& input : call.inputs) inputs.push_back(Tensor::FromArray(input));
  const Tensors outputs = BuildOperation(call.op, call.attributes)(inputs);
  const std::vector<Array> expected = entry->reference(call.inputs, call.attributes);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_EQ(outputs[i].dtype(), expected[i].dtype());
    ASSERT_EQ(outputs[i].shape(), expected[i].shape());
    const double tolerance = 64 * Epsilon(expected[i].dtype());
    for (int64_t k = 0; k < expected[i].size(); ++k) {
      const double value = expected[i].DoubleAt(k);
      EXPECT_NEAR(outputs[i].array().DoubleAt(k), value, tolerance * (1 + std::abs(value)));
    }
  }
}

std::vector<Call> CallsWithAttributes() {
  using Ints = std::vector<int64_t>;
  const auto ints = [](const Shape& shape, std::initializer_list<int64_t> values) {
    return Array::FromInts(shape, Ints(values));
  };
  const Array x = Sample({3, 4, 5}), scalar = Sample({});
  std::vector<Call> calls;
  for (const char* op : {"sum", "mean", "amax", "amin", "logsumexp"}) {
    for (const bool keepdim : {false, true}) {
      calls.push_back({op, {{"dim", Ints{0, -1}}, {"keepdim", keepdim}}, {x}});
      calls.push_back({op, {{"dim", 1}, {"keepdim", keepdim}}, {x}});
      calls.push_back({op, {{"dim", Ints{}}, {"keepdim", keepdim}}, {x}});
      calls.push_back({op, {{"dim", -1}, {"keepdim", keepdim}}, {scalar}});
    }
    if (std::string(op) != "logsumexp") calls.push_back({op, {}, {x}});
  }
  for (const int64_t dim : {0, 1, -1}) {
    for (const char* op : {"prod", "cumsum", "softmax", "log_softmax", "squeeze", "unsqueeze"}) {
      calls.push_back({op, {{"dim", dim}}, {x}});
      if (dim != 1) calls.push_back({op, {{"dim", dim}}, {scalar}});
      if (dim != 1) calls.push_back({op, {{"dim", dim}}, {Sample({1, 3, 1})}});
    }
    for (const bool descending : {false, true}) {
      for (const char* op : {"sort", "argsort"}) {
        calls.push_back({op, {{"dim", dim}, {"descending", descending}}, {x}});
      }
    }
    calls.push_back({"sort", {{"dim", dim == 1 ? 0 : dim}}, {scalar}});
    calls.push_back({"transpose", {{"dim0", dim}, {"dim1", 1}}, {x}});
    calls.push_back({"movedim", {{"source", 0}, {"destination", dim}}, {x}});
    calls.push_back({"movedim", {{"source", -1}, {"destination", dim}}, {x}});
    for (const int64_t index : {0, 2, -3}) {
      calls.push_back({"select", {{"dim", dim}, {"index", index}}, {x}});
      calls.push_back({"narrow", {{"dim", dim}, {"start", index}, {"length", 1}}, {x}});
      calls.push_back({"slice", {{"dim", dim}, {"start", index}, {"end", -1}, {"step", 2}}, {x}});
      calls.push_back({"slice", {{"dim", dim}, {"start", index}}, {x}});
    }
    calls.push_back({"index_select", {{"dim", dim}}, {x, ints({4}, {2, 0, 2, 1})}});
    calls.push_back({"stack", {{"dim", dim}}, {x, Sample({3, 4, 5}, 1)}});
    calls.push_back({"concat", {{"dim", dim}}, {x, Sample({3, 4, 5}, 1), x}});
  }
  calls.push_back({"prod", {}, {x}});
  calls.push_back({"transpose", {{"dim0", 0}, {"dim1", -1}}, {scalar}});
  calls.push_back({"movedim", {{"source", 0}, {"destination", -1}}, {scalar}});
  calls.push_back({"reshape", {{"shape", Ints{5, -1}}}, {x}});
  calls.push_back({"reshape", {{"shape", Ints{}}}, {Sample({1, 1})}});
  calls.push_back({"expand", {{"size", Ints{3, -1, 4}}}, {Sample({5, 1})}});
  calls.push_back({"permute", {{"dims", Ints{2, 0, -2}}}, {x}});
  calls.push_back({"permute", {{"dims", Ints{}}}, {scalar}});
  calls.push_back({"flip", {{"dims", Ints{0, -1}}}, {x}});
  calls.push_back({"flip", {{"dims", Ints{0}}}, {scalar}});
  calls.push_back({"constant_pad_nd", {{"pad", Ints{1, 2, 0, 4}}}, {x}});
  for (const int64_t diagonal : {-1, 0, 3}) {
    calls.push_back({"tril", {{"diagonal", diagonal}}, {x}});
    calls.push_back({"triu", {{"diagonal", diagonal}}, {x}});
  }
  calls.push_back({"cat", {{"dim", -2}}, {Sample({3, 4}), Sample({1, 4}, 1), Sample({5, 4}, 2)}});
  calls.push_back({"cat", {}, {Sample({3})}});
  const Array index = ints({2, 3}, {0, 1, 1, 2, 0, 1});
  calls.push_back({"gather", {{"dim", 0}}, {Sample({3, 3}), index}});
  calls.push_back({"gather", {{"dim", -1}}, {Sample({3, 3}), index}});
  calls.push_back({"gather", {{"dim", 0}}, {scalar, ints({}, {0})}});
  calls.push_back({"scatter_add", {{"dim", 0}}, {Sample({3, 3}), index, Sample({2, 3}, 1)}});
  calls.push_back({"scatter_add", {{"dim", -1}}, {Sample({3, 3}), index, Sample({2, 3}, 1)}});
  calls.push_back({"affine", {{"scale", -0.5}, {"shift", 3.0}}, {x}});
  calls.push_back({"pow_scalar", {{"exponent", 3}}, {x}});
  calls.push_back({"add", {{"alpha", 2.5}}, {x, Sample({4, 1}, 1)}});
  calls.push_back({"sub", {{"alpha", -0.5}}, {x, Sample({4, 1}, 1)}});
  calls.push_back({"sub", {}, {x, scalar}});
  return calls;
}

TEST(Entries, AgreeWithTheirReferencesWithAttributes) {
  for (const Call& call : CallsWithAttributes()) ExpectReferenceAgrees(call);
}

TEST(Entries, ElementwiseOnesAgreeWithTheirReferences) {
  int64_t entries = 0;
  for (const Entry* entry : AllEntries()) {
    if (!entry->attributes.empty() || !entry->reference || entry->custom_function) continue;
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      if (entry->arguments[0].shape == "...") {
        Array sample = Sample({3, 4}, 0, dtype);
        // Into the domain: that of acosh begins above 1.
        const double shift = std::max(0.0, std::ceil(entry->arguments[0].domain.low));
        for (int64_t i = 0; i < 12; ++i) sample.SetDouble(i, sample.DoubleAt(i) + shift);
        ExpectReferenceAgrees({entry->name, {}, {sample}});
        if (entry->allows_empty)
          ExpectReferenceAgrees({entry->name, {}, {Sample({0, 4}, 0, dtype)}});
      } else if (entry->arguments.size() == 2 && entry->arguments[0].shape == "~") {
        ExpectReferenceAgrees({entry->name, {}, {Sample({3, 1}, 0, dtype), Sample({4}, 1)}});
        ExpectReferenceAgrees({entry->name, {}, {Sample({}, 0), Sample({3, 0}, 1, dtype)}});
      }
    }
    ++entries;
  }
  EXPECT_GT(entries, 30);
}

TEST(Entries, ProductsAndWhereAgreeWithTheirReferences) {
  ExpectReferenceAgrees({"matmul", {}, {Sample({3, 4}), Sample({4, 5}, 1)}});
  ExpectReferenceAgrees({"matmul", {}, {Sample({7, 1, 3, 4}), Sample({5, 4, 1}, 1)}});
  ExpectReferenceAgrees({"matmul", {}, {Sample({4}), Sample({5, 4, 3}, 1)}});
  ExpectReferenceAgrees({"matmul", {}, {Sample({5, 3, 4}), Sample({4}, 1)}});
  ExpectReferenceAgrees({"matmul", {}, {Sample({3, 0}), Sample({0, 5}, 1)}});
  ExpectReferenceAgrees({"mm", {}, {Sample({3, 4}), Sample({4, 5}, 1)}});
  ExpectReferenceAgrees({"bmm", {}, {Sample({7, 3, 4}), Sample({7, 4, 5}, 1)}});
  ExpectReferenceAgrees({"mv", {}, {Sample({3, 4}), Sample({4}, 1)}});
  ExpectReferenceAgrees({"dot", {}, {Sample({4}), Sample({4}, 1)}});
  const Array condition = Array::FromValues(DType::kBool, {3, 1}, {1, 0, 1});
  ExpectReferenceAgrees({"where", {}, {condition, Sample({4}), Sample({}, 1)}});
}

}  // namespace
}  // namespace peelcheck
