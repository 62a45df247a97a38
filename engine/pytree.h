// engine/pytree.h: nested lists and dicts of tensors, as arguments and results of a mapped
// function.
//
//   Tree batch = Tree::List({xs, Tree::Dict({{"scale", scales}, {"name", ValueLeaf(1)}})});
//   Tree out = VmapTree(f, {.in_dims = DimTree::List({0, std::nullopt})})(batch);
//
// A tree of dims is a prefix of a tree of arguments: a leaf of the prefix stands for all that is
// below it.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/transforms.h"

namespace peelcheck {

// A leaf, a list of trees, or a dict of trees by name.
template <typename Leaf>
class BasicTree {
 public:
  using ListNode = std::vector<BasicTree>;
  using DictNode = std::map<std::string, BasicTree>;

  template <typename L>
  requires(std::is_convertible_v<L, Leaf> && !std::is_same_v<std::decay_t<L>, BasicTree>)
      BasicTree(L&& leaf)
      : node_(Leaf(std::forward<L>(leaf))) {}  // NOLINT(google-explicit-constructor)
  // A tree of trees:
  static BasicTree List(ListNode children) { return BasicTree(Node(std::move(children))); }
  static BasicTree Dict(DictNode children) { return BasicTree(Node(std::move(children))); }

  bool is_leaf() const { return std::holds_alternative<Leaf>(node_); }
  bool is_list() const { return std::holds_alternative<ListNode>(node_); }
  bool is_dict() const { return std::holds_alternative<DictNode>(node_); }
  const Leaf& leaf() const { return std::get<Leaf>(node_); }
  const ListNode& list() const { return std::get<ListNode>(node_); }
  const DictNode& dict() const { return std::get<DictNode>(node_); }
  // Child of a list, of a dict; std::out_of_range where there is none.
  const BasicTree& operator[](size_t index) const { return list().at(index); }
  const BasicTree& operator[](const std::string& key) const { return dict().at(key); }

 private:
  using Node = std::variant<Leaf, ListNode, DictNode>;
  explicit BasicTree(Node node) : node_(std::move(node)) {}
  Node node_;
};

// A tensor, or any other value, which passes through a transform untouched.
class TreeLeaf {
 public:
  TreeLeaf(Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  static TreeLeaf Value(std::any value) {
    TreeLeaf leaf{Tensor()};
    leaf.value_ = std::move(value);
    return leaf;
  }
  bool is_tensor() const { return tensor_.defined(); }
  const Tensor& tensor() const { return tensor_; }
  const std::any& value() const { return value_; }

 private:
  Tensor tensor_;
  std::any value_;
};

using Tree = BasicTree<TreeLeaf>;
using DimTree = BasicTree<BatchDim>;

// A leaf that is no tensor.
inline Tree ValueLeaf(std::any value) { return TreeLeaf::Value(std::move(value)); }
// The tensor of a leaf; invalid_argument for anything else.
const Tensor& TensorOf(const Tree& tree);

using TreeFn = std::function<Tree(const Tree&)>;

struct TreeVmapOptions {
  DimTree in_dims = 0;   // a prefix of the argument's tree; leaves: a dim (negative wraps) or none
  DimTree out_dims = 0;  // a prefix of the result's tree
  // As in VmapOptions.
  Randomness randomness = Randomness::kError;
  bool fallback_is_error = false;
  std::optional<int64_t> chunk_size = std::nullopt;
};

// f mapped over the tensors of a tree: what Vmap is for flat lists. Values that are no tensors need
// dim none, and of a result those of the first chunk are returned. Errors (invalid_argument) name
// the place in the tree, as in `inputs[1].scale`: in_dims or out_dims no prefix; a dim for a value
// that is no tensor; and those of Vmap.
TreeFn VmapTree(TreeFn f, TreeVmapOptions options = {});

}  // namespace peelcheck
