"""Functions of JAX: their gradients are JAX's, and checkpoint policies have their effect.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import itertools
import unittest

import remat
from jax_common import jax, jnp, needs_jax, np, random, rj

if jax is not None:
    from jax.ad_checkpoint import checkpoint_name


@needs_jax
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

    def test_custom_rules_with_other_arguments(self):
        @functools.partial(jax.custom_vjp, nondiff_argnums=(0, 2))
        def applied(g, x, n):
            return g(x) * n, {"sum": x.sum()}

        applied.defvjp(lambda g, x, n: (applied(g, x, n), x),
                       lambda g, n, x, cotangent: (cotangent[0] * jnp.cos(x) * 7 * n + cotangent[1]["sum"],))

        @functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
        def floored(x, n):
            return jnp.floor(x) * n

        floored.defjvp(lambda n, p, t: (floored(p[0], n), t[0] * p[0] * n))

        def loss(w, x):
            y, rest = applied(jnp.tanh, x @ w, 3)
            return jnp.sum(y ** 2) + rest["sum"] ** 2 + jnp.sum(floored(x @ w, 2) ** 2)

        self.check(loss, self.w, self.x)
        self.check(lambda w, x: loss(w, jax.lax.scan(
            lambda c, _: (applied(jnp.sin, c @ w, 0.5)[0], None), x, length=5)[0]), self.w, self.x)

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

    def test_checkpoints_of_integers_with_and_without_a_sign(self):
        """Both types share the value, of which the first run of an operation is looked up."""
        def loss(x, a):
            return jnp.sum(jnp.sin(a.astype("float32") * x) * jnp.sin(a.astype("int8").astype("float32") * x))

        self.check(jax.checkpoint(loss), jnp.array([0.1, 0.2, 0.3]), jnp.array([200, 3, 255], "uint8"))

    def test_offload_policies(self):
        """What they offload is in host memory, also the stack of a loop that stays a loop."""
        policy = jax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=[], names_which_can_be_offloaded=["middle"], offload_src="device",
            offload_dst="pinned_host")
        step = self.blocks(lambda f: jax.checkpoint(f, policy=policy))
        self.assertEqual(step.memory["host"], 3 * 64 * 32 * 4)
        self.assertIn("must_cpu_offload", step.plan.text)

        def loss(w, x):
            body = jax.checkpoint(lambda x, _: (jnp.tanh(checkpoint_name(jnp.sin(x @ w), "middle") @ w), None),
                                  policy=policy)
            return jnp.sum(jax.lax.scan(body, x, length=4)[0] ** 2)

        for limit in (1, 4096):
            step = self.check(loss, random(32, 32) * 0.2, random(64, 32), unroll_limit=limit)
            self.assertEqual(step.memory["host"], 4 * 64 * 32 * 4)

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

    def test_loops_that_depend_on_data(self):
        def loss(w, x):
            return jnp.sum(w) * jax.lax.while_loop(lambda c: c < jnp.abs(x[0, 0]) * 9, lambda c: c + 1.0, 0.0)

        self.check(loss, self.w, self.x)

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

    @unittest.skipUnless(hasattr(jax, "new_ref"), "this JAX has no references")
    def test_references(self):
        def loss(x):
            reference = jax.new_ref(jnp.ones_like(x))
            jax.lax.fori_loop(0, 3, lambda i, _: reference.__setitem__(i, jnp.sin(x[i]) * reference[i - 1].sum()), None)
            jax.jit(lambda r: r.__setitem__(0, r[0] * 2))(reference)
            return jnp.sum(reference[...] * x)

        self.check(loss, self.x)
        self.check(loss, self.x, unroll_limit=1)
        outer = jax.new_ref(self.x)
        for function, args, message in ((lambda r: jnp.sum(r[...]), (outer,), "argument r is a reference, Ref{float32"),
                                        (lambda x: jnp.sum(x * outer[...]), (self.x,), "a constant is a reference")):
            with self.assertRaisesRegex(remat.ExportError, message):
                rj.export(function, *args, differentiate=False)

    def test_composites(self):
        doubled = jax.lax.composite(lambda x: jnp.tanh(x) * 2, name="tests.doubled")
        found = rj.compile(lambda x: doubled(x) + 1, differentiate=False)(self.x)
        np.testing.assert_allclose(found, np.tanh(self.x) * 2 + 1, rtol=1e-5, atol=1e-6)

    def test_groups_of_rows(self):
        """Mixtures of experts: each group of rows has a product of its own, also where rows are left."""
        w, x = random(4, 6, 5), random(40, 6)
        for sizes in ([40, 0, 0, 0], [1, 0, 26, 13], [3, 4, 0, 5]):
            sizes = jnp.array(sizes)
            self.check(lambda w, x: jnp.sum(jnp.sin(jax.lax.ragged_dot(x, w, sizes))), w, x, argnums=(0, 1))
        w, x, sizes = random(64, 16, 16), random(512, 16), jnp.full(64, 8)
        step = self.check(lambda w, x: jnp.sum(jax.lax.ragged_dot(x, w, sizes) ** 2), w, x, argnums=(0, 1))
        self.assertLess(step.memory["planned"], 64 * x.nbytes / 2)  # Not all rows for each group.

    def test_axes_of_vmap(self):
        def loss(w, x):
            def centred(r):
                y = r @ w
                least, most = (f(jax.lax.stop_gradient(y), "rows") for f in (jax.lax.pmin, jax.lax.pmax))
                return (y - jax.lax.pmean(y, "rows")) / (1 + most - least)

            return jnp.sum(jax.vmap(centred, axis_name="rows")(x) ** 2)

        self.check(loss, self.w, self.x)

    def test_meshes_of_one_device(self):
        from jax.sharding import Mesh, PartitionSpec
        mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("rows", "columns"))

        def each(w, x):
            y = jax.lax.all_gather(x @ w, "columns", axis=1, tiled=True)
            y = jax.lax.ppermute(y, "rows", [(0, 0)]) + jax.lax.ppermute(y, "rows", []) + jax.lax.axis_index("rows")
            y = jax.lax.psum_scatter(y, "columns", scatter_dimension=1, tiled=True)
            y = jax.lax.all_to_all(y, "rows", 0, 0, tiled=True) + jax.lax.all_gather(y, "rows")[0]
            y = jnp.real(jnp.fft.ifft(jax.lax.all_gather(jnp.fft.fft(y), "rows", axis=0, tiled=True)))
            # One of the axes is that of a mesh, the other that of vmap.
            both = jax.vmap(lambda row: jax.lax.psum(jnp.sin(row), ("rows", "each")), axis_name="each")(y)
            return jnp.sum(jax.lax.pmean(both * y, ("rows", "columns")))

        def loss(w, x, check_vma=False, function=each):
            specs = PartitionSpec(None, "columns"), PartitionSpec("rows")
            return jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(),
                                 check_vma=check_vma)(w, x)

        def checked(w, x):
            return loss(w, x, True, lambda w, x: jax.lax.psum(jnp.sum(jnp.sin(x @ w)), ("rows", "columns")))

        self.check(loss, self.w, self.x)
        self.check(checked, self.w, self.x)

    def test_meshes_of_several_devices_are_refused(self):
        mesh = jax.sharding.AbstractMesh((2,), ("rows",))
        spec = jax.sharding.PartitionSpec("rows")
        loss = lambda x: jnp.sum(jax.shard_map(jnp.sin, mesh=mesh, in_specs=spec, out_specs=spec)(x))
        with self.assertRaisesRegex(remat.ExportError,
                                    r"test_jax.py:\d+: shard_map: a step runs on one device, and the "
                                                       r"mesh \{'rows': 2\} has 2"):
            rj.export(loss, jnp.ones(4))

    def test_primitives_that_jax_lowers_to_operations_on_tensors(self):
        from jax.experimental import sparse
        places = sparse.BCOO.fromdense(jnp.asarray(random(4, 5) > 0, "f4"))

        def loss(data, x):
            matrix = sparse.BCOO((data, places.indices), shape=(4, 5))
            return jnp.sum((matrix.T @ x) ** 2) + jnp.sum(matrix.todense() ** 2)

        self.check(loss, random(places.nse), random(4, 3), argnums=(0, 1))

    def test_functions_of_python_are_refused(self):
        from jax.experimental import io_callback
        like = jax.ShapeDtypeStruct((3,), "f4")
        for function in (lambda w: jnp.sum(w * jax.pure_callback(np.sin, like, jnp.ones(3))),
                         lambda w: io_callback(print, None, jnp.ones(3)) or jnp.sum(w),
                         lambda w: io_callback(print, None, jnp.ones(3), ordered=True) or jnp.sum(w)):
            with self.assertRaisesRegex(remat.ExportError, r"test_jax.py:\d+: \w+_callback: a step does not call "
                                                           r"functions of Python; write this one with jax.numpy"):
                rj.export(function, jnp.ones(3))

    def test_indices_out_of_bounds(self):
        for mode, rows in (("clip", [-9, 2, 7]), ("fill", [-9, 2, 7]), ("promise_in_bounds", [0, 2, 3]),
                           (None, [-1, 2, 7])):
            rows = jnp.array(rows)
            fill = 0.5 if mode == "fill" else None
            self.check(lambda w, x: jnp.sum(w.at[rows].get(mode=mode or "fill", fill_value=fill or 0.0) * x), self.w,
                       self.x, argnums=(0, 1))
            self.check(lambda w, x: jnp.sum(w.at[rows].set(x, mode=mode) ** 2), self.w, self.x, argnums=(0, 1))
            self.check(lambda w, x: jnp.sum(w.at[rows].add(x, mode=mode) ** 3), self.w, self.x, argnums=(0, 1))
        self.check(lambda w, x: jnp.sum(jnp.take(w, jnp.array([-3, 1, 9]), axis=0, mode="clip") * x), self.w, self.x)
        starts = jnp.array([-3, 1, 9])
        self.check(lambda w, x: jnp.sum(jax.vmap(lambda i: jax.lax.dynamic_slice(w, (i, 0), (2, 4)))(
            starts) * x[:, None]), self.w, self.x, argnums=(0, 1))
        self.check(lambda w, x: jnp.sum(jax.vmap(lambda i, u: jax.lax.dynamic_update_slice(w, u[None], (i, 0)))(
            starts, x) ** 2), self.w, self.x, argnums=(0, 1))

    def test_extrema_of_updates(self):
        def extrema(w, x):
            rows = jnp.array([0, 2, 0])
            return (w.at[rows].max(x), w.at[rows].min(x), jax.ops.segment_max(x, rows, num_segments=4),
                    jax.ops.segment_min(x, rows, num_segments=4), w.at[rows + 3].max(x, mode="clip"))

        x = self.x.copy()
        x[0, 0], x[1, 1], x[2, 2], x[0, 3] = np.nan, -np.inf, np.inf, -0.0
        for dtype in ("float32", "bfloat16", "int32", "uint8", "float64", "int64", "uint64"):
            with jax.enable_x64(dtype.endswith("64")):
                w, y = (jnp.asarray(v if dtype[0] in "fb" else np.nan_to_num(v * 40, posinf=9, neginf=0), dtype)
                        for v in (self.w, x))
                if dtype == "uint64":  # The highest bit is no sign, and the lowest ones count.
                    w, y = w + jnp.uint64(2**63), y + jnp.uint64(2**63)
                for found, expected in zip(rj.compile(extrema, differentiate=False)(w, y), extrema(w, y)):
                    self.assertEqual(found.dtype, expected.dtype)
                    exact = "float32" if dtype == "bfloat16" else dtype
                    np.testing.assert_array_equal(np.asarray(found, exact), np.asarray(expected, exact))
        self.check(lambda w, x: jnp.sum(w.at[jnp.array([0, 2, 0])].max(x) ** 2), self.w, self.x, argnums=(0, 1))

    def test_functions_of_elements_at_indices(self):
        """The function is applied as often as an index is there."""
        run = lambda w, i: (w.at[i].apply(jnp.sin), w.at[i, 1].apply(lambda x: 2 * x + 1, mode="clip"))
        found = rj.compile(run, differentiate=False)(self.w, jnp.array([0, 2, 9, 2]))
        for a, b in zip(found, jax.jit(run)(self.w, jnp.array([0, 2, 9, 2]))):
            np.testing.assert_allclose(a, b, rtol=1e-6)

    def test_empty_slices(self):
        self.check(lambda w, x: jnp.sum(jnp.concatenate([w[4:4], w[3:4:2]]) ** 2) + jnp.sum(jax.lax.associative_scan(
            jnp.multiply, x @ w)), self.w, self.x)

    def test_scatters_to_nothing(self):
        """All places are outside of a tensor without elements, and are left out."""
        places = jnp.array([5, 0, 1])
        for shape in ((0,), (0, 3)):
            for name, number in (("add", 0), ("set", 1), ("multiply", 2), ("max", 1), ("min", 1)):
                with self.subTest(name, shape=shape):
                    z, x = jnp.zeros(shape), jnp.ones(3)
                    found, other = rj.compile(lambda z, x: (getattr(z.at[places], name)(number), x * 2),
                                              differentiate=False)(z, x)
                    self.assertEqual(found.shape, shape)
                    np.testing.assert_array_equal(other, x * 2)

    def test_missing_elements(self):
        found = rj.compile(lambda w, i: w.at[i].get(mode="fill"), differentiate=False)(
            self.w, jnp.array([1, 7]))
        np.testing.assert_array_equal(found[0], self.w[1])
        self.assertTrue(np.isnan(found[1]).all())
        with self.assertRaisesRegex(remat.ExportError, "the mode ONE_HOT is not supported"):
            rj.export(lambda w, i: jax.lax.gather(
                w, i[:, None], jax.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4),
                mode=jax.lax.GatherScatterMode.ONE_HOT), self.w, jnp.array([1, 7]), differentiate=False)

    def test_sorts(self):
        self.check(lambda w, x: jnp.sum(jnp.sort(x @ w, 1) * jnp.arange(4.0)), self.w, self.x)
        self.check(lambda w, x: jnp.sum(jax.lax.top_k(x @ w, 2)[0] ** 2), self.w, self.x)
        self.check(lambda w, x: jnp.sum((x @ w)[jnp.argsort(x[:, 0])] * jnp.arange(4.0)), self.w, self.x)

    def test_orders_are_those_of_xla(self):
        """`top_k` has a total order, of zeros and nans of both signs; for sorts they are equal."""
        numbers = np.array([0.0, -0.0, 0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, np.nan, -np.nan])
        for dtype in ("float32", "bfloat16", "float16"):
            x = jnp.asarray(numbers.astype(jnp.dtype(dtype)))
            for function in (lambda x: jax.lax.top_k(x, 12), lambda x: jax.lax.top_k(x.reshape(2, 6), 4),
                             lambda x: [jnp.argsort(x), jnp.argsort(x, descending=True), jnp.argmax(x[1:3])],
                             lambda x: jax.lax.sort((x, jnp.arange(12)[::-1]), num_keys=2)):
                found = rj.compile(function, differentiate=False)(x)
                for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(jax.jit(function)(x))):
                    np.testing.assert_array_equal(np.asarray(a, np.float64), np.asarray(b, np.float64))

    def test_sorts_of_any_length(self):
        """Of one run, of several, of an odd number of them, and of a last one that is not full."""
        generator = np.random.default_rng(0)
        for length in (2, 64, 65, 256, 257, 320, 1000, 10007):
            # Many elements are equal, and stay in their order.
            x = jnp.asarray(generator.integers(-40, 40, (2, length)), jnp.float32)
            for function in (lambda x: (jnp.sort(x), jnp.argsort(x), jnp.argsort(-x, descending=True)),
                             lambda x: [jax.lax.top_k(x, min(k, length)) for k in (1, 3, 100)],
                             lambda x: (jnp.median(x, 1), jnp.quantile(x, 0.75, axis=1, method="higher")),
                             lambda x: jax.lax.sort((x[0] // 7, x[1], jnp.arange(length)), num_keys=2)):
                found = rj.compile(function, differentiate=False)(x)
                for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(jax.jit(function)(x))):
                    np.testing.assert_array_equal(a, b)
        self.check(lambda x: jnp.sum(jnp.sort(x, 0) ** 3 * jnp.arange(300.0)[:, None]), random(300, 2))

    def test_sorts_of_all_types(self):
        generator = np.random.default_rng(1)
        for dtype in ("bool", "int8", "uint8", "int32", "uint32", "bfloat16", "float16", "float32", "complex64"):
            x = jnp.asarray(generator.integers(0, 2**32, (300, 2)).astype(np.uint32)).astype(dtype)
            if dtype == "complex64":
                x = (x.real % 5 + 1j * (x.real % 3)).astype(dtype)
            for dimension in (0, 1):
                function = lambda x: (jnp.sort(x, dimension), jnp.argsort(x, dimension))
                found = rj.compile(function, differentiate=False)(x)
                for a, b in zip(found, jax.jit(function)(x)):
                    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))

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

    def test_windows_of_nothing(self):
        def windows(x):
            return jax.lax.reduce_window(x, jnp.ones((), x.dtype), jax.lax.mul, (2, 2), (1, 1), "SAME", (2, 2))

        x = jnp.zeros((0, 2))
        found = remat.jax.compile(windows, differentiate=False)(x)
        self.assertEqual(found.shape, windows(x).shape)

    def test_scans_of_any_length(self):
        for length in (1, 7, 8, 9, 64, 67, 513):
            x = np.round(np.random.default_rng(0).normal(size=(3, length)) * 4).astype(np.float32)
            for reverse in (False, True):
                function = lambda x: (jax.lax.cumsum(x, 1, reverse), jax.lax.cumsum(x.T, 0, reverse),
                                      jax.lax.cummax(x, 1, reverse), jax.lax.cumprod(jnp.sign(x + 0.5), 1, reverse))
                for found, expected in zip(rj.compile(function, differentiate=False)(x), function(x)):
                    np.testing.assert_array_equal(found, expected)

    def test_windows_of_the_least_number(self):
        x = random(1, 7, 7, 2)
        x[:, :4, :4] = -np.inf
        for padding in ("SAME", "VALID"):
            def gradient(x, padding=padding):
                y, pullback = jax.vjp(lambda x: jax.lax.reduce_window(
                    x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), padding), x)
                return pullback(jnp.ones_like(y))[0]

            np.testing.assert_array_equal(rj.compile(gradient, differentiate=False)(x), gradient(x))
        infinite = jnp.array([1.0, np.inf, np.inf, 2.0])
        found = rj.compile(lambda x: jax.lax.cumlogsumexp(x), differentiate=False)(infinite)
        np.testing.assert_array_equal(found, jax.lax.cumlogsumexp(infinite))
        turned = jnp.asarray([1 + 1j, 2 - 1j, -0.5 + 3j, 0.25j], jnp.complex64)
        found = rj.compile(lambda x: jax.lax.cumlogsumexp(x), differentiate=False)(turned)
        np.testing.assert_allclose(found, jax.lax.cumlogsumexp(turned), rtol=1e-5)

    def test_norms_and_activations(self):
        self.check(lambda w, x: jnp.sum(jax.nn.standardize(x @ w) ** 3 + jax.nn.logsumexp(
            x @ w, axis=1, keepdims=True)) + jnp.linalg.norm(w) + jnp.max(x @ w), self.w, self.x)
        self.check(lambda w, x: jnp.sum(jax.nn.gelu(x @ w) + jax.nn.silu(x @ w) + jax.nn.softplus(x @ w) + jax.nn.elu(
            x @ w)), self.w, self.x)
        self.check(lambda w, x: -jnp.mean(jax.nn.log_softmax(x @ w)[jnp.arange(3), jnp.array([0, 1, 3])]), self.w,
                   self.x)

    def test_primitives_of_later_versions(self):
        """Those that JAX has since 0.11; before, they are made of others."""
        one_minus_square = getattr(jax.lax, "one_minus_square", lambda x: (1 + x) * (1 - x))
        self.check(lambda w, x: jnp.sum(jnp.log2(1 + (x @ w) ** 2) * jnp.tanh(x @ w)), self.w, self.x)
        self.check(lambda w, x: jnp.sum(jnp.sin(one_minus_square(x @ w))), self.w, self.x)
        near = np.float32(1) - np.float32(2) ** -20
        found, _ = rj.compile(lambda x: one_minus_square(x))(near)
        self.assertEqual(found, np.float32(near + 1) * np.float32(1 - near))

    def test_factors_and_triangular_systems(self):
        from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular
        n = 11
        a, b = random(n, n), random(n, 2)

        def process(a, b):
            """What a Gaussian process minimizes."""
            factor = cho_factor(a @ a.T / n + jnp.eye(n), lower=True)
            return jnp.sum(b * cho_solve(factor, b)) + 2 * jnp.sum(jnp.log(jnp.diagonal(factor[0])))

        self.check(process, a, b, argnums=(0, 1))
        triangle = jnp.tril(random(2, 5, 5)) + 3 * jnp.eye(5)
        for trans, lower in itertools.product((0, 1), (True, False, 1, 0)):
            self.check(lambda a, b: jnp.sum(solve_triangular(
                a if lower else a.swapaxes(1, 2), b, trans=trans, lower=lower, unit_diagonal=lower) ** 2), triangle,
                random(2, 5, 3), argnums=(0, 1))

    def test_matrices_without_a_factor(self):
        a = jnp.eye(4).at[1, 1].set(-1.0)
        found = rj.compile(jax.lax.linalg.cholesky, differentiate=False)(a)
        np.testing.assert_array_equal(found, jax.lax.linalg.cholesky(a))
        self.assertTrue(np.isnan(found[0, 0]))

    def test_platforms(self):
        def loss(x):
            return jnp.sum(jax.lax.platform_dependent(x, cpu=lambda x: x ** 2, default=lambda x: x))

        self.check(loss, self.x)


if __name__ == "__main__":
    unittest.main()
