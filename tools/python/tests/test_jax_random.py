"""Random numbers of JAX: the same bits from keys that a program moves about, and gradients of variates.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

from jax_common import jax, jnp, needs_jax, np, rj


@needs_jax
class KeyTest(unittest.TestCase):
    def check(self, move, count=5):
        """What `move` makes of keys are JAX's, and numbers that are drawn with them."""
        def run(key):
            keys = move(jax.random.split(key, count))
            return keys, jax.vmap(jax.random.bits)(keys.reshape(-1))

        key = jax.random.key(7)
        found, expected = rj.compile(run, differentiate=False)(key), run(key)
        np.testing.assert_array_equal(jax.random.key_data(found[0]), jax.random.key_data(expected[0]))
        np.testing.assert_array_equal(found[1], expected[1])

    def test_selection(self):
        # Two keys have as many words each as there are keys.
        self.check(lambda k: jnp.where(jnp.array([True, False]), k, k[::-1]), count=2)
        self.check(lambda k: jnp.where(jnp.arange(5) > 2, k, k[::-1]))
        self.check(lambda k: jax.lax.cond(jax.random.bernoulli(k[0]), lambda k: k, lambda k: k[::-1], k))

    def test_places(self):
        self.check(lambda k: k[jnp.array([3, 0, -1])])
        self.check(lambda k: jnp.stack([k, k[::-1]])[:, jnp.array([1, 1])])
        self.check(lambda k: k.at[1].set(k[4]))
        self.check(lambda k: jax.lax.dynamic_slice(k, (jnp.argmax(jax.random.bits(k[0], (3,))),), (2,)))
        self.check(lambda k: jax.lax.dynamic_slice(k, (1,), (2,)))
        self.check(lambda k: jax.lax.dynamic_update_slice(k, k[:2], (jnp.argmax(jax.random.bits(k[0], (3,))),)))

    def test_comparisons(self):
        same = jax.random.split(jax.random.key(7), 5)[1]
        self.check(lambda k: jnp.where(k == same, k[0], k))
        self.check(lambda k: jnp.where(k != k[::-1], k, k[0]))

    def test_repetition(self):
        self.check(lambda k: jnp.tile(k, 2))
        self.check(lambda k: jnp.tile(k.reshape(5, 1), (2, 3)))

    def test_bits_follow_the_settings(self):
        compiled = rj.compile(lambda k: jax.random.bits(k, (2, 3)), differentiate=False)
        for partitionable in (True, False):
            with jax.threefry_partitionable(partitionable):
                expected = jax.random.bits(jax.random.key(7), (2, 3))
                np.testing.assert_array_equal(compiled(jax.random.key(7)), expected)

    def test_branches_by_element(self):
        self.check(lambda k: jax.vmap(lambda k, i: jax.lax.switch(
            i, [lambda k: k, lambda k: jax.random.fold_in(k, 3)], k))(k, jnp.array([0, 1, 0, 1, 1])))

    def test_folding_in(self):
        self.check(lambda k: jax.vmap(jax.random.fold_in, (0, None))(k, 4))
        self.check(lambda k: jax.vmap(jax.random.fold_in, (None, 0))(k[0], jnp.arange(3)))
        self.check(lambda k: jax.vmap(jax.random.fold_in)(k, jnp.arange(5)))


@needs_jax
class VariateTest(unittest.TestCase):
    def check(self, draw, tolerance=1e-5):
        def loss(w, key):
            return jnp.sum(draw(w, key) * jnp.arange(1.0, 5.0))

        w, key = jnp.array([0.3, 1.0, 2.5, 7.0]), jax.random.key(3)
        expected, gradient = jax.value_and_grad(loss)(w, key)
        found, found_gradient = rj.compile(loss)(w, key)
        np.testing.assert_allclose(found, expected, rtol=tolerance)
        np.testing.assert_allclose(found_gradient, gradient, rtol=10 * tolerance, atol=tolerance)

    def test_gamma(self):
        random = jax.random
        self.check(lambda w, k: random.gamma(k, w))
        self.check(lambda w, k: random.loggamma(k, w))
        self.check(lambda w, k: jax.vmap(random.gamma)(random.split(k, 4), w))
        self.check(lambda w, k: random.dirichlet(k, w))
        self.check(lambda w, k: random.beta(k, w, 2.0))

    def test_others(self):
        random = jax.random
        self.check(lambda w, k: w * random.t(k, 3.0, (4,)) + random.chisquare(k, 2.0))
        self.check(lambda w, k: w * random.poisson(k, 3.0, (4,)) + random.binomial(k, 9, 0.3))
        self.check(lambda w, k: random.multivariate_normal(k, w, jnp.diag(w) + 1.0))
        self.check(lambda w, k: w * random.truncated_normal(k, -1.0, 1.0, (4,)) + random.permutation(k, 4))


if __name__ == "__main__":
    unittest.main()
