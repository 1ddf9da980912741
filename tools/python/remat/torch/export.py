"""From a model of PyTorch to IR, weights and a manifest, in one call.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

from ..errors import ArgumentError, ExportError
from ..exported import Argument, Exported, Result, unique_name
from .capture import capture, returned
from .joint import Program
from .lower import describe_place, module_path
from .placement import placement_of
from .random import SEED
from .storage import NARROW, UNSIGNED
from .types import element_of


def _is_scalar(tensor):
    return tensor.is_floating_point() and tensor.numel() == 1


def _without_other_cotangents(outputs):
    """The outputs, of which only the loss is differentiated if there is just one that it can be."""
    flat, tree = torch.utils._pytree.tree_flatten(outputs)
    scalars = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor) and x.requires_grad and _is_scalar(x)]
    if len(scalars) != 1:
        return outputs
    flat = [x.detach() if isinstance(x, torch.Tensor) and i != scalars[0] else x for i, x in enumerate(flat)]
    return torch.utils._pytree.tree_unflatten(flat, tree)


class Leaves:
    """The leaves of a call, by their paths. Those that are no tensors are a part of the program."""

    def __init__(self, args, kwargs, named):
        flat, tree = torch.utils._pytree.tree_flatten_with_path((tuple(args), dict(kwargs)))
        self.paths, values, seen = [path for path, _ in flat], [], set(named)
        for _, value in flat:
            if isinstance(value, torch.Tensor):
                # What is given twice, or is the model's own, would be one input of the graph.
                if id(value) in seen:
                    value = value.detach().clone().requires_grad_(value.requires_grad)
                seen.add(id(value))
            values.append(value)
        self.values = values
        self.args, self.kwargs = torch.utils._pytree.tree_unflatten(values, tree)
        self.numbers = {id(value): i for i, value in enumerate(values) if isinstance(value, torch.Tensor)}

    def names(self, taken):
        """A name such as `arg0` or `input_ids` for each."""
        return [unique_name(_path_name(path), taken) for path in self.paths]

    def of_call(self, args, kwargs):
        """The leaves of another call in the order of these."""
        found = dict(torch.utils._pytree.tree_flatten_with_path((tuple(args), dict(kwargs)))[0])
        for path in self.paths:
            if path not in found:
                raise ArgumentError("argument '%s' is missing" % _path_name(path))
        for path in found:
            if path not in self.paths:
                raise ArgumentError("argument '%s' was not there in the call that was exported" % _path_name(path))
        for path, value in zip(self.paths, self.values):
            if not isinstance(value, torch.Tensor) and not _same(value, found[path]):
                raise ArgumentError("argument '%s' is %r; the step was exported for %r and has it built in" % (
                    _path_name(path), found[path], value))
        return [found[path] for path in self.paths]


def _same(a, b):
    try:
        return a is b or type(a) is type(b) and bool(a == b)
    except Exception:  # Arrays have no answer.
        return False


def _loss_of(outputs, loss):
    if isinstance(loss, str):
        if isinstance(outputs, dict) and loss in outputs:
            return outputs[loss]
        if hasattr(outputs, loss):
            return getattr(outputs, loss)
        raise ExportError("the outputs of the model have no '%s'" % loss)
    return loss(outputs)


def _named_tensors(model):
    """Parameters and buffers by identity; tied ones have the first of their names."""
    named = {}
    if isinstance(model, torch.nn.Module):
        for name, tensor in model.named_parameters():
            named.setdefault(id(tensor), ("param", name, tensor))
        for name, tensor in model.named_buffers():
            named.setdefault(id(tensor), ("buffer", name, tensor))
    return named


def _layers(graph_module):
    """For each module that nodes come from: its path, and the first line of the model that computes in it."""
    layers = {}
    for node in graph_module.graph.nodes:
        path = module_path(node) if node.op == "call_function" else None
        if path and path not in layers:
            place = describe_place(node)
            layers[path] = {"name": path, **({"file": place[0], "line": int(place[1])} if place else {})}
    return list(layers.values())


def _inputs_by_desc(graph_module):
    """Placeholders by what they are: numbers of inputs, or of the outputs that a tangent belongs to."""
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            yield node, node.meta.get("desc")


def _refuse_hooks(model, tensors):
    """Hooks of what a graph is given run where PyTorch accumulates gradients, so they are not in the graph. PyTorch
    does not trace those of modules."""
    for name, module in model.named_modules() if isinstance(model, torch.nn.Module) else ():
        if module._backward_hooks or module._backward_pre_hooks:
            raise ExportError("%s has a hook of its gradients, which PyTorch does not export; register one of a tensor "
                              "in 'forward'" % ("module '%s'" % name if name else "the model"))
    for name, tensor in tensors:
        if getattr(tensor, "_backward_hooks", None) or getattr(tensor, "_post_accumulate_grad_hooks", None):
            raise ExportError("'%s' has a hook, which a step would not call; remove it, and call it with the gradient "
                              "of the step" % name)


class _Inputs:
    """What the placeholders of a captured graph are: their names, their roles, the leaves of the call that they stand
    for, and the tensors of weights. `known_tangents` are the numbers that some cotangents always are."""

    def __init__(self, captured, leaves, named):
        from torch._functorch._aot_autograd.descriptors import (InputMutationAOTOutput, PlainAOTInput,
                                                                TangentAOTInput)
        self.names, self.roles, self.leaf, self.weights = {}, {}, {}, {}
        self.tangents, self.known_tangents = [], {}
        # Parameters keep their names, so others give way.
        taken = {SEED} | {name for _, name, _ in named.values()}
        leaf_names = leaves.names(taken)
        for node, desc in _inputs_by_desc(captured.graph_module):
            if isinstance(desc, TangentAOTInput):
                if isinstance(desc.output, InputMutationAOTOutput):  # What the model updates has no cotangent.
                    self.known_tangents[node.name] = 0
                    continue
                self._add(node, unique_name("cotangent%d" % len(self.tangents), taken), "cotangent",
                          len(self.tangents))
                self.tangents.append(desc)
                continue
            if not isinstance(desc, PlainAOTInput):
                raise ExportError("the graph has the input %s, which is not supported" % desc)
            tensor = captured.inputs[desc.idx]
            if id(tensor) in leaves.numbers:
                number = leaves.numbers[id(tensor)]
                self._add(node, leaf_names[number], "data", number)
            else:
                role, name, _ = named.get(id(tensor)) or ("buffer", unique_name("captured%d" % desc.idx, taken), None)
                self._add(node, name, role)
                self.weights[name] = tensor.detach()
        self.by_index = {desc.idx: self.names[node.name] for node, desc in _inputs_by_desc(captured.graph_module)
                         if isinstance(desc, PlainAOTInput)}

    def _add(self, node, name, role, leaf=None):
        self.names[node.name], self.roles[node.name] = name, role
        if leaf is not None:
            self.leaf[node.name] = leaf

    def are_owned(self):
        """The names of parameters and buffers."""
        return {self.names[node] for node, role in self.roles.items() if role in ("param", "buffer")}


class _Results:
    """What the results of a captured graph are. `names`, `gradients`, `data_gradients` and `updates` give the name of a
    result, and of the input that it belongs to, by its number."""

    def __init__(self, flat, descriptions, inputs, loss):
        from torch._functorch._aot_autograd.descriptors import GradAOTOutput, InputMutationAOTOutput, PlainAOTOutput
        self.all, self.names, self.gradients, self.data_gradients, self.updates = [], {}, {}, {}, {}
        loss_number = self._find_loss(flat, descriptions, inputs.tangents, loss)
        self.has_loss = loss_number is not None
        owned, count = inputs.are_owned(), 0
        for number, (value, desc) in enumerate(zip(flat, descriptions)):
            if value is None:
                continue
            if isinstance(desc, PlainAOTOutput):
                is_loss = number == loss_number
                result = Result("loss" if is_loss else "output%d" % count, "loss" if is_loss else "output")
                count += not is_loss
            elif isinstance(desc, GradAOTOutput):
                of = inputs.by_index[desc.grad_of.idx]
                result = Result(of + ".grad", "gradient", of)
                # Data is no optimizer's to update.
                (self.gradients if of in owned else self.data_gradients)[number] = of
            elif isinstance(desc, InputMutationAOTOutput):
                of = inputs.by_index[desc.mutated_input.idx]
                result = Result(of, "update", of)
                self.updates[number] = of
            else:
                raise ExportError("the graph has the output %s, which is not supported" % desc)
            dtype = value.meta["val"].dtype
            if dtype in NARROW:
                raise ExportError("result '%s' is of %s, which programs that are exported do not give; give its bytes, "
                                  "x.view(torch.uint8)" % (result.name, dtype))
            result.unsigned = dtype == torch.uint8 or dtype in UNSIGNED
            self.names[number] = result.name
            self.all.append(result)

    @staticmethod
    def _find_loss(flat, descriptions, tangents, loss):
        """The number of the loss, which is the single number that the only cotangent belongs to."""
        from torch._functorch._aot_autograd.descriptors import PlainAOTOutput
        outputs = [(i, value, desc) for i, (value, desc) in enumerate(zip(flat, descriptions))
                   if isinstance(desc, PlainAOTOutput) and value is not None]
        differentiated = [i for i, value, desc in outputs
                          if _is_scalar(value.meta["val"]) and len(tangents) == 1 and tangents[0].output == desc]
        if differentiated and (len(outputs) == 1 or loss is None):
            return differentiated[0]
        if loss is not None and tangents:
            raise ExportError("the loss is not a single floating-point number")
        return None


def export(model, args=(), kwargs=None, loss=None):
    """Exports a call of a module, of a function or of what torch.export made of one, with its gradients.

    `loss` says what to differentiate: a function of what the model returns, or the name of an output. Without it, the
    output `loss` is the loss, or the only single number that can be differentiated; other outputs are not then. If
    there is none, the step takes a cotangent for each output that can be differentiated. The gradients are those with
    respect to everything that requires one. What autograd makes of the model is what is exported, so detach, no_grad,
    autograd.Function, hooks and all else that changes gradients is kept. What cannot be exported whole is an
    ExportError with the line of the model. A model on a GPU is compiled for it, unless target or device say otherwise.
    """
    if isinstance(model, torch.export.ExportedProgram):
        model = model.module()
    named = _named_tensors(model)
    if isinstance(model, torch.nn.Module) and not any(role == "param" for role, _, _ in named.values()):
        import warnings
        warnings.warn("the model has no parameters, so nothing but its data can be differentiated")

    def call(*args, **kwargs):
        outputs = model(*args, **kwargs)
        if loss is not None:
            outputs = _loss_of(outputs, loss)
        else:
            found = outputs.get("loss") if isinstance(outputs, dict) else getattr(outputs, "loss", None)
            outputs = _without_other_cotangents(outputs) if found is None else found
        flat = torch.utils._pytree.tree_leaves(outputs)
        if all(isinstance(x, (torch.Tensor, int, float, bool, str, type(None))) for x in flat):
            returned([x for x in flat if isinstance(x, torch.Tensor)])
        return outputs

    leaves = Leaves(args, kwargs or {}, named)
    _refuse_hooks(model, [(name, tensor) for _, name, tensor in named.values()] +
                  [(_path_name(path), value) for path, value in zip(leaves.paths, leaves.values)])
    captured = capture(model, call, leaves.args, leaves.kwargs)
    graph_module = captured.graph_module
    output = next(n for n in graph_module.graph.nodes if n.op == "output")
    flat = torch.utils._pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None)
    descriptions = output.meta.get("desc")
    if descriptions is None:
        raise ExportError("PyTorch does not describe what a joint graph computes; expected version 2.9 or later")
    inputs = _Inputs(captured, leaves, named)
    results = _Results(flat, descriptions, inputs, loss)
    layers = _layers(graph_module)
    options = placement_of(graph_module).options({})
    tangents = dict(inputs.known_tangents)
    if results.has_loss:
        tangents.update((node, 1) for node, role in inputs.roles.items() if role == "cotangent")
    program = Program(graph_module, inputs.names, results.names, tangents, results.gradients,
                      results.data_gradients, results.updates)
    arguments = _arguments(program, inputs, graph_module)
    weights = {**inputs.weights, **dict(program.constants)}
    source = type(model).__name__ if isinstance(model, torch.nn.Module) else getattr(model, "__name__", "model")
    exported = Exported(program.text, arguments, results.all, weights, layers, source, leaves.of_call, options)
    exported.examples = {a.name: leaves.values[a.leaf].detach() for a in arguments if a.role == "data"}
    return exported


def _arguments(program, inputs, graph_module):
    vals = {inputs.names[n.name]: (n.name, n.meta["val"]) for n in graph_module.graph.nodes
            if n.op == "placeholder" and n.name in inputs.names}
    constants = dict(program.constants)
    arguments = []
    for name in program.argument_names:
        if name == SEED:
            arguments.append(Argument(name, "seed", "i64", ()))
        elif name in constants:
            arguments.append(Argument(name, "constant", element_of(constants[name].dtype), constants[name].shape))
        else:
            node, val = vals[name]
            arguments.append(Argument(name, inputs.roles[node], element_of(val.dtype), val.shape,
                                      inputs.leaf.get(node)))
    return arguments


def _path_name(path):
    """A name such as `arg0` or `input_ids` of a leaf of (arguments, keywords)."""
    keys = [getattr(key, "key", getattr(key, "idx", getattr(key, "name", None))) for key in path]
    rest = [str(key) for key in keys[1:]]
    return ".".join(rest) if keys[0] == 1 else "arg" + ".".join(rest)
