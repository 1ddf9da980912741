"""Functions of JAX: their gradients are JAX's, and checkpoint policies have their effect.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import tempfile
import unittest

import numpy as np
import remat

try:
    import jax
    import jax.numpy as jnp
    import remat.jax as rj
    from jax.ad_checkpoint import checkpoint_name
except ImportError:
    jax = None


def random(*shape):
    return np.random.default_rng(sum(shape) * 7 + len(shape)).standard_normal(shape).astype("f4")


@unittest.skipIf(jax is None, "JAX is not installed")
class GradientTest(unittest.TestCase):
    def check(self, function, *args, argnums=0, tolerance=2e-5, **options):
        loss, expected = jax.value_and_grad(function, argnums=argnums)(*args)
        compiled = rj.compile(function, argnums=argnums, threads=1, **options)
        found_loss, found = compiled(*args)
        expected, found = (jax.tree_util.tree_leaves(t) for t in (expected, found))
        scale = max(np.abs(np.asarray(g, "f8")).max() for g in expected)
        for a, b in zip(expected, found):
            a, b = np.asarray(a, "f8"), np.asarray(b, "f8")
            self.assertLess(np.abs(a - b).max(), tolerance * max(np.abs(a).max(), 1e-4 * scale))
        self.assertAlmostEqual(float(loss), float(found_loss), delta=max(tolerance, 1e-5) * max(1, abs(float(loss))))
        return list(compiled.steps.values())[0]

    def setUp(self):
        self.w, self.x = random(4, 4), random(3, 4)

    def test_stop_gradient(self):
        self.check(lambda w, x: jnp.sum(jnp.tanh(x @ w) * jax.lax.stop_gradient(x @ w)), self.w, self.x)

    def test_custom_vjp(self):
        @jax.custom_vjp
        def f(x):
            return jnp.round(x)

        f.defvjp(lambda x: (jnp.round(x), x), lambda x, g: (g * jnp.cos(x),))
        self.check(lambda w, x: jnp.sum(f(x @ w) * 3.0), self.w, self.x)

    def test_custom_jvp(self):
        @jax.custom_jvp
        def f(x):
            return jnp.floor(x)

        f.defjvp(lambda p, t: (jnp.floor(p[0]), t[0] * p[0]))
        self.check(lambda w, x: jnp.sum(f(x @ w)), self.w, self.x)

    def blocks(self, wrap):
        def block(w, x):
            return jnp.tanh(checkpoint_name(jnp.sin(x @ w), "middle") @ w)

        def loss(ws, x):
            for i in range(3):
                x = wrap(block)(ws[i], x)
            return jnp.sum(x ** 2)

        return self.check(loss, random(3, 32, 32) * 0.2, random(64, 32))

    def test_checkpoint(self):
        policies = jax.checkpoint_policies
        plain = self.blocks(lambda f: f)
        whole = self.blocks(jax.checkpoint)
        named = self.blocks(lambda f: jax.checkpoint(f, policy=policies.save_only_these_names("middle")))
        self.assertEqual(plain.plan.recomputed_tasks, 0)
        self.assertGreater(whole.plan.recomputed_tasks, named.plan.recomputed_tasks)
        self.assertGreater(named.plan.recomputed_tasks, 0)
        self.assertLess(whole.memory["planned"], named.memory["planned"])
        self.assertLess(named.memory["planned"], plain.memory["planned"])
        self.assertIn('"middle"', plain.plan.text)

    def test_scan(self):
        def loss_with(wrap):
            def loss(ws, x):
                def body(x, w):
                    return wrap(lambda w, x: jnp.tanh(x @ w))(w, x), jnp.sum(x)

                x, sums = jax.lax.scan(body, x, ws)
                return jnp.sum(x ** 2) + jnp.sum(sums ** 2)

            return loss

        for wrap in (lambda f: f, jax.checkpoint,
                     lambda f: jax.checkpoint(f, policy=jax.checkpoint_policies.dots_saveable)):
            self.check(loss_with(wrap), random(3, 4, 4), self.x)

    def test_loops_and_branches(self):
        def loss(w, x, i):
            y = jax.lax.fori_loop(1, 3, lambda i, y: jnp.tanh(y @ w) * i, x)
            y = jax.lax.cond(x[0, 0] > 0, lambda a: a @ w, lambda a: a * 2, y)
            y = jax.lax.switch(i, [lambda a: a, lambda a: a * 3, lambda a: (a @ w) ** 2], y)
            return jnp.sum(y) * jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2.0), (0, 1.0))[1]

        self.check(loss, self.w, self.x, 2)

    def test_loops_that_depend_on_data_are_refused(self):
        def loss(w, x):
            return jnp.sum(w) * jax.lax.while_loop(lambda c: c < x[0, 0], lambda c: c + 1.0, 0.0)

        with self.assertRaisesRegex(remat.ExportError, r"test_jax.py:\d+: while: how often the loop runs"):
            rj.export(loss, self.w, self.x)

    def test_random_numbers_are_those_of_jax(self):
        def loss(w, x, key):
            first, second = jax.random.split(key)
            kept = jax.random.bernoulli(first, 0.5, x.shape)
            return jnp.sum((jnp.where(kept, x @ w, 0.0) * jax.random.normal(second, x.shape)) ** 2)

        self.check(loss, self.w, self.x, jax.random.PRNGKey(3))
        self.check(loss, self.w, self.x, jax.random.key(3))

    def test_gathers_and_scatters(self):
        rows = jnp.array([0, 2, 0])
        self.check(lambda w, x: jnp.sum(w[jnp.array([0, 2, -1])] * x), self.w, self.x)
        self.check(lambda w, x: jnp.sum(w.at[rows].set(x) ** 2), self.w, self.x, argnums=(0, 1))
        self.check(lambda w, x: jnp.sum(w.at[rows].add(x) ** 3), self.w, self.x, argnums=(0, 1))
        self.check(lambda w, x: jnp.sum(jax.ops.segment_sum(x @ w, jnp.array([0, 1, 1]), num_segments=4) ** 2), self.w,
                   self.x)
        self.check(lambda w, x, i: jnp.sum(jax.lax.dynamic_slice(w, (i, 0), (2, 4)) * x[:2]) + jnp.sum(
            jax.lax.dynamic_update_slice(w, x[:1], (i, 0)) ** 2), self.w, self.x, 1, argnums=(0, 1))

    def test_sorts(self):
        self.check(lambda w, x: jnp.sum(jnp.sort(x @ w, 1) * jnp.arange(4.0)), self.w, self.x)
        self.check(lambda w, x: jnp.sum(jax.lax.top_k(x @ w, 2)[0] ** 2), self.w, self.x)
        self.check(lambda w, x: jnp.sum((x @ w)[jnp.argsort(x[:, 0])] * jnp.arange(4.0)), self.w, self.x)

    def test_convolutions(self):
        numbers = ("NHWC", "HWIO", "NHWC")
        self.check(lambda w, x: jnp.sum(jax.lax.conv_general_dilated(
            x, w, (2, 2), "SAME", dimension_numbers=numbers) ** 2), random(3, 3, 2, 4), random(2, 7, 7, 2),
            argnums=(0, 1))
        self.check(lambda w, x: jnp.sum(jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", feature_group_count=4, dimension_numbers=numbers) ** 2), random(3, 3, 1, 8),
            random(2, 6, 6, 4), argnums=(0, 1))
        self.check(lambda w, x: jnp.sum(jax.lax.conv_transpose(x, w, (2, 2), "SAME") ** 2), random(3, 3, 2, 4),
                   random(2, 4, 4, 2), argnums=(0, 1))

    def test_windows(self):
        self.check(lambda x: jnp.sum(jax.lax.reduce_window(
            x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2), random(2, 7, 7, 2))
        self.check(lambda x: jnp.sum(jax.lax.reduce_window(
            x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2), random(2, 6, 6, 2))

    def test_norms_and_activations(self):
        self.check(lambda w, x: jnp.sum(jax.nn.standardize(x @ w) ** 3 + jax.nn.logsumexp(
            x @ w, axis=1, keepdims=True)) + jnp.linalg.norm(w) + jnp.max(x @ w), self.w, self.x)
        self.check(lambda w, x: jnp.sum(jax.nn.gelu(x @ w) + jax.nn.silu(x @ w) + jax.nn.softplus(x @ w) + jax.nn.elu(
            x @ w)), self.w, self.x)
        self.check(lambda w, x: -jnp.mean(jax.nn.log_softmax(x @ w)[jnp.arange(3), jnp.array([0, 1, 3])]), self.w,
                   self.x)


@unittest.skipIf(jax is None, "JAX is not installed")
class ExportTest(unittest.TestCase):
    def setUp(self):
        self.params = {"w": random(4, 4), "b": [random(4)]}
        self.x = random(3, 4)

    def loss(self, params, x):
        return jnp.mean((x @ params["w"] + params["b"][0]) ** 2)

    def test_files(self):
        exported = rj.export(self.loss, self.params, self.x)
        self.assertEqual([a.name for a in exported.arguments], ["params.b.0", "params.w", "x"])
        with tempfile.TemporaryDirectory() as directory:
            paths = exported.save(directory)
            with open(paths[2]) as file:
                manifest = json.load(file)
            self.assertEqual(os.path.basename(paths[1]), manifest["args"][0]["file"])
        self.assertEqual([r["name"] for r in manifest["results"]], ["loss", "params.b.0.grad", "params.w.grad"])
        self.assertIn("test_jax.py", exported.text)
        loss, gradients = remat.compile(exported, budget="100%")(None, self.params, self.x)
        expected = jax.grad(self.loss)(self.params, self.x)
        np.testing.assert_allclose(gradients["params.w"], expected["w"], rtol=1e-4, atol=1e-6)

    def test_inside_of_jit(self):
        step = rj.compile(self.loss)
        loss, gradients = jax.jit(step)(self.params, self.x)
        expected = jax.grad(self.loss)(self.params, self.x)
        np.testing.assert_allclose(gradients["b"][0], expected["b"][0], rtol=1e-4, atol=1e-6)

    def test_a_whole_training_step(self):
        def train(params, x):
            loss, gradients = jax.value_and_grad(self.loss)(params, x)
            return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradients), loss

        exported = rj.export(train, self.params, self.x, differentiate=False, donate_argnums=0)
        self.assertEqual(exported.text.count("remat.donated"), 2)
        params, loss = rj.compile(train, differentiate=False)(self.params, self.x)
        expected, expected_loss = train(self.params, self.x)
        np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-5)
        self.assertAlmostEqual(float(loss), float(expected_loss), places=5)

    def test_infeasible_budgets(self):
        with self.assertRaises(remat.InfeasibleBudget) as caught:
            rj.compile(self.loss, budget=8)(self.params, self.x)
        self.assertGreater(caught.exception.smallest_budget, 8)


if __name__ == "__main__":
    unittest.main()
