#include "engine/pytree.h"

#include <absl/strings/str_cat.h>

#include "engine/map_over.h"

namespace peelcheck {
namespace {

struct NamedLeaf {
  std::string path;  // "inputs[1].scale"
  TreeLeaf leaf;
};

template <typename Node, typename Visit>
void VisitChildren(const Node& tree, const std::string& path, Visit visit) {
  if (tree.is_list()) {
    for (size_t i = 0; i < tree.list().size(); ++i) {
      visit(tree.list()[i], absl::StrCat(path, "[", i, "]"));
    }
  } else if (tree.is_dict()) {
    for (const auto& [key, child] : tree.dict()) visit(child, absl::StrCat(path, ".", key));
  }
}

void Flatten(const Tree& tree, const std::string& path, std::vector<NamedLeaf>* leaves) {
  if (tree.is_leaf()) leaves->push_back({path, tree.leaf()});
  VisitChildren(tree, path,
                [&](const auto& child, const std::string& at) { Flatten(child, at, leaves); });
}

// The structure of `like` with the leaves taken in order.
Tree Unflatten(const Tree& like, const std::function<TreeLeaf()>& next) {
  if (like.is_leaf()) return next();
  if (like.is_list()) {
    Tree::ListNode children;
    for (const auto& child : like.list()) children.push_back(Unflatten(child, next));
    return Tree::List(std::move(children));
  }
  Tree::DictNode children;
  for (const auto& [key, child] : like.dict()) children.emplace(key, Unflatten(child, next));
  return Tree::Dict(std::move(children));
}

template <typename Node>
std::string Describe(const Node& tree) {
  if (tree.is_leaf()) return "a leaf";
  if (tree.is_list()) return absl::StrCat("a list of ", tree.list().size());
  std::string keys;
  for (const auto& [key, child] : tree.dict())
    absl::StrAppend(&keys, keys.empty() ? "" : ", ", key);
  return absl::StrCat("a dict of {", keys, "}");
}

// One dim per leaf of `tree`, in order: those of the prefix, each repeated for all below it.
void SpreadDims(const DimTree& prefix, const Tree& tree, const std::string& path, const char* what,
                std::vector<BatchDim>* dims) {
  if (prefix.is_leaf()) {
    std::vector<NamedLeaf> below;
    Flatten(tree, path, &below);
    for (const NamedLeaf& leaf : below) {
      if (prefix.leaf().has_value() && !leaf.leaf.is_tensor()) {
        ThrowInvalidArgument(absl::StrCat("[vmap] ", what, "=", *prefix.leaf(), " for ", leaf.path,
                                          ", which is no tensor; use none for it"));
      }
      dims->push_back(prefix.leaf());
    }
    return;
  }
  const bool fits =
      (prefix.is_list() && tree.is_list() && prefix.list().size() == tree.list().size()) ||
      (prefix.is_dict() && tree.is_dict() && Describe(prefix) == Describe(tree));
  if (!fits) {
    ThrowInvalidArgument(absl::StrCat("[vmap] ", what, " has ", Describe(prefix), " where ", path,
                                      " is ", Describe(tree),
                                      "; expected the same there, or one dim for all of it"));
  }
  VisitChildren(tree, path, [&](const auto& child, const std::string& at) {
    const std::string key = at.substr(path.size() + 1);
    if (prefix.is_list()) {
      SpreadDims(prefix.list()[std::stoul(key)], child, at, what, dims);
    } else {
      SpreadDims(prefix.dict().at(key), child, at, what, dims);
    }
  });
}

// A call in progress: the trees on both sides of the flat map.
class TreeLayout : public MapLayout {
 public:
  TreeLayout(const TreeVmapOptions& options, const Tree& argument) : options_(options) {
    std::vector<NamedLeaf> leaves;
    Flatten(argument, "inputs", &leaves);
    std::vector<BatchDim> dims;
    SpreadDims(options.in_dims, argument, "inputs", "in_dims", &dims);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].leaf.is_tensor()) continue;
      inputs.push_back(leaves[i].leaf.tensor());
      in_dims.push_back(dims[i]);
      input_names_.push_back(leaves[i].path);
    }
  }

  // f on the argument's tree, with these tensors in place of its own.
  Tensors Call(const TreeFn& f, const Tree& argument, const Tensors& tensors) {
    std::vector<NamedLeaf> leaves;
    Flatten(argument, "inputs", &leaves);
    size_t leaf = 0;
    size_t tensor = 0;
    const Tree wrapped = Unflatten(argument, [&]() -> TreeLeaf {
      const TreeLeaf& own = leaves[leaf++].leaf;
      return own.is_tensor() ? TreeLeaf(tensors[tensor++]) : own;
    });
    Tree result = f(wrapped);
    std::vector<NamedLeaf> outputs;
    Flatten(result, "outputs", &outputs);
    std::vector<BatchDim> dims;
    SpreadDims(options_.out_dims, result, "outputs", "out_dims", &dims);
    Tensors flat;
    out_dims_.clear();
    output_names_.clear();
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (!outputs[o].leaf.is_tensor()) continue;
      flat.push_back(outputs[o].leaf.tensor());
      out_dims_.push_back(dims[o]);
      output_names_.push_back(outputs[o].path);
    }
    if (!result_.has_value()) result_ = std::move(result);
    return flat;
  }

  // The result's tree with these tensors.
  Tree Result(const Tensors& tensors) const {
    std::vector<NamedLeaf> leaves;
    Flatten(*result_, "outputs", &leaves);
    size_t leaf = 0;
    size_t tensor = 0;
    return Unflatten(*result_, [&]() -> TreeLeaf {
      const TreeLeaf& own = leaves[leaf++].leaf;
      return own.is_tensor() ? TreeLeaf(tensors[tensor++]) : own;
    });
  }

  std::vector<BatchDim> OutDims(size_t) const override { return out_dims_; }
  std::string InputName(size_t i) const override { return input_names_[i]; }
  std::string OutputName(size_t i) const override { return output_names_[i]; }

  Tensors inputs;
  std::vector<BatchDim> in_dims;

 private:
  const TreeVmapOptions& options_;
  std::vector<std::string> input_names_, output_names_;
  std::vector<BatchDim> out_dims_;
  std::optional<Tree> result_;  // of the first chunk
};

}  // namespace

const Tensor& TensorOf(const Tree& tree) {
  if (!tree.is_leaf() || !tree.leaf().is_tensor()) {
    ThrowInvalidArgument(absl::StrCat("[tree] a tensor was asked of ",
                                      tree.is_leaf() ? "a value that is none" : Describe(tree),
                                      "; look at is_leaf() and leaf() first"));
  }
  return tree.leaf().tensor();
}

TreeFn VmapTree(TreeFn f, TreeVmapOptions options) {
  return [f = std::move(f), options = std::move(options)](const Tree& argument) -> Tree {
    TreeLayout layout(options, argument);
    if (layout.inputs.empty()) {
      ThrowInvalidArgument("[vmap] the inputs hold no tensor; expected at least one to map over");
    }
    const TensorFn flat = [&](const Tensors& tensors) { return layout.Call(f, argument, tensors); };
    const VmapOptions flat_options = {.randomness = options.randomness,
                                      .fallback_is_error = options.fallback_is_error,
                                      .chunk_size = options.chunk_size};
    return layout.Result(MapOver(flat, layout.inputs, layout.in_dims, layout, flat_options));
  };
}

}  // namespace peelcheck
