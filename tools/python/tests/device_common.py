"""A stand-in for the driver of a GPU, whose memory is memory of the host, for tests on machines without one.

Its kernels are those of the same step for the simulator, so that results mean something. `REMAT_TEST_CUDA` names the
folder that has the stand-in. It is loaded by its path first; who looks for `libcuda.so.1` then gets it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import os
import unittest
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

import remat
from remat import _library as lib
from remat.arrays import CUDA
from remat.device import DeviceArray
from remat.module import Options
from remat.step import Step

FOLDER = os.environ.get("REMAT_TEST_CUDA")
needs_stand_in = unittest.skipIf(not FOLDER, "REMAT_TEST_CUDA does not name the folder of the stand-ins")


class StandIn:
    """The driver. With `libraries`, matmuls are carried out by a stand-in for cuBLASLt, where no other is loaded."""

    def __init__(self, libraries=()):
        self.driver = ctypes.CDLL(os.path.join(FOLDER, "libcuda.so.1"))
        self.libraries = [ctypes.CDLL(os.path.join(FOLDER, name)) for name in libraries]
        d = self.driver
        d.fakecuda_simulate.argtypes = [c_void_p, c_void_p]
        d.fakecuda_count_calls.argtypes, d.fakecuda_count_calls.restype = [c_char_p], c_size_t
        d.fakecuda_used_bytes.restype = c_size_t
        d.fakecuda_take_complaints.restype = c_char_p
        d.fakecuda_allocate.argtypes, d.fakecuda_allocate.restype = [c_size_t, c_int], c_void_p
        d.fakecuda_release.argtypes = [c_void_p]
        d.cuStreamCreate.argtypes = [c_void_p, c_int]
        d.cuMemcpyAsync.argtypes = [c_uint64, c_uint64, c_size_t, c_void_p]
        d.cuStreamSynchronize.argtypes = [c_void_p]
        d.cuCtxPushCurrent_v2.argtypes = [c_void_p]

        load = Step._load

        def load_simulated(step, flags, memory=None):
            if step._values.get("target") == "cuda" and step._values.get("device") in (None, "cuda"):
                values = dict(step._values, device="sim", mcpu=None)
                step.simulated = step._placed.load(Options(step._placed.context, values))
                assert d.fakecuda_simulate(step._code.module, step.simulated.module)
            return load(step, flags, memory)

        Step._load = load_simulated
        # Other libraries have a current context.
        remat.device.check(lib.library().remat_cuda_use_device(0))
        lib.library().remat_cuda_use_device(-1)
        context = c_void_p()
        d.cuDevicePrimaryCtxRetain(byref(context), 0)
        d.cuCtxPushCurrent_v2(context)

    def count(self, function):
        return self.driver.fakecuda_count_calls(function.encode())

    def complaints(self):
        return self.driver.fakecuda_take_complaints().decode()

    def used(self):
        return self.driver.fakecuda_used_bytes()

    def drain(self, stream):
        """Waits for a stream."""
        assert self.driver.cuStreamSynchronize(stream) == 0

    def new_stream(self):
        stream = c_void_p()
        self.driver.cuStreamCreate(byref(stream), 1)
        return stream.value


_stand_in = None


def stand_in(libraries=()):
    global _stand_in
    if _stand_in is None:
        _stand_in = StandIn(libraries)
    return _stand_in


class Foreign:
    """A tensor of another library on a GPU, which speaks DLPack. `stream` has work that makes its elements: they are
    copied from the host when somebody waits for it."""

    def __init__(self, values, device=0, stream=None):
        self.values, self.stream = values, stream
        self.asked = []
        self.array = DeviceArray(remat.arrays.BY_NUMPY[values.dtype.str], values.shape, 0)
        self.array.device = device
        for _ in range(100 if stream else 1):  # It takes its time.
            stand_in().driver.cuMemcpyAsync(self.array.address + values.nbytes // 2, values.ctypes.data, 1, stream)
        stand_in().driver.cuMemcpyAsync(self.array.address, values.ctypes.data, values.nbytes, stream)

    def __dlpack_device__(self):
        return (CUDA, self.array.device)

    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        if self.stream and stream == 1:
            # The default stream waits for the other one.
            stand_in().driver.cuStreamSynchronize(self.stream)
        return self.array.__dlpack__()


class ForeignInterface(Foreign):
    """The same, by the array interface of CUDA alone."""

    __dlpack__ = __dlpack_device__ = property(lambda self: (_ for _ in ()).throw(AttributeError()))

    @property
    def __cuda_array_interface__(self):
        return dict(self.array.__cuda_array_interface__, stream=self.stream)
