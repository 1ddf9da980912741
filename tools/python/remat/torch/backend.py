"""torch.compile(model, backend="remat", options={"budget": ...}).

The forward and the backward computation are one step of remat, which is run as two calls. What is kept between them is
one buffer, whose bytes were planned, and another one on the host for what is offloaded. On a CPU, gradients are in that
buffer where it is dead. A step is for the device that the tensors of its graph are on.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import threading

import torch

from .. import _library as lib
from ..arrays import Array
from ..errors import ArgumentError, Error, ExportError, InfeasibleBudget, RunError
from ..mlir import dtype_of
from ..step import State, compile_module
from .aliases import results_in_inputs, views_of_inputs
from .fallback import leave_to_pytorch
from .graphs import BackwardRun, split
from .higher_order import call_functions
from .joint import (Program, decompositions, mutated_inputs, shapes_that_are_known, specialize, traceable_kernels,
                    warn_of_reentrant_checkpoints)
from .placement import check_inputs, placement_of
from .random import SEED
from .sparse import SparseGradients
from .strides import inverse, keep_strides
from .types import ELEMENTS, OTHERS, TORCH_DTYPES

DTYPES = {dtype: lib.DTYPES.index(dtype_of(element)) for dtype, element in ELEMENTS.items()}
# Of less bytes than this, a gradient is there from the beginning of the backward call on.
TINY = 16 << 10

# The steps of the graphs that were compiled last, for reports and tests.
compiled_steps = []


@functools.lru_cache(maxsize=1 << 14)
def raw_extents(shape):
    """A pointer to them. Making it takes half of the time of a description, and shapes come again in every call."""
    return lib.ctypes.cast((lib.c_int64 * max(len(shape), 1))(*shape), lib.POINTER(lib.c_int64))


def raw_tensor(tensor, keep, device):
    """A remat_tensor of a tensor of PyTorch; a copy of one that is not dense. What it is of is added to `keep`. Numbers
    may be on the CPU."""
    if tensor.device != device and (tensor.device.type != "cpu" or tensor.dim() > 0):
        raise ArgumentError("a tensor on %s was expected, got one on %s" % (device, tensor.device))
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor) or torch._C._functorch.is_legacy_batchedtensor(tensor):
        raise ArgumentError("a compiled step was called by a transformation of torch.func, or with "
                            "is_grads_batched=True; transform the function before it is compiled, or call it for one "
                            "tensor at a time")
    if not tensor.is_contiguous() or tensor.is_neg() or tensor.is_conj():
        tensor = tensor.contiguous().resolve_neg().resolve_conj()
    keep.append(tensor)
    dims = raw_extents(tensor.shape)
    keep.append(dims)
    return lib.Tensor(tensor.data_ptr(), DTYPES[tensor.dtype], tensor.dim(), dims)


class TorchStep:
    """A compiled program with its constants, on tensors of PyTorch."""

    def __init__(self, program, options, placement):
        self.program, self.placement = program, placement
        self.lock = threading.RLock()
        with torch.utils._python_dispatch._disable_current_modes():
            self.constants = {name: tensor.to(placement.device) for name, tensor in dict(program.constants).items()}
        try:
            self.step = compile_module(program.text, differentiate=False, arena=placement.arena(options),
                                       separate_backward=program.has_backward or None, **placement.options(options))
        except InfeasibleBudget as error:
            budget = str(options.get("budget")).strip()
            if not budget.endswith("%"):
                raise
            advice = ("a budget of %s is of what one graph takes without recomputation; torch.compile makes several "
                      "at graph breaks, and small ones may have nothing to recompute; a budget in bytes, such as "
                      "'500MiB', or 'min' is one for all")
            raise InfeasibleBudget("%s\n%s" % (error, advice % budget), error.diagnostics,
                                   error.smallest_budget) from None
        self.count = len(program.arguments)

    def arguments(self, tensors, seed):
        """All arguments in order, from those of the placeholders, of which some are numbers that are built in."""
        given = dict(zip(self.program.arguments, tensors))
        return [seed if name == SEED else self.constants[name] if name in self.constants else given[name]
                for name in self.program.argument_names]

    def raw(self, tensors, keep):
        array = (lib.Tensor * max(len(tensors), 1))()
        for number, tensor in enumerate(tensors):
            if tensor is not None:
                array[number] = raw_tensor(tensor, keep, self.placement.device)
        return array

    def raw_apart(self, tensors):
        """The same, with what keeps each of the tensors."""
        array, keeps = (lib.Tensor * max(len(tensors), 1))(), [[] for _ in tensors]
        for number, tensor in enumerate(tensors):
            if tensor is not None:
                array[number] = raw_tensor(tensor, keeps[number], self.placement.device)
        return array, keeps

    def raw_results(self, tensors):
        """Descriptions of results, with what keeps each. Those that are not there yet have their extents, and no
        data."""
        array, keeps = self.raw_apart(self.as_results(tensors))
        for number, (tensor, info) in enumerate(zip(tensors, self.step.results)):
            if tensor is not None:
                continue
            dims = raw_extents(tuple(info.shape))
            keeps[number].append(dims)
            array[number] = lib.Tensor(None, lib.DTYPES.index(info.dtype), len(info.shape), dims)
        return array, keeps

    def result_in_state(self, number, state):
        """A result of a call in the place of what is dead of its state by then; None where that is not possible. On a
        GPU it is not: PyTorch frees the state as a whole."""
        info = self.step.results[number]
        if info.state_offset is None or self.step.device is not None:
            return None
        return self.placement.state_part(state, info.state_offset, torch.Size(info.shape), TORCH_DTYPES[info.dtype])

    def new_result(self, number):
        """Memory of its own for a result of a call."""
        info = self.step.results[number]
        shape, dtype = torch.Size(info.shape), TORCH_DTYPES[info.dtype]
        tensor = self.placement.empty(shape, dtype)
        order = self.program.orders.get(number)
        if order:  # In place, so that it is no view.
            back = inverse(order)
            tensor.as_strided_([shape[d] for d in back], [tensor.stride(d) for d in back])
        return tensor

    def as_results(self, tensors):
        """Results with their elements row by row."""
        return [tensor if tensor is None or number not in self.program.orders else
                tensor.permute(self.program.orders[number]) for number, tensor in enumerate(tensors)]

    def state_sizes(self):
        """Bytes of memory for what the forward call leaves to the backward call: on the device and, if there is
        something there, on the host."""
        return [size for size in (self.step.state_bytes, self.step.host_bytes or None) if size is not None]

    def new_state(self):
        """Memory of these sizes."""
        place, (size, *host) = self.placement, self.state_sizes()
        return [place.state_memory(size)] + [place.host_memory(size) for size in host]

    def own_state(self, memory):
        """Memory that the backward call may change, with what is in `memory`: that itself, unless somebody else needs
        it again, or a hook of saved tensors has moved it to where the step cannot have it."""
        kept = torch._C._autograd._get_current_graph_task_keep_graph()
        if not kept and all(m.is_contiguous() and m.data_ptr() % self.placement.alignment == 0 for m in memory):
            return memory
        return [new.copy_(old) for new, old in zip(self.new_state(), memory)]

    def call(self, function, *arguments):
        """Models may be called from several threads. Calls of one step wait for each other."""
        with self.lock, self.placement.call(self.step):
            self.step.call(function, *arguments)


def draw_seed(program, placement):
    """From PyTorch's generator, so torch.manual_seed repeats a run."""
    if not program.has_seed:
        return None
    return placement.number(torch.randint(-2 ** 63, 2 ** 63 - 1, (), dtype=torch.int64))


def _result_dtypes(outputs):
    return [getattr(o.meta.get("val"), "dtype", None) if isinstance(o, torch.fx.Node) else None for o in outputs]


def _restore(tensor, dtype):
    return tensor.view(dtype) if dtype in OTHERS else tensor


class Inference:
    """A graph without a backward computation."""

    _boxed_call = True

    def __init__(self, graph_module, options, shared=()):
        output = next(n for n in graph_module.graph.nodes if n.op == "output")
        self.outputs = torch.utils._pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None)
        self.dtypes = _result_dtypes(self.outputs)
        self.views = views_of_inputs(graph_module.graph, len(self.outputs), mutated_inputs(graph_module.graph),
                                     shared)
        placeholders = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
        self.view_inputs = {number: placeholders.index(view.placeholder) for number, view in self.views.items()}
        program = Program(graph_module, ordered=len(self.outputs), left_out=self.views)
        self.torch_step = TorchStep(program, options, placement_of(graph_module))
        compiled_steps.append(self.torch_step.step)

    def __call__(self, tensors):
        t, keep = self.torch_step, []
        arguments = t.raw(t.arguments(tensors, draw_seed(t.program, t.placement)), keep)
        views = {number: view.of(tensors[self.view_inputs[number]]) for number, view in self.views.items()}
        tensors.clear()
        given = [t.new_result(i) for i in range(len(t.step.results))]
        t.call(t.step._lib.remat_step_run, arguments, len(t.step.arguments), t.raw(t.as_results(given), keep),
               len(given))
        return [views.get(n, t.program.numbers.get(n)) if i is None else _restore(given[i], d)
                for n, (i, d) in enumerate(zip(t.program.outputs, self.dtypes))]


class Training:
    """A joint graph. The forward call hands on what the backward call needs: the buffer of the state, and arguments and
    results that are read again."""

    def __init__(self, joint, forward_count, options, shared=()):
        sparse = SparseGradients(joint, forward_count)
        output = next(n for n in joint.graph.nodes if n.op == "output")
        flat = torch.utils._pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None)
        self.dtypes = _result_dtypes(flat)
        placement = placement_of(joint)
        self.views = views_of_inputs(joint.graph, forward_count, mutated_inputs(joint.graph), shared)
        program = Program(joint, ordered=forward_count, left_out=self.views)
        self.torch_step = TorchStep(program, options, placement)
        compiled_steps.append(self.torch_step.step)
        step = self.torch_step.step
        self.forward_count, self.sparse = forward_count, sparse
        self.primal_count = sum(not name.startswith("tangents") for name in program.arguments)
        self.result_is_forward = [False] * len(step.results)
        for result in program.outputs[:forward_count]:
            if result is not None:
                self.result_is_forward[result] = True
        late = [i for i, (forward, info) in enumerate(zip(self.result_is_forward, step.results))
                if forward and info.first_call == 1]
        if late:
            raise Error("the forward call should give result %d, but the backward call makes it" % late[0])
        # Gradients that need no tangent: the forward call may have them already.
        self.early_results = [i for i, (forward, info) in enumerate(zip(self.result_is_forward, step.results))
                              if not forward and info.first_call == 0]
        # Gradients that are not worth a call of Python in the middle of the step, where the processor's caches have
        # none of it: they take less time than that call if they are made beforehand.
        self.tiny_gradients = [i for i in dict.fromkeys(program.outputs[forward_count:])
                               if i is not None and step.results[i].first_call == 1 and step.results[i].bytes < TINY]
        # What the last call reads again.
        self.argument_is_read = [info.last_call == 1 for info in step.arguments]
        self.result_is_read = [forward and info.last_call == 1
                               for forward, info in zip(self.result_is_forward, step.results)]
        self.placeholder_of = self._placeholders()

    def __deepcopy__(self, memo):
        return self  # A compiled step has nothing that a copy of a graph could change.

    def _placeholders(self):
        """For each argument of the step the number of its placeholder, None for constants and the seed."""
        numbers = {name: i for i, name in enumerate(self.torch_step.program.arguments)}
        return [numbers.get(name) for name in self.torch_step.program.argument_names]

    def saved_primals(self):
        """Numbers of the primals that the backward call reads."""
        return sorted({p for p, read in zip(self.placeholder_of, self.argument_is_read)
                       if read and p is not None and p < self.primal_count})

    def saved_outputs(self):
        """Numbers of the forward outputs that it reads, one for each result."""
        numbers, seen = [], set()
        for number, result in enumerate(self.torch_step.program.outputs[:self.forward_count]):
            if result is not None and self.result_is_read[result] and result not in seen:
                seen.add(result)
                numbers.append(number)
        return numbers

    def forward(self, primals):
        t, keep = self.torch_step, []
        step, program = t.step, t.program
        seed = draw_seed(program, t.placement)
        tensors = list(primals) + [None] * (len(program.arguments) - len(primals))
        arguments = t.raw(t.arguments(tensors, seed), keep)
        results = [t.new_result(i) if forward or i in self.early_results else None
                   for i, forward in enumerate(self.result_is_forward)]
        memory = t.new_state()
        state = self._state(memory, 0)
        t.call(step._lib.remat_step_forward, arguments, len(step.arguments), t.raw(t.as_results(results), keep),
               len(results), lib.ctypes.byref(state))
        outputs = [program.numbers.get(n) if i is None else _restore(results[i], d)
                   for n, (i, d) in enumerate(zip(program.outputs[:self.forward_count], self.dtypes))]
        return outputs, memory, seed, [results[i] for i in self.early_results]

    def _state(self, memory, calls, events=None):
        step = self.torch_step.step
        data, host = [m.data_ptr() for m in memory] + [None] * (2 - len(memory))
        return lib.State(data, step.state_bytes, host, step.host_bytes, calls, None, 0,
                         lib.ctypes.pointer(events) if events else None)

    def backward(self, memory, seed, primals, outputs, early, tangents):
        """`primals`, `outputs` and `early` are what saved_primals, saved_outputs and early_results name. Gradients get
        memory when they are first written. The lists are emptied, so that a tensor that nobody else holds, such as the
        gradient that the call begins with, goes when it has been read."""
        t = self.torch_step
        step, program = t.step, t.program
        for given, size in zip(memory, t.state_sizes()):
            if given.dtype != torch.uint8 or given.numel() != size:
                raise Error("a hook of saved tensors gave %s of %d elements for what the step keeps, %d bytes; hooks "
                            "may move a tensor, but not convert it" % (given.dtype, given.numel(), size))
        own = t.own_state(memory)
        if own is not memory:  # The graph is kept, or might be.
            early = [tensor.clone() for tensor in early]
            memory = own
        tensors = [None] * len(program.arguments)
        for number, tensor in zip(self.saved_primals(), primals):
            tensors[number] = tensor
        tensors[self.primal_count:] = tangents
        results = [None] * len(step.results)
        for number, tensor in zip(self.early_results, early):
            results[number] = tensor
        for number, tensor in zip(self.saved_outputs(), outputs):
            results[program.outputs[number]] = tensor
        for number in self.tiny_gradients:
            results[number] = t.new_result(number)
        tensor = None
        given = t.arguments(tensors, seed)
        arguments, kept = t.raw_apart(given)
        described, kept_results = t.raw_results(results)
        for list_ in (primals, outputs, tangents, tensors, given):
            list_.clear()
        if step.backward_count:
            events = CallEvents(self, memory[0], results, kept, kept_results)
            try:
                t.call(step._lib.remat_step_backward, 0, arguments, len(step.arguments), described, len(results),
                            lib.ctypes.byref(self._state(memory, 1, events.raw)))
            except RunError as error:
                raise events.error or error
            finally:
                events.close()
        gradients = []
        for result, dtype in zip(program.outputs[self.forward_count:], self.dtypes[self.forward_count:]):
            if result is None:
                gradients.append(None)
                continue
            if results[result] is None:  # It has no elements.
                results[result] = t.new_result(result)
            gradients.append(_restore(results[result], dtype))
        # PyTorch takes a gradient that nobody else holds as it is, and copies others.
        results.clear()
        kept_results.clear()
        return self.sparse.assemble(gradients)


class CallEvents:
    """What the backward call does with its tensors while it runs: it makes results, and lets go of arguments and
    results that it has read, in the lists."""

    def __init__(self, training, state, results, arguments, given_results):
        self.error, self.given_results = None, given_results
        torch_step = training.torch_step
        gradients = set(torch_step.program.outputs[training.forward_count:])
        # Those in the place of the state take no memory, so they may be there before the step asks for them.
        in_state = {number: torch_step.result_in_state(number, state) for number in gradients
                    if number is not None and results[number] is None}

        def provide(_, number):
            try:
                results[number] = in_state.pop(number, None)
                if results[number] is None:
                    results[number] = torch_step.new_result(number)
            except Exception as error:  # It cannot pass through the step, which ends the call.
                self.error = error
                return None
            return results[number].data_ptr()

        def release(_, number):
            arguments[number].clear()

        def release_result(_, number):
            if number not in gradients:
                results[number] = None
                given_results[number].clear()

        self.raw = lib.TensorEvents(lib.Provide(provide), lib.Release(release), None, lib.Release(release_result))

    def close(self):
        """Lets go of the tensors: the functions and this object refer to each other, so that they would stay until
        the collector of Python's garbage runs."""
        self.raw = None


# What is decided by how PyTorch calls its two graphs, and the types that it gives.
NO_OPTIONS = ("differentiate", "separate_backward", "tangents", "microbatches", "microbatch_order", "narrow", "widen",
              "wrt", "optimizer")


def refuse_compiled_autograd():
    """It copies the nodes of backward graphs into one of its own, and one of a step is a call of a module."""
    autograd = getattr(torch._dynamo, "compiled_autograd", None)
    if getattr(torch._dynamo.config, "compiled_autograd", False) or getattr(
            autograd, "compiled_autograd_enabled", False):
        raise Error("compiled autograd cannot take in a step; leave torch._dynamo.config.compiled_autograd off: the "
                    "backward computation of what is compiled for remat is a part of its step")


def check_options(options):
    for name in NO_OPTIONS:
        if name in (options or {}):
            raise Error("the option '%s' is not one of torch.compile, where PyTorch says what is differentiated, in "
                        "which parts and in which types; a step by remat.torch.export has it" % name)


def compile_graph(graph_module, inputs, options=None):
    """The backend: from a graph of Dynamo to what runs it. With the option `fallback`, which is on by default, what a
    step cannot have is left to PyTorch."""
    check_options(options)
    options = {"threads": torch.get_num_threads(), "fallback": True, **(options or {})}
    fallback = options.pop("fallback")
    try:
        return compile_step(graph_module, inputs, options)
    except ExportError as error:
        if not fallback:
            raise
        return leave_to_pytorch(graph_module, error, functools.partial(compile_graph, options=options))


def compile_step(graph_module, inputs, options):
    """The same for a graph that is one step."""
    from torch._dynamo.backends.common import aot_autograd
    from functorch.compile import make_boxed_func
    check_inputs(graph_module, inputs)
    # Dynamo leaves the extents open that it has seen change. Steps are compiled for those that they get.
    specialize(inputs)
    warn_of_reentrant_checkpoints(graph_module)
    call_functions(graph_module)
    shared = results_in_inputs(graph_module)

    def partition(joint, _, *, num_fwd_outputs, **kwargs):
        refuse_compiled_autograd()
        training = Training(joint, num_fwd_outputs, options, shared)
        return split(joint, num_fwd_outputs, training)

    def run_forward(module, _):
        return make_boxed_func(module.forward)

    def run_backward(module, _):
        return BackwardRun(module)

    def inference(module, _):
        return Inference(module, options, shared)

    with traceable_kernels(), shapes_that_are_known(graph_module):
        keep_strides(graph_module)
        return aot_autograd(fw_compiler=run_forward, bw_compiler=run_backward, inference_compiler=inference,
                            partition_fn=partition, decompositions=decompositions())(graph_module, inputs)


def backend(graph_module, inputs, *, options=None, mode=None, **kwargs):
    """torch.compile(model, backend="remat"). `options` are those of remat.compile: budget, policy, threads, ... A graph
    whose tensors are on a GPU is compiled for it."""
    if mode not in (None, "default"):
        raise Error("mode='%s' is not supported; say what you want by options" % mode)
    return compile_graph(graph_module, inputs, options)


__all__ = ["Array", "State", "backend", "compile_graph", "compiled_steps"]
