"""Operations that a step cannot have are left to PyTorch: the graph is cut around each, and what is before and behind
it are steps of their own, as at a graph break.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import itertools
import operator
import re
import threading
import warnings

import torch
from torch.fx.passes.split_module import split_module

CALLS = ("call_function", "call_method", "call_module")
# What changes how operations behave until it is undone, and by what. PyTorch cuts through others, such as autocast.
REGIONS = {
    "_vmap_increment_nesting": "_vmap_decrement_nesting",
    "_grad_increment_nesting": "_grad_decrement_nesting",
    "_jvp_increment_nesting": "_jvp_decrement_nesting",
    "_enter_dual_level": "_exit_dual_level",
    "_enter_inference_mode": "_exit_inference_mode",
    "_saved_tensors_hooks_disable": "_saved_tensors_hooks_enable",
}
ENDS = set(REGIONS.values())


def _callers(graph_module):
    """For each operation of the graph, by the graph's number and its name, itself, and for those of a function that the
    graph has, such as a region of a checkpoint, the operation that calls it."""
    callers = {}
    for node in graph_module.graph.nodes:
        if node.op in CALLS:
            callers[id(graph_module.graph), node.name] = node
        function = operator.attrgetter(node.target)(graph_module) if node.op == "get_attr" else None
        if isinstance(function, torch.fx.GraphModule) and node.users:
            graphs = (m.graph for m in function.modules() if isinstance(m, torch.fx.GraphModule))
            callers.update(((id(graph), n.name), next(iter(node.users))) for graph in graphs for n in graph.nodes)
    return callers


def _refused(graph_module, error):
    """The operation of the graph that an error is about, None where that is not known."""
    callers = _callers(graph_module)
    node = getattr(error, "node", None)
    if node is None:  # It was refused while PyTorch called operations one by one; the outermost is the last.
        by_name = {name: caller for (_, name), caller in reversed(callers.items())}
        found = [by_name.get(name) for name in reversed(re.findall(r"While executing %(\w+)", str(error)))]
    else:
        # A node of the backward computation has the number of the forward one.
        nodes = [node] if node.meta.get("from_node") else [
            n for n in node.graph.nodes if n.meta.get("seq_nr") == node.meta.get("seq_nr")]
        found = [callers.get((source.graph_id, source.name)) for n in nodes for source in n.meta.get("from_node") or ()]
    return next(filter(None, found), None)


def _opened(node):
    """How many regions begin at the node; -1 where one ends."""
    name = getattr(node.target, "__name__", "") if node.op == "call_function" else ""
    return (name in REGIONS) - (name in ENDS)


def _left_out(nodes, node):
    """The first and the last of `nodes` that are left to PyTorch with `node`: with it, the whole regions that it is in,
    and what picks its results."""
    open_before = list(itertools.accumulate(map(_opened, nodes), initial=0))
    position = nodes.index(node)
    first = max((i for i in range(position + 1) if open_before[i] == 0), default=0)
    last = next((i for i in range(position, len(nodes)) if open_before[i + 1] == 0), len(nodes) - 1)
    while last + 1 < len(nodes) and nodes[last + 1].target is operator.getitem:
        last += 1
    return first, last


def _key(values):
    """What a step is compiled for."""
    return torch.is_grad_enabled(), tuple(
        (v.shape, v.stride(), v.dtype, v.device, v.requires_grad) if isinstance(v, torch.Tensor) else v
        for v in values)


class Part(torch.nn.Module):
    """What is before or behind an operation that is left to PyTorch: a step, which is compiled when it is first called,
    as only then it is known what the operation gives. `compile_graph` makes a function of a graph and its inputs."""

    def __init__(self, graph_module, compile_graph):
        super().__init__()
        self.graph_module, self.compile_graph = graph_module, compile_graph
        output = next(n for n in graph_module.graph.nodes if n.op == "output")
        self.gives_one = not isinstance(output.args[0], (tuple, list))
        if self.gives_one:
            output.args = ((output.args[0],),)
        self.lock, self.steps = threading.RLock(), {}

    def forward(self, *values):
        key = _key(values)
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        with self.lock:
            if key not in self.steps:
                self.steps[key] = self.compile_graph(self._graph_of(values), tensors)
        results = self.steps[key](*tensors)
        return results[0] if self.gives_one else results

    def _graph_of(self, values):
        """A copy, as the graph is changed when it is compiled, with numbers built in."""
        graph = torch.fx.Graph()
        graph.output(graph.graph_copy(self.graph_module.graph, {}))
        for node, value in zip(graph.find_nodes(op="placeholder"), values):
            if not isinstance(value, torch.Tensor):
                node.replace_all_uses_with(value)
                graph.erase_node(node)
        return torch.fx.GraphModule(self.graph_module, graph)


def leave_to_pytorch(graph_module, error, compile_graph):
    """A function that does what the graph does, with the operation that `error` is about in PyTorch. Raises the error
    if it is about none of them."""
    node = _refused(graph_module, error)
    if node is None:
        raise error
    nodes = list(graph_module.graph.nodes)
    first, last = _left_out(nodes, node)
    places = {n: 0 if i < first else 1 if i <= last else 2 for i, n in enumerate(nodes)}
    warnings.warn("%s. It is left to PyTorch, outside of any plan, and the graph is cut there; with the option "
                  "'fallback': False it is an error" % str(error).splitlines()[0], stacklevel=2)
    parts = split_module(graph_module, None, places.get, keep_original_order=True)
    for name in ("submod_0", "submod_2"):
        part = getattr(parts, name, None)
        if part is not None and any(n.op in CALLS for n in part.graph.nodes):
            setattr(parts, name, Part(part, compile_graph))
    return parts
