"""Writes the cases of two small models: models.py CASES_DIR

Makes what make.py reads: the graphs of an MLP and of a GPT-2 with their
arguments, and what PyTorch computes in double precision: outputs, gradients,
tangents and products of the Hessian. Needs PyTorch, torch-mlir and NumPy."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import base64
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch.func import functional_call
from torch_mlir import fx


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(5, 7)
        self.second = torch.nn.Linear(7, 4)

    def forward(self, x):
        hidden = torch.tanh(self.first(x))
        return F.cross_entropy(self.second(hidden), torch.tensor([2, 0, 1]))


class Block(torch.nn.Module):
    """Attention and MLP behind layer norms, as in GPT-2."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = torch.nn.LayerNorm(width)
        self.attention = torch.nn.Linear(width, 3 * width)
        self.projection = torch.nn.Linear(width, width)
        self.ln_2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        length, width = x.shape
        q, k, v = (
            part.reshape(length, self.heads, -1).transpose(0, 1)
            for part in self.attention(self.ln_1(x)).split(width, dim=1))
        scores = q @ k.transpose(1, 2) * (width / self.heads) ** -0.5
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
        mixed = (scores.softmax(2) @ v).transpose(0, 1).reshape(length, width)
        x = x + self.projection(mixed)
        return x + self.down(F.gelu(self.up(self.ln_2(x))))


class Gpt2(torch.nn.Module):
    def __init__(self, vocabulary=11, context=5, width=8, heads=2, layers=2):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList(
            Block(width, heads) for _ in range(layers))
        self.ln = torch.nn.LayerNorm(width)

    def forward(self, ids):
        x = self.tokens(ids[:-1]) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.ln(x) @ self.tokens.weight.t(), ids[1:])


def encode(tensor):
    return base64.b64encode(
        np.ascontiguousarray(tensor.detach().numpy()).tobytes()).decode()


def entry(tensor):
    dtype = {torch.float32: "f32", torch.int64: "i64"}[tensor.dtype]
    return {"shape": list(tensor.shape), "dtype": dtype,
            "values": encode(tensor)}


def golden(tensors):
    return [{"shape": list(tensor.shape), "dtype": "f32", "tol": 2e-6,
             "golden": encode(tensor.double())} for tensor in tensors]


def make_case(name, model, data, directory):
    names = [name for name, _ in model.named_parameters()]
    parameters = [parameter.detach().float().clone()
                  for _, parameter in model.named_parameters()]
    tangents = [0.5 * torch.randn_like(parameter) for parameter in parameters]
    cotangent = torch.tensor(1.0)

    def loss(*values):
        given = data.to(values[0].dtype) if data.is_floating_point() else data
        return functional_call(model, dict(zip(names, values)), (given,))

    class Graph(torch.nn.Module):
        def forward(self, *values):
            return loss(*values)

    text = str(fx.export_and_import(Graph(), *parameters,
                                    output_type="linalg-on-tensors"))
    with open(os.path.join(directory, name + ".mlir"), "w") as file:
        file.write(text)
    wide = [parameter.double().requires_grad_() for parameter in parameters]
    directions = [tangent.double() for tangent in tangents]
    result = loss(*wide)
    gradients = torch.autograd.grad(result, wide, create_graph=True)
    product = sum((gradient * direction).sum()
                  for gradient, direction in zip(gradients, directions))
    return {"name": name, "file": name + ".mlir",
            "args": [dict(entry(parameter), diff=True)
                     for parameter in parameters],
            "cotangents": [entry(cotangent)],
            "tangents": [entry(tangent) for tangent in tangents],
            "results": golden([result]), "vjp": golden(gradients),
            "jvp": golden([product]),
            "hvp": golden(torch.autograd.grad(product, wide))}


def main():
    directory = sys.argv[1]
    torch.manual_seed(0)
    ids = torch.tensor([3, 1, 4, 1, 5, 9])
    cases = [make_case("mlp", Mlp(), torch.randn(3, 5), directory),
             make_case("gpt2", Gpt2(), ids, directory)]
    with open(os.path.join(directory, "cases.json"), "w") as file:
        json.dump(cases, file)


if __name__ == "__main__":
    main()
