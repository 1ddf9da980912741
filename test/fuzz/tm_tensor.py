#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tm_tensor.py TOOLS: functions of PyTorch of which torch-mlir leaves operations of tm_tensor over, against PyTorch.

    tm_tensor.py TOOLS [--seed=N] [--count=N] [--seconds=N] [--only=NAME,...] [--keep=DIR]

Results and gradients are compared in f64. Needs torch and torch-mlir."""

import subprocess
import sys

import numpy as np

from frameworks import make_parser, run_cases

try:
    import torch
    from torch_mlir import fx
except ImportError as error:
    sys.exit(f"tm_tensor.py: needs torch and torch-mlir: {error}")

# Of equal indices the last counts, as where PyTorch writes one after the other.
CASES = {
    "cumsum": lambda x, u, i, p: torch.cumsum(x, 0),
    "cumprod": lambda x, u, i, p: torch.cumprod(x, 1),
    "index_add": lambda x, u, i, p: x.index_add(0, i, u),
    "index_put": lambda x, u, i, p: x.index_put((p,), u),
    "index_put_add": lambda x, u, i, p: x.index_put((i, i % 3), u[:, 0], accumulate=True),
    "scatter_add": lambda x, u, i, p: x.scatter_add(0, i[:, None].expand(u.shape), u),
    "scatter": lambda x, u, i, p: x.scatter(0, p[:, None].expand(u.shape), u),
    "amax": lambda x, u, i, p: x.scatter_reduce(0, i[:, None].expand(u.shape), u, "amax"),
    "sort": lambda x, u, i, p: torch.sort(x, 1)[0] * torch.sort(x, 0, descending=True)[0],
    "argsort": lambda x, u, i, p: x + torch.argsort(x, 1),
    "topk": lambda x, u, i, p: torch.topk(x, 2, 1)[0] * torch.topk(x, 2, 1)[1],
    "kthvalue": lambda x, u, i, p: torch.kthvalue(x, 2, 1)[0],
    "embedding_mask": lambda x, u, i, p: x[i] * (torch.cumsum((i > 1).to(torch.int64), 0))[:, None],
}


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def run_case(tools, function, seed, folder):
    rng = np.random.default_rng(seed)
    rows, columns, count = rng.integers(5, 9), rng.integers(3, 7), rng.integers(1, 5)
    args = [torch.tensor(rng.normal(size=(rows, columns)), requires_grad=True),
            torch.tensor(rng.normal(size=(count, columns)), requires_grad=True),
            torch.tensor(rng.integers(0, rows, count)), torch.tensor(rng.permutation(rows)[:count])]
    module = fx.export_and_import(Model(function), *[arg.detach() for arg in args], output_type="linalg-on-tensors")
    with open(folder + "/model.mlir", "w") as file:
        file.write(module.operation.get_asm(print_generic_op_form=True))
    result = function(*args)
    cotangent = rng.normal(size=tuple(result.shape))
    gradients = torch.autograd.grad(result, args[:2], torch.tensor(cotangent), allow_unused=True)
    for number, arg in enumerate(args):
        np.save(f"{folder}/in/arg{number}.npy", arg.detach().numpy())
    np.save(f"{folder}/in/cotangent0.npy", cotangent)
    command = [tools + "/remat-run", "model.mlir", "--inputs=in", "--outputs=out", "--emit=forward,vjp", "--threads=1",
               "--effort=0.01"]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if outcome.returncode:
        return f"status {outcome.returncode}: " + outcome.stderr.strip()[:1500]
    wanted = {"result0": result.detach()}
    wanted.update({f"vjp{n}": g for n, g in enumerate(gradients) if g is not None})
    for name, value in wanted.items():
        got = np.load(f"{folder}/out/{name}.npy")
        if not np.allclose(got, value.numpy(), 1e-9, 1e-9):
            return f"{name} is\n{got}\nexpected\n{value.numpy()}"
    return None


def main():
    options = make_parser(__doc__).parse_args()
    return run_cases(options, CASES, lambda name, seed, folder: run_case(options.tools, CASES[name], seed, folder))


if __name__ == "__main__":
    sys.exit(main())
