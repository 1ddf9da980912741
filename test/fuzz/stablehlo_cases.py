# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of JAX for stablehlo.py. A case takes two generators of random numbers and returns a function, its
arguments and, if there is something to say, options: `gradient` False where JAX has none or it is not one number,
`factor` for the tolerance."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def shape(draw, rank=None, low=1, high=6):
    return tuple(draw.randint(low, high) for _ in range(draw.randint(0, 3) if rank is None else rank))


def normal(rng, dims, dtype=np.float64):
    return rng.normal(size=dims).astype(dtype)


# Element by element

UNARY = {
    "abs": None, "cbrt": None, "ceil": None, "cos": None, "sin": None, "tan": 0.5, "exp": None, "expm1": None,
    "floor": None, "logistic": None, "neg": None, "sign": None, "tanh": None, "round": None, "square": None,
    "asinh": None, "atan": None, "cosh": None, "sinh": None, "erf": None, "erfc": None,
}
POSITIVE = ["log", "log1p", "rsqrt", "sqrt", "acosh_1", "lgamma", "digamma"]
UNIT = ["acos", "asin", "atanh", "erf_inv"]


@case
def unary(draw, rng):
    x = normal(rng, shape(draw))
    return lambda x: [getattr(lax, name)(x) for name in UNARY], [x]


@case
def unary_positive(draw, rng):
    x = rng.uniform(0.1, 5, shape(draw))
    return lambda x: [lax.acosh(x + 1) if n == "acosh_1" else getattr(lax, n)(x) for n in POSITIVE], [x]


@case
def unary_unit(draw, rng):
    x = rng.uniform(-0.99, 0.99, shape(draw))
    return lambda x: [getattr(lax, name)(x) for name in UNIT], [x]


@case
def gamma_negative(draw, rng):
    x = rng.uniform(-5, 0.5, shape(draw))
    return lambda x: [lax.lgamma(x), lax.digamma(x)], [x], {"factor": 100}


@case
def erf_inv_f32(draw, rng):
    x = rng.uniform(-1, 1, 20).astype(np.float32)
    return lambda x: lax.erf_inv(x), [x], {"factor": 3}


@case
def binary(draw, rng):
    dims = shape(draw)
    a, b = normal(rng, dims), normal(rng, dims)
    return lambda a, b: [a + b, a - b, a * b, a / (jnp.abs(b) + 1), lax.max(a, b), lax.min(a, b), lax.atan2(a, b),
                         lax.rem(a, b + 3 * lax.sign(b)), lax.pow(jnp.abs(a) + 0.1, b)], [a, b]


@case
def special_floats(draw, rng):
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 0.5, 3e38, 1e-30], np.float32)
    a, b = np.meshgrid(values, values)
    return lambda a, b: [lax.max(a, b), lax.min(a, b), lax.sign(a), lax.round(a), lax.rem(a, b), lax.is_finite(a),
                         lax.eq(a, b), lax.ne(a, b), lax.lt(a, b), lax.le(a, b), lax.gt(a, b), lax.ge(a, b),
                         a.astype(jnp.int32), a.astype(jnp.uint8), a.astype(bool), jnp.isinf(a), jnp.nan_to_num(a),
                         lax.nextafter(a, b)], [a, b], {"gradient": False}


def integers(rng, dims, dtype):
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, dims, dtype, endpoint=True)
    small = rng.integers(-3 if info.min else 0, 4, dims).astype(dtype)
    return np.where(rng.random(dims) < 0.5, values, small)


@case
def integer(draw, rng):
    dtype = draw.choice([np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
    a, b = integers(rng, (30,), dtype), integers(rng, (30,), dtype)
    return (lambda a, b: [a + b, a - b, a * b, lax.div(a, b), lax.rem(a, b), lax.max(a, b), lax.min(a, b), a & b, a | b,
                         a ^ b, ~a, lax.neg(a), lax.abs(a) if jnp.issubdtype(a.dtype, jnp.signedinteger) else a,
                         lax.sign(a), lax.shift_left(a, b), lax.shift_right_logical(a, b),
                         lax.shift_right_arithmetic(a, b), lax.population_count(a), lax.clz(a), a < b, a <= b, a > b,
                         a >= b, a == b, a != b, a.astype(jnp.float32), a.astype(jnp.int64), a.astype(jnp.uint8),
                         a.astype(jnp.int16), a.astype(bool), lax.integer_pow(a, 3), lax.clamp(dtype(1), a, dtype(9))],
            [a, b])


@case
def boolean(draw, rng):
    a, b = rng.random(9) < 0.5, rng.random(9) < 0.5
    return lambda a, b: [a & b, a | b, a ^ b, ~a, a == b, a < b, a.astype(jnp.float32), a.astype(jnp.int8),
                         jnp.any(a), jnp.all(b), jnp.where(a, 1, 2), jnp.sum(a)], [a, b]


@case
def complex_numbers(draw, rng):
    dims = shape(draw)
    a = normal(rng, dims) + 1j * normal(rng, dims)
    b = normal(rng, dims) + 1j * normal(rng, dims)
    return lambda a, b: [jnp.real(a + b), jnp.imag(a * b), jnp.abs(a / (b + 3)), jnp.real(jnp.exp(a)),
                         jnp.real(jnp.conj(a) * jnp.sin(b)), jnp.imag(jnp.tanh(a)), jnp.real(jnp.sqrt(a)),
                         jnp.real(jnp.log(b))], [a, b]


@case
def complex_functions(draw, rng):
    a = 2 * (normal(rng, (4, 3)) + 1j * normal(rng, (4, 3)))
    # JAX's derivative of acosh has the opposite sign where the real part is negative.
    functions = (lax.acos, lambda z: lax.acosh(z + 9), lax.asin, lax.asinh, lax.atan, lax.atanh, lax.cosh, lax.sinh)
    return lambda a: [jnp.real(f(a)) + 2 * jnp.imag(f(a)) for f in functions], [a]


@case
def complex_forward(draw, rng):
    a = normal(rng, (3, 4)) + 1j * normal(rng, (3, 4))
    return lambda a: [a + 1, a * a, a == a, lax.complex(jnp.real(a), jnp.imag(a)), a @ a.T, jnp.sum(a), lax.neg(a),
                      jnp.where(jnp.real(a) > 0, a, -a), a.astype(jnp.complex64)], [a]


@case
def choices(draw, rng):
    dims = shape(draw)
    a, b, p = normal(rng, dims), normal(rng, dims), rng.random(dims) < 0.5
    return lambda a, b, p: [jnp.where(p, a, b), lax.select(a > b, a, b), lax.clamp(-0.5, a, 0.5),
                            lax.clamp(a, b, a + 1),
                            jnp.clip(a, -0.3, 0.4), lax.select(p.reshape(-1)[0], a, b)], [a, b, p]


@case
def conversions(draw, rng):
    x = normal(rng, shape(draw)) * 100
    return lambda x: [x.astype(t) for t in (jnp.float32, jnp.float16, jnp.bfloat16, jnp.int32, jnp.uint32, jnp.int8,
                                            bool)] + [lax.reduce_precision(x.astype(jnp.float32), 8, 7),
                                                      lax.reduce_precision(x, 5, 10)], [x], {"gradient": False}


@case
def reduced_precision(draw, rng):
    """Also numbers between those that few bits can say, and around the smallest and largest of them."""
    exponents = rng.integers(-40, 30, 60)
    x = np.ldexp(rng.integers(1, 2048, 60) * rng.choice([-1, 1], 60), exponents - 5).astype(np.float32)
    bits = np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x00400000, 0x00800000, 0x33800000,
                     0x387FE000,
                     0x387FC000, 0x387FF000, 0x38800000, 0x477FE000, 0x477FF000, 0x477FEFFF, 0x7F7FFFFF], np.uint32)
    x = np.concatenate([x, bits.view(np.float32)])
    kinds = [(5, 10), (8, 7), (4, 3), (5, 2), (8, 10), (3, 0), (8, 23), (11, 52), (5, 23), (1, 4), (8, 0)]
    return lambda x: [lax.reduce_precision(x.astype(t), *k)
                      for t in (jnp.float32, jnp.float16, jnp.bfloat16, jnp.float64)
                      for k in kinds], [x], {"gradient": False}


@case
def reduced_slopes(draw, rng):
    x = normal(rng, shape(draw), np.float32)
    return lambda x: [lax.reduce_precision(x, *k) for k in ((5, 10), (8, 7), (4, 3), (8, 10), (8, 23))], [x]


@case
def nan_bounds(draw, rng):
    values = np.array([np.nan, -np.inf, np.inf, -1., 0., 2.])
    a, b, c = (v.reshape(-1) for v in np.meshgrid(values, values, values))
    z = a + 1j * rng.choice([0., 1.], a.shape)
    return lambda a, b, c, z: [lax.clamp(a, b, c), lax.clamp(a[0], b, 3.), lax.clamp(-1., b, c), z.astype(bool),
                               lax.select(a[3] < 0, z, z + 1), z.real.astype(bool)], [a, b, c, z], {"gradient": False}


@case
def bitcasts(draw, rng):
    x = normal(rng, (3, 4), np.float32)
    n = integers(rng, (3, 2), np.uint32)
    return lambda x, n: [lax.bitcast_convert_type(x, jnp.uint32), lax.bitcast_convert_type(n, jnp.float32),
                         lax.bitcast_convert_type(n, jnp.uint64), lax.bitcast_convert_type(n, jnp.uint8),
                         lax.bitcast_convert_type(x, jnp.uint16)], [x, n], {"gradient": False}


# Shapes

@case
def shapes(draw, rng):
    a, b, c = shape(draw, 3)
    x = normal(rng, (a, b, c))
    return lambda x: [x.reshape(-1), x.reshape(b, a, c), x.transpose(2, 0, 1), jnp.flip(x, (0, 2)), x[:, None],
                      jnp.broadcast_to(x[None], (2, a, b, c)), lax.broadcast_in_dim(x[:, :1], (a, 4, c), (0, 1, 2)),
                      jnp.concatenate([x, x * 2], 1), jnp.stack([x, x]), x[:, ::2], jnp.tile(x, (1, 2, 1)),
                      jnp.squeeze(x[:1]), jnp.repeat(x, 2, axis=1), jnp.swapaxes(x, 0, 2).reshape(c * b, a)], [x]


@case
def iotas(draw, rng):
    x = normal(rng, (3, 4), np.float32)
    return lambda x: [jnp.arange(7), lax.broadcasted_iota(jnp.float32, (3, 4), 1) * x,
                      lax.broadcasted_iota(jnp.uint8, (3, 4), 0), jnp.eye(4), jnp.tril(x), jnp.linspace(0., 1., 5)], [x]


@case
def pads(draw, rng):
    x = normal(rng, shape(draw, 2, 2, 5))
    config = [(draw.randint(-2, 3), draw.randint(-2, 3), draw.randint(0, 2)) for _ in range(2)]
    for number, (low, high, inner) in enumerate(config):
        if (x.shape[number] - 1) * (inner + 1) + 1 + low + high < 0:
            config[number] = (0, high, inner)
    return lambda x, v: lax.pad(x, v, config), [x, normal(rng, ())]


@case
def dynamic_slices(draw, rng):
    x, u = normal(rng, (5, 6)), normal(rng, (2, 3))
    i, j = np.int32(draw.randint(-3, 7)), np.int32(draw.randint(-3, 7))
    return lambda x, u, i, j: [lax.dynamic_slice(x, (i, j), (2, 3)), lax.dynamic_update_slice(x, u, (i, j)),
                               lax.dynamic_index_in_dim(x, i, 0), x[i, j], x.at[i].set(u[0, 0]),
                               lax.dynamic_slice(x, (i.astype(jnp.uint8), j.astype(jnp.uint8)), (2, 6))], [x, u, i, j]


# Contractions and convolutions

@case
def dots(draw, rng):
    b, m, k, n = shape(draw, 4)
    x, y = normal(rng, (b, m, k)), normal(rng, (b, k, n))
    return lambda x, y: [x @ y, x[0] @ y[0, :, 0], jnp.outer(x[0, 0], y[0, 0]), jnp.einsum("bmk,bkn->mnb", x, y),
                         jnp.einsum("bmk,ckn->bcmn", x, y), jnp.einsum("bmk,bkn->", x, y),
                         lax.dot_general(x, x, (((1, 2), (1, 2)), ((0,), (0,))))], [x, y]


@case
def narrow_dots(draw, rng):
    x, y = normal(rng, (5, 6), np.float32), normal(rng, (6, 4), np.float32)
    return lambda x, y: [(x.astype(jnp.bfloat16) @ y.astype(jnp.bfloat16)).astype(jnp.float32),
                         jnp.dot(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16), preferred_element_type=jnp.float32),
                         x.astype(jnp.float16) @ y.astype(jnp.float16)], [x, y], {"factor": 1000}


@case
def integer_dots(draw, rng):
    x, y = rng.integers(-9, 9, (3, 4)).astype(np.int8), rng.integers(0, 9, (4, 5)).astype(np.int8)
    return lambda x, y: [x.astype(jnp.int32) @ y.astype(jnp.int32),
                         jnp.dot(x, y, preferred_element_type=jnp.int32)], [x, y]


def convolution(draw, rng, spatial):
    groups, batch_groups = draw.choice([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)])
    batch, inputs, outputs = 2 * draw.randint(1, 2), groups * draw.randint(1, 3), 6
    size = [draw.randint(3, 7) for _ in range(spatial)]
    window = [draw.randint(1, 3) for _ in range(spatial)]
    strides = [draw.choice([1, 1, 2, 3]) for _ in range(spatial)]
    left = [draw.choice([1, 1, 2]) for _ in range(spatial)]
    right = [draw.choice([1, 1, 2]) for _ in range(spatial)]
    padding = [(draw.randint(-1, 3), draw.randint(0, 3)) for _ in range(spatial)]
    for i in range(spatial):
        if (size[i] - 1) * left[i] + 1 + sum(padding[i]) < (window[i] - 1) * right[i] + 1:
            padding[i] = (4, 4)
    letters = "012"[:spatial]
    names = "DHW"[-spatial:]
    mix = lambda text: "".join(draw.sample(text, len(text)))
    specs = (mix("NC" + names), mix("OI" + names), mix("NC" + names))
    sizes = dict(zip(names, size), N=batch, C=inputs)
    windows = dict(zip(names, window), O=outputs, I=inputs // groups)
    x = normal(rng, [sizes[letter] for letter in specs[0]])
    w = normal(rng, [windows[letter] for letter in specs[1]])
    del letters
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, left, right, specs, groups,
                                                 batch_groups), [x, w]


@case
def conv_1d(draw, rng):
    return convolution(draw, rng, 1)


@case
def conv_2d(draw, rng):
    return convolution(draw, rng, 2)


@case
def conv_3d(draw, rng):
    return convolution(draw, rng, 3)


@case
def conv_transpose(draw, rng):
    x, w = normal(rng, (2, 5, 6, 3)), normal(rng, (3, 3, 3, 4))
    stride, padding = draw.choice([1, 2, 3]), draw.choice(["SAME", "VALID"])
    return lambda x, w: lax.conv_transpose(x, w, (stride, 2), padding), [x, w]


# Reductions and windows

@case
def reductions(draw, rng):
    x = normal(rng, shape(draw, 3))
    axis = draw.choice([0, 1, 2, (0, 2), (0, 1, 2)])
    return lambda x: [jnp.sum(x, axis), jnp.prod(x, axis), jnp.max(x, axis), jnp.min(x, axis), jnp.mean(x, axis),
                      jnp.var(x, axis), jax.nn.logsumexp(x, axis), jnp.any(x > 1, axis), jnp.all(x > -1, axis),
                      jax.nn.softmax(x, 1)], [x]


@case
def argument_reductions(draw, rng):
    x = rng.integers(0, 5, (4, 6)).astype(np.float32)
    x[0, 1] = np.nan
    n = rng.integers(0, 5, (4, 6)).astype(np.uint8)
    return lambda x, n: [jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(n, 0), jnp.max(n, 1), jnp.min(n, 0),
                         lax.reduce_xor(n.astype(jnp.int32), (0,)),
                         lax.reduce_or(n.astype(jnp.int32), (1,))], [x, n], {"gradient": False}


@case
def reduction_any(draw, rng):
    x, y = normal(rng, (4, 5)), normal(rng, (4, 5))

    def both(a, b):
        return a[0] + b[0] * 2, jnp.maximum(a[1], b[1])

    inits = np.float64(0), np.float64(-np.inf)
    return lambda x, y: lax.reduce((x, y), inits, both, (1,)), [x, y], {"gradient": False}


@case
def windows(draw, rng):
    x = normal(rng, (2, 6, 7, 3))
    window, strides = (1, draw.randint(1, 3), draw.randint(1, 3), 1), (1, draw.randint(1, 3), draw.randint(1, 3), 1)
    padding = draw.choice(["SAME", "VALID", ((0, 0), (1, 2), (0, 1), (0, 0))])
    dilation = (1, draw.randint(1, 2), draw.randint(1, 2), 1)
    return lambda x: [lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding),
                      lax.reduce_window(x, 0., lax.add, window, strides, padding, window_dilation=dilation),
                      lax.reduce_window(x, jnp.inf, lax.min, window, strides, padding)], [x]


@case
def dilated_windows(draw, rng):
    x = normal(rng, (6, 7))
    return lambda x: [lax.reduce_window(x, 0., lax.add, (2, 3), (1, 2), ((1, 1), (0, 2)), (2, 1), (1, 2)),
                      lax.reduce_window(x, 1., lax.mul, (2, 2), (1, 1), "VALID")], [x], {"gradient": False}


@case
def pooling_gradient(draw, rng):
    x = normal(rng, (2, 6, 7, 3))
    pool_sum = lambda x: jnp.sum(jnp.sin(pool(x)))
    padding = draw.choice(["SAME", "VALID"])
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), padding)
    return lambda x: jax.grad(pool_sum)(x), [x], {"gradient": False}


@case
def tied_windows(draw, rng):
    """Gradients of a maximum that several elements of a window have, as zeros behind a ReLU are."""
    x = np.round(normal(rng, [draw.randint(3, 5) for _ in range(3)]))
    windows = [[draw.randint(1, 4) for _ in range(3)] for _ in range(3)]
    paddings = [[(draw.randint(0, w - 1), draw.randint(0, w - 1)) for w in window] for window in windows]

    def pool(x, window, padding, start, reduce):
        return jnp.sum(jnp.sin(3 * lax.reduce_window(x, start, reduce, window, (1, 2, 1), padding)))

    return lambda x: [jax.grad(pool)(x, window, padding, start, reduce) for window, padding in zip(windows, paddings)
                      for start, reduce in ((-jnp.inf, lax.max), (jnp.inf, lax.min))], [x], {"gradient": False}


@case
def cumulative(draw, rng):
    x = normal(rng, (draw.randint(1, 20), draw.randint(1, 5)))
    return lambda x: [jnp.cumsum(x, 0), jnp.cumprod(x, 0), lax.cummax(x, 0), lax.cummin(x, 1), lax.cumlogsumexp(x, 0),
                      lax.cumsum(x, 0, reverse=True), lax.cumsum(x, 1), lax.associative_scan(jnp.multiply, x)], [x]


@case
def cumulative_from(draw, rng):
    """Windows that begin with a number that is not neutral."""
    x = normal(rng, draw.randint(1, 20))
    k = rng.integers(0, 99, x.shape).astype(np.uint8)
    n = x.shape[0]
    both = lambda x, init, f: [lax.reduce_window(x, init, f, (n,), (1,), (p,)) for p in ((n - 1, 0), (0, n - 1))]
    return lambda x, k: [*both(x, 0., lax.max), *both(x, 0.3, lax.min), *both(k, np.uint8(40), lax.max),
                         *both(k, np.uint8(9), lax.min), *both(k, np.uint8(5), lax.bitwise_or),
                         *both(k, np.uint8(0), lax.bitwise_or)], [x, k], {"gradient": False}


# Places

@case
def gathers(draw, rng):
    x = normal(rng, (5, 6, 3))
    i = rng.integers(-5, 5, (4, 2)).astype(np.int32)
    j = rng.integers(0, 3, (4, 2)).astype(np.uint8)
    mode = draw.choice(["clip", "fill", "promise_in_bounds"])
    return lambda x, i, j: [x[i], x[i, j], x[:, j], x[i % 5, :, j], x.at[:, jnp.abs(i)].get(mode=mode),
                            jnp.take_along_axis(x, jnp.abs(i[None, :, :1]) + jnp.zeros((5, 4, 3), jnp.int32), 1),
                            x[1:4, ::2], jax.vmap(lambda a, k: a[k])(x[:4], i[:, 0])], [x, i, j]


@case
def scatters(draw, rng):
    x, u = normal(rng, (5, 3)), normal(rng, (6, 3))
    i = rng.integers(-7, 8, 6).astype(np.int32)
    p = rng.permutation(5)[:4].astype(np.int32)
    return lambda x, u, i, p: [x.at[i].add(u), x.at[i].set(u), x.at[i].max(u), x.at[i].min(u),
                               x.at[p].mul(u[:4], unique_indices=True),
                               x.at[p].set(u[:4], unique_indices=True), x.at[i, i % 3].add(u[:, 0]),
                               x.at[:, 1].set(u[:5, 0]), x.at[i, 0].set(u[:, 1]),
                               x.at[p].divide(u[:4] + 3, unique_indices=True),
                               jax.ops.segment_sum(u, i, 4), jax.ops.segment_max(u, jnp.abs(i) % 3, 3),
                               x.at[1:3, ::2].add(u[:2, :2]),
                               jax.vmap(lambda a, k, v: a.at[k].add(v))(x, i[:5], u[:5, 0])], [x, u, i, p]


@case
def scatter_integers(draw, rng):
    x, u = rng.integers(0, 99, (5, 3)), rng.integers(0, 99, (6, 3))
    i = rng.integers(-7, 8, 6).astype(np.int64)
    return lambda x, u, i: [x.at[i].add(u), x.at[i].set(u), x.at[i].max(u), x.at[i].min(u), x.at[i].multiply(u),
                            (x > 50).at[i].set(u > 50), jnp.bincount(jnp.abs(i), length=9)], [x, u, i]


@case
def many_updates(draw, rng):
    count = draw.randint(1030, 1200)
    x, u = normal(rng, (40, 2)), normal(rng, (count, 2))
    i = rng.integers(-50, 45, (count, 2)).astype(np.int32)
    return lambda x, u, i: [x.at[i[:, 0]].set(u), x.at[i[:, 0], i[:, 1] % 2].set(u[:, 0])], [x, u, i]


@case
def scatter_apply(draw, rng):
    x = normal(rng, (5, 3))
    i = rng.permutation(5)[:3].astype(np.int32)
    return lambda x, i: [x.at[i].apply(jnp.sin), x.at[i].power(2.0)], [x, i], {"gradient": False}


def scatter_dims(windows, inserted, indexed, batches=()):
    return lax.ScatterDimensionNumbers(windows, inserted, indexed, batches, batches)


@case
def partial_scatters(draw, rng):
    """Updates that are narrower than the dimensions that no index says, or one element of them."""
    x, i = normal(rng, (4, 8)), rng.integers(-2, 6, (draw.randint(1, 6), 1)).astype(np.int32)
    u = normal(rng, (len(i), draw.randint(1, 8)))
    some, one = scatter_dims((1,), (0,), (0,)), scatter_dims((), (0, 1), (0,))
    write = [lax.scatter, lax.scatter_max, lax.scatter_min, lax.scatter_mul, lax.scatter_add]
    return lambda x, u, i: [f(x, i, u, some) for f in write] + [f(x, i, u[:, 0], one) for f in write], [x, u, i], {
        "gradient": False}


@case
def narrow_scatters(draw, rng):
    """Indices of a type that does not hold all numbers of a dimension."""
    x, u = normal(rng, (300, 4)), normal(rng, 300)
    i = rng.integers(0, 4, (300, 1))
    signed, unsigned = rng.integers(-128, 128, (2, 1)).astype(np.int8), rng.integers(0, 256, (2, 1)).astype(np.uint8)
    row, batched = scatter_dims((), (0,), (0,)), scatter_dims((), (1,), (1,), (0,))
    many = [lax.scatter, lax.scatter_max, lax.scatter_min, lax.scatter_mul, lax.scatter_add]
    return lambda x, u, i, a, b: [f(x[:, 0], k, u[:2], row) for f in many for k in (a, b)] + [
        f(x, k, u, batched, unique_indices=True) for f in many for k in (i.astype(jnp.int8), i.astype(jnp.uint8))], [
            x, u, i, signed, unsigned], {"gradient": False}


# Order

@case
def sorts(draw, rng):
    x = rng.integers(0, 9, (draw.randint(1, 9), draw.randint(1, 9))).astype(np.float64) + normal(rng, ()) * 0
    y = normal(rng, x.shape)
    return lambda x, y: [jnp.sort(y, 0), jnp.sort(y, 1), jnp.argsort(x, 1), jnp.argsort(-x, 0),
                         *lax.sort((x, y), dimension=1, num_keys=1), *lax.sort((x, y), dimension=0, num_keys=2),
                         jnp.median(y), jnp.sort(y, 0, descending=True), jnp.percentile(y, 30.)], [x, y]


@case
def long_sorts(draw, rng):
    n = draw.randint(257, 700)
    x, k = normal(rng, (2, n)), rng.integers(0, 50, n)
    return lambda x, k: [jnp.sort(x, 1), jnp.argsort(k), jnp.sort(k)], [x, k]


@case
def special_sorts(draw, rng):
    x = np.array([1.0, np.nan, -np.inf, np.inf, -0.0, 0.0, -1.0, np.nan, 5], np.float32)
    return lambda x: [jnp.sort(x), jnp.argsort(x), *lax.top_k(x, 4)], [x], {"gradient": False}


@case
def top_k(draw, rng):
    x = normal(rng, (3, draw.randint(4, 9)))
    k = draw.randint(1, 4)
    return lambda x: [*lax.top_k(x, k), jnp.sum(jax.nn.softmax(lax.top_k(x, k)[0]) ** 2)], [x]


# Control flow

@case
def loops(draw, rng):
    x, w, reverse = normal(rng, (4, 3)), normal(rng, (3, 3)), draw.random() < 0.5
    low, high = draw.randint(-2, 2), draw.randint(-2, 6)

    def rnn(w, x):
        def step(h, xi):
            h = jnp.tanh(xi + h @ w)
            return h, h * 2
        return lax.scan(step, jnp.zeros(3), x, reverse=reverse)

    return lambda x, w: [*rnn(w, x), lax.fori_loop(low, high, lambda i, c: c * 0.5 + i, x), lax.map(jnp.sin, x),
                         lax.fori_loop(0, 3, lambda i, c: c.at[i].multiply(2.0), x),
                         lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(1, 3, lambda j, d: d * i + j, c), x)], [x, w]


@case
def nested_scans(draw, rng):
    x, w = normal(rng, (3, 2, 4)), normal(rng, (2, 4, 4))

    def f(x, w):
        def layer(h, wi):
            return jnp.tanh(h @ wi), None

        def outer(c, xi):
            h, _ = lax.scan(jax.checkpoint(layer), xi + c, w)
            return c + jnp.sum(h) * 0.1, h
        return lax.scan(outer, 0.0, x)

    return f, [x, w]


@case
def branches(draw, rng):
    x = normal(rng, (3, 4))
    i = np.int32(draw.randint(-1, 4))
    return lambda x, i: [lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x),
                         lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * 2], x),
                         lax.cond(i > 1, lambda x: (x, x + 1), lambda x: (x * 2, x), x)], [x, i]


# Random numbers

@case
def threefry(draw, rng):
    n = draw.randint(1, 20)

    def f(seed):
        key = jax.random.key(seed)
        a, b = jax.random.split(key)
        return [jax.random.uniform(a, (n,), jnp.float32), jax.random.normal(b, (n, 3), jnp.float32),
                jax.random.bits(a, (n,), jnp.uint32), jax.random.bernoulli(b, 0.3, (n,)),
                jax.random.randint(a, (n,), 0, 10), jax.random.permutation(b, n), jax.random.categorical(
                    a, jnp.arange(5.0, dtype=jnp.float32), shape=(n,)), jax.random.gumbel(a, (n,), jnp.float32),
                jax.random.key_data(jax.random.fold_in(a, 3)),
                jax.random.truncated_normal(a, -1.0, 1.0, (n,), jnp.float32), jax.random.choice(a, n, (2,))]

    return f, [np.int32(draw.randint(0, 1000))], {"factor": 5}


@case
def rbg(draw, rng):
    n = draw.randint(1, 20)

    def f(seed):
        key = jax.random.key(seed, impl="rbg")
        a, b = jax.random.split(key)
        return [jax.random.uniform(a, (n,), jnp.float32), jax.random.bits(b, (n, 3), jnp.uint32),
                jax.random.bits(a, (n,), jnp.uint8), jax.random.bits(a, (n,), jnp.uint64),
                jax.random.bits(a, (n,), jnp.uint16), jax.random.bernoulli(b, 0.3, (n,))]

    return f, [np.int32(draw.randint(0, 1000))], {"factor": 5}


@case
def philox(draw, rng):
    n = draw.randint(1, 9)
    state = integers(rng, (2,), np.uint64)
    state[1] = 2 ** 64 - 2
    return lambda s: [*lax.rng_bit_generator(s, (n,), jnp.uint32),
                      *lax.rng_bit_generator(s, (n, 3), jnp.uint64)], [state]


# Programs

def layer_norm(x, g):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g


@case
def transformer(draw, rng):
    layers, heads, width, tokens = 2, 2, 8, 5
    remat = draw.choice([lambda f: f, jax.checkpoint,
                         lambda f: jax.checkpoint(f, policy=jax.checkpoint_policies.dots_saveable)])
    names = {"qkv": (layers, width, 3 * width), "o": (layers, width, width), "up": (layers, width, 2 * width),
             "down": (layers, 2 * width, width), "g": (layers, 2, width), "e": (11, width)}
    params = [normal(rng, dims) * 0.3 for dims in names.values()]
    ids = rng.integers(0, 11, (2, tokens)).astype(np.int32)

    def loss(qkv, o, up, down, g, e, ids):
        def block(h, p):
            qkv, o, up, down, g = p
            n = layer_norm(h, g[0])
            q, k, v = jnp.split(n @ qkv, 3, -1)
            split = lambda t: t.reshape(2, tokens, heads, width // heads)
            a = jax.nn.dot_product_attention(split(q), split(k), split(v), is_causal=True)
            h = h + a.reshape(2, tokens, width) @ o
            return h + jax.nn.gelu(layer_norm(h, g[1]) @ up) @ down, None

        h, _ = lax.scan(remat(block), e[ids], (qkv, o, up, down, g))
        logits = h @ e.T
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), ids[..., None], -1))

    # The attention of JAX computes its softmax in f32.
    return loss, [*params, ids], {"factor": 1e5}


@case
def vae(draw, rng):
    x, w, v = normal(rng, (4, 6), np.float32), normal(rng, (6, 4), np.float32), normal(rng, (2, 6), np.float32)

    def loss(x, w, v, seed):
        mean, logs = jnp.split(x @ w, 2, -1)
        z = mean + jnp.exp(0.5 * logs) * jax.random.normal(jax.random.key(seed), mean.shape, jnp.float32)
        y = jax.nn.sigmoid(z @ v)
        keep = jax.random.bernoulli(jax.random.key(seed + 1), 0.8, y.shape)
        return jnp.sum((jnp.where(keep, y / 0.8, 0) - x) ** 2) + jnp.sum(jnp.exp(logs) + mean ** 2 - logs)

    return loss, [x, w, v, np.int32(3)], {"factor": 10}


@case
def graph_network(draw, rng):
    x, w = normal(rng, (6, 4)), normal(rng, (4, 4))
    source, target = (rng.integers(0, 6, 10).astype(np.int32) for _ in range(2))

    def f(x, w, source, target):
        messages = jnp.tanh(x @ w)[source]
        total = jax.ops.segment_sum(messages, target, 6)
        degree = jax.ops.segment_sum(jnp.ones(10), target, 6)
        score = jax.ops.segment_max(jnp.sum(messages, 1), target, 6)
        return total / jnp.maximum(degree, 1)[:, None], jnp.where(jnp.isfinite(score), score, 0)

    return f, [x, w, source, target]


@case
def mixture_of_experts(draw, rng):
    x, gate, experts = normal(rng, (5, 4)), normal(rng, (4, 6)), normal(rng, (6, 4, 4))

    def f(x, gate, experts):
        weights, chosen = lax.top_k(x @ gate, 2)
        weights = jax.nn.softmax(weights)
        hidden = jnp.einsum("tk,tkij,ti->tj", weights, experts[chosen], x)
        load = jnp.mean(jax.nn.one_hot(chosen, 6), (0, 1))
        return jnp.sum(jnp.tanh(hidden) ** 2) + jnp.sum(load * jax.nn.softmax(x @ gate).mean(0))

    return f, [x, gate, experts]


@case
def convolutional(draw, rng):
    x, w, v = normal(rng, (2, 8, 8, 3)), normal(rng, (3, 3, 3, 4)), normal(rng, (4, 5))
    scale, bias = normal(rng, 4), normal(rng, 4)

    def f(x, w, v, scale, bias):
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean, var = y.mean((0, 1, 2)), y.var((0, 1, 2))
        y = jax.nn.relu((y - mean) * lax.rsqrt(var + 1e-5) * scale + bias)
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.sum(jnp.sin(y.mean((1, 2)) @ v)), mean

    return f, [x, w, v, scale, bias], {"factor": 10}


@case
def state_space(draw, rng):
    a, b, x = rng.uniform(0.1, 0.9, (9, 4)), normal(rng, (9, 4)), normal(rng, (9, 4))

    def f(a, b, x):
        join = lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])
        _, h = lax.associative_scan(join, (a, b * x))
        return h

    return f, [a, b, x]


@case
def narrow_mlp(draw, rng):
    x, w, v = normal(rng, (4, 8), np.float32), normal(rng, (8, 8), np.float32), normal(rng, (8, 2), np.float32)

    def f(x, w, v):
        h = jax.nn.gelu(x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16))
        return jnp.sum((h @ v.astype(jnp.bfloat16)).astype(jnp.float32) ** 2)

    return f, [x, w, v], {"factor": 2500}


@case
def differentiated(draw, rng):
    """A step that JAX has differentiated already."""
    x, w = normal(rng, (4, 3)), normal(rng, (3, 3))

    def loss(w, x):
        h, _ = lax.scan(lambda h, xi: (jnp.tanh(xi + h @ w), None), jnp.zeros(3), x)
        return jnp.sum(h ** 2)

    def step(w, x):
        value, gradient = jax.value_and_grad(loss)(w, x)
        return value, w - 0.1 * gradient

    return step, [w, x]


@case
def checkpointed(draw, rng):
    x, w = normal(rng, (4, 3)), normal(rng, (3, 3))
    loss = lambda w, x: jnp.sum(jax.checkpoint(lambda x: jnp.sin(jnp.tanh(x @ w) @ w))(x))
    return lambda w, x: jax.grad(loss)(w, x), [w, x]


@case
def triangular(draw, rng):
    """Factors of Cholesky, and systems with triangular matrices in all forms."""
    n, batch = draw.choice([9, 1, 3, 12]), draw.choice([(), (2,)])
    left_side, lower = draw.random() < 0.5, draw.random() < 0.5
    options = {"left_side": left_side, "lower": lower, "transpose_a": draw.random() < 0.5,
               "unit_diagonal": draw.random() < 0.3}
    a, b = normal(rng, batch + (n, n)), normal(rng, batch + ((n, 2) if left_side else (2, n)))

    def f(a, b):
        factor = lax.linalg.cholesky(a @ a.swapaxes(-1, -2) / n + jnp.eye(n))
        # Its other triangle is not read.
        system = (factor if lower else factor.swapaxes(-1, -2)) + lax.stop_gradient(100 * jnp.tril(
            jnp.ones((n, n)), -1).T * lower)
        return lax.linalg.triangular_solve(system, b, **options), factor

    return f, [a, b], {"platform": "tpu"}
