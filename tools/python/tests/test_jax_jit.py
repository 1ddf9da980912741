"""Steps as parts of programs of JAX: one custom call inside of jit.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import gc
import threading
import unittest
import weakref

import remat
from jax_common import jax, jnp, needs_jax, np, rj

DIVIDE = """#map = affine_map<(i) -> (i)>
func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<2xi32> {
  %empty = tensor.empty() : tensor<2xi32>
  %c = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<2xi32>, tensor<2xi32>) outs(%empty : tensor<2xi32>) {
  ^bb0(%x: i32, %y: i32, %out: i32):
    %zero = arith.constant 0 : i32
    %differs = arith.cmpi ne, %y, %zero : i32
    cf.assert %differs, "division by zero"
    %one = arith.constant 1 : i32
    %divisor = arith.select %differs, %y, %one : i32
    %q = arith.divsi %x, %divisor : i32
    linalg.yield %q : i32
  } -> tensor<2xi32>
  return %c : tensor<2xi32>
}"""


def random(*shape):
    return jnp.asarray(np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4"))


def address(array):
    return array.unsafe_buffer_pointer()


@needs_jax
class JitTest(unittest.TestCase):
    def setUp(self):
        self.params, self.x = {"w": random(4, 4), "b": random(4)}, random(3, 4)

    @staticmethod
    def function(params, x):
        return jnp.mean(jnp.tanh(x @ params["w"] + params["b"]) ** 2)

    def same(self, found, expected, **options):
        for a, b in zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, **(options or {"rtol": 1e-4, "atol": 1e-6}))

    def train(self, params, x):
        loss, gradients = jax.value_and_grad(self.function)(params, x)
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradients), loss

    def test_a_step_is_one_custom_call(self):
        step = rj.compile(self.function)
        program = jax.jit(lambda p, x: jax.tree_util.tree_map(lambda a: 2 * a, step(p, x)))
        text = program.lower(self.params, self.x).as_text()
        self.assertEqual(text.count("stablehlo.custom_call @remat_step("), 1, text)
        self.assertNotIn("callback", text)
        expected = jax.tree_util.tree_map(lambda a: 2 * a, step(self.params, self.x))
        self.same(program(self.params, self.x), expected, rtol=0)
        self.assertEqual(step.memory["measured"], step.memory["planned"])

    def test_donated_arguments_give_their_buffers(self):
        step = rj.compile(self.train, differentiate=False, donate_argnums=0)
        expected = jax.jit(self.train)(self.params, self.x)
        text = jax.jit(step).lower(self.params, self.x).as_text()
        self.assertEqual(text.count("output_operand_alias<"), 2, text)
        # Without a donation to the program itself, the arguments are as they were.
        before = jax.tree_util.tree_map(np.array, self.params)
        self.same(jax.jit(step)(self.params, self.x), expected)
        self.same(self.params, before, rtol=0)
        for run in (step, jax.jit(step, donate_argnums=0)):
            params = jax.tree_util.tree_map(jnp.copy, self.params)
            addresses = jax.tree_util.tree_map(address, params)
            found = run(params, self.x)
            self.same(found, expected)
            self.assertEqual(jax.tree_util.tree_map(address, found[0]), addresses)
            self.assertTrue(params["w"].is_deleted())

    def test_the_loss_is_differentiable(self):
        step = rj.compile(self.function)

        def whole(params, scale, loss):
            return scale * loss(params, self.x) ** 2 + jnp.sum(params["b"])

        expected = jax.value_and_grad(whole, (0, 1))(self.params, 3.0, self.function)
        for wrap in (lambda f: f, jax.jit):
            self.same(wrap(jax.value_and_grad(lambda p, s: whole(p, s, step.loss), (0, 1)))(self.params, 3.0), expected)
        both = rj.compile(self.function, argnums=(1, 0))
        self.same(jax.grad(both.loss, (0, 1))(self.params, self.x),
                  jax.grad(self.function, (0, 1))(self.params, self.x))

    def test_what_comes_with_a_loss(self):
        def function(params, x):
            h = x @ params["w"] + params["b"]
            return jnp.sum(h ** 2), {"mean": h.mean(), "rows": jnp.argmax(h, 1)}

        step = rj.compile(function, has_aux=True)
        expected = jax.value_and_grad(function, has_aux=True)(self.params, self.x)
        self.same(step(self.params, self.x), expected)
        self.same(jax.jit(jax.value_and_grad(step.loss, has_aux=True))(self.params, self.x), expected)
        names = [(r.role, r.name) for r in step.step_for(self.params, self.x).exported.results]
        self.assertEqual(names[:3], [("loss", "loss"), ("output", "aux['mean']"), ("output", "aux['rows']")])
        with self.assertRaisesRegex(remat.ArgumentError, "what comes with the loss .* has no gradients"):
            jax.grad(lambda p: step.loss(p, self.x)[1]["mean"])(self.params)

    def test_derivatives_that_a_step_has_not(self):
        step = rj.compile(self.function)
        with self.assertRaisesRegex(remat.ArgumentError, "argnums=0, but is differentiated with respect to argument 1"):
            jax.grad(step.loss, 1)(self.params, self.x)
        with self.assertRaisesRegex(remat.ArgumentError, "a step of remat has no derivative"):
            jax.grad(lambda p: step(p, self.x)[0])(self.params)
        with self.assertRaisesRegex(remat.ArgumentError, "differentiate=False"):
            rj.compile(self.function, differentiate=False).loss(self.params, self.x)

    def test_batches(self):
        step, xs = rj.compile(self.function), random(5, 3, 4)
        self.same(jax.vmap(step, (None, 0))(self.params, xs),
                  jax.vmap(jax.value_and_grad(self.function), (None, 0))(self.params, xs))

    def test_values_of_transformations_around(self):
        def function(y):
            return rj.compile(lambda w: jnp.sum(w * y))(jnp.ones(3))[0]
        for call in (lambda: jax.jit(function)(2.0), lambda: jax.grad(function)(2.0),
                     lambda: jax.vmap(function)(jnp.arange(3.0))):
            with self.assertRaisesRegex(remat.ExportError, "traces, such as jax.jit, .*; give it the value as an arg"):
                call()

    def test_other_transformations(self):
        step = rj.compile(self.function)
        expected = step(self.params, self.x)
        with jax.disable_jit():
            self.same(jax.jit(step)(self.params, self.x), expected)

        def body(params, _):
            loss, gradients = step(params, self.x)
            return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradients), loss

        params, reference = self.params, []
        for _ in range(4):
            params, loss = self.train(params, self.x)
            reference.append(loss)
        self.same(jax.jit(lambda p: jax.lax.scan(body, p, None, length=4))(self.params),
                  (params, jnp.stack(reference)))


@needs_jax
class CallTest(unittest.TestCase):
    """Any step, as `remat.compile` makes it."""

    def setUp(self):
        self.step = remat.compile(DIVIDE, differentiate=False)
        self.a, self.b = jnp.array([7, 8], "int32"), jnp.array([2, 4], "int32")

    def test_results(self):
        for run in (rj.call, jax.jit(rj.call, static_argnums=0)):
            np.testing.assert_array_equal(run(self.step, self.a, self.b)[0], [3, 2])
        with self.assertRaisesRegex(remat.RunError, "runs as a part of programs of JAX"):
            self.step(np.array([7, 8], "i4"), np.array([2, 4], "i4"))

    def test_other_arguments(self):
        for arguments, message in (((self.a, jnp.zeros((3, 2), "int32")),
                                    r"argument 1 is .*i32\[2\], got int32\[3x2\]"),
                                   ((self.a, self.b + 0.5), r"argument 1 is .*i32\[2\], got float32\[2\]"),
                                   ((self.a,), "takes 2 arguments, got 1")):
            with self.assertRaisesRegex(remat.ArgumentError, message):
                jax.jit(lambda *arrays: rj.call(self.step, *arrays))(*arguments)

    def test_subnormal_numbers_are_kept(self):
        """Where XLA calls, its threads take them for zero."""
        step = rj.compile(lambda x: (x * 0.5, x == 0), differentiate=False)
        x = np.array([0, 1e-40, -1e-45, 1], "f4")
        for found, is_zero in (step(x), jax.jit(step)(x)):
            np.testing.assert_array_equal(np.asarray(found), x * np.float32(0.5))
            np.testing.assert_array_equal(is_zero, x == 0)

    def test_search_for_nans(self):
        step = rj.compile(lambda x: jnp.sum(jnp.log(x)))
        with jax.debug_nans(True), self.assertRaisesRegex(FloatingPointError, "nan"):
            step(-jnp.ones(3))

    def test_errors_of_a_run(self):
        program = jax.jit(lambda a, b: rj.call(self.step, a, b))
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "remat: assertion failed: .*division by zero"):
            jax.block_until_ready(program(self.a, self.b * 0))
        np.testing.assert_array_equal(program(self.a, self.b)[0], [3, 2])

    def test_custom_calls_of_somebody_else(self):
        rj.call(self.step, self.a, self.b)
        key = np.int64(self.step.share())
        result = jax.ShapeDtypeStruct((2,), "int32")
        for arrays, attributes, message in (
                ((self.a, self.b), {}, "no attribute 'key' of type i64"),
                ((self.a, self.b), {"key": np.int64(5)}, "no step with the key 5"),
                ((self.a,), {"key": key}, "1 arguments"),
                ((self.a, jnp.zeros(3, "int32")), {"key": key}, "argument 1.*tensor .*3xi32.*, expected .*2xi32")):
            with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "remat: .*" + message):
                jax.block_until_ready(jax.jit(lambda *a: jax.ffi.ffi_call("remat_step", result)(
                    *a, **attributes))(*arrays))


@needs_jax
class LifetimeTest(unittest.TestCase):
    def test_a_program_holds_its_step(self):
        def program():
            return jax.jit(lambda x: rj.compile(lambda w: jnp.sum(w * w))(x))

        x = random(4)
        run = program()
        compiled = run.lower(x).compile()
        del run
        gc.collect()
        loss, gradient = compiled(x)
        np.testing.assert_allclose(gradient, 2 * x)

        def kept():
            step = rj.compile(lambda w: jnp.sum(w * w))
            return weakref.ref(step.step_for(x).step), jax.jit(lambda x: step(x))

        reference, run = kept()
        run(x)
        gc.collect()
        self.assertIsNotNone(reference())
        del run
        gc.collect()
        self.assertIsNone(reference())

    def test_export(self):
        step = rj.compile(lambda w: jnp.sum(w * w))
        with self.assertRaisesRegex(remat.ArgumentError, "jax.export cannot keep a step .* export the function"):
            jax.export.export(jax.jit(lambda x: step(x)))(random(4))

    def test_a_run_outlives_its_program(self):
        x = random(400, 400)
        expected = np.asarray(jax.grad(lambda w: jnp.sum((w @ w) ** 2))(x))
        for _ in range(5):
            step = rj.compile(lambda w: jnp.sum((w @ w) ** 2))
            run = jax.jit(lambda x: step(x)[1])
            run.lower(x)
            found = run(x)
            del step, run
            gc.collect()
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)

    def test_threads(self):
        """Several steps, each run by several threads, inside and outside of jit."""
        steps = [rj.compile(lambda w, k=k: jnp.sum(jnp.sin(k * w)), threads=1) for k in (1.0, 2.0, 3.0)]
        programs = [jax.jit(lambda w, s=s: s(w)) for s in steps]
        expected = [jax.grad(lambda w, k=k: jnp.sum(jnp.sin(k * w))) for k in (1.0, 2.0, 3.0)]
        wrong = []

        def work(number):
            for turn in range(20):
                which, x = (number + turn) % 3, random(8, 8 + number)[:, :8]
                run = programs[which] if turn % 2 else steps[which]
                if not np.allclose(run(x)[1], expected[which](x), rtol=1e-4, atol=1e-5):
                    wrong.append((number, turn))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
