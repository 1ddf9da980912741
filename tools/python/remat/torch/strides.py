"""The order in which results have their elements. A step has them row by row, but what follows a graph may rely on
that of PyTorch, such as `view` behind attention, whose result is one row of a batch after the other.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def dense_order(tensor):
    """The dimensions of a tensor from the slowest to the fastest one, if its elements are dense, but not row by row.
    Else None."""
    if tensor.layout != torch.strided or tensor.numel() <= 1 or tensor.is_contiguous():
        return None
    order = sorted(range(tensor.dim()), key=lambda d: (-tensor.stride(d), d))
    expected = 1
    for d in reversed(order):
        if tensor.shape[d] != 1 and tensor.stride(d) != expected:
            return None
        expected *= tensor.shape[d]
    return order


def inverse(order):
    return [order.index(d) for d in range(len(order))]


def _steps(tensor):
    return [step for step, extent in zip(tensor.stride(), tensor.shape) if extent > 1]


def _reordered(found, expected):
    """`found` with its elements in the order of `expected`, if that is dense."""
    if not isinstance(found, torch.Tensor) or not isinstance(expected, torch.Tensor) or \
            found.layout != torch.strided or found.shape != expected.shape or not found.numel() or \
            _steps(found) == _steps(expected):
        return found
    if expected.is_contiguous():
        return found.contiguous()
    order = dense_order(expected)
    return found if order is None else found.permute(order).contiguous().permute(inverse(order))


def in_order(operation, function):
    """A decomposition whose results have their elements in the order that those of the operation have. What follows in
    the graph may rely on it, such as `view`."""
    def decomposition(*args, **kwargs):
        found = function(*args, **kwargs)
        leaves, tree = torch.utils._pytree.tree_flatten((args, kwargs))
        tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
        results = torch.utils._pytree.tree_leaves(found)
        if found is NotImplemented or all(not isinstance(x, torch.Tensor) or x.is_contiguous() for x in
                                          (*tensors, *results)):
            return found
        # Only shapes are computed, without what traces operations.
        with torch.utils._python_dispatch._disable_current_modes():
            leaves = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
                      if isinstance(x, torch.Tensor) else torch.device("meta") if isinstance(x, torch.device) else x
                      for x in leaves]
            args, kwargs = torch.utils._pytree.tree_unflatten(leaves, tree)
            try:
                expected = torch.utils._pytree.tree_leaves(operation(*args, **kwargs))
            except Exception:  # It needs data, or PyTorch knows its shapes by the decomposition.
                return found
        if len(expected) != len(results):
            return found
        structure = torch.utils._pytree.tree_structure(found)
        return torch.utils._pytree.tree_unflatten([_reordered(*pair) for pair in zip(results, expected)], structure)

    return decomposition


def _storage(tensor):
    return tensor.untyped_storage()._cdata


def keep_strides(graph_module):
    """Gives the outputs of a graph of Dynamo, which has not been decomposed yet, the order that they have there: each
    is a copy in a format of PyTorch or, if it has none, a view of a copy with this order. Of a view, PyTorch changes
    the strides of dimensions with one element, and with them what it takes for the format. Outputs that share memory
    stay as they are."""
    graph = graph_module.graph
    value = lambda node: node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    is_known = lambda t: isinstance(t, torch.Tensor) and t.layout == torch.strided and not t.is_nested
    output = next(n for n in graph.nodes if n.op == "output")
    taken = {_storage(value(n)) for n in graph.nodes if n.op in ("placeholder", "get_attr") and is_known(value(n))}
    nodes = dict.fromkeys(n for n in output.all_input_nodes if is_known(value(n)))
    storages = [_storage(value(n)) for n in nodes]
    changed = {}
    for node in nodes:
        storage = _storage(value(node))
        if node.op in ("placeholder", "get_attr") or storage in taken or storages.count(storage) > 1:
            continue
        order = dense_order(value(node))
        if order is None:
            continue
        memory_format = FORMATS.get(value(node).dim())
        with graph.inserting_before(output):
            if memory_format and value(node).is_contiguous(memory_format=memory_format):
                changed[node] = graph.call_method("clone", (node,), {"memory_format": memory_format})
                continue
            copy = graph.call_method("permute", (node, order))
            copy = graph.call_method("clone", (copy,), {"memory_format": torch.contiguous_format})
            changed[node] = graph.call_method("permute", (copy, inverse(order)))
    if changed:
        output.args = torch.fx.node.map_arg(output.args, lambda n: changed.get(n, n))
        graph_module.recompile()
