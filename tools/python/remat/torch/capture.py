"""The joint graph of a call, and the tensors that it takes.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import copy
import logging
import os
import re
import warnings

import torch

from ..errors import Error, ExportError
from .ctc import ctc_loss_of_tensors
from .higher_order import call_functions, flex_attention_on_cpu
from .joint import decompositions, shapes_that_are_known, traceable_kernels, warn_of_reentrant_checkpoints
from .lower import is_foreign
from .placement import check_inputs


class _Captured(BaseException):
    """Ends the call of a model whose graph was captured, before anything runs."""


def returned(tensors):
    """Marks in the graph which of its outputs the model returns."""
    return torch.zeros(())


torch._dynamo.allow_in_graph(returned)


def _keep_returned(graph):
    """Leaves out what the model only stores, as in `self.last = x`: it has no cotangent, and is no result."""
    marks = [n for n in graph.nodes if n.target is returned]
    kept = {n for mark in marks for n in mark.all_input_nodes}
    for mark in marks:
        graph.erase_node(mark)
    output = graph.output_node()
    if marks:
        output.args = (tuple(n if n in kept else None for n in output.args[0]),)


def _assignments(model):
    """What a call assigns to attributes of modules that were tensors before: the name, the variables of Dynamo that
    stand for the old tensor, or None if the call does not read it, and for the new value."""
    from torch._dynamo.symbolic_convert import InstructionTranslator
    effects = InstructionTranslator.current_tx().output.side_effects
    variables = effects.id_to_variable
    for path, module in model.named_modules():
        found = dict(effects.store_attr_mutations.get(variables.get(id(module)), {}))
        buffers = variables.get(id(module._buffers))
        if buffers is not None and effects.is_modified(buffers):
            found.update((key.vt.as_python_constant(), value) for key, value in buffers.items.items())
        for name, value in found.items():
            is_buffer = name in module._buffers
            old = module._buffers[name] if is_buffer else module.__dict__.get(name)
            if isinstance(old, torch.Tensor) and (is_buffer or id(old) in variables):
                yield "%s.%s" % (path, name) if path else name, variables.get(id(old)), value


def _warn_of_numbers(model):
    """A number that a call changes is built into the graph as it was."""
    from torch._dynamo.symbolic_convert import InstructionTranslator
    effects = InstructionTranslator.current_tx().output.side_effects
    for path, module in model.named_modules():
        found = effects.store_attr_mutations.get(effects.id_to_variable.get(id(module)), {})
        for name, value in found.items():
            old = module.__dict__.get(name)
            if isinstance(old, (int, float)) and value.is_python_constant() and value.as_python_constant() != old:
                warnings.warn(
                    "the model changes its number '%s' in a call, from %r to %r, which a step would not do: it has %r "
                    "built in. A buffer would be updated" % (
                        "%s.%s" % (path, name) if path else name, old, value.as_python_constant(), old), stacklevel=2)


def _write_assigned(model, graph):
    """Where a module assigns another tensor to what it reads, as in `self.mean = 0.9 * self.mean + 0.1 * x`, the old
    one gets the elements of the new one."""
    nodes, output = {n.name: n for n in graph.nodes}, graph.output_node()
    writes = []
    for name, old, new in _assignments(model):
        old, value = (nodes.get(v.as_proxy().node.name) if v is not None and v.is_tensor() else None
                      for v in (old, new))
        if old is not None and old is value:
            continue  # Another of its module's buffers was assigned.
        if old is None or value is None:
            raise ExportError("the model assigns to '%s' what it does not compute from it; write 'copy_' instead" %
                              name)
        if old.meta["example_value"].shape != value.meta["example_value"].shape:
            raise ExportError("the model assigns a tensor of another shape to '%s', which it reads" % name)
        writes.append((old, value))
    first = next(n for n in graph.nodes if n.op != "placeholder")
    before = {}  # What autograd keeps, and what others are assigned, is what the call has read.
    for old, _ in writes:
        with graph.inserting_before(first):
            before[old] = graph.call_method("clone", (old,))
        old.replace_all_uses_with(before[old], delete_user_cb=lambda user: user is not before[old])
    for old, value in writes:
        with graph.inserting_before(output):
            graph.call_method("copy_", (old, graph.call_method("detach", (before.get(value, value),))))


def _refuse_written_gradients():
    """A backward() inside of the model adds to the gradients of tensors, which are no results of a step."""
    from torch._dynamo.symbolic_convert import InstructionTranslator
    effects = InstructionTranslator.current_tx().output.side_effects
    for variable, changes in effects.store_attr_mutations.items():
        if variable.is_tensor() and "grad" in changes:
            raise ExportError("the model calls backward(), or assigns to the gradient of a tensor, which a step would "
                              "not do; write torch.autograd.grad")


class Capture:
    """A graph with the tensors that it was called with."""

    def __init__(self, model):
        self.model = model
        self.graph_module = self.forward_count = self.inputs = None

    def backend(self, graph_module, inputs):
        from functorch.compile import make_boxed_func
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch.partitioners import default_partition
        check_inputs(graph_module, inputs)
        _refuse_written_gradients()
        warn_of_reentrant_checkpoints(graph_module)
        if isinstance(self.model, torch.nn.Module):
            _warn_of_numbers(self.model)
            _write_assigned(self.model, graph_module.graph)
        _keep_returned(graph_module.graph)
        call_functions(graph_module)

        def partition(joint, joint_inputs, *, num_fwd_outputs, **kwargs):
            # PyTorch changes the graph. The tensors that it holds cannot be copied while PyTorch traces.
            self.graph_module = torch.fx.GraphModule(joint, copy.deepcopy(joint.graph))
            self.forward_count = num_fwd_outputs
            return default_partition(joint, joint_inputs, num_fwd_outputs=num_fwd_outputs, **kwargs)

        def inference(module, _):
            self.graph_module = module
            return make_boxed_func(module.forward)

        def run(module, _):
            return make_boxed_func(module.forward)

        with traceable_kernels(), shapes_that_are_known(graph_module):
            aot_autograd(fw_compiler=run, bw_compiler=run, inference_compiler=inference, partition_fn=partition,
                         decompositions=decompositions())(graph_module, inputs)

        def finish(*tensors):
            self.inputs = tensors
            raise _Captured()

        return finish


def _explain(error):
    """Why PyTorch cannot trace a call, in one line: where, and what it says."""
    places = [(frame.filename, frame.lineno) for frame in getattr(error, "real_stack", None) or ()]
    places += re.findall(r'File "([^"]+)", line (\d+), in ', str(error))
    cause = getattr(error, "inner_exception", None) or error
    if isinstance(cause, Error) and re.match(r"\S+:\d+: ", str(cause)):
        return str(cause).splitlines()[0]
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()] or [type(cause).__name__]
    why = lines[0]
    for line in lines[1:]:
        if line.startswith("Explanation: "):
            why += ": " + line[len("Explanation: "):]
        place = re.match(r".* # (\S+\.py):(\d+) in ", line)  # Of a condition on data.
        if place:
            places.append(place.groups())
    if "linalg_lstsq" in str(error):
        why = ("torch.linalg.lstsq is not supported, as the shapes of its results depend on data; write "
               "torch.linalg.pinv(a) @ b for the solution")
    elif "requires_grad_()" in why:
        why = ("what depends on a tensor that the model calls requires_grad_() of cannot be exported; take the "
               "gradient with respect to it by torch.func.grad, which needs no such call (%s)" % why.split(":")[0])
    elif "pack_padded_sequence" in why:
        why = ("torch.nn.utils.rnn.pack_padded_sequence makes a tensor whose shape depends on the lengths; give the "
               "layer the padded sequences, and take from its results those of each length, or call torch.compile, "
               "which leaves packed sequences to PyTorch")
    elif "data-dependent" in why:
        why = "what the model computes depends on the data of a tensor, which one graph cannot do (%s)" % why
    tracer = os.path.dirname(torch._dynamo.__file__)
    # PyTorch shortens some paths, which then name no file.
    places = [place for place in places if is_foreign(place[0]) and not place[0].startswith(tracer) and
              os.path.isabs(place[0])]
    return ("%s:%s: " % places[-1] if places else "") + why


@contextlib.contextmanager
def _masks_as_they_are():
    """Without it, torch.nn.Transformer looks at the data of a mask, to do without one that is causal."""
    from torch.nn.modules import transformer
    detect = transformer._detect_is_causal_mask
    transformer._detect_is_causal_mask = lambda mask, is_causal=None, size=None: is_causal is True
    try:
        yield
    finally:
        transformer._detect_is_causal_mask = detect


@contextlib.contextmanager
def _without_messages():
    """A step says nothing, so what a model prints, warns of and logs is no reason to refuse it."""
    functions = {print, warnings.warn, warnings.simplefilter, warnings.filterwarnings}
    for level in ("debug", "info", "warning", "error", "exception", "critical", "log"):
        functions |= {getattr(logging, level), getattr(logging.Logger, level)}
    config = torch._dynamo.config
    name = "ignore_logging_functions" if hasattr(config, "ignore_logging_functions") else "ignore_logger_methods"
    with config.patch({name: getattr(config, name) | functions}):
        yield


def capture(model, function, args, kwargs):
    """The joint graph of a call of a function that calls `model`, which must be one graph."""
    captured = Capture(model)
    torch._dynamo.reset()
    try:
        with torch._dynamo.config.patch(allow_rnn=True, trace_autograd_ops=True), _masks_as_they_are(), \
                _without_messages(), flex_attention_on_cpu(), ctc_loss_of_tensors():
            torch.compile(function, backend=captured.backend, fullgraph=True, dynamic=False)(*args, **kwargs)
    except _Captured:
        pass
    except torch._dynamo.exc.TorchDynamoException as error:
        raise ExportError(_explain(error)) from None
    except Error:
        raise
    except Exception as error:  # PyTorch's own
        raise ExportError(_explain(error)) from error
    finally:
        torch._dynamo.reset()
    if captured.graph_module is None:
        raise ExportError("the model computes nothing with tensors that a graph could be captured of")
    return captured
