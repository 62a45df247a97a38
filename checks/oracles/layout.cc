// Layout: strides and offset of an input are no part of its value.
//
//   x f64[3, 4], row-major   // the same values with the first axis innermost, every second element
//                            // of a larger storage, from offset 1
#include <algorithm>

#include "checks/oracle.h"

namespace peelcheck {
namespace {

Array Scattered(const Array& array) {
  Shape strides = array.shape();
  int64_t step = 2;
  for (int64_t& stride : strides) {
    const int64_t size = stride;
    stride = step;
    step *= std::max<int64_t>(size, 1);
  }
  Array storage = Array::Zeros(array.dtype(), {step + 1});
  Array result = storage.Strided(array.shape(), strides, 1);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (IsFloating(array.dtype())) {
      result.SetDouble(i, array.DoubleAt(i));
    } else {
      result.SetDouble(i, static_cast<double>(array.IntAt(i)));
    }
  }
  return result;
}

Judgement Layout(const CheckedCase& c) {
  std::vector<Array> inputs;
  for (const Array& input : c.sample.inputs) inputs.push_back(Scattered(input));
  Judgement judgement;
  CompareOutputs(c, "layout of the inputs", c.sample.program,
                 c.engine.Run(c.sample.program, inputs), judgement);
  judgement.any_nonzero = false;
  return judgement;
}

const LawRegistration kLayout({"layout", [](const CheckedCase&) { return true; }, Layout});

}  // namespace
}  // namespace peelcheck
