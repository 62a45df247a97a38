// vmap of functions over flat lists of tensors. Trees: engine/pytree.cc.
#include <absl/strings/str_cat.h>

#include "engine/map_over.h"

namespace peelcheck {
namespace {

std::string DimsToString(const std::vector<BatchDim>& dims) {
  std::string text = "(";
  for (size_t i = 0; i < dims.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "",
                    dims[i].has_value() ? absl::StrCat(*dims[i]) : "none");
  }
  return text + ")";
}

// One dim per value; `what` = "in_dims", `of` = "input".
std::vector<BatchDim> OneDimEach(const std::vector<BatchDim>& dims, size_t count, const char* what,
                                 const char* of) {
  if (dims.size() == count) return dims;
  if (dims.size() == 1) return std::vector<BatchDim>(count, dims[0]);
  ThrowInvalidArgument(absl::StrCat("[vmap] ", what, "=", DimsToString(dims), " for ", count, " ",
                                    of, "s; expected ", count, " dims, one per ", of,
                                    ", or a single one for all"));
}

class FlatLayout : public MapLayout {
 public:
  explicit FlatLayout(const VmapOptions& options) : options_(options) {}
  std::vector<BatchDim> OutDims(size_t outputs) const override {
    return OneDimEach(options_.out_dims, outputs, "out_dims", "output");
  }

 private:
  const VmapOptions& options_;
};

}  // namespace

TensorFn Vmap(TensorFn f, VmapOptions options) {
  return [f = std::move(f), options = std::move(options)](const Tensors& inputs) {
    if (inputs.empty()) {
      ThrowInvalidArgument("[vmap] the function got no inputs; expected at least one to map over");
    }
    return MapOver(f, inputs, OneDimEach(options.in_dims, inputs.size(), "in_dims", "input"),
                   FlatLayout(options), options);
  };
}

}  // namespace peelcheck
