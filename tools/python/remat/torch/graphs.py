"""The two graphs of a step that AOTAutograd runs, and how the backward one is run.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import itertools

import torch

from .joint import mutated_inputs
from .types import TORCH_DTYPES


def split(joint, forward_count, training):
    """The two graphs that AOTAutograd wants: each has one call of the step."""
    output = next(n for n in joint.graph.nodes if n.op == "output")
    flat = torch.utils._pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None)
    descriptions = output.meta.get("desc") or [None] * len(flat)
    forward, saved = _split_forward(joint, flat[:forward_count], descriptions[:forward_count], training)
    backward = _split_backward(joint, flat[forward_count:], descriptions[forward_count:], saved, training)
    return (torch.fx.GraphModule({"remat_step": ForwardCall(training)}, forward),
            torch.fx.GraphModule({"remat_step": BackwardCall(training)}, backward))


def _split_forward(joint, results, descriptions, training):
    """The forward graph, and its nodes that the backward graph takes: memory, seed, inputs, outputs, and gradients
    that the forward call makes, in this order."""
    placeholders = [n for n in joint.graph.nodes if n.op == "placeholder"]
    primals = placeholders[:training.primal_count]
    memory_vals, seed_val, early_vals = _describe_kept(training, [p.meta["val"] for p in placeholders])
    forward = torch.fx.Graph()
    given = [_copy_placeholder(forward, p) for p in primals]
    call = forward.call_module("remat_step", tuple(given))
    outputs = []
    for number, node in enumerate(results):
        view = training.views.get(number)
        if not isinstance(node, torch.fx.Node):
            outputs.append(node)
        elif view is not None:
            outputs.append(view.copy_into(forward, given[primals.index(view.placeholder)]))
        else:
            outputs.append(_call(forward, _pick, (call, 0, number), node.meta["val"]))
    saved = [_call(forward, _pick, (call, 1, number), val) for number, val in enumerate(memory_vals)]
    if training.torch_step.program.has_seed:
        saved.append(_call(forward, _pick, (call, 2), seed_val))
    # The backward call reads what an input was before the model changed it.
    mutated = set(mutated_inputs(joint.graph))
    for i in training.saved_primals():
        kept = given[i]
        if primals[i] in mutated:
            kept = _call(forward, torch.ops.aten.clone.default, (kept,), primals[i].meta["val"])
        saved.append(kept)
    saved += [outputs[i] for i in training.saved_outputs()]
    saved += [_call(forward, _pick, (call, 3, number), val) for number, val in enumerate(early_vals)]
    node = forward.output(tuple(outputs) + tuple(saved))
    node.meta["desc"] = list(descriptions) + [None] * len(saved)
    return forward, saved


def _split_backward(joint, results, descriptions, saved, training):
    """The backward graph. It takes the `saved` nodes of the forward graph, and the tangents."""
    memory_count = len(training.torch_step.state_sizes())
    has_seed = training.torch_step.program.has_seed
    names = ["remat_memory", "remat_host_memory"][:memory_count] + (["remat_seed"] if has_seed else [])
    names += ["saved_%d" % i for i in range(len(saved) - len(names))]
    backward = torch.fx.Graph()
    inputs = []
    for name, node in zip(names, saved):
        placeholder = backward.placeholder(name)
        placeholder.meta["val"] = node.meta["val"]
        inputs.append(placeholder)
    placeholders = [n for n in joint.graph.nodes if n.op == "placeholder"]
    tangents = [_copy_placeholder(backward, t) for t in placeholders[training.primal_count:]]
    rest = iter(inputs)
    memory = tuple(itertools.islice(rest, memory_count))
    seed = next(rest) if has_seed else None
    primals = tuple(itertools.islice(rest, len(training.saved_primals())))
    outputs = tuple(itertools.islice(rest, len(training.saved_outputs())))
    call = backward.call_module("remat_step", (memory, seed, primals, outputs, tuple(rest), tuple(tangents)))
    count, sparse = training.sparse.count, training.sparse.places
    given = [sparse[number][2] if number in sparse else node and node.meta["val"]
             for number, node in enumerate(results[:count])]
    node = backward.output(tuple(None if val is None else _call(backward, _pick, (call, number), val)
                                 for number, val in enumerate(given)))
    node.meta["desc"] = list(descriptions[:count])
    return backward


def _describe_kept(training, vals):
    """Tensors without data, of the mode that those of the graph have: the memory of the step, its seed, and gradients
    that the forward call makes."""
    step, place = training.torch_step.step, training.torch_step.placement
    sizes = training.torch_step.state_sizes()
    with torch._guards.detect_fake_mode(vals) or contextlib.nullcontext():
        memory = [torch.empty(sizes[0], dtype=torch.uint8, device=place.device)]
        memory += [torch.empty(size, dtype=torch.uint8) for size in sizes[1:]]
        seed = torch.empty((), dtype=torch.int64, device=place.device)
        early = [torch.empty(info.shape, dtype=TORCH_DTYPES[info.dtype], device=place.device)
                 for info in (step.results[i] for i in training.early_results)]
    return memory, seed, early


def _call(graph, function, args, val):
    node = graph.call_function(function, args)
    node.meta["val"] = val
    return node


def _copy_placeholder(graph, node):
    copy = graph.placeholder(node.name)
    copy.meta.update({key: value for key, value in node.meta.items() if key in ("val", "desc", "tensor_meta")})
    return copy


def _pick(value, *path):
    for key in path:
        value = value[key]
    return value


class ForwardCall(torch.nn.Module):
    """The first call of a step, in a graph."""

    def __init__(self, training):
        super().__init__()
        self.training_step = training

    def forward(self, *primals):
        return self.training_step.forward(primals)


class BackwardCall(torch.nn.Module):
    """The second one."""

    def __init__(self, training):
        super().__init__()
        self.training_step = training

    def forward(self, memory, seed, primals, outputs, early, tangents):
        return self.training_step.backward(memory, seed, primals, outputs, early, tangents)


class BackwardRun:
    """Runs a graph with a BackwardCall. Who calls it gives up its list of arguments, so that the call can let go of
    them; the graph as PyTorch would run it holds all of them until the end."""

    def __init__(self, module):
        self._boxed_call = True  # PyTorch's wrapper takes over what an object has of its own, not what its class has.
        placeholders = {n: i for i, n in enumerate(n for n in module.graph.nodes if n.op == "placeholder")}
        call = next(n for n in module.graph.nodes if n.op == "call_module")
        output = next(n for n in module.graph.nodes if n.op == "output")
        self.training = module.get_submodule(call.target).training_step
        self.places = [placeholders[a] if isinstance(a, torch.fx.Node) else a if a is None else
                       [placeholders[n] for n in a] for a in call.args]
        self.results = [n if n is None else n.args[1] for n in output.args[0]]

    def __call__(self, arguments):
        groups = [[arguments[i] for i in place] if isinstance(place, list) else
                  None if place is None else arguments[place] for place in self.places]
        arguments.clear()
        gradients = self.training.backward(*groups)
        return [None if number is None else gradients[number] for number in self.results]
