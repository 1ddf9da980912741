"""libRemat.so: where it is found, and its functions by ctypes.

The structures are those of include/remat-c/Remat.h, include/remat-c/Xla.h and include/remat/Runtime/Runtime.h.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import ctypes
import os
import threading
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p

from .errors import Error

NAME = "libRemat.so"
STATUS_OK = 0
STATUS_INVALID_OPTION = 2
STATUS_INFEASIBLE_BUDGET = 5
STATUS_NO_DEVICE = 7
# Levels of a module.
JOINT, TASKS, PLANNED, PLACED = 1, 2, 3, 4
# remat_dtype by the names that MLIR has.
DTYPES = ["f32", "f64", "f16", "bf16", "i1", "i8", "i16", "i32", "i64", "c64", "c128"]
DTYPE_BYTES = [4, 8, 2, 2, 1, 1, 2, 4, 8, 8, 16]
ALIGNMENT, DEVICE_ALIGNMENT = 64, 256
NONE = 0xFFFFFFFF
NO_PLACE = 0xFFFFFFFFFFFFFFFF


# Flags of a step.
PROFILE, ANOMALY_WARN, STATE_IS_GIVEN = 1, 16, 32
# What the runtime returns where there is no device.
NO_DEVICE = 9


class Handle(ctypes.Structure):
    _fields_ = [("ptr", c_void_p)]


class Bytes(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class StepOptions(ctypes.Structure):
    _fields_ = [("threads", c_int), ("flags", c_uint32), ("arena", c_void_p), ("arena_bytes", c_uint64),
                ("determinism_check", c_int), ("codecs", c_void_p), ("codec_count", c_size_t),
                ("algorithms", c_void_p), ("algorithm_bytes", c_uint64)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("dims", POINTER(c_int64))]


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_int32), ("dims", POINTER(c_int64)),
                ("bytes", c_uint64), ("first_call", c_uint32), ("last_call", c_uint32), ("flags", c_uint32),
                ("donation", c_uint32), ("state_offset", c_uint64)]


Provide = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t)
Release = ctypes.CFUNCTYPE(None, c_void_p, c_size_t)


class TensorEvents(ctypes.Structure):
    _fields_ = [("provide", Provide), ("release", Release), ("user", c_void_p), ("release_result", Release)]


class State(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_uint64), ("host", c_void_p), ("host_bytes", c_uint64),
                ("calls", c_uint32), ("check", c_void_p), ("check_bytes", c_uint64), ("events", POINTER(TensorEvents))]


class Stats(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in (
        "measured_peak_bytes", "touched_bytes", "arena_bytes", "host_peak_bytes", "host_bytes", "state_bytes",
        "offloaded_bytes", "executed_entries", "recomputed_entries", "degraded_calls", "runs", "check_bytes",
        "device_bytes")]


class Progress(ctypes.Structure):
    _fields_ = [("planner", c_char_p), ("seconds", c_double), ("time", c_int64), ("lower_bound", c_int64),
                ("base_time", c_int64), ("peak_bytes", c_int64)]


ProgressFunction = ctypes.CFUNCTYPE(None, POINTER(Progress), c_void_p)

# Result and arguments of the functions that are used.
H, B, P = Handle, POINTER(Bytes), c_void_p
FUNCTIONS = {
    "rematContextCreate": (H, []),
    "rematContextDestroy": (None, [H]),
    "rematContextGetError": (c_char_p, [H]),
    "rematContextGetDiagnostics": (c_int, [H, B]),
    "rematContextGetSmallestBudget": (c_int64, [H]),
    "rematStatusGetName": (c_char_p, [c_int]),
    "rematBytesFree": (None, [B]),
    "rematOptionsCreate": (H, [H]),
    "rematOptionsDestroy": (None, [H]),
    "rematOptionsInterrupt": (None, [H, c_int]),
    "rematOptionsSetProgress": (None, [H, ProgressFunction, P]),
    "rematOptionsSet": (c_int, [H, c_char_p, c_char_p]),
    "rematOptionsDescribe": (c_int, [H, B]),
    "rematModuleParse": (c_int, [H, c_char_p, c_size_t, c_char_p, POINTER(H)]),
    "rematModuleParseFile": (c_int, [H, c_char_p, POINTER(H)]),
    "rematModuleClone": (c_int, [H, POINTER(H)]),
    "rematModuleDestroy": (None, [H]),
    "rematModuleGetLevel": (c_int, [H]),
    "rematModuleNameArgument": (c_int, [H, H, c_size_t, c_char_p]),
    "rematModuleCompile": (c_int, [H, c_int, H]),
    "rematModulePrint": (c_int, [H, B]),
    "rematModuleGetSummary": (c_int, [H, B]),
    "rematModuleGetExplanation": (c_int, [H, B]),
    "rematInstancePlan": (c_int, [H, c_char_p, c_size_t, B]),
    "rematModuleGetFrontier": (c_int, [H, H, c_uint, B]),
    "rematModuleGetProfile": (c_int, [H, H, P, c_char_p, c_char_p, B]),
    "rematModuleGetTrace": (c_int, [H, H, P, B]),
    "rematModuleGetMemorySnapshot": (c_int, [H, H, B]),
    "rematModuleGetSavedValues": (c_int, [H, B]),
    "rematModuleGetReport": (c_int, [H, H, H, c_uint, P, c_char_p, B]),
    "rematModuleGetWhatIf": (c_int, [H, H, POINTER(c_char_p), c_size_t, B]),
    "rematModuleWriteObject": (c_int, [H, H, c_char_p, c_char_p]),
    "rematModuleLoad": (c_int, [H, H, POINTER(H)]),
    "rematCodeGetModule": (c_void_p, [H]),
    "rematCodeDestroy": (None, [H]),
    "rematXlaStepCreate": (H, [H, P, c_int64]),
    "rematXlaStepDestroy": (None, [H]),
    "rematXlaStepGetStats": (None, [H, P]),
    "rematXlaGetTypeId": (c_void_p, []),
    "rematXlaGetTypeInfo": (c_void_p, []),
    "rematXlaInstantiate": (c_void_p, [P]),
    "rematXlaExecute": (c_void_p, [P]),
    "rematXlaCudaGetTypeId": (c_void_p, []),
    "rematXlaCudaInstantiate": (c_void_p, [P]),
    "rematXlaCudaExecute": (c_void_p, [P]),
    "remat_step_load": (c_int, [P, POINTER(StepOptions), POINTER(c_void_p)]),
    "remat_step_run": (c_int, [P, POINTER(Tensor), c_size_t, POINTER(Tensor), c_size_t]),
    "remat_step_forward": (c_int, [P, POINTER(Tensor), c_size_t, POINTER(Tensor), c_size_t, POINTER(State)]),
    "remat_step_backward": (c_int, [P, c_size_t, POINTER(Tensor), c_size_t, POINTER(Tensor), c_size_t,
                                    POINTER(State)]),
    "remat_step_wait": (c_int, [P, P]),
    "remat_step_follow": (c_int, [P, P]),
    "remat_step_synchronize": (c_int, [P]),
    "remat_step_device": (c_int, [P]),
    "remat_step_backward_count": (c_size_t, [P]),
    "remat_step_state_bytes": (c_uint64, [P]),
    "remat_step_host_bytes": (c_uint64, [P]),
    "remat_step_arena_bytes": (c_uint64, [P]),
    "remat_step_free": (None, [P]),
    "remat_step_argument_count": (c_size_t, [P]),
    "remat_step_result_count": (c_size_t, [P]),
    "remat_step_argument": (c_int, [P, c_size_t, POINTER(TensorInfo)]),
    "remat_step_result": (c_int, [P, c_size_t, POINTER(TensorInfo)]),
    "remat_step_get_stats": (None, [P, POINTER(Stats)]),
    "remat_step_anomalies": (c_char_p, [P]),
    "remat_cuda_use_device": (c_int, [c_int]),
    "remat_cuda_capability": (c_int, [POINTER(c_uint32)]),
    "remat_cuda_allocate": (c_int, [c_int, c_uint64, POINTER(c_void_p)]),
    "remat_cuda_free": (c_int, [c_int, P]),
    "remat_cuda_copy": (c_int, [c_int, P, P, c_uint64, P]),
    "remat_step_error": (c_char_p, [P]),
    "remat_last_error": (c_char_p, []),
    "remat_status_name": (c_char_p, [c_int]),
}


def candidates():
    """Where the library may be, in the order in which it is looked for."""
    here = os.path.dirname(os.path.abspath(__file__))
    given = os.environ.get("REMAT_LIBRARY")
    if given:
        return [given]
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    return [os.path.join(here, NAME)] + [
        os.path.join(root, build, "lib", NAME) for build in ("build-release", "build")] + [NAME]


@contextlib.contextmanager
def short_waits():
    """Lets threads of a step that wait for each other sleep after about 0.1 ms of spinning, some times what it takes to
    wake one. libgomp reads that as it is loaded; by itself it spins for milliseconds, in which the thread that is
    waited for may be without a core. What the environment says counts for more."""
    if "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = "10000"
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


def load():
    """Opens the library, privately: another LLVM in the process does not meet the one in it."""
    tried = []
    for path in candidates():
        if os.sep in path and not os.path.exists(path):
            tried.append("%s: no such file" % path)
            continue
        try:
            with short_waits():
                library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
        except OSError as error:
            tried.append("%s: %s" % (path, error))
            continue
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        return library
    raise Error("%s was not found; set REMAT_LIBRARY to its path. Tried\n  %s" % (NAME, "\n  ".join(tried)))


_loaded = None
_lock = threading.Lock()


def library():
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = load()
    return _loaded
