"""Models that were exported: IR, weights, and what the arguments and results are.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import json
import os
import sys

from . import safetensors
from .arrays import Array, framework_of, give, view
from .device import device_put, to_host
from .errors import ArgumentError
from .files import write_files
from .mlir import dtype_of
from .step import Step, compile_module, what_if_model

# Names of types as manifests have them.
MANIFEST_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i1": "bool",
                   "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "c64": "complex64",
                   "c128": "complex128"}


# Arguments and results that an optimizer adds.
LEARNING_RATE, IS_FINITE = "optimizer.lr", "optimizer.is_finite"

NOT_IN_JAX = ("arrays of JAX do not change; compile a function that returns updated weights, as optax makes them, with "
              "differentiate=False and donate_argnums")


class Argument:
    """An argument: its name, its role, dtype and shape. Roles are `param`, `buffer`, `data`, `cotangent`, `constant`
    and `seed`. `leaf` says which of the leaves of the call it is, counted from 0, for data and cotangents."""

    def __init__(self, name, role, dtype, shape, leaf=None):
        self.name, self.role, self.shape, self.leaf = name, role, tuple(shape), leaf
        self.dtype = dtype_of(dtype)

    def __repr__(self):
        return "%s %s: %s%s" % (self.role, self.name, self.dtype, list(self.shape))


class Result:
    """A result: its name and its role: `loss`, `output`, `gradient` or `update`. `of` is the name of the argument that
    a gradient belongs to or that an update replaces. `unsigned` says that its integers have no sign, which types of
    MLIR do not tell. `restore` makes an array of JAX of its own type of one of bytes."""

    def __init__(self, name, role, of=None, unsigned=False):
        self.name, self.role, self.of, self.unsigned = name, role, of, unsigned
        self.restore = None

    def __repr__(self):
        return "%s %s" % (self.role, self.name)


def leaves(tree):
    """The tensors in lists, tuples and dictionaries. Those of a dictionary are in the order of its keys, whatever order
    they were written in."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree, key=str) for leaf in leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def unique_name(name, taken):
    """The name, or one with a number behind it if it is taken. It is taken from now on."""
    found, number = name, 0
    while found in taken:
        number += 1
        found = "%s_%d" % (name, number)
    taken.add(found)
    return found


class Exported:
    """A model with its derivatives, as one module of remat. `weights` are its tensors by name."""

    def __init__(self, text, arguments, results, weights, layers=None, source=None, leaf_map=None, options=None):
        self.text, self.arguments, self.results, self.weights = text, arguments, results, weights
        self.layers, self.source = layers or [], source
        # Takes (arguments, keywords) of a call to the leaves that `Argument.leaf` counts; an ArgumentError if they are
        # not like those of the call that was exported.
        self.leaf_map = leaf_map or self._leaves
        self.options = options or {}
        self.examples = {}  # the data of the call that was exported, by name
        self.donated = {r.of for r in results if r.role == "update"}  # names of arguments

    def _leaves(self, args, kwargs):
        found = leaves([list(args), dict(kwargs)])
        expected = sum(a.role == "data" for a in self.arguments)
        if len(found) != expected:
            raise ArgumentError("the step takes %d tensors beside its parameters, got %d" % (expected, len(found)))
        return found

    def compile_step(self, **options):
        """See remat.compile."""
        own = self.options
        if options.get("target") or options.get("device"):  # Where the model was does not matter then.
            own = {key: value for key, value in own.items() if key not in ("target", "device")}
        return ExportedStep(self, dict(own, **options))

    def what_if(self, conditions, **options):
        """See remat.what_if. The batch is the first dimension of the data, as far as that is as long as in the first of
        them, unless `batch_arguments` says otherwise."""
        values = dict(self.options, differentiate=False)
        if conditions.get("batch") is not None:
            values["batch_arguments"] = self.batch_arguments()
            values["wrt"] = [n for n, a in enumerate(self.arguments) if a.role in ("param", "buffer")]
        return what_if_model(self.text, names=[a.name for a in self.arguments], conditions=conditions,
                             **dict(values, **options))

    def is_optimized(self, result):
        """Whether an optimizer in the step uses a result up: the gradient of a tensor of the model, not of its data."""
        return result.role == "gradient" and any(
            a.name == result.of and a.role in ("param", "buffer") for a in self.arguments)

    def batch_arguments(self):
        """Numbers of the data that is as long as the first of it, in the first dimension: that of the batch. What gives
        its buffer to a result goes on from part to part."""
        data = [n for n, a in enumerate(self.arguments)
                if a.role in ("data", "cotangent") and a.shape and a.name not in self.donated]
        return [n for n in data if self.arguments[n].shape[0] == self.arguments[data[0]].shape[0]]

    def manifest(self, model, weights_file):
        return {
            "model": model, "function": "main", "differentiated": True, "source": self.source,
            "args": [{"name": a.name, "dtype": MANIFEST_DTYPES[a.dtype], "shape": list(a.shape), "role": a.role,
                      **self._source_of(a, weights_file)} for a in self.arguments],
            "results": [{"name": r.name, "role": r.role, **({"of": r.of} if r.of else {})} for r in self.results],
            "layers": self.layers,
        }

    def _source_of(self, argument, weights_file):
        """Where a tool takes the elements of an argument from."""
        if argument.name in self.weights or argument.name in self.examples:
            return {"file": weights_file}
        if argument.role == "seed":
            return {"fill": {"kind": "index", "seed": 0, "below": 1 << 31}}
        return {}

    def save(self, directory, name="model"):
        """Writes NAME.mlir, NAME.safetensors with the weights and the data of the exported call, and the manifest
        NAME.json: all of them or, after an error, none. Returns their paths."""
        os.makedirs(directory, exist_ok=True)
        paths = [os.path.join(directory, name + ending) for ending in (".mlir", ".safetensors", ".json")]
        tensors = {key: _dense(tensor) for key, tensor in dict(self.examples, **self.weights).items()}
        manifest = json.dumps(self.manifest(name, os.path.basename(paths[1])), indent=1) + "\n"
        write_files(zip(paths, (self.text, safetensors.make_writer(tensors), manifest)))
        return paths


def is_given(options, name):
    """Whether an option is there; 0 is a value."""
    value = options.get(name)
    return value is not None and value is not False and value != ""


class ExportedStep:
    """A step of an exported model: `loss, gradients = step(params, *batch)`.

    `params` are tensors by name, those of the model's own where they are None or not given. Gradients come by the names
    of what they belong to. What the model updates, such as the statistics of a batch norm, is written to the buffers
    that were given for it. Without a loss, `outputs, gradients = step(params, *batch, cotangents=[...])`.

    With an optimizer in the step, weights are updated where they are, and have no gradients. `state` is what the
    optimizer keeps from call to call, by name, beginning with zeros; it may be written or replaced. `is_finite` says of
    the last call whether gradients were, if the optimizer looks (`skip_nonfinite`).
    With `microbatches=M`, the data is that of M parts like the call that was exported, one behind the other.
    """

    def __init__(self, exported, options):
        self.exported = exported
        if options.get("optimizer") and any(a.role == "param" and a.leaf is not None for a in exported.arguments):
            raise ArgumentError("optimizer: " + NOT_IN_JAX)
        for name in ("tangents", "wrt", "result"):
            if is_given(options, name):
                raise ArgumentError("the option '%s' is not one of an exported step: it computes and takes what was "
                                    "exported. Export the function that you want" % name)
        values = dict(options, differentiate=False)
        if any(str(options.get(name) or 1) != "1" for name in ("split_batch", "microbatches")):
            values.setdefault("batch_arguments", exported.batch_arguments())
        self.step = compile_module(exported.text, **values)
        used = exported.is_optimized if options.get("optimizer") else lambda result: False
        self.results = [r for r in exported.results if not used(r)]
        self._donated = [info.donation is not None for info in self.step.arguments]
        self.is_finite = None
        self.state = self._make_state()

    def _make_state(self):
        """What an optimizer begins with."""
        framework = framework_of(self.exported.weights.values())
        made = {}
        for info in self.step.arguments[len(self.exported.arguments):]:
            if info.donation is None:
                continue
            state = Array(info.dtype, info.shape)
            if self.step.device is not None and not info.is_host:
                state = device_put(state, self.step.device)
            made[info.name] = give(state, framework)
        return made

    @property
    def memory(self):
        return self.step.memory

    @property
    def plan(self):
        return self.step.plan

    def frontier(self, points=8):
        return self.step.frontier(points)

    def explain(self):
        """`Step.explain`."""
        return self.step.explain()

    def what_if(self, **conditions):
        """`Step.what_if`."""
        return self.step.what_if(**conditions)

    def print_saved(self, file=None):
        """`Step.print_saved`."""
        self.step.print_saved(file)

    def replan(self, budget):
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, step=self.step.replan(budget))
        return copy

    def profile(self, params=None, *args, group="op", sort="self", steps=1, cotangents=None, seed=None, **kwargs):
        """`Step.profile` on what the step would be called with. What a call updates stays as it is."""
        arrays = self._gather(params, args, kwargs, cotangents, seed)
        return self.step.profile(*arrays, group=group, sort=sort, steps=steps)

    def trace(self, path, params=None, *args, cotangents=None, seed=None, **kwargs):
        """`Step.trace` of a run on what the step would be called with; without arguments, that of the plan alone."""
        if params is None and not args and not kwargs:
            return self.step.trace(path)
        arrays = self._gather(params, args, kwargs, cotangents, seed)
        return self.step.trace(path, *arrays)

    def memory_snapshot(self, path):
        """`Step.memory_snapshot`."""
        self.step.memory_snapshot(path)

    def report(self, path, params=None, *args, title="model", compare=True, cotangents=None, seed=None, **kwargs):
        """`Step.report`, with arguments of a run on what the step would be called with."""
        arrays = []
        if params is not None or args or kwargs:
            arrays = self._gather(params, args, kwargs, cotangents, seed)
        self.step.report(path, *arrays, title=title, compare=compare)

    def anomalies(self, params=None, *args, cotangents=None, seed=None, **kwargs):
        """`Step.anomalies` on what the step would be called with."""
        arrays = self._gather(params, args, kwargs, cotangents, seed)
        return self.step.anomalies(*arrays)

    def __repr__(self):
        return "remat.exported.ExportedStep: %r" % self.step

    def _gather(self, params, args, kwargs, cotangents, seed):
        """The arrays that the step runs on, copies of those that it would update."""
        arrays = self._collect(params, args, kwargs, cotangents, self._new_seed() if seed is None else seed, 0.0)
        return [_copy(array) if donated else _dense(array) for array, donated in zip(arrays, self._donated)]

    def _collect(self, params, args, kwargs, cotangents, seed, learning_rate):
        given = self.exported.leaf_map(args, kwargs)
        weights = self.exported.weights
        params = params or {}
        known = {a.name for a in self.exported.arguments if a.role in ("param", "buffer")}
        for name in params:
            if name not in known:
                raise ArgumentError("there is no parameter '%s'; there are %s" % (name, ", ".join(sorted(known))))
        count = sum(a.role == "cotangent" for a in self.exported.arguments)
        if cotangents is not None and len(cotangents) != count:
            raise ArgumentError("the step takes %d cotangents, got %d" % (count, len(cotangents)) if count else
                                "the step has a loss, or nothing to differentiate; it takes no cotangents")
        arrays = []
        for argument in self.exported.arguments:
            if argument.role == "seed":
                arrays.append(seed)
            elif argument.role == "cotangent":
                if cotangents is None:
                    raise ArgumentError("the step has no loss; give cotangents for its outputs")
                arrays.append(cotangents[argument.leaf])
            elif argument.leaf is not None:
                arrays.append(given[argument.leaf])
            else:
                arrays.append(params.get(argument.name, weights.get(argument.name)))
        for info in self.step.arguments[len(arrays):]:
            if info.name in self.state:
                arrays.append(self.state[info.name])
            elif info.name == LEARNING_RATE and learning_rate is not None:
                arrays.append(_number(learning_rate))
            else:
                raise ArgumentError("the optimizer has 'lr=argument'; give the learning rate of this step by "
                                    "learning_rate=" if info.name == LEARNING_RATE else
                                    "argument '%s' has no value" % info.name)
        return arrays

    def _check_rate(self, learning_rate):
        if learning_rate is not None and all(info.name != LEARNING_RATE for info in self.step.arguments):
            raise ArgumentError("learning_rate has no effect: the step has no optimizer with 'lr=argument'")

    def _new_seed(self):
        """From PyTorch's generator where there is one, so torch.manual_seed repeats a run."""
        torch = sys.modules.get("torch")
        seed = Array("i64", ())
        ctypes.c_int64.from_address(seed.address).value = int.from_bytes(os.urandom(7), "little") if torch is None \
            else torch.randint(-2 ** 63, 2 ** 63 - 1, (), dtype=torch.int64).item()
        return seed

    def __call__(self, params=None, *args, cotangents=None, seed=None, learning_rate=None, **kwargs):
        self._check_rate(learning_rate)
        arrays = self._collect(params, args, kwargs, cotangents, self._new_seed() if seed is None else seed,
                               learning_rate)
        framework = framework_of(a for a in arrays if a is not None)
        given = [a if donated else _dense(a) for a, donated in zip(arrays, self._donated)]
        results = self.step.run(given)
        outputs, gradients = [], {}
        if self.step.results and self.step.results[-1].name == IS_FINITE:
            self.is_finite = bool(ctypes.c_uint8.from_address(to_host(results[-1]).address).value)
        for info, array in zip(self.results, results):
            if info.role == "update":  # In the buffer of what it updates.
                continue
            if isinstance(array, Array):
                array.unsigned = info.unsigned
                array = give(array, framework)
                if info.restore and framework == "jax":
                    array = info.restore(array)
            elif info.unsigned:  # A tensor of PyTorch, which a step for a GPU writes itself.
                array = array.view(getattr(sys.modules["torch"], "u" + str(array.dtype).rpartition(".")[2]))
            if info.role == "gradient":
                gradients[info.of] = array
            else:
                outputs.append(array)
        losses = [r for r in self.exported.results if r.role == "loss"]
        return (outputs[0] if losses and len(outputs) == 1 else tuple(outputs)), gradients


def _dense(array):
    """The tensor, or a dense copy of one that is not."""
    found = view(array)
    if found.contiguous:
        return array
    return array.contiguous() if hasattr(array, "contiguous") else array.copy()


def _copy(array):
    """A dense copy, in memory of its own that can be written."""
    found = view(_dense(array))
    if framework_of([array]) == "torch":
        return array.detach().clone(memory_format=sys.modules["torch"].contiguous_format)
    if found.device is not None:
        return device_put(array, max(found.device, 0))
    copy = Array(found.dtype, found.shape)
    ctypes.memmove(copy.address, found.address, copy.nbytes)
    return copy


def _number(value):
    """A tensor of f32 without dimensions."""
    number = Array("f32", ())
    ctypes.c_float.from_address(number.address).value = float(value)
    return number


__all__ = ["Argument", "Exported", "ExportedStep", "Result", "Step", "leaves"]
