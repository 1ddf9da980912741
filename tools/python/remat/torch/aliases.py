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


def results_in_inputs(graph_module):
    """The numbers of results of a graph of Dynamo that share memory with an input. What is decomposed may be an input
    where PyTorch has a copy, such as the largest numbers so far along a dimension of one."""
    graph = graph_module.graph

    def storage(node):
        value = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
        is_known = isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_nested
        return value.untyped_storage()._cdata if is_known else None

    inputs = {storage(n) for n in graph.nodes if n.op == "placeholder"} - {None}
    flat = torch.utils._pytree.tree_leaves(graph.output_node().args[0], is_leaf=lambda x: x is None)
    return {number for number, node in enumerate(flat) if storage(node) in inputs}


def views_of_inputs(graph, count, mutated, shared):
    """Of the first `count` outputs of a graph, those that are views of inputs that the graph does not change, by their
    numbers. `shared` are the numbers of the model's results that are."""
    from torch._functorch._aot_autograd.descriptors import PlainAOTOutput
    output = graph.output_node()
    flat = torch.utils._pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None)
    found = {}
    for number, (node, desc) in enumerate(zip(flat[:count], output.meta.get("desc") or ())):
        if not isinstance(desc, PlainAOTOutput) or desc.idx not in shared:
            continue
        nodes = []
        while isinstance(node, torch.fx.Node) and _is_view(node) and len(node.all_input_nodes) == 1:
            nodes.insert(0, node)
            node = node.args[0]
        if nodes and isinstance(node, torch.fx.Node) and node.op == "placeholder" and node not in mutated:
            found[number] = View(node, nodes)
    return found
