// vmap of functions over tensors; its arguments are checked here, what it does with a call is in
// engine/vmap_level.cc.
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "engine/batching.h"
#include "engine/fault_points.h"
#include "engine/level.h"
#include "engine/transforms.h"

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

std::vector<BatchDim> ResolveInDims(const VmapOptions& options, const Tensors& inputs) {
  if (inputs.empty())
    ThrowInvalidArgument("[vmap] the function got no inputs; expected at least one to map over");
  std::vector<BatchDim> dims = OneDimEach(options.in_dims, inputs.size(), "in_dims", "input");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined())
      ThrowInvalidArgument(absl::StrCat("[vmap] input ", i, " is an undefined tensor"));
    if (!dims[i].has_value()) continue;
    const int64_t rank = inputs[i].rank();
    if (rank == 0) {
      ThrowInvalidArgument(
          absl::StrCat("[vmap] in_dims=", *dims[i], " for input ", i,
                       " of rank 0, which has no axis to map over; use none for it"));
    }
    if (*dims[i] < -rank || *dims[i] >= rank) {
      ThrowInvalidArgument(absl::StrCat("[vmap] in_dims=", *dims[i], " for input ", i, " of rank ",
                                        rank, "; expected ", -rank, "..", rank - 1));
    }
    if (Faulty(FaultPoint::kNegativeInDim) && *dims[i] < 0 && rank > 1) {
      *dims[i] = (*dims[i] + rank + 1) % rank;
      continue;
    }
    if (*dims[i] < 0) *dims[i] += rank;
  }
  return dims;
}

int64_t BatchSize(const Tensors& inputs, const std::vector<BatchDim>& dims) {
  std::optional<int64_t> size;
  bool equal = true;
  std::string sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!dims[i].has_value()) continue;
    const int64_t mapped = inputs[i].dim(*dims[i]);
    equal = equal && mapped == size.value_or(mapped);
    size = mapped;
    absl::StrAppend(&sizes, sizes.empty() ? "" : ", ", "input ", i, ": ", mapped);
  }
  if (!size.has_value()) {
    ThrowInvalidArgument(absl::StrCat("[vmap] in_dims=", DimsToString(dims),
                                      " maps no input; give at least one input a dim"));
  }
  if (!equal) {
    ThrowInvalidArgument(absl::StrCat("[vmap] sizes in the mapped axes differ (", sizes,
                                      "); expected one batch size"));
  }
  return *size;
}

// An output's value with its batch axis at `out_dim`.
Tensor PlaceBatch(const Level& level, const Tensor& output, BatchDim out_dim, size_t index) {
  const bool batched = IsWrapperOf(output, level);
  if (!out_dim.has_value()) {
    if (!batched) return output;
    ThrowInvalidArgument(absl::StrCat(
        "[vmap] out_dims is none for output ", index,
        ", which is batched; give it a dim, or make it independent of the mapped inputs"));
  }
  const int64_t rank = output.rank() + 1;  // with the batch axis
  if (*out_dim < -rank || *out_dim >= rank) {
    ThrowInvalidArgument(absl::StrCat("[vmap] out_dims=", *out_dim, " for output ", index,
                                      " of rank ", rank, " with its batch axis; expected ", -rank,
                                      "..", rank - 1));
  }
  int64_t to = *out_dim < 0 ? *out_dim + rank : *out_dim;
  if (Faulty(FaultPoint::kOutDimIgnored)) to = 0;
  if (Faulty(FaultPoint::kUnbatchedOutDim) && !batched && *out_dim < 0) to = (to + rank - 1) % rank;
  if (Faulty(FaultPoint::kUnbatchedFirstSlot) && !batched && level.vmap.batch_size > 0) {
    return MoveDim(Pad(Unsqueeze(output, 0), 0, 0, level.vmap.batch_size - 1), 0, to);
  }
  if (batched) return MoveDim(output.impl()->inner, output.impl()->batch_dim, to);
  return MoveDim(EnsureBatchAtFront(output, std::nullopt, level.vmap.batch_size), 0, to);
}

Tensors MapAtOnce(const TensorFn& f, const VmapOptions& options, const Tensors& inputs,
                  const std::vector<BatchDim>& dims, int64_t batch_size) {
  Level level(LevelKind::kVmap);
  level.vmap = {batch_size, options.randomness};
  if (Faulty(FaultPoint::kRandomnessIgnored)) level.vmap.randomness = Randomness::kSame;
  level.fallback_is_error = options.fallback_is_error;
  Tensors wrapped;
  for (size_t i = 0; i < inputs.size(); ++i) {
    wrapped.push_back(dims[i].has_value() ? WrapBatched(level, inputs[i], *dims[i]) : inputs[i]);
  }
  Tensors outputs;
  {
    LevelScope live(level);
    outputs = f(wrapped);
  }
  const std::vector<BatchDim> out_dims =
      OneDimEach(options.out_dims, outputs.size(), "out_dims", "output");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined())
      ThrowInvalidArgument(absl::StrCat("[vmap] output ", i, " is an undefined tensor"));
    outputs[i] = PlaceBatch(level, outputs[i], out_dims[i], i);
  }
  return outputs;
}

// ceil(B / chunk_size) calls, joined along the out_dims; an output with out_dim none is that of the
// first chunk.
Tensors MapInChunks(const TensorFn& f, const VmapOptions& options, const Tensors& inputs,
                    const std::vector<BatchDim>& dims, int64_t batch_size) {
  std::vector<Tensors> pieces;
  for (int64_t start = 0; start < batch_size; start += options.chunk_size) {
    const int64_t length = std::min(options.chunk_size, batch_size - start);
    Tensors chunk;
    for (size_t i = 0; i < inputs.size(); ++i) {
      chunk.push_back(dims[i].has_value() ? Narrow(inputs[i], *dims[i], start, length) : inputs[i]);
    }
    const Tensors outputs = MapAtOnce(f, options, chunk, dims, length);
    pieces.resize(outputs.size());
    for (size_t o = 0; o < outputs.size(); ++o) pieces[o].push_back(outputs[o]);
  }
  const std::vector<BatchDim> out_dims =
      OneDimEach(options.out_dims, pieces.size(), "out_dims", "output");
  Tensors joined;
  for (size_t o = 0; o < pieces.size(); ++o) {
    joined.push_back(out_dims[o].has_value() ? Cat(pieces[o], *out_dims[o]) : pieces[o][0]);
  }
  return joined;
}

}  // namespace

TensorFn Vmap(TensorFn f, VmapOptions options) {
  return [f = std::move(f), options = std::move(options)](const Tensors& inputs) {
    if (options.chunk_size < 0) {
      ThrowInvalidArgument(absl::StrCat("[vmap] chunk_size=", options.chunk_size,
                                        "; expected 1 or more, or 0 for no chunks"));
    }
    const std::vector<BatchDim> dims = ResolveInDims(options, inputs);
    const int64_t batch_size = BatchSize(inputs, dims);
    if (options.chunk_size == 0 || batch_size <= options.chunk_size) {
      return MapAtOnce(f, options, inputs, dims, batch_size);
    }
    return MapInChunks(f, options, inputs, dims, batch_size);
  };
}

}  // namespace peelcheck
