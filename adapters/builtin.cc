// The engine that peelcheck ships, as an engine under test.
#include "checks/engine_under_test.h"
#include "opinfo_db/entry.h"

namespace peelcheck {
namespace {

absl::Status ToStatus(const Error& error) {
  switch (error.error_class()) {
    case ErrorClass::kInvalidArgument: return absl::InvalidArgumentError(error.what());
    case ErrorClass::kUnimplemented: return absl::UnimplementedError(error.what());
    case ErrorClass::kFailedPrecondition: return absl::FailedPreconditionError(error.what());
    case ErrorClass::kInternal: break;
  }
  return absl::InternalError(error.what());
}

class BuiltinEngine : public EngineUnderTest {
 public:
  std::string name() const override { return "builtin"; }
  bool Supports(const Program&) const override { return true; }

  absl::StatusOr<std::vector<Array>> Run(const Program& program,
                                         std::span<const Array> inputs) override {
    try {
      Tensors tensors;
      // Copies: an in-place function writes its inputs, and the caller's arrays are not ours to
      // write.
      for (const Array& input : inputs) tensors.push_back(Tensor::FromArray(input.Copy()));
      const TensorFn function =
          ApplyStack(BuildOperation(program.op, program.attributes), program.stack);
      std::vector<Array> outputs;
      for (const Tensor& output : function(tensors)) outputs.push_back(output.array());
      return outputs;
    } catch (const Error& error) {
      return ToStatus(error);
    } catch (const std::exception& error) {
      return absl::UnknownError(error.what());
    }
  }
};

const EngineRegistration kBuiltin("builtin", "peelcheck's own engine (engine/)",
                                  [] { return std::make_unique<BuiltinEngine>(); });

}  // namespace
}  // namespace peelcheck
