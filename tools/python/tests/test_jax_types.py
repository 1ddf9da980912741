"""Results of functions of JAX have the types and the elements of JAX, called at once and inside of jit.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from jax_common import jax, jnp, needs_jax, np, random, rj


@needs_jax
class TypeTest(unittest.TestCase):
    def check(self, function, *args):
        expected = jax.tree_util.tree_leaves(jax.jit(function)(*args))
        step = rj.compile(function, differentiate=False)
        for found in (step(*args), jax.jit(step)(*args)):
            for a, b in zip(expected, jax.tree_util.tree_leaves(found)):
                self.assertEqual(a.dtype, b.dtype)
                if jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
                    a, b = jax.random.key_data(a), jax.random.key_data(b)
                np.testing.assert_array_equal(a, b)
        return step

    def test_integer_division(self):
        def divide(a, b):
            return jax.lax.div(a, b), jax.lax.rem(a, b), a // b, a % b

        for dtype in ("int32", "int8", "uint8", "uint32"):
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            minus = -1 if low else high
            self.check(divide, jnp.array([5, low, low, 0, high, 7], dtype),
                       jnp.array([0, minus, 0, 0, minus, 2], dtype))

    def test_indices_of_narrow_types(self):
        """Places beyond what a signed type of the width has."""
        x = jnp.arange(250.0)

        def places(x, i):
            rows = jax.lax.ragged_dot(jnp.ones((250, 1)), jnp.arange(1.0, 3.0).reshape(2, 1, 1), jnp.stack([i, i // 4]))
            return (x[i], jax.lax.dynamic_slice(x, (i,), (3,)), jax.lax.dynamic_update_slice(x, x[:2], (i,)),
                    jax.lax.dynamic_index_in_dim(x, i, 0), rows)

        for dtype, index in (("uint8", 200), ("uint16", 2**16 - 1), ("uint32", 2**32 - 1)):
            self.check(places, x, jnp.array(index, dtype))
        # XLA takes its own limit, 297, for one of the type.
        found = rj.compile(lambda x, i: jax.lax.dynamic_slice(x, (i,), (3,)), differentiate=False)(
            jnp.arange(300.0), jnp.int8(100))
        np.testing.assert_array_equal(found, [100, 101, 102])
        with jax.enable_x64(True):
            self.check(lambda x, i: jnp.take(x, i, mode="clip"), x, jnp.array([2**64 - 1, 3], "uint64"))

    def test_known_integers_are_those_of_their_types(self):
        def count(dtype, number):
            return lambda x: jax.lax.fori_loop(
                0, 6, lambda i, c: jax.lax.cond(number(i.astype(dtype)), lambda: c + x, lambda: c * x), 1.0)

        for dtype in ("uint8", "uint16", "uint32", "int8"):
            self.check(count(dtype, lambda i: i - jnp.array(3, i.dtype) > 2), jnp.float32(3))
            self.check(count(dtype, lambda i: i * jnp.array(50, i.dtype) > 120), jnp.float32(3))
            self.check(count("int32", lambda i: (i - 3).astype(dtype) > 2), jnp.float32(3))
        # One value is the constant of both types.
        self.check(lambda x: (count("int8", lambda i: i > jnp.int8(-1))(x),
                              count("uint8", lambda i: i > jnp.uint8(255))(x)), jnp.float32(3))

    def test_constants_with_zeros_of_both_signs(self):
        zeros = np.array([0.0, -0.0, 0.0], "f4")
        self.check(lambda x: (x / zeros, x / np.full(3, -0.0, "f4"), x * np.full(400, np.nan, "f4")[:3]),
                   jnp.ones(3, "float32"))

    def test_weak_results(self):
        """Results whose types give way to others do so as JAX's, outside of jit and inside."""
        def function(x):
            return x * 2, jnp.where(x > 0, 2.0, 1.0), 3.0

        x = jnp.ones(3, jnp.float32)
        expected = [r.weak_type for r in jax.jit(function)(x)]
        step = rj.compile(function, differentiate=False)
        self.assertEqual(expected, [False, True, True])
        for results in (step(x), jax.jit(lambda x: step(x))(x)):
            self.assertEqual([r.weak_type for r in results], expected)

    def test_unsigned_results_and_keys(self):
        self.check(lambda x: (x + 100, x.astype("uint16"), x > 3), jnp.array([100, 0], "uint8"))
        for key in (jax.random.key(3), jax.random.PRNGKey(3)):
            self.check(lambda key: (jax.random.split(key), jax.random.bits(key, (3,))), key)
        exported = rj.export(lambda x: x + 100, jnp.array([100, 0], "uint8"), differentiate=False)
        (found,), _ = remat.compile(exported)(None, np.array([100, 0], "uint8"))
        np.testing.assert_array_equal(found, [200, 100])

    def test_arguments_of_numpy(self):
        w, x = random(4, 4).astype("f8"), np.arange(3)
        step = self.check(lambda w, x: (w[x] * 2, x + 1), w, x)
        self.assertEqual(len(step.steps), 1)
        exported = rj.export(lambda w, x: jnp.sum(w[x]), w, x)
        self.assertEqual([a.dtype for a in exported.arguments], ["f32", "i32"])
        loss, gradients = remat.compile(exported)(None, w, x)
        self.assertAlmostEqual(float(loss), w[:3].sum(), places=5)

    def test_weak_types(self):
        step = self.check(lambda x, y: x * y, jnp.ones(2, "bfloat16"), 1.5)
        self.assertEqual(step(jnp.ones(2, "bfloat16"), jnp.float32(1.5)).dtype, jnp.float32)
        self.assertEqual(len(step.steps), 2)


if __name__ == "__main__":
    unittest.main()
