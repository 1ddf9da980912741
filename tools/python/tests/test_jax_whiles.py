"""Loops of JAX of which it is known only when the step runs how often they run: results and derivatives are those of
JAX, and with a maximum, gradients are those of a scan over it that does nothing after the last iteration.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from jax_common import jax, jnp, needs_jax, np, random, rj
from test_jax_loops import LoopTestCase


def until_small(w, x):
    """Runs while a norm is above 1, which depends on what is carried."""
    def goes_on(state):
        n, x = state
        return (jnp.sum(x ** 2) > 1.0) & (n < 100)

    return jax.lax.while_loop(goes_on, lambda s: (s[0] + 1, jnp.tanh(s[1] @ w) * 0.9), (0, x))


def prefix(w, x, n):
    return jax.lax.fori_loop(0, n, lambda i, h: jnp.tanh(h @ w) + 0.1 * i, x)


def masked(body, goes_on, state, most):
    """The same loop as a scan over `most` steps."""
    def step(state, _):
        after = body(state)
        return jax.tree_util.tree_map(lambda a, b: jnp.where(goes_on(state), a, b), after, state), None

    return jax.lax.scan(step, state, None, length=most)[0]


@needs_jax
class WhileTest(LoopTestCase):
    def test_results(self):
        for scale in (0.01, 1.0, 30.0):
            self.run_as(1, until_small, random(4, 4) * 0.5, random(4) * scale)
        for n in (0, 1, 7, -3):
            self.run_as(1, prefix, random(4, 4), random(4), n)
        self.run_as(1, lambda a, b, x: jax.lax.fori_loop(a, b, lambda i, x: x * 0.5 + i, x), 3, 9, random(4))

    def test_forward_mode(self):
        def tangents(w, x, n):
            return jax.jvp(lambda w, x: (prefix(w, x, n), until_small(w, x)[1]), (w, x), (w, x))

        self.run_as(2, tangents, random(4, 4), random(4) * 3, 5)

    def test_one_step_for_all_counts(self):
        compiled = rj.compile(prefix, differentiate=False)
        w, x = random(4, 4), random(4)
        for n in (0, 5, 100):
            self.compare(prefix(w, x, n), compiled(w, x, n), 1e-4)
        self.assertEqual(len(compiled.steps), 1)

    def test_gradients(self):
        def loss(w, x, n):
            return jnp.sum(prefix(w, x, n) ** 2)

        def reference(w, x, n):
            state = masked(lambda s: (s[0] + 1, jnp.tanh(s[1] @ w) + 0.1 * s[0]), lambda s: s[0] < n, (0, x), 12)
            return jnp.sum(state[1] ** 2)

        w, x = random(4, 4), random(4)
        for budget in (None, "min"):
            compiled = rj.compile(loss, argnums=(0, 1), max_trip_count=12, budget=budget)
            for n in (0, 1, 5, 12):
                self.compare(jax.value_and_grad(reference, (0, 1))(w, x, n), compiled(w, x, n), 1e-5)
            with self.assertRaisesRegex(remat.RunError, r"test_jax_whiles.py.*runs more than 12 iterations, expected "
                                                        r"at most 12.*max-trip-count"):
                compiled(w, x, 13)

    def test_a_condition_for_each_element(self):
        """jax.vmap makes one loop, which changes the elements whose condition holds."""
        def loss(w, x, n):
            y = jax.vmap(prefix, (None, 0, 0))(w, x, n)
            m, z = jax.vmap(until_small, (None, 0))(w, y)
            return jnp.sum(y ** 2) + jnp.sum(jnp.sin(z)) + m.sum()

        def reference(w, x, n):
            total = 0.0
            for h, count in zip(x, n):
                _, h = masked(lambda s: (s[0] + 1, jnp.tanh(s[1] @ w) + 0.1 * s[0]), lambda s: s[0] < count, (0, h), 12)
                m, z = masked(lambda s: (s[0] + 1, jnp.tanh(s[1] @ w) * 0.9),
                              lambda s: (jnp.sum(s[1] ** 2) > 1.0) & (s[0] < 12), (0, h), 12)
                total += jnp.sum(h ** 2) + jnp.sum(jnp.sin(z)) + m
            return total

        args = random(4, 4) * 0.5, random(3, 4), jnp.array([1, 7, 0])
        self.run_as(2, loss, *args)
        self.compare(jax.value_and_grad(reference, (0, 1))(*args),
                     rj.compile(loss, argnums=(0, 1), max_trip_count=12)(*args), 1e-5)

    def test_gradients_of_conditions(self):
        def loss(w, x):
            n, y = until_small(w, x)
            return jnp.sum(jnp.sin(y)) + n

        def reference(w, x):
            n, y = masked(lambda s: (s[0] + 1, jnp.tanh(s[1] @ w) * 0.9),
                          lambda s: (jnp.sum(s[1] ** 2) > 1.0) & (s[0] < 100), (0, x), 100)
            return jnp.sum(jnp.sin(y)) + n

        compiled = rj.compile(loss, argnums=(0, 1), max_trip_count=100)
        for scale in (0.01, 1.0, 30.0):
            args = random(4, 4) * 0.5, random(4) * scale
            self.compare(jax.value_and_grad(reference, (0, 1))(*args), compiled(*args), 1e-5)

    def test_gradients_of_what_does_not_change(self):
        def loss(w, b, x, n):
            return jnp.sum(jax.lax.while_loop(
                lambda s: s[0] < s[3], lambda s: (s[0] + 1, jnp.sin(s[1] * s[2]) + b, s[2], s[3]), (0, x, w, n))[1])

        def reference(w, b, x, n):
            return jnp.sum(masked(lambda s: (s[0] + 1, jnp.sin(s[1] * w) + b), lambda s: s[0] < n, (0, x), 9)[1])

        args = random(4), random(4), random(4) * 2
        compiled = rj.compile(loss, argnums=(0, 1, 2), max_trip_count=9)
        for n in (0, 4, 9):
            self.compare(jax.value_and_grad(reference, (0, 1, 2))(*args, n), compiled(*args, n), 1e-5)

    def test_gradients_within_other_operations(self):
        """In calls, scans, checkpoints and branches, and beside rules of the program."""
        @jax.custom_vjp
        def double(x):
            return x * 2

        double.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 3,))

        def loss(inner, ws, x, n):
            def cell(x, w):
                return jax.checkpoint(lambda w, x: double(jax.jit(inner)(w, x, n)) * 0.3)(w, x), None

            x = jax.lax.scan(cell, x, ws)[0]
            return jnp.sum(jax.lax.cond(x[0] > 0, lambda x: inner(ws[0], x, n), jnp.sin, x))

        def reference(w, x, n):
            return masked(lambda s: (s[0] + 1, jnp.tanh(s[1] @ w) + 0.1 * s[0]), lambda s: s[0] < n, (0, x), 6)[1]

        ws, x = random(3, 4, 4), random(4)
        expected = jax.value_and_grad(lambda *args: loss(reference, *args), (0, 1))
        for unroll_limit in (0, 4096):
            compiled = rj.compile(lambda *args: loss(prefix, *args), argnums=(0, 1), max_trip_count=6,
                                  unroll_limit=unroll_limit)
            for n in (0, 2, 6):
                self.compare(expected(ws, x, n), compiled(ws, x, n), 1e-4)

    def test_branches_that_are_not_taken(self):
        def halve(x):
            return jax.lax.while_loop(lambda x: x[0] != 0.5, lambda x: x * 0.5, x)

        def choose(x):
            return jax.lax.cond(x[0] > 0, halve, lambda x: x, x)

        # The loop ends for powers of two alone.
        for first in (4.0, -1.0, 0.5):
            self.run_as(1, choose, jnp.asarray([first, 1.0], "f4"))

    def test_loops_within(self):
        def loop(w, x, n):
            def outer(state):
                i, x = state
                return i + 1, prefix(w, x, i)

            return jax.lax.while_loop(lambda s: s[0] < n, outer, (0, x))[1]

        def scan(w, xs, n):
            return jax.lax.scan(lambda h, x: (prefix(w, h + x, n), until_small(w, h)[0]), xs[0], xs)

        self.run_as(2, loop, random(4, 4), random(4), 6)
        self.run_as(3, scan, random(4, 4), random(20, 4), 6)

    def test_refused_without_a_maximum(self):
        with self.assertRaisesRegex(ValueError, "Reverse-mode differentiation does not work for lax.while_loop"):
            rj.export(lambda w, x, n: jnp.sum(prefix(w, x, n)), random(4, 4), random(4), 3)


@needs_jax
class StableHloTest(LoopTestCase):
    """Loops as JAX itself exports them."""

    def test_loops(self):
        def loss(w, x, n):
            return jnp.sum(until_small(w, prefix(w, x, n) * 5)[1])

        w, x = np.asarray(random(4, 4)), np.asarray(random(4))
        lowered = jax.jit(loss).lower(w, x, 3)
        text = lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True)
        step = remat.compile(text, max_trip_count=100, wrt=[0, 1])
        for n in (0, 3):
            found = step(w, x, np.asarray(n, "i4"))
            self.assertLess(abs(float(found[0]) - float(loss(w, x, n))), 1e-4)


if __name__ == "__main__":
    unittest.main()
