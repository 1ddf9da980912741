"""Compiled steps: what a model becomes under a budget, and how it is run.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import ctypes
import hashlib
import sys
import weakref

from . import _library as lib
from .arrays import SOME_GPU, Array, descriptor, framework_of, give, is_on_gpu, view
from .device import new_array, place, using
from .errors import ArgumentError, NoDeviceError, OptionError, RunError
from .files import write_file
from .module import Context, Module, Options


# How many plans for other budgets a report has, as with the tools.
REPORT_POINTS = 5


class TensorInfo:
    """An argument or a result: `name`, `dtype` as MLIR names it, `shape` and `bytes`. `exists` is false for the
    derivative of what no differentiable path leads to. `is_host` says that the step takes it from host memory, wherever
    it runs. `donation` is the number of the result that has an argument's
    buffer, or of the argument of which a result has the buffer. `state_offset` is the byte of the state at which a
    result of backward calls may be, as nothing there is used any more when it is made; None of others."""

    def __init__(self, info):
        self.name = info.name.decode()
        self.dtype = lib.DTYPES[info.dtype]
        self.shape = tuple(info.dims[i] for i in range(info.rank))
        self.bytes = info.bytes
        self.exists = not info.flags & 1
        self.is_host = bool(info.flags & 2)
        self.donation = None if info.donation == lib.NONE else info.donation
        self.state_offset = None if info.state_offset == lib.NO_PLACE else info.state_offset
        self.first_call = None if info.first_call == lib.NONE else info.first_call
        self.last_call = None if info.last_call == lib.NONE else info.last_call

    def __repr__(self):
        return "%s: %s[%s]" % (self.name, self.dtype, "x".join(map(str, self.shape)))


class Plan:
    """What was decided. `text` is the graph of tasks as MLIR, in the order in which they run; clones recompute."""

    def __init__(self, module, summary):
        self._module = module
        self.tasks = summary["tasks"]
        self.recomputed_tasks = summary["recomputed_tasks"]
        self.absorbed_tasks = summary["absorbed_tasks"]
        self.offloaded_bytes = summary["offloaded_bytes"]
        self.held_bytes = summary["held_bytes"]

    @property
    def text(self):
        return self._module.text()

    def __repr__(self):
        absorbed = ", %d absorbed" % self.absorbed_tasks if self.absorbed_tasks else ""
        return "%d tasks, %d of them recomputed%s, %d bytes kept for the backward computation, %d bytes offloaded" % (
            self.tasks, self.recomputed_tasks, absorbed, self.held_bytes, self.offloaded_bytes)


def _infos(step, library, count, get):
    infos = []
    for number in range(count(step)):
        info = lib.TensorInfo()
        get(step, number, ctypes.byref(info))
        infos.append(TensorInfo(info))
    return infos


class State:
    """What a forward call leaves for the backward calls, in memory of its own or in memory that is given."""

    def __init__(self, step, memory=None):
        self.step = step
        self.memory = memory or new_array("i8", (step.state_bytes,), step.device, None)
        self.host = Array("i8", (step.host_bytes,)) if step.host_bytes else None
        self.raw = lib.State(self.memory.address, self.memory.nbytes, self.host.address if self.host else None,
                             step.host_bytes, 0, None, 0, None)


# Steps on a GPU.
_steps = weakref.WeakSet()


def synchronize():
    """Waits until all calls of all steps are done. Raises what the first of them failed with that no call has told."""
    failure = None
    for step in list(_steps):
        try:
            step.synchronize()
        except RunError as error:
            failure = failure or error
    if failure:
        raise failure


def _free(library, step, *_):
    """Code and memory, which are held here, must live until the step is freed, whatever order the collector chooses."""
    if library.remat_step_synchronize(step):
        print("remat: a step is freed, and nobody was told of a failure: %s"
              % library.remat_step_error(step).decode(errors="replace"), file=sys.stderr)
    library.remat_step_free(step)


class Step:
    """A model that was compiled for a budget. Call it with its arguments in order; it returns its results in order, in
    the framework of the arguments. Nothing is copied but from and to a GPU; a tensor that is not dense and row-major is
    an error. `device` is the number of the GPU that runs the step, None where a CPU does.

    `arena`, if it is given, is a function from a number of bytes to memory of the GPU for the step's own: its address,
    at a multiple of 256 bytes, and what it belongs to. Each call is given its state then."""

    def __init__(self, tasks, options, values, names=None, device_number=None, arena=None, captured=None):
        self._tasks, self._options, self._values, self._names = tasks, options, values, names
        self._device_number, self._arena, self._captured = device_number, arena, captured
        context = tasks.context
        self._placed = tasks.clone().compile(lib.PLACED, options)
        self._summary = self._placed.summary()
        self.plan = Plan(self._placed, self._summary)
        with using(device_number):
            self._code = self._placed.load(options)
        self._lib = context.lib
        memory = self._new_arena()
        step = self._load(lib.STATE_IS_GIVEN if memory else 0, memory)
        self._step, self._peak = step, None
        self._free = weakref.finalize(self, _free, self._lib, step, self._code, memory)
        number = self._lib.remat_step_device(step)
        self.device = None if number < 0 else number
        if self.device is not None:
            _steps.add(self)
        self._shared = None  # The hold on a step that belongs to executables of XLA as well.
        self.arguments = _infos(step, self._lib, self._lib.remat_step_argument_count, self._lib.remat_step_argument)
        self.results = _infos(step, self._lib, self._lib.remat_step_result_count, self._lib.remat_step_result)
        self.backward_count = self._lib.remat_step_backward_count(step)
        self.state_bytes = self._lib.remat_step_state_bytes(step)
        self.host_bytes = self._lib.remat_step_host_bytes(step)

    def __repr__(self):
        memory = self.memory
        limit = "no budget" if memory["budget"] is None else "a budget of %d" % memory["budget"]
        return "remat.Step: peak %d bytes, arena %d, %s; %r" % (memory["planned"], memory["arena"], limit, self.plan)

    def _new_arena(self):
        """Memory for what is not a part of the state: address, owner and bytes."""
        if self._arena is None:
            return None
        state = self._summary["state_bytes"]
        needed = self._summary["arena_bytes"] - (state - state % lib.DEVICE_ALIGNMENT)
        return (*self._arena(needed), needed)

    def _load(self, flags, memory=None):
        """A step of the runtime."""
        step = ctypes.c_void_p()
        load = lib.StepOptions(threads=int(self._values.get("threads") or 0), flags=flags)
        if memory:
            load.arena, _, load.arena_bytes = memory
        with using(self._device_number):
            status = self._lib.remat_step_load(self._code.module, ctypes.byref(load), ctypes.byref(step))
        self._status(status, None)
        return step

    def _status(self, status, step):
        if status == 0:
            return
        # Calls that never came to the step leave their message with the thread.
        message = (step and self._lib.remat_step_error(step)) or self._lib.remat_last_error()
        if status == 1:
            raise ArgumentError(message.decode(errors="replace"))
        if status == lib.NO_DEVICE:
            raise NoDeviceError(message.decode(errors="replace"))
        raise RunError(message.decode(errors="replace"), self._lib.remat_status_name(status).decode())

    def share(self):
        """Lets executables of XLA hold the step, and returns the key by which they find it. From now on only they run
        it. Steps of one key compute the same on the same device, in whatever process they were compiled."""
        if self._shared is None:
            program = "%s %r %r" % (self._placed.text(), sorted(self._values.items()), self.device)
            self._key = int.from_bytes(hashlib.sha256(program.encode()).digest()[:8], "little", signed=True)
            self._free.detach()
            self._code.destroy.detach()
            self._shared = self._lib.rematXlaStepCreate(self._code.handle, self._step, self._key)
            weakref.finalize(self, self._lib.rematXlaStepDestroy, self._shared)
        return self._key

    def signature(self):
        return "(%s) -> (%s)" % (", ".join(map(repr, self.arguments)), ", ".join(map(repr, self.results)))

    # Running

    def check_argument(self, number, array):
        """The view of an argument, if it is what the step takes."""
        info = self.arguments[number]
        try:
            found = view(array)
        except ArgumentError as error:
            raise ArgumentError("argument %d (%s): %s" % (number, info.name, error)) from None
        if found.dtype != info.dtype or found.shape != info.shape:
            raise ArgumentError("argument %d is %s, got %s[%s]" % (
                number, info, found.dtype or "an unknown type", "x".join(map(str, found.shape))))
        if not found.contiguous:
            raise ArgumentError("argument %d (%s) is not dense in row-major order; pass a contiguous copy"
                                % (number, info.name))
        self._check_place("argument %d (%s)" % (number, info.name), found)
        return found

    def _check_place(self, what, found):
        """Refuses memory that the step cannot use."""
        if found.device is None:
            return
        place = "a GPU" if found.device == SOME_GPU else "cuda:%d" % found.device
        if self.device is None:
            raise ArgumentError("%s is on %s, but the step runs on the CPU; compile it with target='cuda', or pass a "
                                "tensor on the host" % (what, place))
        if found.device not in (SOME_GPU, self.device):
            raise ArgumentError("%s is on %s, but the step runs on cuda:%d; pass a tensor that is there or on the "
                                "host, or compile the step with device='%s'" % (what, place, self.device, place))

    def wait(self, stream):
        """Lets the next call begin behind all that a stream of the GPU, a CUstream as a number, has been given."""
        self._status(self._lib.remat_step_wait(self._step, stream), None)

    def follow(self, stream):
        """The same, and the stream goes on behind the call, which need not wait: see Streams in docs/python.md."""
        self._status(self._lib.remat_step_follow(self._step, stream), None)

    def synchronize(self):
        """Waits until the calls are done. Raises what one of them failed with that no call has told."""
        if not self._shared:
            self._status(self._lib.remat_step_synchronize(self._step), self._step)

    def _follow(self, kept):
        """Lets the next call not wait if all of its tensors have the same stream, behind which memory is used again."""
        views = [found for found, _ in kept]
        if self.device is not None and views and all(found.is_ordered for found in views):
            self.follow(views[0].stream)

    def _wait_once(self, stream, streams, step):
        """`wait`, unless the stream is None or one of those that were waited for."""
        if stream is not None and stream not in streams:
            streams.add(stream)
            self._status(self._lib.remat_step_wait(step or self._step, stream), None)

    def _arguments(self, arrays, step=None):
        if len(arrays) != len(self.arguments):
            raise ArgumentError("the step takes %d arguments, got %d; its signature is %s" % (
                len(self.arguments), len(arrays), self.signature()))
        keep, tensors = [], (lib.Tensor * max(len(arrays), 1))()
        streams = set()
        for number, array in enumerate(arrays):
            if array is None:  # A call of several that does not use it.
                continue
            found = self.check_argument(number, array)
            self._wait_once(found.stream, streams, step)
            tensors[number], dims = descriptor(found.address, found.dtype, found.shape)
            keep.append((found, dims))
        return tensors, keep

    def _home(self, arrays):
        """Where new results are, and whose: of the library of the first argument, on the GPU if one of its tensors is
        there."""
        framework = framework_of(arrays)
        if self.device is None or not any(
                array is not None and framework in (None, framework_of([array])) and is_on_gpu(array)
                for array in arrays):
            return None, framework
        return self.device, framework

    def _results(self, arrays, donors, step=None):
        """Buffers of results: those that are given, those of donated arguments, and new ones."""
        keep, tensors, given = [], (lib.Tensor * max(len(self.results), 1))(), []
        home, streams = self._home(donors), set()
        if arrays and len(arrays) != len(self.results):
            raise ArgumentError("the step has %d results, got %d buffers for them" % (len(self.results), len(arrays)))
        for number, info in enumerate(self.results):
            array = arrays[number] if arrays else None
            if array is None:
                array = donors[info.donation] if info.donation is not None else new_array(info.dtype, info.shape, *home)
            found = view(array)
            if found.dtype != info.dtype or found.shape != info.shape or not found.contiguous:
                raise ArgumentError("result %d is %s, got a buffer of %s[%s]" % (
                    number, info, found.dtype, "x".join(map(str, found.shape))))
            if found.read_only:
                raise ArgumentError("result %d (%s) is written where an array of %s is, which must not change: pass a "
                                    "copy that can be written, such as an array of NumPy" % (
                                        number, info.name, framework_of([array])))
            self._check_place("result %d" % number, found)
            self._wait_once(found.stream, streams, step)
            tensors[number], dims = descriptor(found.address, found.dtype, found.shape)
            keep.append((found, dims))
            given.append(array)
        return tensors, keep, given

    def call(self, function, *arguments):
        """Calls a function of the library that runs the step or a part of it, and takes down its peak."""
        if self._shared:
            raise RunError("the step runs as a part of programs of JAX", "invalid argument")
        self._status(function(self._step, *arguments), self._step)
        stats = lib.Stats()
        self._lib.remat_step_get_stats(self._step, ctypes.byref(stats))
        earlier = self._peak if function is self._lib.remat_step_backward else None
        self._peak = max(earlier or 0, stats.measured_peak_bytes)

    def run(self, arrays, results=None):
        """Runs the step. `results`, where given, are buffers to write to; None among them stands for a new one."""
        arguments, keep = self._arguments(arrays)
        tensors, keep_results, given = self._results(results, arrays)
        self._follow(keep + keep_results)
        self.call(self._lib.remat_step_run, arguments, len(arrays), tensors, len(given))
        return given

    def forward(self, arrays, state, results=None):
        """The first call of a step that was compiled with separate_backward."""
        arguments, keep = self._arguments(arrays)
        tensors, keep_results, given = self._results(results, arrays)
        self._follow(keep + keep_results)
        self.call(self._lib.remat_step_forward, arguments, len(arrays), tensors, len(given), ctypes.byref(state.raw))
        return given

    def backward(self, number, arrays, results, state):
        arguments, keep = self._arguments(arrays)
        tensors, keep_results, given = self._results(results, arrays)
        self._follow(keep + keep_results)
        self.call(self._lib.remat_step_backward, number, arguments, len(arrays), tensors, len(given),
                  ctypes.byref(state.raw))
        return given

    def __call__(self, *arrays):
        framework = framework_of(arrays)
        given = self.run(arrays)
        return tuple(give(array, framework) if isinstance(array, Array) else array for array in given)

    # Reports

    @property
    def memory(self):
        """Bytes: `budget`, peaks as `planned`, `simulated` and, after a run, `measured`, the peak `save_all` without
        recomputation, and the `arena` that holds everything but arguments and results. Of a step in several calls,
        `measured` is the most of the last forward call and of those after it."""
        summary = self._summary
        if self._shared:
            stats = lib.Stats()
            self._lib.rematXlaStepGetStats(self._shared, ctypes.byref(stats))
            self._peak = stats.measured_peak_bytes if stats.runs else None
        return {"budget": summary["budget_bytes"], "planned": summary["planned_peak_bytes"],
                "simulated": summary["simulated_peak_bytes"],
                "measured": self._peak,
                "save_all": summary["save_all_peak_bytes"], "arena": summary["arena_bytes"],
                "host": summary["host_arena_bytes"], "state": summary["state_bytes"]}

    def frontier(self, points=8):
        """Plans from the smallest feasible budget to that of keeping everything."""
        return self._tasks.frontier(self._options, points)

    def explain(self):
        """What was decided on each value, and why: the list `explanation` of docs/planning.md, a dictionary for each
        with `value`, `decision`, `bytes`, and what the alternative would cost."""
        return self._placed.explanation()

    def print_saved(self, file=None):
        """Prints what the step keeps for its backward computation, a line for each value, in the form of
        jax.ad_checkpoint.print_saved_residuals. `file` is as for `print`."""
        print(self._placed.saved_values(), end="", file=file)

    def what_if(self, **conditions):
        """How much memory the step would take under other conditions: see `remat.what_if`, whose other arguments are
        here those that the step was compiled with. What is no list of values replaces one of them."""
        return what_if(self._captured or self._tasks, self._values, conditions)

    @contextlib.contextmanager
    def _ran(self, flags, arrays, steps=1):
        """Another step of the runtime with these flags, after it has run on arrays."""
        if steps < 1:
            raise ArgumentError("steps is %d, expected 1 or more" % steps)
        step = self._load(flags)
        try:
            for _ in range(steps):
                arguments, keep = self._arguments(arrays, step)
                tensors, keep_results, given = self._results(None, arrays, step)
                self._status(self._lib.remat_step_run(step, arguments, len(arrays), tensors, len(given)), step)
            yield step
        finally:
            self._lib.remat_step_free(step)

    def profile(self, *arrays, group="op", sort="self", steps=1):
        """Runs the step a number of times and says where the time went, as docs/seeing.md has it: a dictionary with
        `group`, `sort` and `rows`. An argument that is donated is updated in each step."""
        with self._ran(lib.PROFILE, arrays, steps) as step:
            return self._placed.profile(self._options, step, group, sort)

    def trace(self, path, *arrays):
        """Writes a trace for Perfetto or chrome://tracing: of the planned step, and with arrays, on which it then
        runs, of the measured one."""
        if arrays:
            with self._ran(lib.PROFILE, arrays) as step:
                text = self._placed.trace(self._options, step)
        else:
            text = self._placed.trace(self._options, None)
        write_file(path, text)

    def memory_snapshot(self, path):
        """Writes the planned arena as a memory snapshot of PyTorch, which torch.cuda._memory_viz reads."""
        write_file(path, self._placed.memory_snapshot(self._options))

    def report(self, path, *arrays, title="model", compare=True):
        """Writes a page in HTML, which needs no network: memory over the step, and each value with what was decided
        and why. With arrays the step runs on them, and the page shows when each task ran. Beside the step is what it
        would be if everything were saved, and, to compare, plans for other budgets, which may take twice as long
        as planning did. Without `compare`, these are left out."""
        with self._ran(lib.PROFILE, arrays) if arrays else contextlib.nullcontext() as step:
            page = self._placed.report(self._options, self._tasks, REPORT_POINTS if compare else 0, step, title)
        write_file(path, page)

    def anomalies(self, *arrays):
        """Runs the step and looks for NaNs and infinities that are made of finite numbers: a list of texts that name
        the entry, the operations that may have made it, and their places, as docs/anomaly.md has it."""
        with self._ran(lib.ANOMALY_WARN, arrays) as step:
            return self._lib.remat_step_anomalies(step).decode(errors="replace").splitlines()

    def replan(self, budget):
        """The same step under another budget. What comes before planning is not done again."""
        values = dict(self._values, budget=format_budget(budget))
        return type(self)(self._tasks, Options(self._tasks.context, values), values, self._names,
                          self._device_number, self._arena, self._captured)

    def write_object(self, object_path, header_path=None):
        """The step as an object file and a C header."""
        self._placed.write_object(self._options, object_path, header_path)


def format_budget(budget):
    """A budget as options take it: bytes as a number, "2GiB", "60%", "min", or None for no bound."""
    if budget is None:
        return None
    if isinstance(budget, float) and budget.is_integer():
        budget = int(budget)
    if isinstance(budget, bool) or not isinstance(budget, (int, str)):
        raise OptionError("a budget is a number of bytes or a text such as '2GiB', '60%%' or 'min', got %r" % (budget,))
    return str(budget)


def prepare(source, names, options):
    """A module of what `source` says, whose arguments are called by `names`."""
    module = Module.parse(options.context, source)
    for number, name in enumerate(names or ()):
        if name is not None:
            module.name_argument(options, number, name)
    return module


def compile_module(source, budget=None, policy=None, names=None, arena=None, **values):
    """See remat.compile and Step."""
    values, device_number = place(dict(values, budget=format_budget(budget), policy=policy))
    options = Options(Context(), values)
    module = prepare(source, names, options)
    captured = None
    if module.level < lib.TASKS:
        captured = module.clone()
        module.compile(lib.TASKS, options)
    return Step(module, options, values, names, device_number, arena, captured)


CONDITIONS = ("batch", "dtype", "link", "budget")


def what_if(module, values, conditions):
    """The rows of a table: see remat.what_if. Of `conditions`, what is a list of values has a row for each of them;
    what is one value is an option, except for the batch, the type and the link, which are conditions alone."""
    values, lists, given = dict(values), [], {}
    for key, value in conditions.items():
        if value is None:
            continue
        is_list = isinstance(value, (list, tuple))
        if key not in CONDITIONS or key == "budget" and not is_list:
            values[key] = format_budget(value) if key == "budget" else value
            continue
        texts = {str(format_budget(one) if key == "budget" else one): one for one in (value if is_list else [value])}
        given[key] = texts
        lists.append("%s=%s" % (key, ",".join(texts)))
    rows = module.what_if(Options(module.context, values), lists)["rows"]
    # Values are what the caller said, such as numbers.
    return [{key: given[key][value] if key in given else value for key, value in row.items()} for row in rows]


def what_if_model(source, names=None, conditions=None, **values):
    """See remat.what_if."""
    values, _ = place(values)
    module = prepare(source, names, Options(Context(), values))
    return what_if(module, values, conditions)
