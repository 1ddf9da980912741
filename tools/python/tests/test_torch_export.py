"""remat.torch.export: IR, weights and a manifest, and steps of them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import copy
import io
import json
import logging
import os
import tempfile
import unittest
import warnings

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


    class Stateful(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.register_buffer("mean", torch.ones(3))


    class Picture(nn.Module):
        """All that a batch may go through one image at a time, but for what is drawn at random."""

        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(3, 8, 3, padding=1)
            self.second = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=2)
            self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
            self.norm = nn.GroupNorm(2, 4)
            self.token = nn.Parameter(torch.randn(1, 1, 4))
            self.places = nn.Embedding(5, 4)
            self.head = nn.Linear(4, 7)

        def forward(self, x, place, labels):
            x = F.max_pool2d(F.relu(self.first(x)), 3, 2, 1)
            x = F.max_pool2d(self.norm(self.up(F.gelu(self.second(x)))), 2)
            x = torch.cat([self.token.expand(len(x), 1, 4), x.flatten(2).mT], 1)
            x = x.mean(1) + self.places(place)
            return F.cross_entropy(self.head(F.normalize(x)), labels)


@needs_torch
class ExportTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = Classifier()
        self.ids, self.labels = torch.randint(0, 11, (6, 5)), torch.randint(0, 11, (6,))

    def expected(self, *args):
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

    def test_where_the_time_goes(self):
        """Profiles, traces and anomalies take what a call takes, and leave the statistics of the batch norm alone."""
        step = rt.export(self.model, (self.ids, self.labels)).compile_step(threads=1)
        before = self.model.norm.running_mean.clone()
        profile = step.profile(None, self.ids, self.labels, group="phase")
        self.assertEqual(profile["total"]["calls"], step.plan.tasks)
        self.assertEqual(step.anomalies({"norm.bias": torch.full((8,), 1.0)}, self.ids, self.labels), [])
        with tempfile.TemporaryDirectory() as folder:
            for count, arguments in ((1, ()), (2, (None, self.ids, self.labels))):
                step.trace(folder + "/trace.json", *arguments)
                with open(folder + "/trace.json") as file:
                    events = json.load(file)["traceEvents"]
                self.assertEqual(sum(e["name"] == "process_name" for e in events), count)
        self.assertTrue(torch.equal(self.model.norm.running_mean, before))
        self.assertRegex(repr(step), r"peak \d+ bytes, arena \d+, no budget; \d+ tasks, 0 of them recomputed")

    def test_other_batches(self):
        """The batch of an exported model is that of its data, through its derivative, too."""
        exported = rt.export(torch.nn.Linear(6, 3), (torch.randn(8, 6),), loss=lambda y: (y * y).mean())
        small, large = remat.what_if(exported, batch=[8, 64])
        self.assertEqual((small["batch"], large["batch"]), (8, 64))
        self.assertEqual(small["peak_bytes"], exported.compile_step().memory["planned"])
        # 56 more rows of 6 floats come in.
        self.assertEqual(large["callers_bytes"] - small["callers_bytes"], 56 * 6 * 4)
        self.assertGreater(large["peak_bytes"], small["peak_bytes"])
        # The derivative of a maximum over windows goes to where it was.
        pooled = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.MaxPool2d(2), torch.nn.Flatten())
        exported = rt.export(pooled, (torch.randn(2, 3, 8, 8),), loss=lambda y: (y * y).mean())
        small, large = remat.what_if(exported, batch=[2, 8])
        self.assertEqual(small["peak_bytes"], exported.compile_step().memory["planned"])
        self.assertGreater(large["peak_bytes"], 3 * small["peak_bytes"])

    def test_other_parameters(self):
        exported = rt.export(self.model, (self.ids, self.labels))
        step = remat.compile(exported)
        params = {name: torch.zeros_like(p) for name, p in self.model.named_parameters()}
        loss, gradients = step(params, self.ids, self.labels)
        torch.testing.assert_close(loss, torch.tensor(11.0).log())
        with self.assertRaisesRegex(remat.ArgumentError, "no parameter 'bias'; there are embed.weight"):
            step({"bias": loss}, self.ids, self.labels)

    def test_batch_in_parts(self):
        """Gradients of a batch in parts are those of the whole, whatever the number of labels that count in a part."""
        model = Picture()
        batch = torch.randn(6, 3, 8, 8), torch.tensor([0, 1, 1, 4, 1, 3]), torch.tensor([1, -100, -100, 3, 0, 6])
        loss = model(*batch)
        loss.backward()
        exported = rt.export(model, batch)
        whole = remat.compile(exported, threads=1)
        for parts in (2, 3, 6):
            step = remat.compile(exported, threads=1, split_batch=parts)
            self.assertLess(step.memory["planned"], whole.memory["planned"])
            found, gradients = step(None, *batch)
            torch.testing.assert_close(found, loss.detach())
            for name, parameter in model.named_parameters():
                torch.testing.assert_close(gradients[name], parameter.grad)
        with self.assertRaisesRegex(remat.Error, "expected rows that do not depend on each other"):
            remat.compile(rt.export(self.model, (self.ids, self.labels)), split_batch=2)

    def test_batch_behind_tokens_in_parts(self):
        """PyTorch's attention has rows of tokens and, within these, of the batch."""
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True)
        model = torch.nn.Sequential(layer, torch.nn.Linear(16, 4))
        x = torch.randn(6, 5, 16)
        loss = model(x).square().mean()
        loss.backward()
        exported = rt.export(model, (x,), loss=lambda y: y.square().mean())
        for parts in (2, 3, 6):
            found, gradients = remat.compile(exported, threads=1, split_batch=parts)(None, x)
            torch.testing.assert_close(found, loss.detach())
            for name, parameter in model.named_parameters():
                torch.testing.assert_close(gradients[name], parameter.grad)

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

    def test_the_loss_is_what_is_differentiated(self):
        def model(w, x):
            logits = torch.tanh(w * x)
            return {"accuracy": (logits > 0.5).float().mean(), "logits": logits}

        w, x = torch.randn(4, requires_grad=True), torch.ones(4)
        step = remat.compile(rt.export(model, (w, x)))
        with self.assertRaisesRegex(remat.ArgumentError, "give cotangents"):
            step(None, w, x)
        g = torch.randn(4)
        (accuracy, logits), gradients = step(None, w, x, cotangents=[g])
        expected, = torch.autograd.grad(model(w, x)["logits"], w, g)
        torch.testing.assert_close(gradients["arg0"], expected)
        with self.assertRaisesRegex(remat.ArgumentError, "takes 1 cotangents, got 2"):
            step(None, w, x, cotangents=[g, g])

    def test_a_loss_beside_other_outputs(self):
        def model(w, x):
            logits = torch.tanh(w * x)
            return logits, logits.pow(2).sum(), (logits > 0.5).float().mean()

        w, x = torch.randn(4, requires_grad=True), torch.ones(4)
        exported = rt.export(model, (w, x))
        self.assertEqual(sorted(r.role for r in exported.results), ["gradient", "loss", "output", "output"])
        step = remat.compile(exported)
        (logits, loss, accuracy), gradients = step(None, w, x)
        expected = model(w, x)
        torch.testing.assert_close((logits, loss, accuracy), tuple(t.detach() for t in expected))
        torch.testing.assert_close(gradients["arg0"], torch.autograd.grad(expected[1], w)[0])
        with self.assertRaisesRegex(remat.ArgumentError, "it takes no cotangents"):
            step(None, w, x, cotangents=[x])

    def test_two_losses_take_cotangents(self):
        w, x = torch.randn(4, requires_grad=True), torch.ones(4)
        step = remat.compile(rt.export(lambda w, x: ((w * x).sum(), (w * w).sum()), (w, x)))
        one = torch.tensor(1.0)
        _, gradients = step(None, w, x, cotangents=[one, one * 2])
        torch.testing.assert_close(gradients["arg0"], x + 4 * w.detach())

    def test_keywords_go_by_name(self):
        w, x = torch.randn(4, requires_grad=True), torch.randn(4)
        step = remat.compile(rt.export(lambda a, b, c: (a.pow(3) * b["p"] * b["q"].pow(2)).sum() * c, (),
                                       {"a": w, "b": {"p": x, "q": x + 1}, "c": 2.0}))
        expected = (w.pow(3) * x * (x + 1).pow(2)).sum() * 2
        loss, gradients = step(None, c=2.0, b={"q": x + 1, "p": x}, a=w)
        torch.testing.assert_close(loss, expected.detach())
        torch.testing.assert_close(gradients["a"], torch.autograd.grad(expected, w)[0])
        good = dict(a=w, b={"p": x, "q": x}, c=2.0)
        for kwargs, message in ((dict(good, c=3.0), "argument 'c' is 3.0; the step was exported for 2.0"),
                                (dict(good, c=2), "argument 'c' is 2; the step was exported for 2.0"),
                                (dict(good, d=x), "argument 'd' was not there"),
                                (dict(good, b={"p": x}), "argument 'b.q' is missing"),
                                (dict(a=w), "argument 'b.p' is missing")):
            with self.assertRaisesRegex(remat.ArgumentError, message):
                step(None, **kwargs)
        with self.assertRaisesRegex(remat.ArgumentError, "argument 'arg0' was not there"):
            step(None, x, **good)

    def test_a_tensor_given_twice(self):
        w = torch.randn(4, requires_grad=True)
        step = remat.compile(rt.export(lambda a, b: (a * b * b).sum(), (w, w)))
        x, y = torch.randn(4), torch.randn(4)
        loss, gradients = step(None, x, y)
        torch.testing.assert_close(loss, (x * y * y).sum())
        torch.testing.assert_close(gradients["arg0"], y * y)
        torch.testing.assert_close(gradients["arg1"], 2 * x * y)
        # A parameter that is an argument as well stays a parameter.
        layer = nn.Linear(4, 4, bias=False)
        model = nn.Sequential(layer)
        model.forward = lambda x, w: (layer(x) @ w).sum()
        exported = rt.export(model, (x[None], layer.weight))
        self.assertEqual({a.name: a.role for a in exported.arguments},
                         {"arg0": "data", "0.weight": "param", "arg1": "data"})

    def test_names_are_unique(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight, self.arg0 = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(3))
                self.register_buffer("cotangent0", torch.randn(3))

            def forward(self, x, weight, **more):
                return self.weight * x + self.arg0 * weight + more["arg0"] * self.cotangent0

        model, x, y, z, g = Model(), *torch.randn(4, 3)
        exported = rt.export(model, (x,), {"weight": y, "arg0": z})
        names = [a.name for a in exported.arguments]
        self.assertEqual(len(names), len(set(names)), names)
        (found,), gradients = remat.compile(exported)(None, x, weight=y, arg0=z, cotangents=[g])
        torch.testing.assert_close(found, model(x, y, arg0=z).detach())
        torch.testing.assert_close(gradients, {"weight": g * x, "arg0": g * y})

    def test_unsigned_results(self):
        x = torch.tensor([100, 3], dtype=torch.uint8)
        step = remat.compile(rt.export(lambda x: (x + 100, x.to(torch.int32)), (x,)))
        (found, wide), _ = step(None, x)
        self.assertEqual((found.dtype, found.tolist()), (torch.uint8, [200, 103]))
        self.assertEqual(wide.dtype, torch.int32)
        (found, _), _ = step(None, x.numpy())
        self.assertEqual((str(found.dtype), found.tolist()), ("uint8", [200, 103]))

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
        drawn = []
        for _ in range(2):
            torch.manual_seed(5)
            drawn.append(step(None, x)[0].item())
        self.assertEqual(*drawn)

    def test_dropout_in_parts(self):
        """Each part of a batch has a mask of its own, as each step of a training loop has."""
        class Dropped(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(16))

            def forward(self, x):
                return F.dropout(self.w * x, 0.5, True).sum(1).mean()

        model, distance = Dropped(), 0x9e3779b97f4a7c15 - (1 << 64)
        exported = rt.export(model, (torch.ones(2, 16),))
        part = remat.compile(exported, threads=1)
        keys = [3, 3 + distance, (3 + 2 * distance) % (1 << 64)]
        expected = [part(None, torch.ones(2, 16), seed=torch.tensor(key))[1]["w"] for key in keys]
        self.assertFalse(torch.equal(expected[0], expected[1]))
        step = remat.compile(exported, microbatches=3, threads=1)
        found = step(None, torch.ones(6, 16), seed=torch.tensor(3))[1]["w"]
        torch.testing.assert_close(found, sum(expected) / 3)

    def test_gradients_of_data_in_parts_of_a_batch(self):
        """They are those of the mean that the step returns; what all parts have is no part of the batch."""
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(5, 7)
                self.w = nn.Parameter(torch.randn(7, dtype=torch.complex64))

            def forward(self, x, scale):
                return (self.inner(x) * scale * self.w).abs().pow(2).mean()

        model, x, scale = Scaled(), torch.randn(12, 5, requires_grad=True), torch.randn(7, requires_grad=True)
        exported = rt.export(model, (torch.randn(4, 5, requires_grad=True), scale))
        loss, gradients = remat.compile(exported, microbatches=3, threads=1)(None, x.detach(), scale.detach())
        expected = sum(model(part, scale) for part in x.chunk(3)) / 3
        expected.backward()
        torch.testing.assert_close(loss, expected.detach())
        torch.testing.assert_close(gradients["arg0"], x.grad)
        torch.testing.assert_close(gradients["arg1"], scale.grad)
        torch.testing.assert_close(gradients["w"], model.w.grad)
        torch.testing.assert_close(gradients["inner.weight"], model.inner.weight.grad)
        for name in ("tangents", "wrt", "result"):
            with self.assertRaisesRegex(remat.ArgumentError, "the option '%s' is not one of an exported step" % name):
                remat.compile(exported, **{name: 0})
        with self.assertRaisesRegex(remat.Error, "'cotangents' has no effect: nothing is differentiated"):
            remat.compile(exported, cotangents=True)

    def test_functions(self):
        w = torch.randn(4, requires_grad=True)
        loss, gradients = remat.compile(rt.export(lambda w, x: (w * x).tanh().sum(), (w, torch.ones(4))))(
            None, w, torch.ones(4))
        torch.testing.assert_close(gradients["arg0"], 1 - w.detach().tanh() ** 2)

    def test_exported_programs_of_pytorch(self):
        """Their dynamic extents are those of the call."""
        model, x = nn.Sequential(nn.Linear(6, 4), nn.Tanh()), torch.randn(5, 6)
        program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=64)},))
        step = rt.export(program, (x,), loss=lambda y: y.pow(2).sum()).compile_step()
        loss, gradients = step(None, x)
        expected = model(x).pow(2).sum()
        expected.backward()
        torch.testing.assert_close(loss, expected.detach())
        torch.testing.assert_close(gradients["0.weight"], model[0].weight.grad)
        with self.assertRaisesRegex(remat.ArgumentError, r"argument 0 is arg0: f32\[5x6\], got f32\[3x6\]"):
            step(None, torch.randn(3, 6))

    def test_no_parameters_is_a_warning(self):
        with self.assertWarnsRegex(UserWarning, "nothing but its data can be differentiated"):
            rt.export(nn.ReLU(), (torch.randn(3, requires_grad=True),), loss=torch.sum)

    def test_what_a_model_says_is_left_out(self):
        """A step says nothing."""
        logger = logging.getLogger(__name__)

        class Talking(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(3, 2)

            def forward(self, x):
                print("the shape is", x.shape, "and the numbers are", x, end="")
                logger.debug("%s", x.shape)
                logging.debug("numbers: %s", x)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    warnings.warn("this is going away", stacklevel=2)
                return self.linear(x).square().sum()

        model, x, said = Talking(), torch.randn(4, 3), io.StringIO()
        with contextlib.redirect_stdout(said):
            loss, _ = remat.compile(rt.export(model, (x,)), threads=1)(None, x)
        self.assertEqual(said.getvalue(), "")
        torch.testing.assert_close(loss, model.linear(x).square().sum().detach())

    def test_refusals_are_one_line(self):
        class Overwritten(Stateful):
            def forward(self, x):
                y = self.linear(x)
                self.mean = y.detach().mean(0)
                return y.sum()

        class Larger(Stateful):
            def forward(self, x):
                y = self.linear(x)
                self.mean = torch.cat([self.mean, y.detach()[0]])
                return y.sum()

        def broken(x):
            torch._dynamo.graph_break()
            return x.sum()

        class Backward(Stateful):
            def forward(self, x):
                y = self.linear(x)
                y.sum().backward(retain_graph=True)
                return y.pow(2).sum()

        def penalized(x):
            y = (2 * x).detach().requires_grad_()
            slope, = torch.autograd.grad(y.sin().sum(), y, create_graph=True)
            return (slope * x).sum()

        # A module of PyTorch's, as far as the place of its lines goes.
        place = os.path.join(os.path.dirname(nn.modules.__file__), "airy.py")
        forward = eval(compile("lambda self, x: torch.special.airy_ai(x.detach()).sum() * x.sum()", place, "eval"),
                       {"torch": torch})
        Airy = type("Airy", (nn.Module,), {"forward": forward})

        hooked, accumulated, module_hooked = Stateful(), Stateful(), Stateful()
        module_hooked.linear.register_full_backward_hook(lambda module, ingoing, outgoing: None)
        hooked.linear.weight.register_hook(lambda g: 2 * g)
        accumulated.linear.bias.register_post_accumulate_grad_hook(lambda p: None)

        from torch._higher_order_ops.while_loop import while_loop
        here, x = r"^\S*test_torch_export.py:\d+: ", torch.randn(4, 3, requires_grad=True)
        for model, message in (
                (broken, here + ".*graph_break"),
                (lambda x: x.sum() if x.sum() > 0 else x.mean(), here + "what the model computes depends on the data"),
                (lambda x: x[x > 0].sum(), here + "aten.*: it gives a number that depends on the data of a tensor"),
                (lambda x: x.view(7).sum(), here + ".*shape '\\[7\\]' is invalid for input of size 12"),
                (lambda x: while_loop(lambda y: y.sum() < 9, lambda y: (y + 1,), (x.detach(),))[0].sum() + x.sum(),
                 here + "while_loop: operations on functions are not supported"),
                (lambda x: x.sum() + x.detach().repeat_interleave(torch.tensor([1, 2, 0, 1]), 0).sum(),
                 here + "aten.repeat_interleave.Tensor: repeat_interleave: the shape of the result depends on data"),
                (lambda x: torch.linalg.solve(torch.complex(x[:3], x[1:]), x[:3] + 0j).abs().sum(),
                 here + "aten._linalg_solve_ex.default: systems with complex numbers are not supported$"),
                (nn.Sequential(nn.Identity(), Airy()),
                 "^module 1: aten.special_airy_ai.default: there is no rule for it"),
                (hooked, "^'linear.weight' has a hook"),
                (accumulated, "^'linear.bias' has a hook"),
                (module_hooked, "^module 'linear' has a hook of its gradients"),
                (Backward(), "^the model calls backward"),
                (penalized, "requires_grad_.* cannot be exported; take the gradient .* by torch.func.grad"),
                (Overwritten(), "^the model assigns to 'mean' what it does not compute from it; write 'copy_'"),
                (Larger(), "^the model assigns a tensor of another shape to 'mean'")):
            with self.assertRaisesRegex(remat.ExportError, message) as caught:
                rt.export(model, (x,))
            self.assertNotIn("\n", str(caught.exception))
        y = torch.randn(3, requires_grad=True)
        y.register_hook(lambda g: 2 * g)
        with self.assertRaisesRegex(remat.ExportError, "^'arg0' has a hook"):
            rt.export(torch.sum, (y,))

    def test_masks_of_transformers(self):
        """PyTorch looks at their data, only to find out which are causal."""
        torch.manual_seed(0)
        model = nn.Transformer(8, 2, 1, 1, 8, dropout=0.0)
        call = {"src": torch.randn(6, 2, 8), "tgt": torch.randn(5, 2, 8),
                "tgt_mask": nn.Transformer.generate_square_subsequent_mask(5),
                "src_key_padding_mask": torch.arange(6) >= torch.tensor([[6], [4]])}
        loss, gradients = rt.export(model, (), call, loss=lambda y: y.pow(2).sum()).compile_step()(None, **call)
        expected = model(**call).pow(2).sum()
        expected.backward()
        torch.testing.assert_close(loss, expected.detach())
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-4, atol=1e-4)

    def test_tensors_that_a_call_makes(self):
        """PyTorch lifts them out of the graph."""
        x = torch.randn(3, requires_grad=True)
        step = rt.export(lambda x: (x * torch.tensor([1.0, 2.0, 3.0])).sum(), (x,)).compile_step()
        torch.testing.assert_close(step(None, x.detach())[1]["arg0"], torch.tensor([1.0, 2.0, 3.0]))

    def test_what_a_model_stores(self):
        """It is no result, and has no cotangent. What it reads and assigns is updated."""
        class Storing(Stateful):
            def forward(self, x):
                y = self.linear(x) * self.mean  # Autograd keeps the mean before the call.
                self.last, self.all = y, [y, x]
                self.mean = 0.9 * self.mean + 0.1 * y.mean(0)
                return y.sin(), y.pow(2).sum()

        torch.manual_seed(0)
        model, x = Storing(), torch.randn(4, 3)
        exported = rt.export(model, (x,))
        self.assertEqual([r.role for r in exported.results], ["update", "output", "loss", "gradient", "gradient"])
        self.assertFalse(hasattr(model, "last"))
        found, gradients = exported.compile_step()(None, x)
        reference = Storing()
        reference.linear.load_state_dict(model.linear.state_dict())
        expected = reference(x)
        expected[1].backward()
        torch.testing.assert_close(found, tuple(v.detach() for v in expected))
        torch.testing.assert_close(gradients["linear.weight"], reference.linear.weight.grad)
        torch.testing.assert_close(model.mean, reference.mean.detach())

    def check_state(self, model, *args, calls=2):
        """Loss, gradients, parameters and buffers of several calls are PyTorch's."""
        model = model.double()
        reference = copy.deepcopy(model)
        step = rt.export(model, args, loss=torch.sum).compile_step()
        for _ in range(calls):
            loss, gradients = step(None, *args)
            reference.zero_grad()
            expected = reference(*args).sum()
            expected.backward()
            torch.testing.assert_close(loss, expected.detach())
            for name, parameter in reference.named_parameters():
                torch.testing.assert_close(gradients[name], parameter.grad)
            for name, tensor in reference.state_dict().items():
                torch.testing.assert_close(model.state_dict()[name], tensor)

    def test_buffers_in_place_beside_assigned_ones(self):
        class Counting(Stateful):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x):
                y = self.linear(x)
                self.count += 1
                self.mean.lerp_(y.detach().mean(0), 0.1)
                with torch.no_grad():
                    self.linear.weight.clamp_(-0.4, 0.4)
                self.linear.bias.data.mul_(2)
                return (self.linear(y) * self.mean).sin() / self.count

        self.check_state(Counting(), torch.randn(4, 3).double())

    def test_buffers_that_are_handed_on(self):
        class Shifting(Stateful):
            def __init__(self, swaps):
                super().__init__()
                self.register_buffer("a_cache", torch.ones(3))
                self.register_buffer("z_cache", torch.zeros(3))
                self.swaps = swaps

            def forward(self, x):
                y = self.linear(x)
                out = (y * self.a_cache + self.mean * self.z_cache).sin()
                new = self.mean * 0.5 + y.detach().mean(0)
                if self.swaps:
                    self.a_cache, self.z_cache = self.z_cache, self.a_cache
                else:
                    self.a_cache, self.z_cache = self.mean, self.a_cache
                self.mean = new
                return out

        for swaps in (False, True):
            self.check_state(Shifting(swaps), torch.randn(4, 3).double(), calls=3)

    def test_gradients_inside(self):
        class Energy(Stateful):
            def forward(self, x):
                y = self.linear(x).tanh().pow(2).sum()
                g, = torch.autograd.grad(y, self.linear.weight, create_graph=True)
                return y + g.pow(2).sum()

        self.check_state(Energy(), torch.randn(4, 3).double())

    def test_numbers_that_a_call_changes(self):
        class Warming(Stateful):
            calls, mode = 0, "train"

            def forward(self, x):
                self.calls, self.mode, self.last = self.calls + 1, "train", x.shape
                return self.linear(x).sum() / self.calls

        model = Warming()
        model.calls = 3
        with self.assertWarnsRegex(UserWarning, "changes its number 'calls' in a call, from 3 to 4") as caught:
            rt.export(model, (torch.randn(4, 3),))
        self.assertEqual(sum("changes its number" in str(w.message) for w in caught.warnings), 1)

    def test_spectral_norm(self):
        """It computes buffers in place, which are stored once more."""
        torch.manual_seed(0)
        model, x = torch.nn.utils.parametrizations.spectral_norm(nn.Linear(5, 4)), torch.randn(3, 5)
        reference = copy.deepcopy(model)
        step = rt.export(model, (x,), loss=lambda y: y.pow(2).sum()).compile_step()
        loss, gradients = step(None, x)
        expected = reference(x).pow(2).sum()
        expected.backward()
        torch.testing.assert_close(loss, expected.detach())
        for name, parameter in reference.named_parameters():
            torch.testing.assert_close(gradients[name], parameter.grad)
        for name, buffer in reference.named_buffers():
            torch.testing.assert_close(dict(model.named_buffers())[name], buffer)


if __name__ == "__main__":
    unittest.main()
