"""The compiler: modules at their levels, and options.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextvars
import ctypes
import json
import os
import threading
import warnings
import weakref

from . import _library as lib
from .errors import CompileError, Error, InfeasibleBudget, NoDeviceError, OptionError
from .progress import ProgressLine, describe, is_shown


class Context:
    """What modules live in. It is used by one thread at a time; contexts are independent."""

    def __init__(self):
        self.lib = lib.library()
        self.handle = self.lib.rematContextCreate()
        if not self.handle.ptr:
            raise Error("a context could not be made")
        weakref.finalize(self, self.lib.rematContextDestroy, self.handle)

    def take(self, status, give):
        """The text that a function gave in bytes of the caller."""
        return self.take_bytes(status, give).decode()

    def take_bytes(self, status, give):
        data = lib.Bytes()
        self.check(give(ctypes.byref(data)) if status is None else status)
        try:
            return ctypes.string_at(data.data, data.size) if data.data else b""
        finally:
            self.lib.rematBytesFree(ctypes.byref(data))

    def check(self, status):
        if status == lib.STATUS_OK:
            return
        message = self.lib.rematContextGetError(self.handle).decode(errors="replace")
        smallest = self.lib.rematContextGetSmallestBudget(self.handle)
        data = lib.Bytes()
        diagnostics = []
        if self.lib.rematContextGetDiagnostics(self.handle, ctypes.byref(data)) == lib.STATUS_OK and data.data:
            diagnostics = json.loads(ctypes.string_at(data.data, data.size).decode(errors="replace"))
            self.lib.rematBytesFree(ctypes.byref(data))
        if not message:
            message = self.lib.rematStatusGetName(status).decode()
        if status == lib.STATUS_INFEASIBLE_BUDGET:
            raise InfeasibleBudget(message, diagnostics, smallest)
        if status == lib.STATUS_NO_DEVICE:
            raise NoDeviceError(message)
        if status == lib.STATUS_INVALID_OPTION:
            raise OptionError(message, diagnostics)
        raise CompileError(message, diagnostics)


def format_option(value):
    """A value as it is written on a command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(format_option(element) for element in value)
    return str(value)


class Options:
    """Options of a step by their names in docs/options.md, where `_` may stand for `-`."""

    def __init__(self, context, values):
        self.context = context
        self.handle = context.lib.rematOptionsCreate(context.handle)
        weakref.finalize(self, context.lib.rematOptionsDestroy, self.handle)
        for key, value in values.items():
            if value is not None:
                context.check(context.lib.rematOptionsSet(
                    self.handle, key.replace("_", "-").encode(), format_option(value).encode()))

    def search(self, call):
        """What `call()` gives, a call that searches with these options. Says how far the search is. Ctrl-C ends the
        searches: the call goes on with the best plan so far and a warning. Where there is none yet, or after a second
        Ctrl-C, it is a KeyboardInterrupt."""
        if not is_shown():
            return self._interruptibly(call)
        reached = None

        def on_progress(progress, _):
            nonlocal reached
            now = progress.contents
            reached = (now.planner.decode(), now.time, now.lower_bound, now.base_time, now.peak_bytes)

        function = lib.ProgressFunction(on_progress)  # Lives as long as it may be called.
        self.context.lib.rematOptionsSetProgress(self.handle, function, None)
        try:
            with ProgressLine(lambda: describe(reached)):
                return self._interruptibly(call)
        finally:
            self.context.lib.rematOptionsSetProgress(self.handle, lib.ProgressFunction(), None)

    def _interruptibly(self, call):
        if threading.current_thread() is not threading.main_thread():
            return call()  # Signals arrive in the main thread alone.
        result, error, interrupts = [], [], []
        is_over = threading.Event()

        def run():
            try:
                result.append(call())
            except BaseException as failure:
                error.append(failure)
            finally:
                is_over.set()

        # Python handles signals between its own instructions, so not while a call of the library runs here.
        threading.Thread(target=contextvars.copy_context().run, args=(run,)).start()
        while not is_over.is_set():
            try:
                is_over.wait()
            except KeyboardInterrupt as interrupt:
                interrupts.append(interrupt)
                self.context.lib.rematOptionsInterrupt(self.handle, 1)
        self.context.lib.rematOptionsInterrupt(self.handle, 0)
        if interrupts and (error or len(interrupts) > 1):
            raise interrupts[-1]
        if error:
            raise error[0]
        if interrupts:
            warnings.warn("interrupted, going on with the best plan so far", RuntimeWarning, stacklevel=5)
        return result[0]


def describe_options():
    """All options: name, kind, how a value is written, default and help of each."""
    context = Context()
    options = Options(context, {})
    return json.loads(context.take(None, lambda out: context.lib.rematOptionsDescribe(options.handle, out)))


class Module:
    """A model at one of the levels of docs/design.md."""

    def __init__(self, context, handle):
        self.context, self.handle = context, handle
        weakref.finalize(self, context.lib.rematModuleDestroy, handle)

    @classmethod
    def parse(cls, context, source, name=None):
        """Takes text, bytecode or the path of a file. Text is told from a path by its line breaks and braces."""
        handle = lib.Handle()
        is_path = isinstance(source, os.PathLike) or isinstance(source, str) and not set(source) & set("\n{")
        if is_path:
            status = context.lib.rematModuleParseFile(context.handle, os.fsencode(source), ctypes.byref(handle))
        else:
            data = source.encode() if isinstance(source, str) else bytes(source)
            status = context.lib.rematModuleParse(context.handle, data, len(data), (name or "model").encode(),
                                                  ctypes.byref(handle))
        context.check(status)
        return cls(context, handle)

    @property
    def level(self):
        return self.context.lib.rematModuleGetLevel(self.handle)

    def clone(self):
        copy = lib.Handle()
        self.context.check(self.context.lib.rematModuleClone(self.handle, ctypes.byref(copy)))
        return Module(self.context, copy)

    def name_argument(self, options, number, name):
        self.context.check(self.context.lib.rematModuleNameArgument(
            self.handle, options.handle, number, name.encode()))

    def compile(self, level, options):
        def call():
            self.context.check(self.context.lib.rematModuleCompile(self.handle, level, options.handle))

        # Nothing is searched for before there are tasks.
        if level <= lib.TASKS:
            with ProgressLine(lambda: ("compiling to tasks", None)):
                call()
        else:
            options.search(call)
        return self

    def text(self):
        return self.context.take(None, lambda out: self.context.lib.rematModulePrint(self.handle, out))

    def summary(self):
        return json.loads(self.context.take(
            None, lambda out: self.context.lib.rematModuleGetSummary(self.handle, out)))

    def explanation(self):
        return json.loads(self.context.take(
            None, lambda out: self.context.lib.rematModuleGetExplanation(self.handle, out)))

    def frontier(self, options, points):
        return json.loads(options.search(lambda: self.context.take(
            None, lambda out: self.context.lib.rematModuleGetFrontier(self.handle, options.handle, points, out))))

    def profile(self, options, step, group, sort):
        return json.loads(self.context.take(None, lambda out: self.context.lib.rematModuleGetProfile(
            self.handle, options.handle, step, group.encode(), sort.encode(), out)))

    def trace(self, options, step):
        return self.context.take(None, lambda out: self.context.lib.rematModuleGetTrace(
            self.handle, options.handle, step, out))

    def memory_snapshot(self, options):
        return self.context.take_bytes(None, lambda out: self.context.lib.rematModuleGetMemorySnapshot(
            self.handle, options.handle, out))

    def saved_values(self):
        return self.context.take(None, lambda out: self.context.lib.rematModuleGetSavedValues(self.handle, out))

    def report(self, options, tasks, points, step, title):
        """The page of a placed module, beside what it is if `tasks` save everything, and `points` plans of the
        frontier."""
        return options.search(lambda: self.context.take(None, lambda out: self.context.lib.rematModuleGetReport(
            self.handle, options.handle, tasks.handle, points, step, title.encode(), out)))

    def what_if(self, options, conditions):
        """The table of `conditions`, such as "batch=8,16", as JSON."""
        texts = (ctypes.c_char_p * max(len(conditions), 1))(*(text.encode() for text in conditions))
        return json.loads(options.search(lambda: self.context.take(
            None, lambda out: self.context.lib.rematModuleGetWhatIf(
                self.handle, options.handle, texts, len(conditions), out))))

    def write_object(self, options, object_path, header_path=None):
        with ProgressLine(lambda: ("compiling", None)):
            self.context.check(self.context.lib.rematModuleWriteObject(
                self.handle, options.handle, os.fsencode(object_path),
                None if header_path is None else os.fsencode(header_path)))

    def load(self, options):
        code = lib.Handle()
        with ProgressLine(lambda: ("compiling", None)):
            self.context.check(self.context.lib.rematModuleLoad(self.handle, options.handle, ctypes.byref(code)))
        return Code(self.context, code)


class Code:
    """Machine code of a placed module, in this process."""

    def __init__(self, context, handle):
        self.context, self.handle = context, handle
        self.destroy = weakref.finalize(self, context.lib.rematCodeDestroy, handle)

    @property
    def module(self):
        return self.context.lib.rematCodeGetModule(self.handle)


def plan_instance(instance, **values):
    """A schedule for an instance of docs/planning.md: a dictionary with `sequence`, `peak_bytes` and
    `save_all_peak_bytes`. The options are those of planning, such as `budget` and `effort`."""
    context = Context()
    options = Options(context, values)
    data = json.dumps(instance).encode()
    return json.loads(options.search(lambda: context.take(None, lambda out: context.lib.rematInstancePlan(
        options.handle, data, len(data), out))))
