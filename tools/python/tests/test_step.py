"""Steps of modules: arrays in and out, reports, errors. Needs NumPy and nothing else.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import errno
import gc
import io
import json
import os
import pickle
import re
import resource
import signal
import tempfile
import threading
import time
import unittest
from unittest import mock

import remat
from remat.module import Context, Options
from remat.progress import ProgressLine, is_shown

try:
    import numpy as np
except ImportError:
    np = None

MODEL = """
func.func @main(%w: tensor<4x4xf32>, %x: tensor<4xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %p = linalg.matvec ins(%w, %x : tensor<4x4xf32>, tensor<4xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
  %y = math.tanh %p : tensor<4xf32>
  %loss = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%none : tensor<f32>) dimensions = [0]
  return %loss : tensor<f32>
}
"""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
GPT2 = os.path.join(ROOT, "test/Inputs/models/gpt2_tiny.mlir")
GPT2_8L = os.path.join(ROOT, "test/Inputs/models/gpt2_8l.mlir")



def setUpModule():
    if np is None:
        raise unittest.SkipTest("NumPy is not installed")


class StepTest(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(0)
        self.w = rng.standard_normal((4, 4)).astype("f4")
        self.x = rng.standard_normal(4).astype("f4")

    def test_gradient(self):
        step = remat.compile(MODEL, names=["w", "x"])
        loss, dw, dx = step(self.w, self.x)
        t = np.tanh(self.w @ self.x)
        np.testing.assert_allclose(loss, t.sum(), rtol=1e-5)
        np.testing.assert_allclose(dw, np.outer(1 - t * t, self.x), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(dx, self.w.T @ (1 - t * t), rtol=1e-4, atol=1e-6)
        self.assertEqual([info.name for info in step.arguments], ["w", "x"])
        memory = step.memory
        self.assertEqual(memory["planned"], memory["measured"])
        self.assertEqual(memory["planned"], memory["simulated"])

    def test_profiles_say_where_the_time_goes(self):
        step = remat.compile(MODEL, names=["net.w", "x"])
        profile = step.profile(self.w, self.x, steps=3)
        self.assertEqual((profile["group"], profile["sort"]), ("op", "self"))
        calls = sum(row["calls"] for row in profile["rows"])
        self.assertEqual(calls, step.plan.tasks)
        self.assertEqual(profile["total"]["calls"], calls)
        self.assertTrue(all(row["self_nanoseconds"] >= 0 and row["streams"] == ["compute"] for row in profile["rows"]))
        phases = step.profile(self.w, self.x, group="phase", sort="name")["rows"]
        self.assertEqual([row["name"] for row in phases], ["backward", "forward"])
        with self.assertRaisesRegex(remat.Error, "unknown group 'task', expected one of 'op'"):
            step.profile(self.w, self.x, group="task")
        with self.assertRaisesRegex(remat.Error, "takes 2 arguments, got 0"):
            step.profile()
        with self.assertRaisesRegex(remat.Error, "steps is 0, expected 1 or more"):
            step.profile(self.w, self.x, steps=0)

    def test_explanations_are_those_of_the_plan(self):
        step = remat.compile(GPT2, budget="min")
        values = step.explain()
        self.assertGreater(step.plan.recomputed_tasks, 0)
        self.assertLessEqual({"saved", "recomputed"}, {value["decision"] for value in values})
        self.assertTrue(all(value["bytes"] > 0 for value in values))
        free = step.replan(None).explain()
        self.assertNotIn("recomputed", {value["decision"] for value in free})

    def test_saved_values_have_lines(self):
        text = io.StringIO()
        remat.compile(MODEL, names=["net.w", "x"]).print_saved(file=text)
        self.assertRegex(text.getvalue(), r"\Af32\[4,4\] from the argument 'net\.w'\n"
                                          r"f32\[4\] from the argument 'x'\nf32\[4\] output of [^\n]*\n\Z")

    def test_snapshots_are_pickles(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "arena.pickle")
            step = remat.compile(MODEL)
            step.memory_snapshot(path)
            with open(path, "rb") as file:
                snapshot = pickle.load(file)
        (segment,) = snapshot["segments"]
        self.assertGreater(segment["total_size"], 0)

    def test_reports_are_pages(self):
        step = remat.compile(MODEL)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.html")
            found = []
            for arrays, compare in (((), False), ((), True), ((self.w, self.x), True)):
                step.report(path, *arrays, title="tanh of a product", compare=compare)
                with open(path, encoding="utf-8") as file:
                    page = file.read()
                data = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
                data = json.loads(data.group(1))
                self.assertEqual(data["title"], "tanh of a product")
                found.append([(plan["origin"], "measured" in plan) for plan in data["plans"][:2]])
                others = [plan["origin"] for plan in data["plans"][2:]]
                self.assertEqual(set(others), {"frontier"} if compare and others else set())
        self.assertEqual(found, [[("save-all", False), ("chosen", False)]] * 2 +
                         [[("save-all", False), ("chosen", True)]])

    def test_files_are_whole_or_not_there(self):
        step = remat.compile(MODEL)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "old")
            with open(path, "w") as file:
                file.write("old")
            os.chmod(path, 0o640)
            for write in (step.trace, step.memory_snapshot, lambda name: step.report(name, compare=False)):
                # The file may have ten bytes, as on a full disk.
                before = resource.getrlimit(resource.RLIMIT_FSIZE)
                handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
                try:
                    with self.assertRaises(OSError) as caught:
                        write(path)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, before)
                    signal.signal(signal.SIGXFSZ, handler)
                self.assertEqual((caught.exception.errno, caught.exception.filename), (errno.EFBIG, path))
                with open(path) as file:
                    self.assertEqual(file.read(), "old")
                self.assertEqual(os.listdir(folder), ["old"])
                for wrong, error in ((folder, IsADirectoryError),
                                     (os.path.join(folder, "none", "x"), FileNotFoundError)):
                    with self.assertRaisesRegex(error, re.escape(wrong)):
                        write(wrong)
                with self.assertRaisesRegex(OSError, "No space left on device: '/dev/full'"):
                    write("/dev/full")
            link = os.path.join(folder, "link")
            os.symlink("old", link)
            step.trace(link)
            self.assertEqual((os.readlink(link), os.stat(path).st_mode & 0o777), ("old", 0o640))
            self.assertEqual(sorted(os.listdir(folder)), ["link", "old"])

    def test_tables_of_other_conditions(self):
        rows = remat.what_if(GPT2, batch=[2, 8], budget="80%", effort=0.01)
        self.assertEqual([row["batch"] for row in rows], [2, 8])
        for key in ("save_all_peak_bytes", "smallest_feasible_bytes", "peak_bytes", "callers_bytes"):
            self.assertLess(rows[0][key], rows[1][key])
        step = remat.compile(GPT2, budget="80%", effort=0.01)
        self.assertEqual(step.what_if(batch=2), [rows[0]])
        self.assertEqual(rows[0]["peak_bytes"], step.memory["planned"])
        rows = step.replan("min").what_if(budget=["100%", 1024], dtype=["f32", "bf16"])
        self.assertEqual([(row["dtype"], row["budget"], row["feasible"]) for row in rows],
                         [(dtype, *budget) for dtype in ("f32", "bf16")
                          for budget in (("100%", True), (1024, False))])
        with self.assertRaisesRegex(remat.OptionError, "'batch' must be a number of rows, at least 1, got 'none'"):
            step.what_if(batch=["none"])
        tasks = remat.compile(step._tasks.text())
        self.assertEqual(len(tasks.what_if(budget=["100%", "min"])), 2)
        with self.assertRaisesRegex(remat.Error, "'batch' has no effect: the input is already a graph of tasks"):
            tasks.what_if(batch=[8])

    def test_traces_are_of_the_plan_or_a_run(self):
        step = remat.compile(MODEL)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            processes = []
            for arrays in ((), (self.w, self.x)):
                step.trace(path, *arrays)
                with open(path) as file:
                    events = json.load(file)["traceEvents"]
                processes.append({event["pid"] for event in events})
        self.assertEqual(processes, [{1}, {1, 2}])

    def test_anomalies_name_operations(self):
        step = remat.compile(MODEL.replace("math.tanh", "math.log"))
        self.assertEqual(step.anomalies(np.eye(4, dtype="f4"), np.ones(4, "f4")), [])
        found = step.anomalies(np.eye(4, dtype="f4"), np.full(4, -1, "f4"))
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], "NaN in element 0 .*'math.log'")

    def test_results_outlive_the_step(self):
        loss, dw, dx = remat.compile(MODEL)(self.w, self.x)
        expected = dw.copy()
        gc.collect()
        np.testing.assert_array_equal(dw, expected)

    def test_no_copies(self):
        step = remat.compile(MODEL)
        buffers = [np.zeros((), "f4"), np.zeros((4, 4), "f4"), None]
        given = step.run([self.w, self.x], buffers)
        self.assertIs(given[1], buffers[1])
        self.assertNotEqual(buffers[1].sum(), 0)
        result = given[2].numpy()
        self.assertEqual(result.ctypes.data, given[2].address)
        taken = np.from_dlpack(given[2])
        self.assertEqual(taken.ctypes.data, given[2].address)

    def test_results_are_released_while_an_error_is_on_its_way(self):
        step = remat.compile(MODEL)
        w, x = self.w, self.x
        for framework in ("numpy", "torch", "jax"):
            try:
                library = __import__(framework)
            except ImportError:
                continue
            make = {"numpy": lambda a: a, "torch": lambda a: library.from_numpy(a),
                    "jax": lambda a: library.numpy.asarray(a)}[framework]

            results = step(make(w), make(x))
            self.assertEqual(type(results[1]).__module__.partition(".")[0].replace("jaxlib", "jax"), framework)
            np.testing.assert_allclose(np.asarray(results[0]), np.tanh(w @ x).sum(), rtol=1e-5)
            # The result is dropped from the stack by the error.
            with self.assertRaises(ValueError):
                [step(make(w), make(x))[1], int("no number")]

    def test_views_by_dlpack(self):
        class OnlyDlpack:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **kwargs):
                return self.array.__dlpack__(**kwargs)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        step = remat.compile(MODEL)
        expected = step.run([self.w, self.x])
        given = step.run([OnlyDlpack(self.w), OnlyDlpack(self.x)])
        for a, b in zip(expected, given):
            np.testing.assert_array_equal(a.numpy(), b.numpy())

    def test_refuses_other_tensors(self):
        step = remat.compile(MODEL, names=["w", "x"])
        for arguments, message in [
                ((self.w,), "takes 2 arguments, got 1"),
                ((self.w, self.x.astype("f8")), r"argument 1 is x: f32\[4\], got f64\[4\]"),
                ((self.w, self.x[:3]), r"argument 1 is x: f32\[4\], got f32\[3\]"),
                ((self.w.T, self.x), "argument 0 .w. is not dense"),
                ((self.w, "x"), "argument 1 .x.: a tensor was expected")]:
            with self.assertRaisesRegex(remat.ArgumentError, message):
                step(*arguments)

        class NoCapsule:
            def __dlpack_device__(self):
                return 1, 0

            def __dlpack__(self):
                raise BufferError("it is sparse")

        with self.assertRaisesRegex(remat.ArgumentError, "argument 1 .x.: an array with a mask is not supported"):
            step(self.w, np.ma.masked_array(self.x, mask=self.x > 0))
        with self.assertRaisesRegex(remat.ArgumentError, "the step has 3 results, got 1 buffers"):
            step.run([self.w, self.x], [None])
        with self.assertRaisesRegex(remat.ArgumentError, "argument 1 .x.: NoCapsule cannot be taken by DLPack: it is"):
            step(self.w, NoCapsule())

    def test_diagnostics_have_places(self):
        with self.assertRaises(remat.CompileError) as caught:
            remat.compile("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %y : tensor<4xf32>\n}")
        self.assertEqual(caught.exception.diagnostics[0]["line"], 2)
        self.assertIn("use of undeclared SSA value", str(caught.exception))
        with self.assertRaises(remat.CompileError):
            remat.compile("no-such-file.mlir")

    def test_options_are_checked(self):
        with self.assertRaisesRegex(remat.OptionError, "unknown|no option"):
            remat.compile(MODEL, no_such_option=1)
        with self.assertRaises(remat.OptionError):
            remat.compile(MODEL, budget="many")
        with self.assertRaisesRegex(remat.OptionError, "a budget is a number of bytes or a text .* got 0.5"):
            remat.compile(MODEL, budget=0.5)
        self.assertEqual(remat.compile(MODEL, budget=1e9).memory["budget"], 10 ** 9)
        self.assertIn("budget", [option["name"] for option in remat.describe_options()])


class InterruptTest(unittest.TestCase):
    @staticmethod
    def interrupt(*seconds):
        """Ctrl-C after so many seconds, each."""
        timers = [threading.Timer(s, os.kill, (os.getpid(), signal.SIGINT)) for s in seconds]
        for timer in timers:
            timer.start()
        return timers

    def test_the_best_plan_is_kept(self):
        timers = self.interrupt(3)
        begin = time.monotonic()
        with self.assertWarnsRegex(RuntimeWarning, "interrupted, going on with the best plan so far"):
            step = remat.compile(GPT2_8L, budget="40%", effort=1e6, time_limit=200)
        self.assertLess(time.monotonic() - begin, 100)
        timers[0].join()
        self.assertLessEqual(step.memory["planned"], step.memory["budget"])

    def test_what_has_nothing_to_keep_ends(self):
        options = Options(Context(), {})

        def fail():
            time.sleep(1)
            raise remat.CompileError("interrupted before there is a plan", [])

        for seconds, call in (((0.2, 0.4), lambda: time.sleep(1)), ((0.2,), fail)):
            timers = self.interrupt(*seconds)
            with self.assertRaises(KeyboardInterrupt):
                options.search(call)
            for timer in timers:
                timer.join()
        self.assertEqual(options.search(lambda: 7), 7)
        with self.assertRaises(remat.CompileError):
            options.search(fail)


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self):
        return True


class ProgressTest(unittest.TestCase):
    LINE = (r"remat: [0-9.]+ s: {bar}(auto: time [0-9]+ ns \(\+[0-9.]+%\), bound [0-9]+ ns \(\+[0-9.]+%\), gap "
            r"[0-9.]+%, peak [0-9]+ bytes|no plan yet)")

    def tearDown(self):
        remat.set_progress(None)

    @staticmethod
    def plan(error):
        """What a search of some seconds says."""
        with contextlib.redirect_stderr(error):
            remat.compile(GPT2, budget="65%", time_limit=2.5)
        return error.getvalue()

    def test_lines_where_they_are_asked_for(self):
        remat.set_progress("always")
        self.assertRegex(self.plan(io.StringIO()), "(?m)^%s$" % self.LINE.format(bar=""))
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            remat.compile(MODEL)
        self.assertEqual(error.getvalue(), "")  # It takes no second.

    def test_one_line_on_a_terminal(self):
        written = self.plan(Terminal())
        self.assertRegex(written, r"\[\?7l\r\x1b\[K%s\x1b\[\?7h" % self.LINE.format(bar=r"(\[#*\.*\] )?"))
        self.assertTrue(written.endswith("\r\x1b[K"), written[-200:])
        self.assertNotIn("\n", written)

    def test_nothing_elsewhere(self):
        self.assertEqual(self.plan(io.StringIO()), "")
        remat.set_progress("never")
        self.assertEqual(self.plan(Terminal()), "")

    def test_the_environment(self):
        with mock.patch.dict(os.environ, REMAT_PROGRESS="always"):
            self.assertTrue(is_shown())
            remat.set_progress("never")
            self.assertFalse(is_shown())
        remat.set_progress(None)
        with mock.patch.dict(os.environ, REMAT_PROGRESS="often"):
            with self.assertRaisesRegex(remat.OptionError,
                                        "REMAT_PROGRESS is 'often', expected one of 'auto', 'always'"):
                remat.compile(MODEL)
        with self.assertRaisesRegex(remat.OptionError, "progress is True, expected one of"):
            remat.set_progress(True)

    def test_the_innermost_line_speaks(self):
        remat.set_progress("always")
        error = io.StringIO()
        with contextlib.redirect_stderr(error), ProgressLine(lambda: ("outer", None)):
            with ProgressLine(lambda: ("inner", None)):
                time.sleep(1.3)
            time.sleep(1.3)
        words = [line.rpartition(": ")[2] for line in error.getvalue().splitlines()]
        self.assertEqual(words[0], "inner")
        self.assertEqual(words[-1], "outer")


class BudgetTest(unittest.TestCase):
    def test_budgets(self):
        options = dict(threads=1, effort=0.1)
        step = remat.compile(GPT2, **options)
        arrays = []
        rng = np.random.default_rng(0)
        for info in step.arguments:
            if info.dtype == "i64":
                arrays.append(rng.integers(0, 200, info.shape))
            else:
                arrays.append((rng.standard_normal(info.shape) * 0.1).astype("f4"))
        expected = step(*arrays)
        frontier = step.frontier(4)
        self.assertGreaterEqual(len(frontier), 2)
        smaller = step.replan("min")
        given = smaller(*arrays)
        for a, b in zip(expected, given):
            np.testing.assert_array_equal(a, b)
        self.assertLess(smaller.memory["planned"], step.memory["planned"])
        self.assertEqual(smaller.memory["planned"], smaller.memory["measured"])
        self.assertGreater(smaller.plan.recomputed_tasks, 0)
        self.assertIn("remat.graph", smaller.plan.text)
        with self.assertRaises(remat.InfeasibleBudget) as caught:
            step.replan("1KiB")
        self.assertGreater(caught.exception.smallest_budget, 1024)


if __name__ == "__main__":
    unittest.main()
