"""Operations on functions: loops and attention whose functions are called in their place, and branches that both are
computed.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib

import torch

from ..exported import unique_name
from .masks import write_by_selection
from .vision import vision


def _stacked(rows):
    """The results of each iteration, as tuples, stacked along a first dimension."""
    return [torch.stack(column) for column in zip(*rows)]


def _unrolled_scan(combine, init, xs, additional_inputs, **_):
    carried, rows = tuple(init), []
    for i in range(xs[0].shape[0]):
        results = combine(*carried, *(x[i] for x in xs), *additional_inputs)
        carried = tuple(results[:len(init)])
        rows.append(results[len(init):])
    return (*carried, *_stacked(rows))


def _unrolled_map(function, xs, pos_args, **_):
    return tuple(_stacked([function(*(x[i] for x in xs), *pos_args) for i in range(xs[0].shape[0])]))


def _dense_attention(query, key, value, score_mod, block_mask, scale, kernel_options, score_mod_other_buffers=(),
                     mask_mod_other_buffers=()):
    """flex_attention with all scores, as PyTorch computes it without a kernel."""
    from torch._higher_order_ops.flex_attention import math_attention
    return math_attention(query, key, value, score_mod, block_mask, scale, kernel_options, score_mod_other_buffers,
                          mask_mod_other_buffers)


def _called_region(function, _, *operands):
    return function(*operands)


def _length(xs):
    return xs[0].meta["example_value"].shape[0] if xs else 0


def call_functions(graph_module):
    """Puts what autograd sees through in the place of loops of known length, of flex_attention, of regions that are
    compiled once (nested_compile_region), of assignments by masks, and of operations of torchvision."""
    ops, of_images = torch.ops.higher_order, vision()
    for module in graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            if node.target is ops.flex_attention:
                node.target = _dense_attention
            elif node.target is ops.invoke_subgraph:
                node.target = _called_region
            elif node.op == "call_function" and node.target in of_images:
                node.target = of_images[node.target]
            elif node.target in (ops.scan, ops.map_impl) and not node.kwargs.get("mutated_arg_indices"):
                xs = node.args[2 if node.target is ops.scan else 1]
                if _length(xs):
                    node.target = _unrolled_scan if node.target is ops.scan else _unrolled_map
        write_by_selection(module)
        module.recompile()


@contextlib.contextmanager
def flex_attention_on_cpu():
    """PyTorch refuses its derivative on the CPU, for which it has no kernel."""
    from torch.nn.attention import flex_attention
    validate = getattr(flex_attention, "_validate_device", None)
    if validate is not None:
        flex_attention._validate_device = lambda *_: None
    try:
        yield
    finally:
        if validate is not None:
            flex_attention._validate_device = validate


def _held(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _hold(graph_module, value):
    """A name by which a module holds what a branch held, such as constants and branches within."""
    name = unique_name("remat_branch", vars(graph_module).keys() | graph_module._modules.keys() |
                       graph_module._buffers.keys())
    setattr(graph_module, name, value)
    return name


def _copy_branch(graph_module, node, branch, operands):
    """The results of a branch, whose nodes are copied before that of the operation."""
    copies = dict(zip((n for n in branch.graph.nodes if n.op == "placeholder"), operands))
    for inner in branch.graph.nodes:
        if inner.op == "output":
            return torch.fx.map_arg(inner.args[0], copies.get)
        if inner.op == "placeholder":
            continue
        with graph_module.graph.inserting_before(node):
            copy = copies[inner] = graph_module.graph.node_copy(inner, copies.get)
        if inner.op == "get_attr":
            copy.target = _hold(graph_module, _held(branch, inner.target))
        copy.meta.update((key, node.meta[key]) for key in INHERITED if key in node.meta)
        if not copy.meta.get("stack_trace"):
            copy.meta["stack_trace"] = node.meta.get("stack_trace")
    return ()


# What a branch has of the operation that it belongs to.
INHERITED = "partitioner_tag", "ac_graph_id", "recompute", "custom"


def inline_branches(graph_module):
    """Computes both branches of torch.cond. In a joint graph, the derivative is a branch of its own, so what is not
    chosen has no part in the gradients, also where it is infinite."""
    graph, aten = graph_module.graph, torch.ops.aten
    for node in _branches(graph):
        condition, *functions, operands = node.args
        found = [_copy_branch(graph_module, node, _held(graph_module, f.target), operands) for f in functions]
        results = []
        with graph.inserting_before(node):
            if condition.meta["val"].dim():
                value = condition.meta["val"]
                condition = graph.call_function(aten.reshape.default, (condition, []))
                condition.meta.update(node.meta, val=value.reshape([]))
            for left, right in zip(*found):
                if not isinstance(left, torch.fx.Node):
                    results.append(left)
                    continue
                results.append(graph.call_function(aten.where.self, (condition, left, right)))
                results[-1].meta.update(node.meta, val=left.meta["val"])
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            graph.erase_node(user)
        graph.erase_node(node)


def _branches(graph):
    """The next torch.cond of a graph, which may be one that a branch had."""
    while (node := next((n for n in graph.nodes if n.target is torch.ops.higher_order.cond), None)) is not None:
        yield node
