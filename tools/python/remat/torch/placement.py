"""Where the tensors of a graph are, and memory there: on the CPU, or on a GPU by PyTorch's caching allocator.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import ctypes
import functools
import mmap
import threading
import weakref

import torch

from .. import _library as lib
from ..errors import Error, ExportError
from .lower import describe_place


# A tensor of so many bytes has at least one large page, wherever it begins.
LARGE = 4 << 20
# Smaller tensors are not worth the time that it takes to have them in the state.
SMALL = 64 << 10


@functools.lru_cache
def _c_library():
    """Each has classes of its own, which take long to make."""
    return ctypes.CDLL(None)


def advise_large_pages(tensor):
    """Asks the system for large pages in the memory of a tensor of the CPU: a fault for each small one takes a tenth of
    the time of some steps. It is only advice, and pages that are partly outside of the tensor stay small."""
    size = tensor.numel() * tensor.element_size()
    if size < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return
    begin = -(-tensor.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (tensor.data_ptr() + size) // mmap.PAGESIZE * mmap.PAGESIZE
    _c_library().madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_HUGEPAGE)


class SpareMemory:
    """Memory of the CPU that was let go of and is given again, since the system takes long to make as much of it as
    some steps keep. While it is spare, the system may take its pages away. If none suffices for what is asked for, all
    spare memory is freed, so that there never is more than was in use at the same time."""

    def __init__(self):
        # Tensors end at any moment, also while the collector of garbage runs within these functions.
        self.lock, self.spare = threading.RLock(), []
        # What is in use: for each memory, by its address, the ranges of its tensors.
        self._lent = {}

    def get(self, size):
        """A tensor of so many bytes, whatever they contain."""
        with self.lock:
            memory = min((m for m in self.spare if len(m) >= size), key=len, default=None)
            if memory is not None:
                self.spare.remove(memory)
            else:
                self.spare.clear()
                memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                self._advise(memory, "MADV_HUGEPAGE")
        return self._lend(memory, 0, size, torch.uint8)

    def part(self, tensor, offset, size, dtype):
        """A tensor of `size` bytes, those behind `offset` in one that get() gave, with memory of its own when the other
        one has ended. None if `tensor` is not such a one."""
        with self.lock:
            lent = self._lent.get(tensor.data_ptr())
            return lent and self._lend(lent[0], offset, size, dtype)

    def _lend(self, memory, offset, size, dtype):
        # It lives as long as the storage of the tensor.
        lease = memoryview(memory)[offset:offset + size]
        tensor = torch.frombuffer(lease, dtype=dtype)
        address, lent = tensor.data_ptr() - offset, (offset, offset + size)
        with self.lock:
            self._lent.setdefault(address, (memory, []))[1].append(lent)
        weakref.finalize(lease, self._give_back, address, lent).atexit = False
        return tensor

    def _give_back(self, address, lent):
        with self.lock:
            memory, others = self._lent[address]
            others.remove(lent)
            if not others:
                del self._lent[address]
                self._advise(memory, "MADV_FREE")
                self.spare.append(memory)
                return
            # What is between the tensors that are left.
            begin, end = lent
            for first, behind in sorted(others) + [(end, end)]:
                first = min(first, end) // mmap.PAGESIZE * mmap.PAGESIZE
                begin = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
                if first - begin >= LARGE:
                    self._advise(memory, "MADV_FREE", begin, first - begin)
                begin = max(begin, behind)

    @staticmethod
    def _advise(memory, advice, *range_):
        """Systems without it do without."""
        if hasattr(mmap, advice):
            try:
                memory.madvise(getattr(mmap, advice), *range_)
            except OSError:
                pass


spare_memory = SpareMemory()


class OnCpu:
    """Also of graphs whose tensors are on the CPU and whose step, by the option target, is for a GPU: the runtime
    copies them to it."""

    device = torch.device("cpu")
    alignment = lib.ALIGNMENT

    def options(self, options):
        """The options of the step. PyTorch rounds the sum of a product and a bias only once."""
        return {"bias_rounding": "once", **options}

    def arena(self, options):
        """How the step gets memory of its own: see Step."""
        return None

    def empty(self, shape, dtype):
        tensor = torch.empty(shape, dtype=dtype)
        advise_large_pages(tensor)
        return tensor

    def state_memory(self, size):
        """For what the forward call leaves to the backward call."""
        if size < LARGE:
            return self.align(torch.empty(size + self.alignment, dtype=torch.uint8), size)
        try:
            return spare_memory.get(size)
        except OSError as error:
            raise MemoryError("no memory for the %d bytes that a step keeps: %s" % (size, error)) from None

    def align(self, memory, size):
        """So many bytes of it from the first address that a step takes."""
        skew = -memory.data_ptr() % self.alignment
        return memory[skew:skew + size]

    def state_part(self, state, offset, shape, dtype):
        """A tensor in a part of a state, which is not used as such any more, without what else is there when the state
        has ended. None if the state has none to give."""
        size = shape.numel() * dtype.itemsize
        tensor = spare_memory.part(state, offset, size, dtype) if size >= SMALL else None
        # In place, so that it is no view.
        return tensor if tensor is None else tensor.resize_(shape)

    def number(self, tensor):
        """A number of the CPU as an argument of the step."""
        return tensor

    def host_memory(self, size):
        """For what is offloaded."""
        return self.state_memory(size)

    @contextlib.contextmanager
    def call(self, step):
        """Around a call of the step."""
        yield


class Scratch:
    """Memory of a GPU that steps use while they are called. Steps have the same, one after the other: behind each
    other in a stream, or else when those in another one are done. It is freed with the last step that has it."""

    def __init__(self):
        self.lock = threading.RLock()
        self._given = weakref.WeakSet()
        self._last, self._stream = None, None

    def enter(self, step, stream):
        """Before a call of a step in a stream. A step that was freed is done."""
        last, other = self._last and self._last(), self._stream
        self._last, self._stream = weakref.ref(step), stream
        if last is not None and other != stream:
            last.synchronize()

    def get(self, size, allocate):
        with self.lock:
            found = min((m for m in self._given if m.size >= size), key=lambda m: m.size, default=None)
            if found is None:
                found = Scratch.Memory(size, allocate(size))
                self._given.add(found)
            return found

    class Memory:
        def __init__(self, size, tensor):
            self.size, self.tensor = size, tensor


_scratch, _lock = {}, threading.Lock()


def scratch_of(device):
    with _lock:
        return _scratch.setdefault(device, Scratch())


class OnGpu(OnCpu):
    """Calls are in the order of PyTorch's current stream, and need not wait, as operations of PyTorch."""

    alignment = lib.DEVICE_ALIGNMENT

    def __init__(self, device):
        self.device, self.scratch = device, scratch_of(device)

    def empty(self, shape, dtype):
        return torch.empty(shape, dtype=dtype, device=self.device)

    def state_memory(self, size):
        return self.align(self.empty((size + self.alignment,), torch.uint8), size)

    def options(self, options):
        target, place = options.get("target"), options.get("device")
        if target not in (None, "cuda") or place not in (None, "cuda", str(self.device)):
            wanted = "target='%s'" % target if target not in (None, "cuda") else "device='%s'" % place
            raise Error("the tensors of the graph are on %s, but the step is to be compiled for %s" % (
                self.device, wanted))
        return dict(super().options(options), target="cuda", device=str(self.device))

    def arena(self, options):
        def allocate(size):
            # PyTorch may be tracing, with tensors that have no memory.
            with torch.utils._python_dispatch._disable_current_modes():
                return self.empty((max(size, 1),), torch.uint8)

        def give(size):
            memory = self.scratch.get(size, allocate)
            return memory.tensor.data_ptr(), memory

        return give

    def number(self, tensor):
        # A call with memory of the host would wait for it.
        return tensor.to(self.device, non_blocking=True)

    def host_memory(self, size):
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def stream(self):
        return torch.cuda.current_stream(self.device).cuda_stream

    @contextlib.contextmanager
    def call(self, step):
        with self.scratch.lock:
            # What was freed to the allocator may still be read by what this stream has been given, and what is freed
            # now is used behind it.
            stream = self.stream()
            self.scratch.enter(step, stream)
            step.follow(stream)
            yield


def _mixed(first, name, other, other_name):
    return ExportError("%s is on %s and %s on %s; a graph is compiled for one device" % (
        name, first, other_name, other))


def _matters(value):
    """Numbers of the CPU may be used with tensors on any device, so that they say nothing of where a graph is."""
    return value.dim() > 0 or value.device.type != "cpu"


def source_name(node):
    """What Dynamo calls an input, such as L['x']."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", None)
    return "'%s'" % (name() if callable(name) else name or node.name)


def check_inputs(graph_module, inputs):
    """Refuses inputs on several devices, and those that are no rectangles, by their names in the model."""
    found = None
    nodes = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
    for node, value in zip(nodes, inputs):
        if isinstance(value, torch.Tensor) and (value.is_nested or value.layout != torch.strided):
            raise ExportError("the input %s is a %s tensor, expected a dense one; %s" % (
                source_name(node), "nested" if value.is_nested else "sparse", "pad it by torch.nested.to_padded_tensor"
                if value.is_nested else "its method 'to_dense' makes one"))
        if not isinstance(value, torch.Tensor) or not _matters(value):
            continue
        if found and found[0] != value.device:
            raise _mixed(*found, value.device, source_name(node))
        found = found or (value.device, source_name(node))


def _describe(node):
    place = describe_place(node)
    what = "the input '%s'" % node.name if node.op == "placeholder" else "the result of %s" % node.target
    return "%s (%s:%s)" % (what, place[0], place[1]) if place else what


def placement_of(graph_module):
    """Where all tensors of a graph are. Graphs that move some to another device are refused."""
    found = None
    output = next(n for n in graph_module.graph.nodes if n.op == "output")
    for node in graph_module.graph.nodes:
        value = node.meta.get("val")
        if node.op == "get_attr":
            value = getattr(graph_module, node.target, None) if value is None else value
        if not isinstance(value, torch.Tensor) or not _matters(value):
            continue
        if found and found[0] != value.device:
            raise _mixed(found[0], _describe(found[1]), value.device, _describe(node))
        found = found or (value.device, node)
    if not found or found[0].type == "cpu":
        return OnCpu()
    if found[0].type != "cuda":
        raise ExportError("%s is on %s, expected the CPU or a CUDA device" % (_describe(found[1]), found[0]))
    for node in output.all_input_nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.device != found[0]:
            raise _mixed(found[0], _describe(found[1]), value.device, "a result of the graph, " + _describe(node))
    return OnGpu(found[0])
