"""The bits of numbers: tensors read as another type, and functions that take numbers apart.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

from ..mlir import identity
from .rules import rule
from .types import WIDTH, element_of


def _width(element):
    return WIDTH[element] if element in WIDTH else 8 if element == "i1" else int(element[1:])


def _elementwise(l, value, element, body):
    return l.function.generic([(value, identity(value.rank))], value.shape, element, body)


def _as_integers(l, value):
    source, target = value.element, "i%d" % _width(value.element)
    if source == target:
        return value
    cast = "arith.extui" if source == "i1" else "arith.bitcast"
    return _elementwise(l, value, target, lambda b, x: b.cast(cast, x, source, target))


def _from_integers(l, value, target):
    source = value.element
    if source == target:
        return value
    if target == "i1":
        return _elementwise(l, value, target, lambda b, x: b.compare("ne", x, b.constant(0, source), source))
    return _elementwise(l, value, target, lambda b, x: b.cast("arith.bitcast", x, source, target))


def _taken_apart(l, value, width):
    """Each integer as several narrower ones, the lowest bits first."""
    rank, source, target = value.rank, value.element, "i%d" % width
    parts = _width(source) // width

    def body(b, x):
        number = b.cast("arith.index_cast", b.index(rank), "index", source)
        distance = b.binary("arith.muli", number, b.constant(width, source), source)
        return b.cast("arith.trunci", b.binary("arith.shrui", x, distance, source), source, target)

    apart = l.function.generic([(value, ["d%d" % d for d in range(rank)])], value.shape + (parts,), target, body)
    return l.function.reshape(apart, value.shape[:-1] + (value.shape[-1] * parts,))


def _put_together(l, value, width):
    """The opposite."""
    f, source, target = l.function, value.element, "i%d" % width
    parts = width // _width(source)
    shape = value.shape[:-1] + (value.shape[-1] // parts,)
    groups, rank = f.reshape(value, shape + (parts,)), value.rank
    slices = [f.reshape(f.slice(groups, [0] * rank + [i], shape + (1,), [1] * (rank + 1)), shape)
              for i in range(parts)]

    def body(b, *names):
        total = b.constant(0, target)
        for number, name in enumerate(names):
            part = b.cast("arith.extui", name, source, target)
            moved = b.binary("arith.shli", part, b.constant(number * _width(source), target), target)
            total = b.binary("arith.ori", total, moved, target)
        return total

    return f.generic([(s, identity(rank)) for s in slices], shape, target, body)


@rule("view.dtype", "view_dtype")
def _view_dtype(l, node, a, dtype):
    from .complex import join, parts_in_rows
    value, (shape, _) = l.value(a), l.result()
    source, target = l.dtype(a), dtype
    if element_of(source) == element_of(target):
        return value
    if 0 in shape:
        return l.function.empty(shape, element_of(target))
    if value.rank == 0:
        value = l.function.reshape(value, (1,))
    if source.is_complex:
        value = parts_in_rows(l, value)
    last = element_of(target.to_real() if target.is_complex else target)
    integers = _as_integers(l, value)
    if _width(integers.element) > _width(last):
        integers = _taken_apart(l, integers, _width(last))
    elif _width(integers.element) < _width(last):
        integers = _put_together(l, integers, _width(last))
    result = _from_integers(l, integers, last)
    if target.is_complex:
        f, pairs = l.function, result.shape[:-1] + (result.shape[-1] // 2,)
        result = f.reshape(result, pairs + (2,))
        re, im = (f.reshape(f.slice(result, [0] * len(pairs) + [i], pairs + (1,), [1] * result.rank), pairs)
                  for i in range(2))
        result = join(l, re, im, pairs)
    return l.function.reshape(result, shape)


def _frexp(x):
    """In f64, which has all numbers of the narrower types, and where those below the normal ones are made normal."""
    wide = x.double()
    is_small = wide.abs() < 2.0 ** -1022
    bits = torch.where(is_small, wide * 2.0 ** 54, wide).view(torch.int64)
    exponent = ((bits >> 52) & 0x7FF) - torch.where(is_small, 1022 + 54, 1022)
    fraction = ((bits & ~(0x7FF << 52)) | (1022 << 52)).view(torch.float64)
    is_plain = wide.isfinite() & (wide != 0)
    return torch.where(is_plain, fraction, wide).to(x.dtype), torch.where(is_plain, exponent, 0).to(torch.int32)


INTEGERS = {torch.float64: torch.int64, torch.float32: torch.int32, torch.float16: torch.int16,
            torch.bfloat16: torch.int16}


def _nextafter(x, target):
    if x.dtype not in INTEGERS:
        raise NotImplementedError("nextafter of %s is not supported" % x.dtype)
    x, target = torch.broadcast_tensors(x, target)
    integers = INTEGERS[x.dtype]
    bits = x.contiguous().view(integers)
    moved = (bits + torch.where((x < target) == (x > 0), 1, -1).to(integers)).view(x.dtype)
    least = torch.copysign(torch.ones_like(bits).view(x.dtype), target)
    moved = torch.where(x == 0, least, moved)
    moved = torch.where(x == target, target, moved)
    return torch.where(x.isnan() | target.isnan(), x + target, moved)


def bits():
    """Decompositions, by operation."""
    aten = torch.ops.aten
    return {aten.frexp.Tensor: _frexp, aten.nextafter.default: _nextafter}
