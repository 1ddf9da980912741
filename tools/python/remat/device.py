"""GPUs: which one runs a step, and tensors in its memory.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import ctypes
import math
import weakref

from . import _library as lib
from .arrays import CUDA, SOME_GPU, TORCH, Array, view
from .errors import ArgumentError, NoDeviceError, OptionError, RunError

# The only processor to make code for, by the first number of a compute capability.
CHIPS = {8: "sm_80", 9: "sm_90"}


def check(status):
    """Raises what a function of the runtime that belongs to no step has failed with."""
    if status == 0:
        return
    library = lib.library()
    message = library.remat_last_error().decode(errors="replace")
    if status == lib.NO_DEVICE:
        raise NoDeviceError(message)
    raise RunError(message, library.remat_status_name(status).decode())


@contextlib.contextmanager
def using(number):
    """Steps are loaded to the GPU of this number meanwhile; None is the one of the thread's context, or the first."""
    if number is None:
        yield
        return
    library = lib.library()
    check(library.remat_cuda_use_device(number))
    try:
        yield
    finally:
        library.remat_cuda_use_device(-1)


def capability(number=None):
    """The compute capability of a GPU: 90 is 9.0."""
    found = ctypes.c_uint32()
    with using(number):
        check(lib.library().remat_cuda_capability(ctypes.byref(found)))
    return found.value


def place(values):
    """The options of a step for the compiler, and the number of the GPU that the caller has chosen, or None. Without a
    GPU, a step that needs one is refused before anything is compiled."""
    target, device = values.get("target"), values.get("device")
    kind, colon, text = str(device).partition(":")
    number = None
    if kind == "cuda":
        if colon and not text.isdigit():
            raise OptionError("device is '%s', expected 'cuda' or a number behind it, such as 'cuda:0'" % device)
        number, device = int(text) if colon else None, kind
        values = dict(values, device=device, target=target or "cuda")
    if values.get("target") != "cuda" or device not in (None, "cuda"):
        return values, number
    try:
        found = capability(number)
    except NoDeviceError as error:
        raise NoDeviceError("%s; with device='sim', the step's code for a GPU runs on this machine, slowly" % error) \
            from None
    if not values.get("mcpu") and found // 10 in CHIPS:
        values = dict(values, mcpu=CHIPS[found // 10])
    return values, number


class DeviceArray(Array):
    """A dense row-major tensor of remat's own memory on a GPU, which PyTorch, JAX and CuPy take without a copy. Its
    memory is freed with it, which waits until the GPU is done."""

    def __init__(self, dtype, shape, device=0):
        self.device = device
        super().__init__(dtype, shape)

    def _allocate(self):
        library, memory = lib.library(), ctypes.c_void_p()
        check(library.remat_cuda_allocate(self.device, self.nbytes, ctypes.byref(memory)))
        self.address = memory.value
        # The driver frees all memory of a process that ends.
        weakref.finalize(self, library.remat_cuda_free, self.device, self.address).atexit = False

    @property
    def __array_interface__(self):
        raise AttributeError("the memory is that of cuda:%d; .numpy() gives a copy on the host" % self.device)

    @property
    def __cuda_array_interface__(self):
        return dict(self._interface(), stream=None)

    def __dlpack_device__(self):
        return (CUDA, self.device)

    def host(self):
        """A copy on the host."""
        copy = to_host(self)
        copy.unsigned = self.unsigned
        return copy

    def numpy(self):
        return self.host().numpy()


def device_put(array, device=0):
    """A copy of a tensor in memory of a GPU, for programs that have no library for it."""
    found = view(array)
    if not found.contiguous:
        raise ArgumentError("the tensor is not dense in row-major order; pass a contiguous copy")
    if found.device not in (None, device):
        raise ArgumentError("the tensor is on another GPU than cuda:%d" % device)
    if found.dtype is None:
        raise ArgumentError("the tensor has a type that steps do not know")
    return copy_to(DeviceArray(found.dtype, found.shape, device), found)


def copy_to(target, source, device=None):
    """Copies the elements of a view to those of another or of an array, of which at least one is on a GPU."""
    for place in (device, target.device, source.device):
        if place not in (None, SOME_GPU):
            device = place
    size = math.prod(source.shape) * lib.DTYPE_BYTES[lib.DTYPES.index(source.dtype)]
    check(lib.library().remat_cuda_copy(device or 0, target.address, source.address, size, source.stream))
    return target


def to_host(array):
    """The tensor, or a copy on the host of one that is dense and on a GPU."""
    found = view(array)
    return array if found.device is None else copy_to(Array(found.dtype, found.shape), found)


def new_array(dtype, shape, device, framework):
    """Memory for a result. PyTorch has an allocator of its own for GPUs."""
    if device is None:
        return Array(dtype, shape)
    if framework == "torch":
        import torch
        return torch.empty(shape, dtype=getattr(torch, TORCH[dtype]), device="cuda:%d" % device)
    return DeviceArray(dtype, shape, device)
