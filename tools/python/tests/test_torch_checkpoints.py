"""Regions of PyTorch that are marked for recomputation: policies have their effect, and gradients are PyTorch's.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import itertools
import unittest
import warnings

from common import compare, needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.utils.checkpoint import (CheckpointPolicy, checkpoint, checkpoint_sequential,
                                        create_selective_checkpoint_contexts)


@needs_torch
class CheckpointTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.randn(64, 32)

    def model(self, **options):
        class Blocks(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 32))
                                            for _ in range(4))

            def forward(self, x):
                for layer in self.layers:
                    x = checkpoint(layer, x, use_reentrant=False, **options) if options else layer(x)
                return x

        return Blocks()

    def test_regions_are_recomputed(self):
        step, = compare(self, self.model(preserve_rng_state=True), (self.x,))
        plain, = compare(self, self.model(), (self.x,))
        self.assertGreaterEqual(step.plan.recomputed_tasks, 4)
        self.assertEqual(plain.plan.recomputed_tasks, 0)
        self.assertLess(step.memory["state"], plain.memory["state"])

    def test_policies(self):
        def policy(context, op, *args, **kwargs):
            saved = op in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
            return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.MUST_RECOMPUTE

        context = functools.partial(create_selective_checkpoint_contexts, policy)
        step, = compare(self, self.model(context_fn=context), (self.x,))
        self.assertIn("must_save", step.plan.text)
        self.assertIn("must_recompute", step.plan.text)
        # Products run once; what follows them runs again.
        again = [line for line in step.plan.text.splitlines() if " copy 1 " in line]
        self.assertTrue(again)
        self.assertFalse([line for line in again if "matmul" in line or "@contract" in line], again)

    def test_annotations(self):
        import torch.fx.traceback

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(32, 64), nn.Linear(64, 32)

            def forward(self, x):
                with torch.fx.traceback.annotate({"name": "hidden", "policy": "must_recompute"}):
                    h = torch.tanh(self.a(x))
                return self.b(h)

        step, = compare(self, Model(), (self.x,))
        self.assertIn('"hidden"', step.plan.text)
        self.assertGreater(step.plan.recomputed_tasks, 0)

    def test_nested_regions(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(32, 64), nn.Linear(64, 32)

            def inner(self, x):
                return checkpoint(lambda y: torch.tanh(self.a(y)), x, use_reentrant=False)

            def forward(self, x):
                return checkpoint(lambda y: self.b(self.inner(y)).sin(), x, use_reentrant=False)

        step, = compare(self, Model(), (self.x,))
        self.assertGreater(step.plan.recomputed_tasks, 0)

    def test_sequences(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), nn.Tanh()) for _ in range(7)])

            def forward(self, x):
                return checkpoint_sequential(self.layers, 3, x, use_reentrant=False)

        step, = compare(self, Model(), (self.x,))
        again = [line for line in step.plan.text.splitlines() if " copy 1 " in line and "tanh" in line]
        self.assertEqual(len(again), 2)  # What a segment gives is kept, and the last segment is no checkpoint.
        self.assertIn("must_recompute", rt.export(Model(), (self.x,), loss=torch.sum).text)

    def test_reentrant_regions(self):
        """PyTorch's gradients, and a warning where it has gradients only by torch.compile."""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(32, 64), nn.Linear(64, 32)

            def forward(self, x):
                inner = lambda y: checkpoint(lambda z: torch.tanh(self.a(z)), y, use_reentrant=True)
                return checkpoint(lambda y: self.b(inner(y)).sin(), x, use_reentrant=True)

        message = r"checkpoints.py:\d+: no argument of a checkpoint with use_reentrant=True requires a gradient"
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message)
            compare(self, Model(), (self.x.requires_grad_(),), exact=None)
        self.x.requires_grad_(False)
        model = Model()
        with self.assertWarnsRegex(UserWarning, message):
            torch._dynamo.reset()
            torch.compile(model, backend=rt.backend)(self.x).sum().backward()
        self.assertIsNotNone(model.a.weight.grad)
        with self.assertWarnsRegex(UserWarning, message):
            rt.export(model, (self.x,), loss=torch.sum)

    def test_statistics_in_a_region_are_updated_once(self):
        """As by torch.compile; PyTorch alone updates them again when it recomputes."""
        norm = nn.BatchNorm1d(32)
        torch._dynamo.reset()
        run = torch.compile(lambda x: checkpoint(norm, x, use_reentrant=False), backend=rt.backend)
        run(self.x).sum().backward()
        self.assertEqual(norm.num_batches_tracked, 1)
        torch.testing.assert_close(norm.running_mean, 0.1 * self.x.mean(0))

    def test_early_stop(self):
        def run_with(value):
            with torch.utils.checkpoint.set_checkpoint_early_stop(value):
                return compare(self, self.model(preserve_rng_state=True), (self.x,))

        run_with(True)
        run_with(False)

    def test_dropout_in_a_region_draws_the_same_mask(self):
        """Also where the program leaves open which one is drawn again."""
        class Model(nn.Module):
            def __init__(self, **options):
                super().__init__()
                self.a, self.options = nn.Linear(32, 32), options

            def forward(self, x):
                return checkpoint(lambda y: F.dropout(y, 0.5) * self.a(y), x, **self.options)

        for options in itertools.product((True, False), (True, False)):
            with self.subTest(options=options):
                model = Model(use_reentrant=options[0], preserve_rng_state=options[1])
                torch._dynamo.reset()
                rt.compiled_steps.clear()
                out = torch.compile(model, backend=rt.backend)(self.x)
                out.sum().backward()
                plan = rt.compiled_steps[-1].plan
                self.assertGreater(plan.recomputed_tasks + plan.absorbed_tasks, 0)
                mask = (out != 0).float() * 2 * self.x
                torch.testing.assert_close(model.a.weight.grad, mask.t() @ self.x)


if __name__ == "__main__":
    unittest.main()
