"""Long loops of JAX stay loops: results and gradients are those of JAX, and what is compiled does not grow with their
lengths.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from jax_common import jax, jnp, needs_jax, np, random, rj

if jax is not None:
    from jax.ad_checkpoint import checkpoint_name
    from remat.jax.loops import scan_sizes


def recurrent(w, h, xs):
    def cell(h, x):
        h = jnp.tanh(h @ w + x)
        return h, jnp.sum(h)

    h, sums = jax.lax.scan(cell, h, xs)
    return jnp.sum(h) + jnp.sum(sums ** 2)


class LoopTestCase(unittest.TestCase):
    def compare(self, expected, found, tolerance):
        expected, found = (jax.tree_util.tree_leaves(t) for t in (expected, found))
        self.assertEqual(len(expected), len(found))
        for a, b in zip(expected, found):
            self.assertEqual(a.dtype, b.dtype)
            if jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
                a, b = jax.random.key_data(a), jax.random.key_data(b)
            if not np.issubdtype(a.dtype, np.floating):
                np.testing.assert_array_equal(a, b)
            else:
                a, b = np.asarray(a, "f8"), np.asarray(b, "f8")
                self.assertEqual(a.shape, b.shape)
                self.assertLess(np.abs(a - b).max(initial=0), tolerance * max(np.abs(a).max(initial=0), 1e-6))

    def run_as(self, loops, function, *args, tolerance=1e-5, unroll_limit=0, differentiate=False, **options):
        """Compares with JAX, and checks how many loops there are."""
        given = {k: options[k] for k in ("argnums",) if k in options}
        exported = rj.export(function, *args, unroll_limit=unroll_limit, differentiate=differentiate, **given)
        self.assertEqual(exported.text.count("remat.loop"), loops)
        compiled = rj.compile(function, threads=1, unroll_limit=unroll_limit, differentiate=differentiate, **options)
        found = compiled(*args)
        reference = jax.value_and_grad(function, **given) if differentiate else function
        self.compare(jax.jit(reference)(*args), found, tolerance)
        self.step = compiled.step_for(*args)
        return found


@needs_jax
class ScanTest(LoopTestCase):
    def test_recurrent_networks(self):
        tasks = set()
        for length in (300, 2000):
            self.run_as(2, recurrent, random(32, 32) * 0.1, random(32), random(length, 32), argnums=(0, 1, 2),
                        differentiate=True, unroll_limit=2048)
            tasks.add(self.step.step.plan.tasks)
        self.assertEqual(len(tasks), 1)

    def test_short_loops_are_unrolled(self):
        args = random(8, 8), random(8), random(3, 8)
        self.run_as(0, recurrent, *args, differentiate=True, unroll_limit=4096)
        self.run_as(2, recurrent, *args, differentiate=True)
        # Operations in an iteration of the loss and in one of its gradient count together. JAX 0.10 has 5 and 9.
        (size,) = scan_sizes(jax.make_jaxpr(jax.value_and_grad(recurrent))(*args).jaxpr).values()
        self.assertGreater(size, 3 * 5)
        self.assertNotIn("remat.loop", rj.export(recurrent, *args, unroll_limit=size).text)
        self.assertEqual(rj.export(recurrent, *args, unroll_limit=size - 1).text.count("remat.loop"), 2)

    def test_lengths_without_a_loop(self):
        def sums(h, xs):
            return jax.lax.scan(lambda h, x: (h + x, h * x), h, xs)

        for length in (0, 1):
            self.run_as(0, sums, random(4), random(length, 4))
        self.run_as(1, sums, random(4), random(2, 4))

    def check_budgets(self, function, budgets):
        args = random(32, 32) * 0.1, random(32), random(300, 32)
        options = {"argnums": (0, 1, 2), "threads": 1, "unroll_limit": 0}
        saving = rj.compile(function, **options)
        expected = saving(*args)
        for budget in budgets:
            compiled = rj.compile(function, budget=budget, **options)
            for a, b in zip(*map(jax.tree_util.tree_leaves, (expected, compiled(*args)))):
                np.testing.assert_array_equal(a, b)
            self.assertLess(compiled.memory["planned"], saving.memory["planned"])

    def test_budgets(self):
        self.check_budgets(recurrent, ("80%", "min"))

    def test_budgets_of_checkpoints(self):
        """Only what is carried is stacked then, and the reverse loop may make it again from a part of it."""
        def loss(w, h, xs):
            cell = jax.checkpoint(lambda h, x: (jnp.tanh(h @ w + x), None))
            return jnp.sum(jax.lax.scan(cell, h, xs)[0] ** 2)

        self.check_budgets(loss, ("60%", "min"))

    def test_stacked_layers(self):
        def loss(layers, x):
            def layer(x, p):
                y = jax.nn.gelu(x @ p["w1"]) @ p["w2"]
                x = x + y
                return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * p["g"], None

            return jnp.mean(jax.lax.scan(layer, x, layers)[0] ** 3)

        layers = {"w1": random(48, 8, 16) * 0.3, "w2": random(48, 16, 8) * 0.3, "g": 1 + random(48, 8) * 0.1}
        self.run_as(2, loss, layers, random(5, 8), differentiate=True, tolerance=1e-4)

    def test_checkpoints(self):
        def loss(ws, x):
            body = jax.checkpoint(lambda x, w: (jnp.tanh(jnp.sin(x @ w) @ w), None))
            return jnp.sum(jax.lax.scan(body, x, ws)[0] ** 2)

        def whole(ws, x):
            return jax.checkpoint(lambda x: jnp.sum(jnp.cos(jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[
                0])))(jnp.sin(x))

        self.run_as(2, loss, random(20, 8, 8) * 0.3, random(4, 8), differentiate=True, tolerance=1e-4)
        # The loop is run again, since the region saves nothing of it.
        self.run_as(3, whole, random(20, 8, 8) * 0.3, random(4, 8), differentiate=True, tolerance=1e-4)

    def test_reverse(self):
        def loss(w, h, xs):
            hs = jax.lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h), h, xs, reverse=True)[1]
            return jnp.sum(hs * jnp.arange(20.0)[:, None])

        self.run_as(2, loss, random(4, 4), random(4), random(20, 4), argnums=(0, 1, 2), differentiate=True)

    def test_nested(self):
        def loss(w, h, xs):
            def row(h, xs):
                h, ys = jax.lax.scan(lambda h, x: (jnp.tanh(h @ w + x), jnp.sum(h * x)), h, xs)
                return h * 0.5, ys

            h, ys = jax.lax.scan(row, h, xs)
            return jnp.sum(h) + jnp.sum(ys ** 2)

        args = random(4, 4), random(4), random(7, 5, 4)
        self.run_as(4, loss, *args, argnums=(0, 1, 2), differentiate=True)
        # The inner loops alone are short enough.
        self.run_as(2, loss, *args, argnums=(0, 1, 2), differentiate=True, unroll_limit=400)

    def test_types(self):
        def count(start, xs):
            def body(carry, x):
                n, flag, half = carry
                n = n + x.astype("int32") * 3
                return (n, ~flag, half + 0.5), (n.astype("int8"), flag, x * 2.0, n.astype("uint16"), half, n > 5)

            return jax.lax.scan(body, start, xs)

        self.run_as(1, count, (jnp.int32(2), True, jnp.float16(1)), jnp.arange(40.0) / 3)
        with jax.enable_x64(True):
            self.run_as(1, count, (jnp.int32(2), True, jnp.float64(1)), jnp.arange(40.0) / 3)

    def test_what_is_handed_on(self):
        def loop(h, xs):
            return jax.lax.scan(lambda h, x: ((h[1], h[0], x), (h[0], x, h[0], jnp.ones(2))), (h, h + 1, h), xs)

        self.run_as(1, loop, random(4), random(20, 4))
        self.run_as(1, lambda x: jax.lax.scan(lambda h, x: (x, 3), x[0], x), random(20, 0))
        # Equal results of all iterations are one stack.
        text = rj.export(loop, random(4), random(20, 4), differentiate=False, unroll_limit=0).text
        self.assertRegex(text, r"%\w+:5 = remat.loop")

    def test_without_slices_and_with_unused_results(self):
        def powers(w, x):
            last, (_, rows) = jax.lax.scan(lambda x, _: (w @ x, (x * 2, x[0])), x, None, length=30)
            return last, rows

        self.run_as(1, powers, random(4, 4) * 0.3, random(4))
        self.run_as(1, lambda xs: jax.lax.map(lambda x: jnp.sin(x) * 2, xs), random(30, 3))

    def test_what_does_not_change_is_invariant(self):
        def loop(w, x):
            return jax.lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] + 1, jnp.tanh(c[1] @ c[2]), c[2]), (0, x, w))

        self.run_as(1, loop, random(4, 4), random(4))
        text = rj.export(loop, random(4, 4), random(4), differentiate=False, unroll_limit=0).text
        self.assertRegex(text, r"carried\(%\w+, %a1\) invariant\(%a0\)")

    def test_calls_and_constants(self):
        table, small = jnp.asarray(random(300, 4)), np.arange(4.0, dtype="f4")

        @jax.jit
        def cell(h, i):
            return jnp.tanh(h + table[i] * small), jnp.sum(table * h)

        def loss(h, numbers):
            h, ys = jax.lax.scan(lambda h, i: cell(h, i), h, numbers)
            return jnp.sum(h) + jnp.sum(ys)

        self.run_as(2, loss, random(4), jnp.arange(50) * 5, differentiate=True)

    def test_branches(self):
        def loss(w, xs):
            def body(h, x):
                h = jax.lax.cond(x[0] > 0, lambda h: jnp.tanh(w @ h), lambda h: h * 0.5, h)
                return h + x, None

            return jnp.sum(jax.lax.scan(body, xs[0], xs)[0])

        self.run_as(2, loss, random(4, 4), random(20, 4), argnums=(0, 1), differentiate=True)

    def test_training_in_a_loop(self):
        def train(w, batches):
            def loss(w, x):
                return jnp.mean(jax.checkpoint(lambda w, x: jnp.tanh(jnp.sin(x @ w) @ w))(w, x) ** 2)

            def step(w, x):
                value, gradient = jax.value_and_grad(loss)(w, x)
                return w - 0.1 * gradient, value

            return jax.lax.scan(step, w, batches)

        self.run_as(1, train, random(8, 8), random(30, 5, 8))

    def test_elements_that_are_chosen(self):
        def fill(x, update):
            return jax.lax.fori_loop(0, 20, lambda i, c: update(c, i, x[i] * c[i - 1] + 1), jnp.ones((20, 4)))

        for update in (lambda c, i, y: jax.lax.dynamic_update_slice(c, y[None], (i, 0)),
                       lambda c, i, y: c.at[i].set(y), lambda c, i, y: c.at[i % 7].add(y)):
            self.run_as(1, lambda x: fill(x, update), random(20, 4))
            self.run_as(2, lambda x: jnp.mean(fill(x, update) ** 2), random(20, 4), differentiate=True)

    def test_transformations(self):
        def loss(w, x):
            return jnp.sum(jax.lax.scan(lambda h, x: (jnp.tanh(h @ w + x), jax.nn.relu(h)), x[0], x)[1])

        w, x = random(4, 4), random(20, 4)
        self.run_as(2, lambda w, x: jnp.sum(jax.vmap(loss, (None, 0))(w, x)), w, random(3, 20, 4), differentiate=True)
        self.run_as(2, lambda w, x: jax.jvp(jax.grad(loss), (w, x), (w, x)), w, x)
        named = jax.checkpoint_policies.save_only_these_names("middle")
        self.run_as(2, lambda w, x: jnp.sum(jax.lax.scan(jax.checkpoint(lambda h, x: (
            checkpoint_name(jnp.sin(h @ w), "middle") @ w + x, None), policy=named), x[0], x)[0]), w * 0.4, x,
            differentiate=True, tolerance=1e-4)

    def test_errors_have_the_line(self):
        def loss(xs):
            return jax.lax.scan(lambda h, x: (h + jnp.sum(jnp.abs(jnp.linalg.eig(x)[0])), None), 0.0, xs)[0]

        for length in (5000, 1000):
            with self.assertRaisesRegex(remat.ExportError,
                                        r"test_jax_loops.py:\d+: eig: matrices that are not symmetric"):
                rj.export(loss, random(length, 4, 4), differentiate=False)


@needs_jax
class CountedLoopTest(LoopTestCase):
    def test_counters_of_python(self):
        def power(x):
            return jax.lax.fori_loop(0, 5000, lambda i, x: x * 0.999 + i * 1e-3, x)

        self.run_as(1, power, random(8), unroll_limit=4096)

    def test_counters_that_are_carried(self):
        def loop(x, limit):
            return jax.lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 2, jnp.sin(c[1]) + c[0], c[2]),
                                      (jnp.int32(1), x, limit))

        self.run_as(1, lambda x: loop(x, 9999), random(8), unroll_limit=4096)
        self.run_as(0, lambda x: loop(x, 19), random(8), unroll_limit=4096)
        self.run_as(0, lambda x: loop(x, 0), random(8))
        # Numbers of eight bits start again.
        self.run_as(1, lambda x: jax.lax.while_loop(lambda c: (c[0] != 3) | (c[2] < 5), lambda c: (
            c[0] + jnp.uint8(100), c[1] + 1, c[2] + 1), (jnp.uint8(7), x, 0)), random(8))

    def test_counters_that_are_no_integers(self):
        def steps(x):
            return jax.lax.while_loop(lambda c: c[0] < 1.0, lambda c: (c[0] + 0.01, c[1] * c[0]), (0.0, x))

        self.run_as(1, steps, random(8))
        self.run_as(0, steps, random(8), unroll_limit=4096)

    def test_loops_within(self):
        def rows(x):
            return jax.lax.fori_loop(0, 20, lambda i, x: jax.lax.while_loop(
                lambda c: c[0] < 30, lambda c: (c[0] + 1, c[1] * 0.9 + i), (0, x))[1], x)

        def triangle(x):
            return jax.lax.fori_loop(0, 9, lambda i, x: jax.lax.fori_loop(0, i, lambda j, x: x * 0.9 + j, x), x)

        self.run_as(2, rows, random(8))
        # How often the inner loop runs is known when the outer one is unrolled.
        self.run_as(7, triangle, random(8))

    def test_loops_that_do_not_end_are_refused(self):
        def forever(x):
            return jax.lax.while_loop(lambda c: c[0] >= 0, lambda c: (c[0] * 1, c[1] + 1), (0, x))

        with self.assertRaisesRegex(remat.ExportError, r"test_jax_loops.py:\d+: while: a loop of more than 1048576"):
            rj.export(forever, 1.0, differentiate=False)

    def test_diffusion(self):
        def denoise(w, x, t):
            return jnp.tanh(x @ w + t)

        def sample(w, x, key):
            def step(i, carry):
                x, key = carry
                key, noise = jax.random.split(key)
                x = x - 0.1 * denoise(w, x, i / 50.0) + 0.01 * jax.random.normal(noise, x.shape)
                return x, key

            return jax.lax.fori_loop(0, 50, step, (x, key))

        def scanned(w, x, key):
            def step(carry, t):
                x, key = carry
                key, noise = jax.random.split(key)
                return (x - 0.1 * denoise(w, x, t) + 0.01 * jax.random.normal(noise, x.shape), key), key

            return jax.lax.scan(step, (x, key), jnp.linspace(1.0, 0.0, 50))

        for key in (jax.random.PRNGKey(3), jax.random.key(3)):
            self.run_as(1, sample, random(8, 8) * 0.3, random(4, 8), key)
            self.run_as(1, scanned, random(8, 8) * 0.3, random(4, 8), key)

    def test_associative_scans(self):
        self.run_as(0, lambda x: jax.lax.associative_scan(jnp.multiply, x), 1 + random(40) * 0.1)


if __name__ == "__main__":
    unittest.main()
