"""Results that are views of inputs. They share the memory of these, as in PyTorch, so no step makes them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import operator

import torch

# Operations of ATen that give views of their first argument, whatever its layout is.
VIEWS = {"view", "t", "transpose", "permute", "expand", "squeeze", "unsqueeze", "slice", "select", "split",
         "split_with_sizes", "unbind", "alias", "detach", "_reshape_alias", "diagonal", "unfold", "view_as_real"}


def _is_view(node):
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return True
    return getattr(node.target, "namespace", None) == "aten" and node.target.overloadpacket.__name__ in VIEWS


class View:
    """How a result comes from an input: the placeholder, and operations one after the other."""

    def __init__(self, placeholder, nodes):
        self.placeholder, self.nodes = placeholder, nodes

    def of(self, tensor):
        for node in self.nodes:
            tensor = node.target(tensor, *node.args[1:], **node.kwargs)
        return tensor

    def copy_into(self, graph, tensor):
        """The same as nodes of a graph, of the node of the input."""
        for node in self.nodes:
            value = node.meta["val"]
            tensor = graph.call_function(node.target, (tensor, *node.args[1:]), node.kwargs)
            tensor.meta["val"] = value
        return tensor


def views_of_inputs(graph, count, mutated):
    """Of the first `count` outputs of a graph, those that are views of inputs that the graph does not change, by their
    numbers."""
    flat = torch.utils._pytree.tree_leaves(graph.output_node().args[0], is_leaf=lambda x: x is None)
    found = {}
    for number, node in enumerate(flat[:count]):
        nodes = []
        while isinstance(node, torch.fx.Node) and _is_view(node) and len(node.all_input_nodes) == 1:
            nodes.insert(0, node)
            node = node.args[0]
        if nodes and isinstance(node, torch.fx.Node) and node.op == "placeholder" and node not in mutated:
            found[number] = View(node, nodes)
    return found
