"""Tensors of other libraries as the runtime takes them, and memory of a step as tensors of other libraries.

Both ways go by DLPack, or by NumPy's array interface, and copy nothing.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

from . import _library as lib
from .errors import ArgumentError

# Kinds of devices of DLPack: memory of the host, pinned memory of the host, memory of a GPU, and memory of both.
CPU, PINNED, CUDA, MANAGED = 1, 3, 2, 13
# The device of tensors that do not say which GPU they are on.
SOME_GPU = -1
# The default stream as DLPack names it. Runs of steps begin behind it.
DEFAULT_STREAM = 1


_Extents = POINTER(c_int64)


class DLDevice(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", DLDevice), ("ndim", c_int32), ("dtype", DLDataType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class DLManagedTensor(ctypes.Structure):
    pass


Deleter = ctypes.CFUNCTYPE(None, POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", Deleter)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p),
                ("flags", c_uint64), ("tensor", DLTensor)]


# A flag of the versioned form.
DLPACK_READ_ONLY = 1

# (code, bits) of DLPack by the names of remat. Integers without a sign have the bytes of those with one.
DLPACK = {"f32": (2, 32), "f64": (2, 64), "f16": (2, 16), "bf16": (4, 16), "i1": (6, 8), "i8": (0, 8), "i16": (0, 16),
          "i32": (0, 32), "i64": (0, 64), "c64": (5, 64), "c128": (5, 128)}
BY_DLPACK = {pair: name for name, pair in DLPACK.items()}
BY_DLPACK.update({(1, bits): "i%d" % bits for bits in (8, 16, 32, 64)})
BY_DLPACK.update({(code, 8): "i8" for code in range(7, 15)})  # Numbers of eight bits are bytes to steps.
NUMPY = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "i1": "|b1", "i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
         "c64": "<c8", "c128": "<c16"}
BY_NUMPY = {text: name for name, text in NUMPY.items()}
BY_NUMPY.update({"|u1": "i8", "<u2": "i16", "<u4": "i32", "<u8": "i64", "<V2": "bf16"})
TORCH = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i1": "bool", "i8": "int8",
         "i16": "int16", "i32": "int32", "i64": "int64", "c64": "complex64", "c128": "complex128"}
BY_TORCH = {}  # Filled when a tensor of PyTorch is seen.
# Of the structured kind that ml_dtypes gives its types.
BY_NAME = {"bfloat16": "bf16"}

# Not ctypes.pythonapi, whose functions have the types that JAX and others give them.
_capsule = ctypes.PyDLL(None)
_capsule.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule.PyCapsule_GetPointer.restype = c_void_p
_capsule.PyCapsule_New.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
_capsule.PyCapsule_New.restype = ctypes.py_object


def is_contiguous(shape, strides):
    """Whether `strides`, in elements, are those of a dense row-major tensor. Those of extents 1 say nothing."""
    if 0 in shape:
        return True
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1:
            if stride != expected:
                return False
            expected *= extent
    return True


class View:
    """Memory of somebody else: its address, dtype and shape. Keeps its owner alive. `device` is the number of the GPU
    that it is on, None on the host. `stream` is one of the GPU that may still write it, or None. If it `is_ordered`,
    who uses it later, also as other memory, does so behind that stream, or behind the default one if there is none.
    `read_only` says that its owner forbids to write there."""

    __slots__ = ("address", "dtype", "shape", "contiguous", "owner", "device", "stream", "is_ordered", "read_only")

    def __init__(
        self, address, dtype, shape, contiguous, owner, device=None, stream=None, is_ordered=False, read_only=False
    ):
        self.address, self.dtype, self.shape, self.contiguous, self.owner = address, dtype, shape, contiguous, owner
        self.device, self.stream, self.is_ordered, self.read_only = device, stream, is_ordered, read_only


def _view_dlpack(array, capsule, device=None):
    for name, kind in ((b"dltensor_versioned", DLManagedTensorVersioned), (b"dltensor", DLManagedTensor)):
        if _capsule.PyCapsule_IsValid(capsule, name):
            managed = kind.from_address(_capsule.PyCapsule_GetPointer(capsule, name))
            break
    else:
        raise ArgumentError("__dlpack__ of %s gave no capsule of DLPack" % type(array).__name__)
    tensor, read_only = managed.tensor, framework_of([array]) == "jax"
    if kind is DLManagedTensorVersioned:
        if managed.major != 1:
            raise ArgumentError("a tensor of DLPack 1 was expected, got one of version %d.%d" % (
                managed.major, managed.minor))
        read_only |= bool(managed.flags & DLPACK_READ_ONLY)
    if tensor.dtype.lanes != 1:
        raise ArgumentError("an element of several lanes is not supported")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    dtype = BY_DLPACK.get((tensor.dtype.code, tensor.dtype.bits))
    # The capsule is not renamed, so what it holds is released with it.
    return View(tensor.data + tensor.byte_offset if tensor.data else 0, dtype, shape,
                strides is None or is_contiguous(shape, strides), (array, capsule), device, read_only=read_only)


def is_on_gpu(array):
    """Whether a tensor that `view` takes is in memory of a GPU."""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in (CUDA, MANAGED)
    return hasattr(array, "__cuda_array_interface__")


def _view_interface(array, interface, device=None, stream=None):
    """By the array interface of NumPy or CUDA."""
    import math
    dtype = BY_NUMPY.get(interface["typestr"])
    if interface["typestr"] in ("<V2", "|V2"):
        dtype = BY_NAME.get(getattr(getattr(array, "dtype", None), "name", None))
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    size = int(interface["typestr"][2:])
    contiguous = strides is None or math.prod(shape) == 0 or all(s % size == 0 for s in strides) and is_contiguous(
        shape, [s // size for s in strides])
    return View(interface["data"][0] or 0, dtype, shape, contiguous, array, device, stream,
                read_only=framework_of([array]) == "jax" or bool(interface["data"][1]))


def _view_cuda_interface(array, interface):
    if interface.get("mask") is not None:
        raise ArgumentError("an array with a mask is not supported")
    stream = interface.get("stream")
    if stream == 0:
        raise ArgumentError("__cuda_array_interface__ has the stream 0, which it must not: the default stream is 1")
    return _view_interface(array, interface, SOME_GPU, stream)


def _view_torch(array):
    """By PyTorch's own means, which take less time than DLPack. None if it is not a plain dense tensor of the CPU or of
    a CUDA device."""
    import torch
    if type(array) not in (torch.Tensor, torch.nn.Parameter) or array.layout is not torch.strided:
        return None
    device, stream = array.device, None
    if device.type not in ("cpu", "cuda") or array.is_conj() or array.is_neg():
        return None
    if device.type == "cuda":  # The default stream is 0; runs of steps begin behind it.
        stream = torch.cuda.current_stream(device).cuda_stream or None
    if not BY_TORCH:
        BY_TORCH.update({getattr(torch, text): name for name, text in TORCH.items()})
        BY_TORCH.update({getattr(torch, "u" + TORCH[name]): name for name in ("i8", "i16", "i32", "i64")
                         if hasattr(torch, "u" + TORCH[name])})
        BY_TORCH.update({getattr(torch, "float8_" + kind): "i8" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")
                         if hasattr(torch, "float8_" + kind)})
    return View(array.data_ptr(), BY_TORCH.get(array.dtype), tuple(array.shape), array.is_contiguous(), array,
                device.index, stream, is_ordered=device.type == "cuda")


def view(array):
    """The memory of a tensor of NumPy, PyTorch, JAX or another library that speaks DLPack. What is on a GPU is ready
    behind the work that its default stream has then, and that of `stream`."""
    if isinstance(array, Array):
        return View(array.address, array.dtype, array.shape, True, array, array.device)
    if framework_of([array]) == "torch":
        found = _view_torch(array)
        if found:
            return found
    try:
        kind, number = map(int, array.__dlpack_device__()) if hasattr(array, "__dlpack_device__") else (CPU, 0)
    except (ValueError, RuntimeError) as error:
        raise ArgumentError("%s cannot be taken by DLPack: %s" % (type(array).__name__, error)) from error
    interface = getattr(array, "__array_interface__", None) if kind == CPU else None
    if interface is not None:
        if type(array).__name__ == "MaskedArray":
            raise ArgumentError("an array with a mask is not supported; pass what it is filled with, `array.filled()`")
        return _view_interface(array, interface)
    if not hasattr(array, "__dlpack__"):
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            return _view_cuda_interface(array, interface)
        raise ArgumentError("a tensor was expected that has __dlpack__, __array_interface__ or "
                            "__cuda_array_interface__, got %s" % type(array).__name__)
    if getattr(array, "requires_grad", False):
        array = array.detach()
    if kind in (CPU, PINNED):
        try:
            capsule = array.__dlpack__()
        except (BufferError, RuntimeError, TypeError) as error:
            raise ArgumentError("%s cannot be taken by DLPack: %s" % (type(array).__name__, error)) from error
        return _view_dlpack(array, capsule)
    if kind not in (CUDA, MANAGED):
        raise ArgumentError("a tensor in memory of the CPU or of a CUDA device was expected, got one on device kind %d"
                            " of DLPack" % kind)
    try:
        capsule = array.__dlpack__(stream=DEFAULT_STREAM)
    except BufferError as error:
        raise ArgumentError("a tensor on cuda:%d cannot be taken by DLPack: %s" % (number, error)) from error
    return _view_dlpack(array, capsule, number)


# What consumers of our capsules hold, until they call the deleter.
_exported = {}


@Deleter
def _release(managed):
    _exported.pop(ctypes.addressof(managed.contents), None)


class Array:
    """A dense row-major tensor of remat's own memory, which NumPy, PyTorch and JAX take without a copy. `device` is the
    number of the GPU that it is on, None on the host."""

    device = None

    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, tuple(shape)
        self.unsigned = False  # Whether other libraries take its integers without a sign.
        count = 1
        for extent in self.shape:
            count *= extent
        self.nbytes = count * lib.DTYPE_BYTES[lib.DTYPES.index(dtype)]
        self._allocate()

    def _allocate(self):
        # No consumer asks for more than the runtime's own alignment.
        self._memory = ctypes.create_string_buffer(self.nbytes + lib.ALIGNMENT)
        base = ctypes.addressof(self._memory)
        self.address = base + -base % lib.ALIGNMENT

    def _interface(self):
        if self.dtype not in NUMPY:
            raise AttributeError("NumPy has no type for %s" % self.dtype)
        typestr = NUMPY[self.dtype]
        if self.unsigned:
            typestr = typestr.replace("i", "u")
        return {"data": (self.address, False), "typestr": typestr, "shape": self.shape, "version": 3}

    @property
    def __array_interface__(self):
        return self._interface()

    def __dlpack_device__(self):
        return (CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        # A run has ended when its results are given, so that no stream has to wait for them.
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the memory is that of %s and is not copied"
                              % ("the CPU" if self.device is None else "cuda:%d" % self.device))
        rank = len(self.shape)
        shape = (c_int64 * max(rank, 1))(*self.shape)
        managed = DLManagedTensor()
        code, bits = DLPACK[self.dtype]
        if self.unsigned:
            code = 1
        managed.tensor = DLTensor(self.address, DLDevice(*self.__dlpack_device__()), rank, DLDataType(code, bits, 1),
                                  shape, None, 0)
        managed.deleter = _release
        address = ctypes.addressof(managed)
        _exported[address] = (managed, shape, self)
        return _capsule.PyCapsule_New(address, b"dltensor", None)

    def numpy(self):
        import numpy
        if self.dtype == "bf16":
            raise TypeError("NumPy has no type for bf16; take the tensor by DLPack")
        return numpy.asarray(self)

    def __repr__(self):
        return "remat.%s(%s, %s)" % (type(self).__name__, self.dtype, self.shape)


def framework_of(arrays):
    """Whose tensors `arrays` are: the name of the first one's library."""
    for array in arrays:
        name = type(array).__module__.partition(".")[0]
        if name in ("torch", "numpy"):
            return name
        if name in ("jaxlib", "jax"):
            return "jax"
        if isinstance(array, Array) and array.device is not None:
            return "remat"
    return None


def give(array, framework):
    """A result in the caller's framework; it shares the memory. Libraries release what they took by DLPack also while
    an error is on its way, which no function of Python outlives; so they get the memory by their own means where they
    can."""
    if array.device is not None:
        return _give_on_device(array, framework)
    if framework == "torch":
        return _give_torch(array)
    if framework == "numpy" and array.dtype != "bf16":
        return array.numpy()
    if framework == "jax":
        import jax
        if array.dtype == "bf16":  # NumPy has it from JAX, but does not hand it on.
            return jax.numpy.asarray(words(array).view(jax.numpy.bfloat16))
        return jax.dlpack.from_dlpack(array.numpy())
    return array


def _give_on_device(array, framework):
    if framework == "torch":
        import torch
        return torch.from_dlpack(array)
    if framework == "jax":
        import jax
        return jax.dlpack.from_dlpack(array)
    return array


def words(array):
    """The bytes of an array of bf16, for NumPy."""
    import numpy
    return numpy.frombuffer(array._memory, "<i2", array.nbytes // 2, array.address - ctypes.addressof(
        array._memory)).reshape(array.shape)


def _give_torch(array):
    import torch
    dtype = getattr(torch, ("u" if array.unsigned else "") + TORCH[array.dtype])
    if array.nbytes == 0:
        return torch.empty(array.shape, dtype=dtype)
    offset = array.address - ctypes.addressof(array._memory)
    return torch.frombuffer(array._memory, dtype=dtype, offset=offset,
                            count=array.nbytes // dtype.itemsize).view(array.shape)


def descriptor(address, dtype, shape):
    """A remat_tensor; its extents live as long as it does."""
    dims = (c_int64 * max(len(shape), 1))(*shape)
    return lib.Tensor(address, lib.DTYPES.index(dtype), len(shape), ctypes.cast(dims, _Extents)), dims
