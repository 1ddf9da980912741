"""Optimizers and parts of a batch in the steps of exported models, against torch.optim.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import unittest

import remat
from common import needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    import torch.nn.functional as F

    class Model(nn.Module):
        """Tied weights, one of rank 0, one without a gradient, integers, and statistics that it updates."""

        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(9, 6)
            self.inner = nn.Linear(6, 6)
            self.norm = nn.BatchNorm1d(6)
            self.scale = nn.Parameter(torch.tensor(1.5))
            self.unused = nn.Parameter(torch.ones(3))

        def forward(self, ids, labels):
            h = self.norm(torch.tanh(self.inner(self.embed(ids))).mean(1))
            return F.cross_entropy(h @ self.embed.weight.T * self.scale, labels)


@needs_torch
class OptimizerTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = Model().double()
        self.batches = [(torch.randint(9, (8, 5)), torch.randint(9, (8,))) for _ in range(3)]

    def export(self, rows=8):
        model = copy.deepcopy(self.model)
        return model, rt.export(model, tuple(x[:rows] for x in self.batches[0]))

    def compare(self, model, reference):
        for name, tensor in reference.state_dict().items():
            torch.testing.assert_close(model.state_dict()[name], tensor, rtol=1e-10, atol=1e-12, msg=name)

    def test_weights_are_updated_where_they_are(self):
        optimizers = {
            "sgd:lr=0.1,momentum=0.9,dampening=0.3": lambda p: torch.optim.SGD(p, 0.1, 0.9, 0.3),
            "adamw:lr=1e-2,weight_decay=0.1": lambda p: torch.optim.AdamW(p, 1e-2, weight_decay=0.1),
            "adafactor:lr=1e-2": lambda p: torch.optim.Adafactor(p, 1e-2)}
        for text, make in optimizers.items():
            model, exported = self.export()
            places = [p.data_ptr() for p in model.state_dict().values()]
            step = remat.compile(exported, optimizer=text, threads=1)
            reference = copy.deepcopy(self.model)
            optimizer = make(reference.parameters())
            for number, batch in enumerate(self.batches):
                optimizer.zero_grad()
                expected = reference(*batch)
                expected.backward()
                optimizer.step()
                if number == 2:  # The state goes on.
                    step = step.replan("min")
                loss, gradients = step(None, *batch)
                torch.testing.assert_close(loss, expected.detach())
                self.assertEqual(gradients, {})
            self.compare(model, reference)
            self.assertEqual([p.data_ptr() for p in model.state_dict().values()], places)
            self.assertEqual(step.memory["planned"], step.memory["measured"])
            if "adamw" in text:
                moments = optimizer.state[reference.inner.weight]
                torch.testing.assert_close(step.state["inner.weight.exp_avg"], moments["exp_avg"])
                self.assertEqual(step.state["optimizer.step"], 3)
                self.assertNotIn("unused.exp_avg", step.state)

    def test_learning_rates_come_with_calls(self):
        model, exported = self.export()
        step = remat.compile(exported, optimizer="sgd:lr=argument", threads=1)
        reference = copy.deepcopy(self.model)
        optimizer = torch.optim.SGD(reference.parameters(), 1.0)
        for rate, batch in zip((0.5, 0.25, 0.125), self.batches):
            optimizer.param_groups[0]["lr"] = rate
            optimizer.zero_grad()
            reference(*batch).backward()
            optimizer.step()
            step(None, *batch, learning_rate=rate)
        self.compare(model, reference)
        with self.assertRaisesRegex(remat.ArgumentError, "give the learning rate of this step by learning_rate="):
            step(None, *self.batches[0])
        with self.assertRaisesRegex(remat.ArgumentError, "learning_rate has no effect"):
            remat.compile(exported, threads=1)(None, *self.batches[0], learning_rate=0.1)

    def test_what_looks_at_a_step_trains_nothing(self):
        model, exported = self.export()
        step = remat.compile(exported, optimizer="adam:skip_nonfinite=true", threads=1)
        before = copy.deepcopy(model.state_dict())
        step.profile(None, *self.batches[0])
        for name, tensor in before.items():
            self.assertTrue(torch.equal(model.state_dict()[name], tensor), name)
        self.assertEqual(step.state["optimizer.step"], 0)
        step(None, *self.batches[0])
        self.assertTrue(step.is_finite)
        self.assertEqual(step.state["optimizer.step"], 1)
        with torch.no_grad():
            model.scale.fill_(float("inf"))
        step(None, *self.batches[0])
        self.assertFalse(step.is_finite)
        self.assertEqual(step.state["optimizer.step"], 1)

    def test_gradients_of_data_are_no_weights(self):
        x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
        linear = nn.Linear(6, 2).double()
        exported = rt.export(linear, (x,), loss=lambda y: y.square().mean())
        linear(x).square().mean().backward()
        expected, before = x.grad, x.detach().clone()
        _, gradients = remat.compile(exported, optimizer="sgd:lr=0.1", threads=1)(None, x.detach())
        torch.testing.assert_close(gradients["arg0" if "arg0" in gradients else "input"], expected)
        self.assertTrue(torch.equal(x, before))

    def test_parts_of_a_batch(self):
        model, exported = self.export(rows=2)
        step = remat.compile(exported, optimizer="adamw:lr=1e-2", microbatches=4, threads=1)
        reference = copy.deepcopy(self.model)
        optimizer = torch.optim.AdamW(reference.parameters(), 1e-2)
        for ids, labels in self.batches:
            optimizer.zero_grad()
            losses = [reference(ids[i:i + 2], labels[i:i + 2]) for i in range(0, 8, 2)]
            expected = sum(losses) / 4
            expected.backward()
            optimizer.step()
            loss, _ = step(None, ids, labels)
            torch.testing.assert_close(loss, expected.detach())
        # Statistics go on from part to part.
        self.compare(model, reference)

    def test_gradients_of_parts(self):
        model, exported = self.export(rows=4)
        ids, labels = self.batches[0]
        step = remat.compile(exported, microbatches=2, threads=1)
        reference = copy.deepcopy(self.model)
        (sum(reference(ids[i:i + 4], labels[i:i + 4]) for i in (0, 4)) / 2).backward()
        _, gradients = step(None, ids, labels)
        for name, parameter in reference.named_parameters():
            if parameter.grad is not None:
                torch.testing.assert_close(gradients[name], parameter.grad)

    def test_refusals(self):
        model, exported = self.export()
        with self.assertRaisesRegex(remat.Error, "unknown optimizer 'adma', expected one of 'sgd', 'adam'"):
            remat.compile(exported, optimizer="adma")
        with self.assertRaisesRegex(remat.Error, "'loss_scale' needs a function to differentiate"):
            remat.compile(exported, optimizer="adam:loss_scale=8")
        weight = model.inner.weight.detach().T.contiguous().T
        step = remat.compile(exported, optimizer="sgd", threads=1)
        with self.assertRaisesRegex(remat.ArgumentError, "inner.weight.* is not dense"):
            step({"inner.weight": weight}, *self.batches[0])


if __name__ == "__main__":
    unittest.main()
