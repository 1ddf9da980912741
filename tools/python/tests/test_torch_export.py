"""remat.torch.export: IR, weights and a manifest, and steps of them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import tempfile
import unittest

import remat
from common import needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    import torch.nn.functional as F

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 8, padding_idx=0)
            self.norm = nn.BatchNorm1d(8)
            self.head = nn.Linear(8, 11, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids, labels=None):
            logits = self.head(self.norm(self.embed(ids).mean(1)))
            return logits if labels is None else F.cross_entropy(logits, labels)


@needs_torch
class ExportTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = Classifier()
        self.ids, self.labels = torch.randint(0, 11, (6, 5)), torch.randint(0, 11, (6,))

    def expected(self, *args):
        import copy
        model = copy.deepcopy(self.model)
        loss = model(*args)
        loss.backward()
        return model, loss

    def test_loss_and_gradients(self):
        exported = rt.export(self.model, (self.ids, self.labels))
        self.assertEqual([(a.name, a.role) for a in exported.arguments if a.role != "buffer"],
                         [("embed.weight", "param"), ("arg0", "data"), ("norm.weight", "param"),
                          ("norm.bias", "param"), ("arg1", "data")])
        reference, loss = self.expected(self.ids, self.labels)
        step = remat.compile(exported, budget="100%", threads=1)
        found, gradients = step(None, self.ids, self.labels)
        torch.testing.assert_close(found, loss.detach())
        for name, parameter in reference.named_parameters():
            torch.testing.assert_close(gradients[name], parameter.grad)
        # The buffers of the model are updated, as its own call would have done.
        torch.testing.assert_close(self.model.norm.running_mean, reference.norm.running_mean)
        self.assertEqual(self.model.norm.num_batches_tracked, 1)
        self.assertEqual(step.memory["planned"], step.memory["measured"])

    def test_other_parameters(self):
        exported = rt.export(self.model, (self.ids, self.labels))
        step = remat.compile(exported)
        params = {name: torch.zeros_like(p) for name, p in self.model.named_parameters()}
        loss, gradients = step(params, self.ids, self.labels)
        torch.testing.assert_close(loss, torch.tensor(11.0).log())
        with self.assertRaisesRegex(remat.ArgumentError, "no parameter 'bias'; there are embed.weight"):
            step({"bias": loss}, self.ids, self.labels)

    def test_loss_function_and_keywords(self):
        exported = rt.export(self.model, (), {"ids": self.ids}, loss=lambda logits: logits.pow(2).sum())
        self.assertIn("ids", [a.name for a in exported.arguments])
        loss, gradients = remat.compile(exported)(None, ids=self.ids)
        reference = self.model(self.ids).pow(2).sum()
        torch.testing.assert_close(loss, reference.detach())
        with self.assertRaisesRegex(remat.ExportError, "not a single floating-point number"):
            rt.export(self.model, (self.ids,), loss=lambda logits: logits)

    def test_cotangents(self):
        exported = rt.export(self.model, (self.ids,))
        step = remat.compile(exported)
        with self.assertRaisesRegex(remat.ArgumentError, "give cotangents"):
            step(None, self.ids)
        g = torch.randn(6, 11)
        (logits,), gradients = step(None, self.ids, cotangents=[g])
        model, _ = self.expected(self.ids, self.labels)
        model.zero_grad()
        out = model(self.ids)
        out.backward(g)
        torch.testing.assert_close(gradients["embed.weight"], model.embed.weight.grad)

    def test_files(self):
        exported = rt.export(self.model, (self.ids, self.labels))
        with tempfile.TemporaryDirectory() as directory:
            paths = exported.save(directory, "classifier")
            with open(paths[0]) as file:
                text = file.read()
            with open(paths[2]) as file:
                manifest = json.load(file)
            weights = remat.safetensors.load(paths[1])
            remat.compile(paths[0], differentiate=False)
            try:
                from safetensors.torch import load_file
                loaded = load_file(paths[1])
                torch.testing.assert_close(loaded["embed.weight"], self.model.embed.weight.detach())
            except ImportError:
                pass
        # Names, layers and lines of the source.
        self.assertIn('remat.name = "embed.weight"', text)
        self.assertIn("test_torch_export.py", text)
        self.assertIn('"norm"', text)
        self.assertEqual(manifest["args"][0]["name"], "embed.weight")
        self.assertEqual(manifest["args"][0]["file"], "classifier.safetensors")
        self.assertIn({"name": "embed.weight.grad", "role": "gradient", "of": "embed.weight"}, manifest["results"])
        self.assertEqual({layer["name"] for layer in manifest["layers"]}, {"embed", "norm", "head"})
        self.assertTrue(all(layer["line"] > 0 for layer in manifest["layers"]))
        torch.testing.assert_close(torch.from_dlpack(weights["embed.weight"]), self.model.embed.weight.detach())

    def test_dropout_takes_a_seed(self):
        model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5))
        x = torch.randn(8, 64)
        exported = rt.export(model, (x,), loss=torch.sum)
        step = remat.compile(exported)
        seed = torch.tensor(3)
        first, second = step(None, x, seed=seed), step(None, x, seed=seed)
        torch.testing.assert_close(first[0], second[0])
        self.assertNotEqual(first[0].item(), step(None, x, seed=torch.tensor(4))[0].item())

    def test_functions(self):
        w = torch.randn(4, requires_grad=True)
        loss, gradients = remat.compile(rt.export(lambda w, x: (w * x).tanh().sum(), (w, torch.ones(4))))(
            None, w, torch.ones(4))
        torch.testing.assert_close(gradients["arg0"], 1 - w.detach().tanh() ** 2)

    def test_no_parameters_is_a_warning(self):
        with self.assertWarnsRegex(UserWarning, "nothing but its data can be differentiated"):
            rt.export(nn.ReLU(), (torch.randn(3, requires_grad=True),), loss=torch.sum)

    def test_breaks_are_refused(self):
        def broken(x):
            torch._dynamo.graph_break()
            return x.sum()

        with self.assertRaises(Exception):
            rt.export(broken, (torch.randn(3, requires_grad=True),))


if __name__ == "__main__":
    unittest.main()
