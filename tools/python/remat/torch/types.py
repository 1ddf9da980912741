"""Types of PyTorch as those of MLIR, and conversions between them in bodies.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

from ..errors import ExportError
from ..mlir import dtype_of
from ..narrow_floats import narrow, widen
from .storage import NARROW, STORED, UNSIGNED

ELEMENTS = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.bool: "i1",
    torch.complex64: "complex<f32>", torch.complex128: "complex<f64>",
    torch.int8: "i8", torch.uint8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    **STORED,
}
# Types that have the bytes of another one, and the types of results, which are none of these.
OTHERS = {torch.uint8, *STORED}
TORCH_DTYPES = {dtype_of(element): dtype for dtype, element in ELEMENTS.items() if dtype not in OTHERS}
WIDTH = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}


def element_of(dtype):
    if dtype not in ELEMENTS:
        raise ExportError("%s is not supported, expected one of %s" % (dtype, ", ".join(
            sorted(str(d)[6:] for d in ELEMENTS))))
    return ELEMENTS[dtype]


def is_float(dtype):
    return dtype.is_floating_point


def working(dtype):
    """The type that PyTorch computes elements of `dtype` in."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def convert(body, a, source, target, discard=False):
    """The scalar `a` of type `source` as `target`, as `Tensor.to` converts it. A complex number becomes a real one,
    which has no imaginary part, where `discard` says that the program asks for it. Elsewhere that is an ExportError: a
    rule for real numbers was given complex ones."""
    if source == target:
        return a
    if source in NARROW:
        return convert(body, widen(body, a, NARROW[source]), torch.float32, target, discard)
    if target in NARROW:
        return narrow(body, convert(body, a, source, torch.float32, discard), NARROW[target])
    old, new = element_of(source), element_of(target)
    if source.is_complex or target.is_complex:
        return _convert_complex(body, a, source, target, discard)
    if target == torch.bool:
        return body.compare("une" if is_float(source) else "ne", a, body.constant(0, old), old)
    if is_float(source) and is_float(target):
        if WIDTH[old] == WIDTH[new]:  # f16 and bf16
            return body.cast("arith.truncf", body.cast("arith.extf", a, old, "f32"), "f32", new)
        return body.cast("arith.extf" if WIDTH[new] > WIDTH[old] else "arith.truncf", a, old, new)
    unsigned = source in (torch.bool, torch.uint8) or source in UNSIGNED
    if is_float(target):
        return body.cast("arith.uitofp" if unsigned else "arith.sitofp", a, old, new)
    if is_float(source):
        # What a narrow type cannot hold loses its upper bits, as in PyTorch.
        wide = {torch.uint8: "i64", torch.int8: "i32", torch.int16: "i32", torch.uint16: "i32",
                torch.uint32: "i64"}.get(target)
        if wide:
            return body.cast("arith.trunci", body.cast("arith.fptosi", a, old, wide), wide, new)
        return body.cast("arith.fptoui" if target in UNSIGNED else "arith.fptosi", a, old, new)
    if int(old[1:]) == int(new[1:]):
        return a
    if int(new[1:]) > int(old[1:]):
        return body.cast("arith.extui" if unsigned else "arith.extsi", a, old, new)
    return body.cast("arith.trunci", a, old, new)


def _convert_complex(body, a, source, target, discard):
    old, new = element_of(source), element_of(target)
    if target == torch.bool:
        return body.compare("ne", a, body.constant(0, old), old)
    if not target.is_complex and not discard:
        raise ExportError("complex numbers are not supported here; compute with their parts, x.real and x.imag, "
                          "instead")
    part = source.to_real() if source.is_complex else source
    inner = target.to_real() if target.is_complex else target
    take = lambda name: convert(body, body.op("%s %s : %s" % (name, a, old)), part, inner)
    re = take("complex.re") if source.is_complex else convert(body, a, part, inner)
    if not target.is_complex:
        return re
    im = take("complex.im") if source.is_complex else body.constant(0, element_of(inner))
    return body.op("complex.create %s, %s : %s" % (re, im, new))


def lowest(dtype):
    if is_float(dtype):
        return float("-inf")
    return 0 if dtype == torch.bool else torch.iinfo(dtype).min


def highest(dtype):
    if is_float(dtype):
        return float("inf")
    return 1 if dtype == torch.bool else torch.iinfo(dtype).max
