"""Numbers of eight bits and fewer, and integers of less: the bytes of JAX.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from jax_common import jax, jnp, needs_jax, np, random, rj

FLOATS = ("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
          "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
INTEGERS = ("int2", "int4", "uint2", "uint4")


def every(name):
    """All numbers of a type."""
    if name in INTEGERS:
        info = jnp.iinfo(name)
        return jnp.arange(info.min, info.max + 1).astype(name)
    return jnp.asarray(np.arange(16 if name.startswith("float4") else 256, dtype=np.uint8).view(jnp.dtype(name)))


def wide_numbers():
    """Numbers of f32 of all sizes, on and beside the places where narrow types round."""
    words = np.arange(2 ** 16, dtype=np.uint32) << 16
    return np.concatenate([words + step for step in (0, 1, 0x8000, 2 ** 32 - 1)]).astype(np.uint32).view("f4")


@needs_jax
class NarrowTest(unittest.TestCase):
    def same(self, expected, found, what):
        self.assertEqual((expected.dtype, expected.shape), (found.dtype, found.shape), what)
        a, b = np.asarray(expected), np.asarray(found)
        if jnp.issubdtype(a.dtype, jnp.floating):  # NaNs have many bytes.
            a, b = np.where(np.isnan(a), np.zeros((), a.dtype), a), np.where(np.isnan(b), np.zeros((), b.dtype), b)
        raw = lambda x: np.ascontiguousarray(x).reshape(-1, 1).view(np.uint8)
        different = np.nonzero((raw(a) != raw(b)).any(-1))[0]
        self.assertEqual(len(different), 0, (what, [(i, a.ravel()[i], b.ravel()[i]) for i in different[:8]]))

    def check(self, function, *args, what=""):
        expected = jax.tree_util.tree_leaves(jax.jit(function)(*args))
        step = rj.compile(function, differentiate=False)
        for found in (step(*args), jax.jit(step)(*args)):
            for number, (a, b) in enumerate(zip(expected, jax.tree_util.tree_leaves(found))):
                self.same(a, b, (what, number))

    def test_conversions(self):
        with jax.enable_x64(True):
            numbers = wide_numbers()
            near = np.concatenate([numbers[:2 ** 16].astype("f8") * (1 + s * 2.0 ** -40) for s in (-1, 0, 1)])
            for name in FLOATS + INTEGERS:
                if name == "float8_e8m0fnu":  # XLA differs by the width below the least number.
                    near = near[(abs(near) > 1e-37) | (near == 0)]
                targets = ["float32", "float16", "bfloat16", "float64", "bool"]
                if name != "float4_e2m1fn":  # XLA reads infinity.
                    targets += ["int32", "int8", "uint8", "int4", "uint2", "int64"]
                self.check(lambda x, d, h, i, q: (
                    x.astype(name), d.astype(name), h.astype(name), i.astype(name), i.astype("uint8").astype(name),
                    [q.astype(t) for t in targets]),
                    numbers, near, np.arange(2 ** 16, dtype="u2").view("f2"), np.arange(-300, 300, dtype="i4"),
                    every(name), what=name)

    def test_moves(self):
        def moves(q, i):
            return (q.T, q[:, ::2], jnp.concatenate([q, q]), q[i], jnp.take(q, i, axis=1), jnp.flip(q),
                    jnp.where(i[0] > 0, q, q[:, :1]), q.at[1, 0].set(q[0, 1]), jax.lax.pad(q, q[0, 0], [(1, 0, 0)] * 2),
                    jax.lax.dynamic_slice(q, (i[0], 0), (1, 2)), q)

        i = jnp.array([1, 0, 1])
        for name in FLOATS + INTEGERS:
            # XLA fails to compile some of these for types of less than a byte.
            q = np.asarray(every(name)).reshape(2, -1)
            numbers = np.arange(q.size, dtype="i4").reshape(q.shape)
            for number, found in zip(moves(jnp.asarray(numbers), i),
                                     rj.compile(moves, differentiate=False)(jnp.asarray(q), i)):
                self.same(q.ravel()[np.asarray(number)], found, name)
            self.check(lambda q: (jnp.zeros_like(q), jnp.full((3,), 1.5, q.dtype), jnp.asarray([[1], [-1]]).astype(
                q.dtype), jnp.arange(4, dtype=q.dtype), jnp.take(q[0], jnp.array([0, 999]))), q, what=name)

    def test_bits(self):
        cast = jax.lax.bitcast_convert_type
        for name in FLOATS:
            word = "uint4" if name.startswith("float4") else "uint8"
            self.check(lambda q, u: (cast(q, word), cast(q, "int" + word[4:]), cast(u, q.dtype)), every(name),
                       every("uint4") if word == "uint4" else jnp.arange(256, dtype=word), what=name)
        self.check(lambda q, u: (cast(q, "uint4"), cast(u, "int4")), every("int4"), every("uint4"))

    def test_arithmetic(self):
        for name in ("float4_e2m1fn", "float8_e3m4", "float8_e4m3fnuz", "float8_e5m2") + INTEGERS:
            a, b = every(name)[:, None], every(name)[None]
            self.check(lambda a, b: (a + b, a - b, a * b, jnp.maximum(a, b), a < b, a == b, -a), a, b, what=name)
        self.check(lambda a, b: (a & b, a | b, a ^ b, ~a, a << 1, jax.lax.div(a, b), jax.lax.rem(a, b)),
                   every("int4")[:, None], every("int4")[None])

    def test_products(self):
        """Of small integers, whose sums have no rounding."""
        def products(x, w):
            return (jnp.dot(x, w, preferred_element_type="float32"), jnp.dot(x, w),
                    x.astype("float32") @ w.astype("float32"))

        x, w = (np.rint(random(*shape) * 3) for shape in ((4, 6), (6, 5)))
        for name in ("float8_e4m3fn", "float8_e5m2"):
            self.check(products, jnp.asarray(x, name), jnp.asarray(w, name), what=name)
        # XLA fails to compile these.
        found = rj.compile(lambda x, w: (jnp.dot(x, w), jnp.dot(x, w, preferred_element_type="int32")),
                           differentiate=False)(jnp.asarray(x, "int4"), jnp.asarray(w, "int4"))
        expected = jnp.asarray(x.astype("int32") @ w.astype("int32"))
        for a, b in zip((expected.astype("int4"), expected), found):
            self.same(a, b, "int4")

    def test_quantized_weights(self):
        """A step that trains the scales and the rest, with weights of few bits, and one that rounds weights on its
        way."""
        for name in ("int4", "float8_e4m3fn", "float4_e2m1fn"):
            def loss(params, weights, x):
                h = jnp.tanh(x @ (weights.astype("float32") * params["scale"]))
                v = params["v"].astype("float8_e5m2").astype("float32")
                return jnp.sum(jnp.square(h @ v))

            params = {"scale": random(8), "v": random(8, 3)}
            args = params, jnp.asarray(np.rint(random(6, 8) * 2), name), random(5, 6)
            expected, gradients = jax.value_and_grad(loss)(*args)
            for budget in ("100%", "min"):
                found, own = rj.compile(loss, budget=budget)(*args)
                np.testing.assert_allclose(found, expected, rtol=1e-5)
                for key in params:
                    np.testing.assert_allclose(own[key], gradients[key], rtol=1e-4, atol=1e-5)

    def test_gradients_of_few_bits(self):
        def loss(w, x):
            return jnp.sum(jnp.square(x @ w.astype("float32")))

        w, x = jnp.asarray(random(4, 3), "float8_e4m3fn"), random(5, 4)
        expected, found = jax.value_and_grad(loss)(w, x), rj.compile(loss)(w, x)
        self.same(expected[1], found[1], "gradient")
        updated = lambda w, x: (w.astype("float32") - 0.1 * x[0, 0]).astype(w.dtype)
        self.same(updated(w, x), rj.compile(updated, differentiate=False, donate_argnums=0)(jnp.copy(w), x), "donated")

    def test_scatters_and_windows(self):
        places = jnp.array([0, 0, 1, 0])
        for name in ("float8_e4m3fn", "float8_e5m2", "int4", "uint4"):
            row = jnp.asarray([1, 2, 3, 2], name)
            self.check(lambda q, row: (q.at[places].add(row), q.at[places].max(row), q.at[places].min(row),
                                       q.at[places].multiply(row), q.at[places].set(row[0])),
                       jnp.asarray([7, 3, 1], name), row, what=name)
        for name in ("float8_e4m3fn", "float8_e5m2"):
            square = jnp.asarray(np.rint(random(1, 1, 5, 6) * 3), name)
            self.check(lambda q: (
                jax.lax.reduce_window(q, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 1, 2), "VALID"),
                jax.lax.conv_general_dilated(q, q[:, :, :3, :3], (1, 1), "SAME", preferred_element_type="float32")),
                square, what=name)

        for name, least in (("int4", -8), ("uint4", 0), ("float8_e4m3fn", -jnp.inf), ("float8_e5m2", -jnp.inf)):
            row = jnp.asarray([1, 3, 2], name)
            self.check(lambda q: jax.lax.reduce_window(q, np.asarray(least, q.dtype) if name.endswith("int4") else
                                                       least, jax.lax.max, (2,), (1,), ((2, 1),)), row, what=name)

        def loss(x):  # The gradient of a gather adds up.
            return x.astype("float8_e4m3fn")[places].astype("float32").sum()

        self.same(jax.grad(loss)(np.ones(3, "f4")), rj.compile(loss)(np.ones(3, "f4"))[1], "gradient of a gather")

    def test_loops(self):
        def run(q, x):
            def body(carry, row):
                small, total = carry
                small = (small.astype("float32") * 0.75 + row).astype(small.dtype)
                return (small, total + small.astype("float32").sum()), small

            return jax.lax.scan(body, (q, 0.0), x), jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (
                c[0] + 1, jnp.flip(c[1])), (0, q)), jax.lax.cond(x[0, 0] > 0, lambda q: q, lambda q: q[::-1], q)

        for name in ("float8_e4m3fn", "int4"):
            self.check(run, every(name)[:8], random(5, 8), what=name)

    def test_exported_programs(self):
        q, i = jnp.asarray(random(6), "float8_e5m2"), jnp.arange(-3, 3).astype("int4")
        function = lambda q, i, x: (q, i, q.astype("float32") * x, jnp.asarray([1, 2, 3]).astype("int4"))
        step = remat.compile(rj.export(function, q, i, random(6), differentiate=False))
        for expected, found in zip(function(q, i, random(6)), step(None, q, i, random(6))[0]):
            self.same(expected, found, "exported")

    def test_refusals(self):
        with self.assertRaisesRegex(remat.ExportError, "test_jax_narrow.py:.*population_count: there is no rule for "
                                    "elements of int4; convert them to int8"):
            rj.export(lambda x: jax.lax.population_count(x), every("int4"), differentiate=False)
        two = jnp.ones((2, 3), "float8_e5m2")
        for function in (lambda x: jax.lax.reduce(x, x[0, 0], lambda a, b: a * b + a, (1,)),
                         lambda x: x.at[0].apply(lambda e: e * e)):
            with self.assertRaisesRegex(remat.ExportError, "there is no rule for elements of float8_e5m2; convert"):
                rj.export(function, two, differentiate=False)


if __name__ == "__main__":
    unittest.main()
