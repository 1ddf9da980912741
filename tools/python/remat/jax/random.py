"""Rules of random numbers: those of JAX, bit by bit.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import jax
import numpy as np

from ..mlir import broadcast_map
from .control import inline
from .rules import rule

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _threefry_body(number):
    """Word `number` of a block of Threefry 2x32 with 20 rounds."""
    def body(b, k1, k2, x1, x2):
        op = lambda name, x, y: b.binary(name, x, y, "i32")
        const = lambda n: b.constant(n - (n >> 31 << 32), "i32")

        def rotate(x, distance):
            return op("arith.ori", op("arith.shli", x, const(distance)), op("arith.shrui", x, const(32 - distance)))

        keys = [k1, k2, op("arith.xori", op("arith.xori", k1, k2), const(0x1BD11BDA))]
        x1, x2 = op("arith.addi", x1, keys[0]), op("arith.addi", x2, keys[1])
        for group in range(5):
            for distance in ROTATIONS[group % 2]:
                x1 = op("arith.addi", x1, x2)
                x2 = op("arith.xori", rotate(x2, distance), x1)
            x1 = op("arith.addi", x1, keys[(group + 1) % 3])
            x2 = op("arith.addi", op("arith.addi", x2, keys[(group + 2) % 3]), const(group + 1))
        return (x1, x2)[number]

    return body


@rule("threefry2x32")
def _threefry(l, *words):
    results = []
    for number in range(2):
        shape = l.result(number)[0]
        inputs = [(w, broadcast_map(w.shape, shape)) for w in words]
        results.append(l.function.generic(inputs, shape, "i32", _threefry_body(number)))
    return results


@rule("iota_2x32_shape")
def _iota(l, *, shape):
    """The numbers of the elements in two words, the high one first."""
    def word(shift):
        def body(b):
            number = b.constant(0, "index")
            for dim, extent in enumerate(shape):
                number = b.binary("arith.muli", number, b.constant(extent, "index"), "index")
                number = b.binary("arith.addi", number, b.index(dim), "index")
            number = b.cast("arith.index_cast", number, "index", "i64")
            shifted = b.binary("arith.shrui", number, b.constant(shift, "i64"), "i64")
            return b.cast("arith.trunci", shifted, "i64", "i32")

        return l.function.generic([], shape, "i32", body)

    return [word(32), word(0)]


@rule("random_wrap", "random_unwrap")
def _same(l, a, **_):
    return a


@rule("random_clone")
def _clone(l, a):
    return a


def _inline(l, function, *operands, key_rank=0):
    """What the generator's own implementation traces to."""
    for _ in range(key_rank):
        function = jax.vmap(function)
    return inline(l, function, *operands)


def _impl(l, number=0):
    dtype = l.eqn.invars[number].aval.dtype
    impl = dtype._impl
    if impl.name != "fry" and impl.tag != "fry":
        l.refuse("keys of '%s' are not supported, expected 'threefry2x32', as jax.random.key(seed, "
                 "impl='threefry2x32') makes them" % impl.name)
    return impl


def _key(a):
    return a, np.dtype("uint32")


@rule("random_bits")
def _bits(l, key, bit_width, shape):
    impl = _impl(l)
    return _inline(l, lambda k: impl.random_bits(k, bit_width, shape), _key(key), key_rank=key.rank - 1)


@rule("random_split")
def _split(l, key, shape):
    impl = _impl(l)
    return _inline(l, lambda k: impl.split(k, shape), _key(key), key_rank=key.rank - 1)


@rule("random_fold_in")
def _fold_in(l, key, data):
    impl = _impl(l)
    dtype = l.eqn.invars[1].aval.dtype
    shape = l.result()[0]  # One of both may be a scalar.
    key, data = (l.function.generic([(v, reads)], extents, v.element, lambda b, x: x) if v.shape != extents else v
                 for v, reads, extents in ((key, ["d%d" % (len(shape) - 1)], shape), (data, [], shape[:-1])))
    return _inline(l, lambda k, d: impl.fold_in(k, d.astype("uint32")), _key(key), (data, dtype),
                   key_rank=data.rank)


@rule("random_seed")
def _seed(l, seeds, impl):
    return _inline(l, lambda s: impl.seed(s), (seeds, l.eqn.invars[0].aval.dtype), key_rank=seeds.rank)


@rule("random_gamma")
def _gamma(l, key, a, log_space):
    from jax._src.random import random_gamma_p
    impl = _impl(l)

    def sample(words, a):
        # As JAX does it on a GPU and on a CPU: all elements together.
        return random_gamma_p.impl(jax.random.wrap_key_data(words, impl="threefry2x32"), a, log_space=log_space,
                                   use_vmap=True)

    return _inline(l, sample, _key(key), (a, l.eqn.invars[1].aval.dtype))
