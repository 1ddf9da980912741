"""Rules of random numbers.

All numbers of a run are functions of one seed, an argument of the step, and of their place: what is recomputed draws
the same again.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..mlir import broadcast_map, identity
from .complex import join
from .pointwise import Scalars
from .rules import rule
from .types import convert, element_of, working

SEED = "remat.seed"


def words(l, shape, element):
    """Numbers that no other draw of the graph has: floating-point ones in [0, 1), or words of 32 bits."""
    f = l.function
    if l.seed is None:
        l.seed = f.argument((), "i64", SEED)
    offset = f.constant(l.draws, (), "i64")
    l.draws += -(-max(math.prod(shape), 1) // 4)
    return f.op("remat.random %s, %s : (tensor<i64>, tensor<i64>) -> tensor<%s>" % (
        l.seed.name, offset.name, "x".join([str(e) for e in shape] + [element])), shape, element)


def uniform(l, shape, dtype):
    inner = working(dtype)
    return words(l, shape, element_of(inner)), inner


def check_generator(l, options):
    if options.get("generator") is not None:
        l.refuse("a generator of its own is not supported; numbers are drawn by the default generator")


@rule("rand", "rand_like")
def _rand(l, node, *_, **options):
    check_generator(l, options)
    return _numbers(l, *l.result())


def _numbers(l, shape, dtype):
    """Numbers in [0, 1), as are both parts of complex ones."""
    if dtype.is_complex:
        return join(l, *(_numbers(l, shape, dtype.to_real()) for _ in range(2)), shape)
    value, inner = uniform(l, shape, dtype)
    return l.convert(value, inner, dtype)


@rule("uniform")
def _uniform(l, node, a, low=0.0, high=1.0, **options):
    check_generator(l, options)
    shape, dtype = l.result()
    value, inner = uniform(l, shape, dtype)

    def body(b, u):
        s = Scalars(b, inner)
        return convert(b, s.add(s.mul(u, s.const(high - low)), s.const(low)), inner, dtype)

    return l.function.generic([(value, identity(len(shape)))], shape, element_of(dtype), body)


def normal(l, shape, dtype, mean=0.0, std=1.0):
    """By Box and Muller, from two uniform numbers. Of complex ones, each part has the mean, and half of the
    variance."""
    if dtype.is_complex:
        return join(l, *(normal(l, shape, dtype.to_real(), mean, std / math.sqrt(2)) for _ in range(2)), shape)
    inner = working(dtype)
    first, second = words(l, shape, element_of(inner)), words(l, shape, element_of(inner))

    def body(b, u, v):
        s = Scalars(b, inner)
        radius = s.op("math.sqrt", s.mul(s.const(-2.0), s.op("math.log", s.sub(s.const(1.0), u))))
        number = s.mul(radius, s.op("math.cos", s.mul(s.const(2 * math.pi), v)))
        return convert(b, s.add(s.mul(number, s.const(std)), s.const(mean)), inner, dtype)

    return l.function.generic([(first, identity(len(shape))), (second, identity(len(shape)))], shape,
                              element_of(dtype), body)


@rule("randn", "randn_like")
def _randn(l, node, *_, **options):
    check_generator(l, options)
    return normal(l, *l.result())


@rule("normal_functional")
def _normal(l, node, a, mean=0.0, std=1.0, **options):
    check_generator(l, options)
    return normal(l, *l.result(), mean, std)


@rule("bernoulli")
def _bernoulli(l, node, a, p=None, **options):
    check_generator(l, options)
    shape, dtype = l.result()
    probabilities = p if p is not None else a
    inner = torch.float64 if l.dtype(a) == torch.float64 else torch.float32
    value = words(l, shape, element_of(inner))
    inputs = [(value, identity(len(shape)))]
    if l.is_tensor(probabilities):
        tensor = l.converted(probabilities, inner)
        inputs.append((tensor, broadcast_map(tensor.shape, shape)))

    def body(b, u, q=None):
        s = Scalars(b, inner)
        return convert(b, s.less(u, q or s.const(probabilities)), torch.bool, dtype)

    return l.function.generic(inputs, shape, element_of(dtype), body)


@rule("randint", "randint_like")
def _randint(l, node, *args, **options):
    check_generator(l, options)
    shape, dtype = l.result()
    numbers = [a for a in args if isinstance(a, int)]
    low, high = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    drawn = words(l, shape, "i32")
    if high - low > 2 ** 31:
        l.refuse("a range of more than 2^31 numbers is not supported")

    def body(b, word):
        wide = b.cast("arith.extui", word, "i32", "i64")
        scaled = b.binary("arith.muli", wide, b.constant(high - low, "i64"), "i64")
        number = b.binary("arith.shrui", scaled, b.constant(32, "i64"), "i64")
        return convert(b, b.binary("arith.addi", number, b.constant(low, "i64"), "i64"), torch.int64, dtype)

    return l.function.generic([(drawn, identity(len(shape)))], shape, element_of(dtype), body)


@rule("exponential")
def _exponential(l, node, a, rate=1.0, **options):
    check_generator(l, options)
    shape, dtype = l.result()
    value, inner = uniform(l, shape, dtype)

    def body(b, u):
        s = Scalars(b, inner)
        return convert(b, s.div(s.neg(s.op("math.log", s.sub(s.const(1.0), u))), s.const(rate)), inner, dtype)

    return l.function.generic([(value, identity(len(shape)))], shape, element_of(dtype), body)


@rule("native_dropout")
def _native_dropout(l, node, a, p, train):
    shape, dtype = tuple(node.meta["val"][0].shape), node.meta["val"][0].dtype
    value = l.value(a)
    if train is False or p == 0:
        return [value, l.function.constant(1, shape, "i1")]
    if p == 1:
        return [l.function.constant(0, shape, element_of(dtype)), l.function.constant(0, shape, "i1")]
    # The numbers are of the type of masks of f32, so one word of 24 bits decides on each element.
    mask = l.function.generic([(words(l, shape, "f32"), identity(len(shape)))], shape, "i1",
                              lambda b, u: b.compare("oge", u, b.constant(p, "f32"), "f32"))
    return [_masked(l, value, dtype, mask, 1.0 / (1.0 - p)), mask]


def _masked(l, value, dtype, mask, scale):
    inner = working(dtype)

    def body(b, x, m):
        s = Scalars(b, inner)
        scaled = s.mul(convert(b, x, dtype, inner), s.const(scale))
        # As PyTorch: a product with the mask, so a nan stays.
        return convert(b, s.mul(scaled, convert(b, m, torch.bool, inner)), inner, dtype)

    return l.function.generic([(value, identity(value.rank)), (mask, identity(value.rank))], value.shape,
                              value.element, body)


@rule("native_dropout_backward")
def _native_dropout_backward(l, node, grad, mask, scale):
    dtype = l.result()[1]  # Of integers it is a float.
    return _masked(l, l.converted(grad, dtype), dtype, l.value(mask), scale)
