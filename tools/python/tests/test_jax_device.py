"""Steps as custom calls of XLA on a GPU, on a stand-in for the driver. JAX has no device here: it lowers programs for
one, and the handlers are called as XLA would.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import gc
import unittest
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p, pointer

import remat
from device_common import Foreign, needs_stand_in, stand_in
from jax_common import jax, jnp, needs_jax, np
from remat import _library as lib

if jax is not None:
    import remat.jax


# The interface of XLA's FFI, as lib/CAPI/XlaFfi.h has it.
class Header(Structure):
    _fields_ = [("size", c_size_t), ("extension", c_void_p)]


class Version(Structure):
    _fields_ = [("header", Header), ("major", c_int), ("minor", c_int)]


class ErrorArgs(Structure):
    _fields_ = [("header", Header), ("message", c_char_p), ("code", c_int)]


class StreamArgs(Structure):
    _fields_ = [("header", Header), ("context", c_void_p), ("stream", c_void_p)]


class StateArgs(Structure):
    _fields_ = [("header", Header), ("context", c_void_p), ("stage", c_int), ("type", c_void_p), ("state", c_void_p)]


class Api(Structure):
    _fields_ = [("header", Header), ("version", Version), ("internal", c_void_p),
                ("create_error", CFUNCTYPE(c_void_p, POINTER(ErrorArgs))), ("others", c_void_p * 3),
                ("get_stream", CFUNCTYPE(c_void_p, POINTER(StreamArgs))), ("more", c_void_p * 2),
                ("set_state", CFUNCTYPE(c_void_p, POINTER(StateArgs))),
                ("get_state", CFUNCTYPE(c_void_p, POINTER(StateArgs)))]


class Buffer(Structure):
    _fields_ = [("header", Header), ("type", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))]


class Buffers(Structure):
    _fields_ = [("header", Header), ("count", c_int64), ("kinds", POINTER(c_int)), ("buffers", POINTER(c_void_p))]


class Span(Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class Scalar(Structure):
    _fields_ = [("type", c_int), ("value", c_void_p)]


class Attributes(Structure):
    _fields_ = [("header", Header), ("count", c_int64), ("kinds", POINTER(c_int)), ("names", POINTER(c_void_p)),
                ("values", POINTER(c_void_p))]


class Frame(Structure):
    _fields_ = [("header", Header), ("api", POINTER(Api)), ("context", c_void_p), ("stage", c_int),
                ("arguments", Buffers), ("results", Buffers), ("attributes", Attributes)]


class TypeInfo(Structure):
    _fields_ = [("header", Header), ("destroy", CFUNCTYPE(None, c_void_p))]


class Xla:
    """An executable with one custom call, in a stream."""

    F32, S64 = 11, 5

    def __init__(self, stream=None, stream_fails=False):
        self.error = self.state = None
        self.asked = 0

        def create_error(args):
            self.error = args.contents.message.decode(), args.contents.code
            return 1

        def get_stream(args):
            self.asked += 1
            if stream_fails:
                return 2
            args.contents.stream = stream
            return None

        def set_state(args):
            self.state = args.contents.state
            return None

        def get_state(args):
            args.contents.state = self.state
            return None

        types = dict(Api._fields_)
        self.api = Api(create_error=types["create_error"](create_error), get_stream=types["get_stream"](get_stream),
                       set_state=types["set_state"](set_state), get_state=types["get_state"](get_state))
        self.keep = []

    def buffers(self, arrays):
        made = []
        for array in arrays:
            dims = (c_int64 * max(len(array.shape), 1))(*array.shape)
            made.append(Buffer(type=self.F32, data=array.address, rank=len(array.shape), dims=dims))
            self.keep.append(dims)
        places = (c_void_p * max(len(made), 1))(*[ctypes.addressof(b) for b in made])
        self.keep += [made, places]
        return Buffers(count=len(made), kinds=(c_int * max(len(made), 1))(*[1] * len(made)), buffers=places)

    def call(self, handler, stage, arguments=(), results=(), key=None):
        number = c_int64(key or 0)
        scalar, name = Scalar(self.S64, ctypes.addressof(number)), Span(b"key", 3)
        attributes = Attributes(count=0 if key is None else 1, kinds=(c_int * 1)(3),
                                names=(c_void_p * 1)(ctypes.addressof(name)),
                                values=(c_void_p * 1)(ctypes.addressof(scalar)))
        frame = Frame(api=pointer(self.api), stage=stage, arguments=self.buffers(arguments),
                      results=self.buffers(results), attributes=attributes)
        return handler(byref(frame))

    def destroy(self):
        TypeInfo.from_address(lib.library().rematXlaGetTypeInfo()).destroy(self.state)


def function(p, b):
    return jnp.sum(jnp.tanh(p * b))


@needs_jax
@needs_stand_in
class JaxDeviceTest(unittest.TestCase):
    def setUp(self):
        self.cuda = stand_in()
        self.library = lib.library()

    def tearDown(self):
        gc.collect()
        self.assertEqual(self.cuda.complaints(), "")

    def lower(self, function, platform, *args):
        return jax.jit(function).trace(*args).lower(lowering_platforms=(platform,)).as_text()

    def test_programs_for_a_gpu(self):
        x = jnp.ones(4)
        step = remat.jax.compile(function, target="cuda", threads=1)
        text = self.lower(step, "cuda", x, x)
        self.assertIn("stablehlo.custom_call @remat_step", text)
        self.assertEqual(step.step_for(x, x).step.device, 0)
        with self.assertRaisesRegex(remat.ArgumentError, "the step was compiled for target='cuda', and the program is "
                                    "for cpu; compile the step with target='cpu'"):
            self.lower(step, "cpu", x, x)
        here = remat.jax.compile(function, threads=1)
        with self.assertRaisesRegex(remat.ArgumentError, "the step was compiled for target='cpu', and the program is "
                                    "for cuda; compile the step with target='cuda'"):
            self.lower(here, "cuda", x, x)

    def test_handlers(self):
        x = jnp.ones(4)
        step = remat.jax.compile(function, target="cuda", threads=1).step_for(x, x).step
        key = step.share()
        p, b = np.arange(4, dtype="f4") / 4, np.full(4, 2, "f4")
        stream = self.cuda.new_stream()
        xla = Xla(stream)
        self.assertIsNone(xla.call(self.library.rematXlaCudaInstantiate, 0, key=key))
        for _ in range(3):
            # The stream of the call still makes the operands.
            operands = [Foreign(a, stream=stream).array for a in (p, b)]
            results = [remat.DeviceArray("f32", info.shape) for info in step.results]
            waits = self.cuda.count("cuStreamSynchronize")
            self.assertIsNone(xla.call(self.library.rematXlaCudaExecute, 3, operands, results), xla.error)
            # The stream goes on behind the run.
            self.assertEqual(self.cuda.count("cuStreamSynchronize"), waits)
            self.cuda.drain(stream)
            np.testing.assert_allclose(results[0].numpy(), np.tanh(p * b).sum(), rtol=1e-5)
            np.testing.assert_allclose(results[1].numpy(), b * (1 - np.tanh(p * b) ** 2), rtol=1e-5)
        self.assertEqual(xla.asked, 3)
        self.assertIsNotNone(step.memory["measured"])
        self.assertIsNotNone(xla.call(self.library.rematXlaCudaExecute, 3, operands[:1], results))
        self.assertIn("remat: invalid argument: step got 1 arguments, expected 2", xla.error[0])
        # XLA's own error is handed on.
        failing = Xla(stream_fails=True)
        failing.state = xla.state
        self.assertEqual(failing.call(self.library.rematXlaCudaExecute, 3, operands, results), 2)
        xla.destroy()

    def test_handlers_of_another_platform(self):
        x = jnp.ones(4)
        for target, handler, expected in (
                (None, self.library.rematXlaCudaInstantiate, "the program is for a GPU, but the step for the CPU"),
                ("cuda", self.library.rematXlaInstantiate, "the program is for the CPU, but the step for a GPU")):
            step = remat.jax.compile(function, target=target, threads=1).step_for(x, x).step
            xla = Xla()
            self.assertIsNotNone(xla.call(handler, 0, key=step.share()))
            self.assertEqual(xla.error, ("remat: " + expected, 3))

    def test_steps_of_other_devices_have_other_keys(self):
        x = jnp.ones(4)
        self.cuda.driver.fakecuda_set_devices(2, 9, 0)
        try:
            keys = {remat.jax.compile(function, device="cuda:%d" % number, threads=1).step_for(x, x).step.share()
                    for number in (0, 1)}
        finally:
            self.cuda.driver.fakecuda_set_devices(1, 9, 0)
        self.assertEqual(len(keys), 2)

    def test_types_have_a_number_for_each_platform(self):
        self.assertNotEqual(self.library.rematXlaGetTypeId(), self.library.rematXlaCudaGetTypeId())


if __name__ == "__main__":
    unittest.main()
