"""Small models of kinds that nothing was tuned for, in PyTorch: remat's code for GPUs on the simulator against PyTorch.

    held_out.py REMAT_RUN DIRECTORY

No size is a multiple of what a thread reads at once, unless a model needs it. Each model is exported and run at several
budgets, and with the threads of a block in reverse order. All runs must have the same bits and the bytes that were
planned. Results and gradients may be as wrong as twice those of PyTorch in the same type, both compared with f64.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import json
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import remat.torch

BUDGETS = "100%,70%,min"
# What is added up in another order is as wrong as that by chance.
SLACK = {torch.float32: 2e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * self.weight


class Llama(nn.Module):
    """Rotary positions, three heads of queries for each of keys, gated units."""

    def __init__(self, vocabulary=45, size=36, heads=6, groups=2, length=13):
        super().__init__()
        self.heads, self.groups, self.width = heads, groups, size // heads
        self.embed = nn.Embedding(vocabulary, size)
        self.norms = nn.ModuleList(RMSNorm(size) for _ in range(3))
        self.q, self.o = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.kv = nn.Linear(size, 2 * groups * self.width, bias=False)
        self.gate, self.up = nn.Linear(size, 50, bias=False), nn.Linear(size, 50, bias=False)
        self.down = nn.Linear(50, size, bias=False)
        angles = torch.arange(length)[:, None] / 100 ** (torch.arange(0, self.width, 2) / self.width)
        self.register_buffer("cos", angles.cos().repeat(1, 2))
        self.register_buffer("sin", angles.sin().repeat(1, 2))

    def turn(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.embed(tokens)
        y = self.norms[0](x)
        split = lambda t, n: t.view(batch, length, n, self.width).transpose(1, 2)
        q = self.turn(split(self.q(y), self.heads))
        k, v = (split(t, self.groups).repeat_interleave(self.heads // self.groups, 1)
                for t in self.kv(y).chunk(2, -1))
        y = F.scaled_dot_product_attention(q, self.turn(k), v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, -1))
        y = self.norms[1](x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return self.norms[2](x) @ self.embed.weight.T


class Bert(nn.Module):
    """Sentences of different lengths, each seen from both sides."""

    def __init__(self, vocabulary=33, size=30, heads=3):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, size, padding_idx=0), nn.Embedding(11, size)
        self.heads, self.qkv, self.out = heads, nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.inner, self.outer, self.head = nn.Linear(size, 58), nn.Linear(58, size), nn.Linear(size, vocabulary)

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.words(tokens) + self.places.weight[:length]
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        scores = scores.masked_fill((tokens == 0)[:, None, None], -1e4)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, -1)
        x = self.first(x + self.out(y))
        x = self.second(x + self.outer(F.gelu(self.inner(x))))
        return self.head(x)


class ViT(nn.Module):
    """Patches, a token of its own for the class, GELU with tanh."""

    def __init__(self, size=32, heads=4, classes=7):
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, size, 5, 5), nn.Parameter(torch.randn(1, 1, size) * 0.1)
        self.places = nn.Parameter(torch.randn(1, 13, size) * 0.1)
        self.heads, self.qkv, self.out = heads, nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.inner, self.outer, self.head = nn.Linear(size, 64), nn.Linear(64, size), nn.Linear(size, classes)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        batch, length, size = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, size)
        x = x + self.out(y)
        x = x + self.outer(F.gelu(self.inner(self.norms[1](x)), approximate="tanh"))
        return self.head(self.norms[2](x)[:, 0])


class UNet(nn.Module):
    """Group norms, a lower resolution and back, and a concatenation of both."""

    def __init__(self, classes=3):
        super().__init__()
        self.enter, self.down = nn.Conv2d(2, 6, 3, padding=1), nn.Conv2d(6, 10, 3, stride=2, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(3, 6), nn.GroupNorm(2, 10), nn.GroupNorm(4, 12)])
        self.up, self.leave = nn.ConvTranspose2d(10, 6, 2, stride=2), nn.Conv2d(12, classes, 3, padding=1)

    def forward(self, images):
        high = F.silu(self.norms[0](self.enter(images)))
        low = F.silu(self.norms[1](self.down(high)))
        return self.leave(self.norms[2](torch.cat([high, self.up(low)], 1)))


class MobileNet(nn.Module):
    """Depthwise convolutions, batch norms, squeeze and excitation, hard swish."""

    def __init__(self, classes=5):
        super().__init__()
        self.enter = nn.Conv2d(3, 9, 3, stride=2, padding=1, bias=False)
        self.wide, self.depth = nn.Conv2d(9, 21, 1, bias=False), nn.Conv2d(21, 21, 5, padding=2, groups=21, bias=False)
        self.narrow = nn.Conv2d(21, 9, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n in (9, 21, 21, 9))
        self.squeeze, self.excite = nn.Linear(21, 6), nn.Linear(6, 21)
        self.head = nn.Linear(9, classes)

    def forward(self, images):
        x = F.hardswish(self.norms[0](self.enter(images)))
        y = F.hardswish(self.norms[1](self.wide(x)))
        y = F.relu6(self.norms[2](self.depth(y)))
        y = y * F.hardsigmoid(self.excite(F.relu(self.squeeze(y.mean((2, 3))))))[..., None, None]
        x = x + self.norms[3](self.narrow(y))
        return self.head(F.max_pool2d(x, 3, 2, 1).mean((2, 3)))


class Recurrent(nn.Module):
    """An LSTM in both directions, and a GRU over what it says."""

    def __init__(self, vocabulary=19):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 11)
        self.lstm = nn.LSTM(11, 13, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(26, 9, batch_first=True)
        self.head = nn.Linear(9, vocabulary)

    def forward(self, tokens):
        return self.head(self.gru(self.lstm(self.embed(tokens))[0])[0])


class Experts(nn.Module):
    """Each token is worked on by the best two of five experts."""

    def __init__(self, vocabulary=23, size=20, experts=5):
        super().__init__()
        self.embed, self.choose = nn.Embedding(vocabulary, size), nn.Linear(size, experts)
        self.inner = nn.Parameter(torch.randn(experts, size, 28) * size ** -0.5)
        self.outer = nn.Parameter(torch.randn(experts, 28, size) * 28 ** -0.5)
        self.head = nn.Linear(size, vocabulary)

    def forward(self, tokens):
        x = self.embed(tokens).flatten(0, 1)
        weights, experts = self.choose(x).softmax(-1).topk(2, -1)
        y = F.relu(torch.einsum("ts,tksi->tki", x, self.inner[experts]))
        y = torch.einsum("tki,tkis,tk->ts", y, self.outer[experts], weights)
        return self.head(x + y).view(*tokens.shape, -1)


class WithLoss(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, inputs, labels):
        scores = self.network(inputs)
        if scores.ndim == 3:
            scores, labels = scores.flatten(0, 1), labels.flatten()
        return F.cross_entropy(scores, labels)


def tokens(*shape, below):
    return torch.randint(0, below, shape)


MODELS = {
    "llama": (Llama, torch.bfloat16, lambda: (tokens(2, 13, below=45), tokens(2, 13, below=45))),
    "bert": (Bert, torch.float32, lambda: (tokens(3, 11, below=33) * (torch.arange(11) < torch.tensor([[9], [7], [4]])),
                                           tokens(3, 11, below=33))),
    "vit": (ViT, torch.float16, lambda: (torch.randn(2, 3, 15, 20), tokens(2, below=7))),
    "unet": (UNet, torch.float32, lambda: (torch.randn(2, 2, 10, 14), tokens(2, 10, 14, below=3))),
    "mobilenet": (MobileNet, torch.float32, lambda: (torch.randn(3, 3, 15, 13), tokens(3, below=5))),
    "recurrent": (Recurrent, torch.float32, lambda: (tokens(2, 3, below=19), tokens(2, 3, below=19))),
    "experts": (Experts, torch.bfloat16, lambda: (tokens(2, 7, below=23), tokens(2, 7, below=23))),
}


def compute(network, data):
    """The loss and the gradients of PyTorch, by name."""
    network = copy.deepcopy(network)
    loss = network(*data)
    loss.backward()
    return {"loss": loss.detach(), **{name: p.grad for name, p in network.named_parameters()}}


def convert(data, dtype):
    return tuple(t.to(dtype) if t.is_floating_point() else t for t in data)


def distance(values, exact):
    """The largest error of a tensor, relative to its length."""
    return {name: float((torch.as_tensor(values[name]).double() - exact[name]).norm() / (exact[name].norm() + 1e-30))
            for name in exact}


def run(program, paths, device, budgets, directory):
    command = [program, paths[0], "--manifest=" + paths[2], "--target=cuda", "--device=" + device, "--threads=1",
               "--effort=0.1", "--budget=" + budgets, "--json=" + paths[2] + ".report"]
    if directory:
        command += ["--outputs=" + directory]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, " ".join(command) + "\n" + done.stdout
    with open(paths[2] + ".report") as file:
        report = json.load(file)
    return [report, *report["further_budgets"]]


def check(name, program, directory):
    build, dtype, make_data = MODELS[name]
    torch.manual_seed(1)
    network, data = WithLoss(build()).to(dtype), convert(make_data(), dtype)
    # Of the same numbers: what was rounded until here is no error.
    exact = compute(copy.deepcopy(network).double(), convert(data, torch.float64))
    allowed = distance(compute(network, data), exact)
    exported = remat.torch.export(network, data)
    paths = exported.save(directory, name)
    runs = run(program, paths, "sim", BUDGETS, "")
    runs += run(program, paths, "sim-reverse", "min", "%s/%s" % (directory, name))
    assert len({r["result_hash"] for r in runs}) == 1, [r["result_hash"] for r in runs]
    for r in runs:
        assert r["planned_peak_bytes"] == r["simulated_peak_bytes"] == r["measured_peak_bytes"], r
    found = {}
    for number, result in enumerate(exported.results):
        if result.role in ("loss", "gradient"):
            array = np.load("%s/%s/result%d.npy" % (directory, name, number))
            if array.dtype == np.uint16:  # NumPy has no bf16.
                array = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
            found[result.of or "loss"] = array
    found = {key: found[key] for key in exact}
    errors = distance(found, exact)
    for key, error in errors.items():
        limit = 2 * allowed[key] + SLACK[dtype]
        assert error <= limit, "%s of %s: error %g, PyTorch has %g" % (key, name, error, allowed[key])
    print("%s: %d runs, %d recomputed, error %.2g, PyTorch has %.2g" % (
        name, len(runs), runs[-1]["recomputed_tasks"], max(errors.values()), max(allowed.values())))


if __name__ == "__main__":
    for model in sys.argv[3:] or MODELS:
        check(model, sys.argv[1], sys.argv[2])
