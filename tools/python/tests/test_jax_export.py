"""Exported functions of JAX: files, arguments and names, what is refused, and views of their steps.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import io
import json
import os
import tempfile
import unittest

import remat
from jax_common import jax, jnp, needs_jax, np, random, rj


@needs_jax
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
        self.assertIn("test_jax_export.py", exported.text)
        loss, gradients = remat.compile(exported, budget="100%")(None, self.params, self.x)
        expected = jax.grad(self.loss)(self.params, self.x)
        np.testing.assert_allclose(gradients["params.w"], expected["w"], rtol=1e-4, atol=1e-6)

    def test_names_are_unique(self):
        def loss(tree, x, constant0=1.0):
            return jnp.sum((tree["a.b"] - tree["a"]["b"]) * x * jnp.arange(300.0) * constant0)

        args = {"a.b": random(300), "a": {"b": random(300) + 1}}, random(300), jnp.arange(300.0)
        big = random(300, 2)
        exported = rj.export(lambda *a: loss(*a) + jnp.sum(big[:, 0] * a[0]["a.b"]), *args)
        names = [a.name for a in exported.arguments]
        self.assertEqual(len(names), len(set(names)), names)
        _, gradients = remat.compile(exported)(None, *args)
        expected = jax.grad(lambda *a: loss(*a) + jnp.sum(big[:, 0] * a[0]["a.b"]))(*args)
        for found, reference in zip(gradients.values(), jax.tree_util.tree_leaves(expected)):
            np.testing.assert_allclose(found, reference, rtol=1e-5)

    def test_numbers_of_arguments_count_from_the_end(self):
        compiled = rj.compile(self.loss, argnums=(-1,))
        _, (gradient,) = compiled(self.params, self.x)
        expected = jax.grad(self.loss, argnums=1)(self.params, self.x)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
        found = jax.grad(lambda x: compiled.loss(self.params, x))(self.x)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        given = jnp.ones(3)
        rj.compile(lambda a, b: (a + b, b), differentiate=False, donate_argnums=-2)(given, jnp.ones(3))
        self.assertTrue(given.is_deleted())
        for options in ({"argnums": 2}, {"argnums": -3}, {"donate_argnums": 2}):
            with self.assertRaisesRegex(remat.ExportError, "are not those of 2 arguments"):
                rj.compile(self.loss, **options)(self.params, self.x)

    def test_keywords(self):
        compiled = rj.compile(self.loss)
        expected = compiled(self.params, self.x)
        self.assertEqual(compiled(x=self.x, params=self.params)[0], expected[0])
        self.assertEqual(compiled.loss(self.params, x=self.x), expected[0])
        self.assertEqual(len(compiled.steps), 1)
        with self.assertRaisesRegex(remat.ArgumentError, "bind them with functools.partial"):
            rj.compile(lambda w, *, scale: jnp.sum(w) * scale)(self.x, scale=2.0)
        with self.assertRaisesRegex(TypeError, "missing a required argument"):
            compiled(self.params, y=self.x)

    def test_types_without_code(self):
        with self.assertRaisesRegex(remat.ExportError, "test_jax_export.py:.*convert_element_type: elements of int1"):
            rj.export(lambda x: x.astype("int1").astype(x.dtype), self.x, differentiate=False)
        with self.assertRaisesRegex(remat.ExportError,
                                    "argument narrow: elements of int1 are not supported, expected one of "
                                    "float32.*float8_e4m3fn.*int4"):
            rj.export(lambda narrow: narrow.astype("float32"), jnp.zeros(3, "int1"), differentiate=False)

    def test_other_calls_are_refused(self):
        step = remat.compile(rj.export(self.loss, self.params, self.x))
        for args, kwargs, message in (
                ((self.params, self.x, self.x), {}, "expected PyTreeDef"), ((self.params,), {}, "expected PyTreeDef"),
                (({"w": self.x, "c": [self.x]}, self.x), {}, "expected PyTreeDef"),
                ((self.params,), {"x": self.x}, "got the keywords x"),
                ((self.params, self.x), {"cotangents": [self.x]}, "it takes no cotangents")):
            with self.assertRaisesRegex(remat.ArgumentError, message):
                step(None, *args, **kwargs)

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

    def test_parts_of_a_batch(self):
        step = remat.compile(rj.export(self.loss, self.params, self.x), microbatches=2, threads=1)
        x = np.concatenate([self.x, 2 * self.x])
        expected = [jax.grad(self.loss)(self.params, part) for part in (self.x, 2 * self.x)]
        _, gradients = step(None, self.params, x)
        self.assertEqual(gradients["params.w"].shape, self.params["w"].shape)
        np.testing.assert_allclose(gradients["params.w"], (expected[0]["w"] + expected[1]["w"]) / 2, rtol=1e-4,
                                   atol=1e-6)

    def test_arrays_that_must_not_change_are_not_updated(self):
        text = """func.func @main(%x: tensor<3xf32> {remat.donated = 0}) -> tensor<3xf32> {
          %y = arith.addf %x, %x : tensor<3xf32>
          return %y : tensor<3xf32>
        }"""
        step = remat.compile(text, differentiate=False, threads=1)
        for array in (jnp.ones(3), np.broadcast_to(np.float32(1), (3,)).copy()):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
            with self.assertRaisesRegex(remat.ArgumentError, "which must not change: pass a copy that can be written"):
                step(array)
            np.testing.assert_array_equal(array, np.ones(3))

    def test_what_jax_does_itself_is_refused(self):
        with self.assertRaisesRegex(remat.ArgumentError, "optimizer: arrays of JAX do not change; compile a function"):
            rj.compile(self.loss, optimizer="sgd")
        with self.assertRaisesRegex(remat.ArgumentError, "optimizer: arrays of JAX do not change; compile a function"):
            remat.compile(rj.export(self.loss, self.params, self.x), optimizer="sgd")
        for name, value in (("widen", True), ("cotangents", True), ("narrow", "bf16")):
            with self.assertRaisesRegex(remat.ArgumentError, "the option '%s' is not one of a function of JAX" % name):
                rj.compile(self.loss, **{name: value})
        with self.assertRaisesRegex(remat.ArgumentError, "microbatches: the function is given whole batches"):
            rj.compile(self.loss, microbatches=2)

    def test_infeasible_budgets(self):
        with self.assertRaises(remat.InfeasibleBudget) as caught:
            rj.compile(self.loss, budget=8)(self.params, self.x)
        self.assertGreater(caught.exception.smallest_budget, 8)


@needs_jax
class ScopesTest(unittest.TestCase):
    def loss(self, params, x):
        with jax.named_scope("embed"):
            h = jnp.tanh(x @ params["embed"])

        def layer(h, _):
            with jax.named_scope("cell"):
                return jnp.tanh(h @ params["w"]), None
        with jax.named_scope("body"):
            h = jax.checkpoint(lambda h: jax.lax.scan(layer, h, None, length=5)[0])(h)
        with jax.named_scope("head"):
            return jnp.mean(jnp.exp(h))

    def test_exported_steps_have_the_views_of_steps(self):
        params, x = {"embed": random(3, 4), "w": random(4, 4)}, random(2, 3)
        step = rj.export(self.loss, params, x).compile_step(threads=1)
        self.assertIn("saved", {value["decision"] for value in step.explain()})
        text = io.StringIO()
        step.print_saved(file=text)
        self.assertRegex(text.getvalue(), r"f32\[2,4\] output of tanh")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.html")
            for arrays in ((), (None, params, x)):
                step.report(path, *arrays, compare=False)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual('"measured":{' in file.read(), bool(arrays))

    def test_scopes_are_layers_and_labels(self):
        params, x = {"embed": random(3, 4), "w": random(4, 4)}, random(2, 3)
        for limit in (4096, 0):
            step = rj.export(self.loss, params, x, unroll_limit=limit).compile_step(threads=1)
            for group in ("label", "layer"):
                names = {row["name"] for row in step.profile(None, params, x, group=group)["rows"]}
                self.assertLessEqual({"embed", "head"}, names)
                self.assertIn("body/cell" if limit else "body", names)
                self.assertFalse([name for name in names if "(" in name and name[0] != "("], names)

    def test_values_in_functions_of_jax_have_the_line_that_calls_them(self):
        def loss(w, x):
            return -jnp.mean(jax.nn.log_softmax(x @ w))
        text = io.StringIO()
        rj.export(loss, random(4, 3), random(2, 4)).compile_step(threads=1).print_saved(file=text)
        line = loss.__code__.co_firstlineno + 1
        for saved in text.getvalue().splitlines():
            self.assertRegex(saved, "from the argument|test_jax_export.py:%d:0" % line)

    def test_compiled_functions_show_their_steps(self):
        params, x = {"embed": random(3, 4), "w": random(4, 4)}, random(2, 3)
        function = rj.compile(self.loss, budget="90%", effort=0.1)
        self.assertEqual(repr(function), "remat.jax.compile(loss): no step compiled yet")
        with self.assertRaisesRegex(remat.ArgumentError, "no step is compiled yet"):
            function.step
        function(params, x)
        self.assertIs(function.step, function.step_for(params, x))
        self.assertIn("peak", repr(function))
        rows = function.step.profile(None, params, x)["rows"]
        self.assertEqual(sum(row["calls"] for row in rows), function.step.plan.tasks)
        self.assertEqual(len(function.step.what_if(budget=["100%", "min"])), 2)


if __name__ == "__main__":
    unittest.main()
