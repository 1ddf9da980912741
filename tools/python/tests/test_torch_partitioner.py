"""remat's planner decides what PyTorch's graphs save.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import unittest

import remat
from common import needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn

    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 32), nn.GELU())
                                        for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(x)
            return x


def run(model, x, budget, **options):
    """Gradients of the model under a budget, and the partitioner."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    torch._dynamo.reset()
    partitioner = rt.Partitioner(budget, effort=0.1)

    def compiler(graph_module, _):
        return make_boxed_func(graph_module.forward)

    def partition(joint, inputs, **options):
        return partitioner(joint, inputs, **options)

    model = copy.deepcopy(model)
    backend = aot_autograd(fw_compiler=compiler, partition_fn=partition, **options)
    torch.compile(model, backend=backend)(x).pow(2).mean().backward()
    return [p.grad for p in model.parameters()], partitioner


@needs_torch
class PartitionerTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model, self.x = Blocks(), torch.randn(256, 32)
        reference = copy.deepcopy(self.model)
        reference(self.x).pow(2).mean().backward()
        self.expected = [p.grad for p in reference.parameters()]

    def test_smaller_budgets_take_fewer_bytes(self):
        peaks = []
        for budget in (None, "90%", "75%", "65%", "min"):
            gradients, partitioner = run(self.model, self.x, budget)
            for found, expected in zip(gradients, self.expected):
                torch.testing.assert_close(found, expected)
            peak, whole = partitioner.peaks[0]
            if budget and budget[-1] == "%":
                self.assertLessEqual(peak, whole * float(budget[:-1]) / 100)
            peaks.append(peak)
        self.assertEqual(peaks, sorted(peaks, reverse=True))
        self.assertLess(peaks[-1], 0.7 * peaks[0])

    def test_infeasible_budgets(self):
        with self.assertRaisesRegex(Exception, "smallest feasible budget found is"):
            run(self.model, self.x, 1000)

    def test_dropout(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(64, 64))

            def forward(self, x):
                for _ in range(3):
                    x = torch.tanh(nn.functional.dropout(x * self.weight, 0.5))
                return x

        model = Model()
        torch.manual_seed(1)
        reference = copy.deepcopy(model)
        reference(torch.ones(64, 64)).pow(2).mean().backward()
        torch.manual_seed(1)
        (gradient,), _ = run(model, torch.ones(64, 64), "min")
        torch.testing.assert_close(gradient, reference.weight.grad)

    def test_other_shapes(self):
        from functorch.compile import make_boxed_func
        from torch._dynamo.backends.common import aot_autograd
        partitioner = rt.Partitioner("min", effort=0.1)
        torch._dynamo.reset()
        backend = aot_autograd(fw_compiler=lambda module, _: make_boxed_func(module.forward),
                               partition_fn=lambda *args, **options: partitioner(*args, **options))
        compiled = torch.compile(self.model, backend=backend)
        for size in (16, 32, 24):
            x = torch.randn(size, 32)
            gradients = [torch.autograd.grad(run(x).sum() * x.shape[0], list(self.model.parameters()))
                         for run in (compiled, self.model)]
            torch.testing.assert_close(*gradients)
        self.assertEqual(len(partitioner.peaks), 3)

    def test_overwritten_inputs(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(32, 32))
                self.norm = nn.BatchNorm1d(32)
                self.register_buffer("scale", torch.rand(32) + 1)

            def forward(self, x):
                h = self.norm(x @ self.weight)
                y = (h * self.scale.clone()).sin().cos()
                with torch.no_grad():
                    self.scale.mul_(0.5).add_(h.mean(0))
                return y * self.scale

        model = Scaled()
        reference = copy.deepcopy(model)
        reference(self.x).pow(2).mean().backward()
        # The second way is Inductor's: the forward graph itself writes to the buffers.
        for budget in (None, "min"):
            for inside in (False, True):
                gradients, _ = run(model, self.x, budget, keep_inference_input_mutations=inside)
                for found, expected in zip(gradients, reference.parameters()):
                    torch.testing.assert_close(found, expected.grad)

    def test_instances(self):
        nodes = [{"id": i, "name": "n%d" % i, "cost": 10, "size": 100, "backward": i > 2} for i in range(6)]
        instance = {"name": "chain", "nodes": nodes, "outputs": [5],
                    "edges": [[0, 1], [1, 2], [2, 3], [1, 4], [3, 4], [0, 5], [4, 5]]}
        plan = remat.module.plan_instance(instance, budget="min")
        self.assertLess(plan["peak_bytes"], plan["save_all_peak_bytes"])
        self.assertGreater(len(plan["sequence"]), 6)
        with self.assertRaisesRegex(remat.CompileError, "node"):
            remat.module.plan_instance({"name": "bad", "nodes": [{"id": 0, "cost": 1, "size": 1}],
                                         "edges": [[0, 7]], "outputs": []})
        with self.assertRaises(remat.InfeasibleBudget):
            remat.module.plan_instance(instance, budget=1)


if __name__ == "__main__":
    unittest.main()
