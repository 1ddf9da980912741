"""Rules of matrix products and convolutions.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from ..mlir import broadcast_map, identity
from .pointwise import Scalars
from .rules import rule
from .types import convert, element_of, working


def matmul(l, a, b, batch=0, element=None):
    """Of values of `batch` + 2 dimensions."""
    lead = identity(batch)
    m, n, k = ("d%d" % (batch + i) for i in range(3))
    shape = a.shape[:-1] + b.shape[-1:]
    return l.function.contract(a, lead + [m, k], b, lead + [k, n], shape, batch + 3, lead + [m, n], element)


@rule("mm", "bmm")
def _mm(l, node, a, b, out_dtype=None):
    return _product(l, a, b, out_dtype)


def _product(l, a, b, out_dtype, element=None):
    """Products of narrow numbers are exact in `out_dtype`, so these are converted before."""
    a, b = (l.value(x) if out_dtype is None else l.converted(x, out_dtype) for x in (a, b))
    return matmul(l, a, b, a.rank - 2, element)


@rule("mv")
def _mv(l, node, a, b, element=None):
    a, b = l.value(a), l.value(b)
    return l.function.contract(a, ["d0", "d1"], b, ["d1"], a.shape[:1], 2, ["d0"], element)


@rule("dot", "vdot")
def _dot(l, node, a, b):
    return l.function.contract(l.value(a), ["d0"], l.value(b), ["d0"], (), 1, [])


def _scaled_sum(l, start, beta, product, alpha):
    """beta * start + alpha * product, where product(element) makes it, of that type or that of its factors. PyTorch
    rounds once, so a product of narrow numbers is not rounded. That of a product and a bias is left to the step, by the
    option bias_rounding, since readers of the rounded product take less memory where the library does not add it."""
    shape, dtype = l.result()
    inner = working(dtype)
    if beta == 0 and alpha == 1:
        return product(None)
    value = l.converted(start, dtype) if beta != 0 else None
    is_bias = value is not None and beta == alpha == 1 and len(shape) == 2 and value.shape == shape[1:]
    made = dtype if is_bias or not dtype.is_floating_point else inner
    product = product(element_of(made))

    def body(b, *names):
        s = Scalars(b, inner)
        x = convert(b, names[-1], made, inner)
        x = x if alpha == 1 else s.mul(x, s.const(alpha))
        if value is not None:
            y = convert(b, names[0], dtype, inner)
            x = s.add(y if beta == 1 else s.mul(y, s.const(beta)), x)
        return convert(b, x, inner, dtype)

    inputs = [(product, identity(len(shape)))]
    if value is not None:
        inputs.insert(0, (value, broadcast_map(value.shape, shape)))
    return l.function.generic(inputs, shape, element_of(dtype), body)


@rule("addmm", "baddbmm")
def _addmm(l, node, start, a, b, *, beta=1, alpha=1):
    return _scaled_sum(l, start, beta, lambda element: _product(l, a, b, None, element), alpha)


@rule("addmm.dtype", "baddbmm.dtype")
def _addmm_dtype(l, node, start, a, b, out_dtype, *, beta=1, alpha=1):
    return _scaled_sum(l, start, beta, lambda element: _product(l, a, b, out_dtype, element), alpha)


@rule("addmv")
def _addmv(l, node, start, a, b, *, beta=1, alpha=1):
    return _scaled_sum(l, start, beta, lambda element: _mv(l, node, a, b, element), alpha)


# Convolutions

def conv(l, kind, lhs, rhs, shape, spatial, strides, dilations, low, high, groups):
    """A remat.conv on tensors (batch, features, spatial...) and filters (features of y, of x, spatial...)."""
    array = lambda numbers: "array<i64: %s>" % ", ".join(map(str, numbers))
    padding = [p for pair in zip(low, high) for p in pair]
    layout = array(range(spatial + 2))
    return l.function.convolve(
        kind, lhs, rhs, "strides = %s, dilations = %s, padding = %s, groups = %d : i64, input_layout = %s, "
        "filter_layout = %s, output_layout = %s" % (
            array(strides), array(dilations), array(padding), groups, layout, layout, layout), shape)


def _per_dim(numbers, spatial):
    return list(numbers) * spatial if len(numbers) == 1 else list(numbers)


def _add_bias(l, value, bias):
    """Adds a number to each feature."""
    dtype = l.result()[1] if not isinstance(l.node.meta["val"], (list, tuple)) else None
    inner = working(dtype)

    def body(b, x, y):
        s = Scalars(b, inner)
        return convert(b, s.add(convert(b, x, dtype, inner), convert(b, y, dtype, inner)), inner, dtype)

    return l.function.generic([(value, identity(value.rank)), (l.converted(bias, dtype), ["d1"])], value.shape,
                              value.element, body)


def _transposed_padding(padding, output_padding, strides):
    """Before and behind, and by how much the result is longer than what is computed. From a stride on, what a
    transposed convolution adds behind its result takes away from the padding, or is no place that anything goes to."""
    wide = [o if o >= s else 0 for o, s in zip(output_padding, strides)]
    return padding, [max(p - o, 0) for p, o in zip(padding, wide)], [max(o - p, 0) for p, o in zip(padding, wide)]


@rule("convolution")
def _convolution(l, node, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    spatial = l.value(w).rank - 2
    x, w = l.value(x), l.value(w)
    shape = l.result()[0]
    # Without a batch there is one dimension less.
    batched = x if x.rank == spatial + 2 else l.function.reshape(x, (1,) + x.shape)
    full = shape if len(shape) == spatial + 2 else (1,) + shape
    s, p, d, o = (_per_dim(v, spatial) for v in (stride, padding, dilation, output_padding))
    if transposed:
        low, high, more = _transposed_padding(p, o, s)
        part = full[:2] + tuple(extent - n for extent, n in zip(full[2:], more))
        y = l.function.pad(conv(l, "input_grad", batched, w, part, spatial, s, d, low, high, groups),
                           [0] * len(full), [0, 0] + more, 0)
    else:
        y = conv(l, "forward", batched, w, full, spatial, s, d, p, p, groups)
    if bias is not None:
        y = _add_bias(l, y, bias)
    return l.function.reshape(y, shape)


@rule("convolution_backward")
def _convolution_backward(l, node, gy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
                          output_mask):
    spatial = l.value(w).rank - 2
    dtype = l.dtype(gy)
    gy, x, w = l.value(gy), l.value(x), l.value(w)
    s, p, d, o = (_per_dim(v, spatial) for v in (stride, padding, dilation, output_padding))
    low, high, computed = p, p, gy
    if transposed:
        low, high, more = _transposed_padding(p, o, s)
        part = gy.shape[:2] + tuple(extent - n for extent, n in zip(gy.shape[2:], more))
        computed = l.function.slice(gy, [0] * gy.rank, part, [1] * gy.rank)
    gx = gw = gb = None
    if output_mask[0]:
        gx = conv(l, "forward" if transposed else "input_grad", computed, w, x.shape, spatial, s, d, low, high,
                  groups)
    if output_mask[1]:
        operands = (computed, x) if transposed else (x, gy)
        gw = conv(l, "filter_grad", *operands, w.shape, spatial, s, d, low, high, groups)
    if output_mask[2]:
        inner = working(dtype)
        total = l.function.generic(
            [(gy, identity(gy.rank))], gy.shape[1:2], element_of(inner),
            lambda b, a, acc: Scalars(b, inner).add(acc, convert(b, a, dtype, inner)), loops=gy.rank,
            reductions=set(range(gy.rank)) - {1}, out_map=["d1"],
            init=l.function.constant(0, gy.shape[1:2], element_of(inner)))
        gb = l.convert(total, inner, dtype)
    return [gx, gw, gb]


