"""Writes what summary.py compares with, for gpt2_tiny:

    hessian.py MODEL.json > GOLDEN.json

Needs PyTorch, which computes the product of the Hessian in double precision, as
the tangent of the gradient and as the gradient of the gradient's product."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import json
import math
import sys

import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True
import summary  # noqa: E402


def attend(values, prefix, x, heads=2):
    batch, length, width = x.shape
    q, k, v = (
        part.view(batch, length, heads, -1).transpose(1, 2)
        for part in F.linear(x, values[prefix + "qkv.weight"],
                             values[prefix + "qkv.bias"]).split(width, -1))
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    scores = q @ k.transpose(2, 3) / math.sqrt(width // heads)
    mixed = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
    return F.linear(mixed.transpose(1, 2).reshape(batch, length, width),
                    values[prefix + "proj.weight"], values[prefix + "proj.bias"])


def compute_loss(values):
    def normalize(name, x):
        return F.layer_norm(x, x.shape[-1:], values[name + ".weight"],
                            values[name + ".bias"])

    x = values["wte.weight"][values["data0"]] + values["wpe.weight"]
    for block in ("h.0.", "h.1."):
        x = x + attend(values, block + "at.", normalize(block + "ln1", x))
        hidden = F.gelu(F.linear(normalize(block + "ln2", x),
                                 values[block + "fc.weight"],
                                 values[block + "fc.bias"]), approximate="tanh")
        x = x + F.linear(hidden, values[block + "out.weight"],
                         values[block + "out.bias"])
    logits = normalize("lnf", x) @ values["wte.weight"].t()
    return F.cross_entropy(logits.flatten(0, 1), values["data1"].flatten())


def main():
    with open(sys.argv[1]) as file:
        manifest = json.load(file)
    values = {}
    for entry in manifest["args"]:
        data = summary.fill(entry["fill"], math.prod(entry["shape"]))
        dtype = torch.int64 if entry["dtype"] == "int64" else torch.float64
        values[entry["name"]] = torch.tensor(data, dtype=dtype).view(
            entry["shape"])
    parameters = summary.get_parameters(manifest)
    names = [entry["name"] for _, entry in parameters]
    point = tuple(values[name] for name in names)
    direction = tuple(
        torch.tensor(summary.fill(summary.get_direction(number),
                                  math.prod(entry["shape"])),
                     dtype=torch.float64).view(entry["shape"])
        for number, entry in parameters)

    def loss(*given):
        return compute_loss({**values, **dict(zip(names, given))})

    gradient = torch.func.grad(loss, argnums=tuple(range(len(names))))
    gradients, products = torch.func.jvp(gradient, point, direction)
    _, pullback = torch.func.vjp(gradient, *point)
    for one, other in zip(products, pullback(direction)):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-12)
    print("loss", loss(*point).item(), file=sys.stderr)
    golden = {}
    for name, product, given in zip(names, products, gradients):
        known = manifest["golden"]["gradients"][name]
        assert abs(given.norm().item() - known["l2"]) < 1e-5 * known["l2"]
        indices = [index for index, _ in known["samples"]]
        golden[name] = summary.summarize(product.flatten().tolist(), indices)
    json.dump(golden, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
