"""Operations that a step cannot have are left to PyTorch: the graph is cut around each, and what is before and behind
it are steps of their own, as at a graph break.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import itertools
import operator
import re
import warnings

import torch
from torch._dynamo.convert_frame import compile_lock
from torch.fx.passes.split_module import split_module

from ..errors import Error

CALLS = ("call_function", "call_method", "call_module")
CHECKPOINT = torch.ops.higher_order.tag_activation_checkpoint
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


def _functions(graph_module, node):
    """The graphs that an operation calls, such as the region of a checkpoint."""
    names = [n.target for n in node.all_input_nodes if n.op == "get_attr"]
    names += [node.target] if node.op == "call_module" else []
    return [f for f in (operator.attrgetter(name)(graph_module) for name in names)
            if isinstance(f, torch.fx.GraphModule)]


def _operations(graph_module):
    """Those of a graph, each before those of the functions that it calls."""
    for node in graph_module.graph.nodes:
        if node.op in CALLS:
            yield node
            for function in _functions(graph_module, node):
                yield from _operations(function)


def _refused(graph_module, error):
    """The operation that an error is about, None where that is not known. Where the error does not say more, it is an
    operation of the graph with functions."""
    node = getattr(error, "node", None)
    if node in _operations(graph_module):
        return node
    if node is not None:
        # A node of the backward computation has the number of the forward one.
        nodes = [node] if node.meta.get("from_node") else [
            n for n in node.graph.nodes if n.meta.get("seq_nr") == node.meta.get("seq_nr")]
        known = {(id(n.graph), n.name): n for n in _operations(graph_module)}
        found = [known.get((source.graph_id, source.name)) for n in nodes for source in n.meta.get("from_node") or ()]
        return next(filter(None, found), None)
    # It was refused while PyTorch called operations one by one; the outermost is the last.
    found, functions = None, [graph_module]
    for name in reversed(re.findall(r"While executing %(\w+)", str(error))):
        inner = [(f, n) for f in functions for n in (_operations(f) if found is None else f.graph.nodes)
                 if n.op in CALLS and n.name == name]
        if inner:
            found, functions = inner[0][1], _functions(*inner[0])
    return found


def _opened(node):
    """How many regions begin at the node; -1 where one ends."""
    name = getattr(node.target, "__name__", "") if node.op == "call_function" else ""
    return (name in REGIONS) - (name in ENDS)


def _picks(node):
    """Whether the node picks one of several results, or has to do with a shape that depends on data."""
    return node.target in (operator.getitem, torch.ops.aten._assert_scalar.default) or isinstance(
        node.meta.get("example_value"), (torch.SymInt, torch.SymFloat, torch.SymBool))


def _left_out(nodes, open_before, position):
    """The first and the last of `nodes` that are left to PyTorch with the one at `position`: with it, the whole regions
    that it is in, and what picks its results. `open_before` says how many regions are open before each node."""
    first = next((i for i in range(position, -1, -1) if open_before[i] == 0), 0)
    last = next((i for i in range(position, len(nodes)) if open_before[i + 1] == 0), len(nodes) - 1)
    while last + 1 < len(nodes) and _picks(nodes[last + 1]):
        last += 1
    return first, last


def _cut(graph_module, left):
    """A graph whose operations are calls of submodules `submod_N`, by turns of what is compiled and, where N is odd, of
    what is left to PyTorch: the operations `left`, and those whose functions have one of them. Of the region of a
    checkpoint, what is before and behind such an operation are regions of their own."""
    def is_left(node, graph_module):
        return node in left or any(is_left(n, f) for f in _functions(graph_module, node) for n in f.graph.nodes)

    graph = graph_module.graph
    for node in graph.find_nodes(op="call_function", target=CHECKPOINT):
        if node not in left and is_left(node, graph_module):
            _open(graph_module, node, left)
    nodes = list(graph.nodes)
    open_before = list(itertools.accumulate(map(_opened, nodes), initial=0))
    places, place, end = {}, 0, -1
    for i, node in enumerate(nodes):
        if i > end and node.op in CALLS and is_left(node, graph_module):
            first, end = _left_out(nodes, open_before, i)
            places.update(dict.fromkeys(nodes[first:i], place | 1))
            place |= 1
        elif i > end:
            place += place & 1
        places[node] = place
    return split_module(graph_module, None, places.get, keep_original_order=True)


def _submodules(parts):
    """The submodules of a graph that was cut: its call, and whether PyTorch runs it."""
    for node in parts.graph.find_nodes(op="call_module"):
        number = re.fullmatch(r"submod_(\d+)", node.target)
        if number:
            yield node, int(number[1]) % 2 == 1


def _give_several(graph_module):
    """Makes one result the first of several; false if they were several."""
    output = next(n for n in graph_module.graph.nodes if n.op == "output")
    if isinstance(output.args[0], (tuple, list)):
        return False
    output.args = ((output.args[0],),)
    graph_module.recompile()
    return True


def _open(graph_module, node, left):
    """Puts the region of a checkpoint in the place of its call, cut."""
    region, arguments = _functions(graph_module, node)[0], node.args[1:]
    options, others = CHECKPOINT.divide_kwargs(node.kwargs)
    if others or any(user.target is not operator.getitem for user in node.users):
        left.add(node)
        return
    parts = _cut(region, left)
    runs_in_pytorch = dict(_submodules(parts))
    values = dict(zip(parts.graph.find_nodes(op="placeholder"), arguments))
    graph = graph_module.graph
    meta = {k: v for k, v in node.meta.items() if k not in ("val", "example_value")}
    with graph.inserting_before(node):
        for part in parts.graph.nodes:
            operands = torch.fx.node.map_arg(part.args, values.get) if part.op != "placeholder" else ()
            if part not in runs_in_pytorch:
                if part.op not in ("placeholder", "output"):
                    values[part] = graph.node_copy(part, values.get)
                continue
            function = getattr(parts, part.target)
            name = next(n for n in map("checkpoint_part_%d".__mod__, itertools.count()) if not hasattr(graph_module, n))
            graph_module.add_submodule(name, function)
            if runs_in_pytorch[part]:
                values[part] = graph.call_module(name, operands)
                left.add(values[part])
                continue
            gives_one = _give_several(function)
            function.meta.update(region.meta)
            values[part] = graph.call_function(CHECKPOINT, (graph.get_attr(name), *operands), options)
            values[part].meta.update(meta)
            if gives_one:
                values[part] = graph.call_function(operator.getitem, (values[part], 0))
    results = torch.fx.node.map_arg(next(n for n in parts.graph.nodes if n.op == "output").args[0], values.get)
    for user in list(node.users):
        user.replace_all_uses_with(results[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)


def _without_checkpoints(graph_module):
    """A copy that computes what regions of checkpoints do where they stand. PyTorch calls regions in graphs for those
    that compile them, and would draw other random numbers in the second run."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(graph_module.graph, {}))
    copy = torch.fx.GraphModule(graph_module, graph)
    for number, node in enumerate([*graph.find_nodes(op="get_attr"), *graph.find_nodes(op="call_module")]):
        function = operator.attrgetter(node.target)(graph_module)
        if isinstance(function, torch.fx.GraphModule):
            node.target = "function_%d" % number
            setattr(copy, node.target, _without_checkpoints(function))
    for node in graph.find_nodes(op="call_function", target=CHECKPOINT):
        with graph.inserting_before(node):
            called = graph.call_module(node.args[0].target, node.args[1:], CHECKPOINT.divide_kwargs(node.kwargs)[1])
        node.replace_all_uses_with(called)
        graph.erase_node(node)
    copy.recompile()
    return copy


def _key(values):
    """What a step is compiled for. Numbers that are equal may differ by their type or their sign."""
    return torch.is_grad_enabled(), tuple(
        (v.shape, v.stride(), v.dtype, v.device, v.requires_grad) if isinstance(v, torch.Tensor) else (type(v), repr(v))
        for v in values)


class Part(torch.nn.Module):
    """What is before or behind an operation that is left to PyTorch: a step, which is compiled when it is first called,
    as only then it is known what the operation gives. `compile_graph` makes a function of a graph and its inputs. For
    each shape and each number there is a step of its own, up to `torch._dynamo.config.recompile_limit`; what is new
    after that runs in PyTorch, and so does what PyTorch cannot compile since it was cut off, such as changes of a view
    whose base was made before."""

    def __init__(self, graph_module, compile_graph):
        super().__init__()
        self.graph_module, self.compile_graph = graph_module, compile_graph
        self.gives_one = _give_several(graph_module)
        # Dynamo gives a number that changes as a tensor, which the graph asks for it.
        placeholders = graph_module.graph.find_nodes(op="placeholder")
        self.numbers = {i for i, p in enumerate(placeholders) if p.users and all(
            n.op == "call_method" and n.target == "item" for n in p.users)}
        self.steps = {}

    def forward(self, *values):
        known = [v.item() if i in self.numbers and isinstance(v, torch.Tensor) else v for i, v in enumerate(values)]
        key = _key(known)
        step = self.steps[key] if key in self.steps else self._new_step(key, known)
        tensors = [v for v in known if isinstance(v, torch.Tensor)]
        results = self.in_pytorch(*values) if step is None else step(*tensors)
        return results[0] if self.gives_one else results

    @functools.cached_property
    def in_pytorch(self):
        return _without_checkpoints(self.graph_module)

    def _new_step(self, key, values):
        """The step for these values, None if PyTorch is to run them."""
        with compile_lock:  # PyTorch traces one graph at a time.
            if key not in self.steps:
                limit = torch._dynamo.config.recompile_limit
                if len(self.steps) >= limit:
                    warnings.warn("a part of a graph was compiled for %d shapes or numbers, the most that "
                                  "torch._dynamo.config.recompile_limit allows; others run in PyTorch, outside of any "
                                  "plan" % limit)
                    return None
                self.steps[key] = self._compile(values)
            return self.steps[key]

    def _compile(self, values):
        try:
            return self.compile_graph(self._graph_of(values), [v for v in values if isinstance(v, torch.Tensor)])
        except Error:
            raise
        except Exception as error:
            warnings.warn("PyTorch cannot trace what is behind an operation that was left to it: %s. It runs in "
                          "PyTorch, outside of any plan" % str(error).split("\n", 1)[0])
            return None

    def _graph_of(self, values):
        """A copy, as the graph is changed when it is compiled, with numbers built in."""
        graph = torch.fx.Graph()
        graph.output(graph.graph_copy(self.graph_module.graph, {}))
        for i, (node, value) in enumerate(zip(graph.find_nodes(op="placeholder"), values)):
            if isinstance(value, torch.Tensor):
                continue
            for item in list(node.users) if i in self.numbers else []:
                item.replace_all_uses_with(value)
                graph.erase_node(item)
            node.replace_all_uses_with(value)
            graph.erase_node(node)
        return torch.fx.GraphModule(self.graph_module, graph)


def leave_to_pytorch(graph_module, error, compile_graph):
    """A function that does what the graph does, with the operation that `error` is about in PyTorch, and all others
    like it if there is no rule for them. Raises the error if it is about none of them."""
    node = _refused(graph_module, error)
    if node is None:
        raise error
    left = {node}
    if getattr(error, "has_no_rule", False):
        left |= {n for n in _operations(graph_module) if (n.op, n.target) == (node.op, node.target)}
    others = "" if len(left) == 1 else " with %d more like it" % (len(left) - 1)
    warnings.warn("%s. It is left to PyTorch%s, outside of any plan, and the graph is cut there; with the option "
                  "'fallback': False it is an error" % (str(error).splitlines()[0], others), stacklevel=2)
    parts = _cut(graph_module, left)
    for node, runs_in_pytorch in _submodules(parts):
        part = getattr(parts, node.target)
        if runs_in_pytorch:
            setattr(parts, node.target, _without_checkpoints(part))
        elif any(n.op in CALLS for n in part.graph.nodes):
            setattr(parts, node.target, Part(part, compile_graph))
    return parts
