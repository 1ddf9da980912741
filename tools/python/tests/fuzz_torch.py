"""Random functions of PyTorch, compiled by remat and compared with PyTorch: values, gradients, types, strides, what is
written to inputs, and which results share memory with which inputs.

    python fuzz_torch.py [--seed=N] [--count=N] [--budget=B] [--show]

A function is a few lines, each of which PyTorch has run before it is taken. A finding is printed with its seed, which
makes the same function again, and its lines.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import random
import sys

import torch
import torch.nn.functional as F  # noqa: F401, the lines of a function use it

import remat.torch as rt
from fuzz_driver import describe, run_all
from fuzz_torch_lines import LINES

SHAPES = [(), (3,), (2, 3), (3, 3), (1, 3), (2, 1), (2, 2, 3), (0, 3), (1,), (2, 3, 1), (4, 2), (2, 3, 2, 2)]
FLOATS = [torch.float64, torch.float64, torch.float64, torch.float32, torch.complex128]
OTHERS = [torch.int64, torch.int32, torch.uint8, torch.bool, torch.int8, torch.int16, torch.complex64]
SPECIAL = [float("nan"), float("inf"), -float("inf"), -0.0, 0.5, 1.5, 2.5, -2.5, 1e-310, 1e300]
ALLOWED = {torch.float64: 1e-8, torch.complex128: 1e-8, torch.float32: 2e-4, torch.complex64: 2e-4,
           torch.float16: 2e-2, torch.bfloat16: 1e-1}


def make_tensor(rng, shape, dtype, special):
    """Small multiples of a quarter, so that there are ties and rounding has halves."""
    count = 1
    for extent in shape:
        count *= extent
    if dtype == torch.bool:
        elements = [rng.random() < 0.5 for _ in range(count)]
    elif dtype.is_floating_point or dtype.is_complex:
        def number():
            return rng.choice(SPECIAL) if special and rng.random() < 0.3 else rng.randint(-12, 12) / 4
        elements = [complex(number(), number()) if dtype.is_complex else number() for _ in range(count)]
    else:
        info = torch.iinfo(dtype)
        elements = [rng.choice([info.max, info.min, info.max - 1]) if special and rng.random() < 0.3 else
                    rng.randint(max(info.min, -6), 6) for _ in range(count)]
    return torch.tensor(elements, dtype=dtype).reshape(shape)


def laid_out(rng, tensor):
    """The same elements in another order in memory."""
    way, rank = rng.choice(["dense", "dense", "transposed", "strided", "channels_last", "offset"]), tensor.dim()
    if way == "transposed" and rank >= 2:
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    if way == "strided" and rank >= 1:
        wide = torch.zeros(*tensor.shape[:-1], tensor.shape[-1] * 2, dtype=tensor.dtype)
        wide[..., ::2] = tensor
        return wide[..., ::2]
    if way == "channels_last" and rank == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    if way == "offset" and rank >= 1:
        wide = torch.zeros(tensor.shape[0] + 1, *tensor.shape[1:], dtype=tensor.dtype)
        wide[1:] = tensor
        return wide[1:]
    return tensor


class Inputs:
    """What describes the inputs of a function, so that they can be made again."""

    def __init__(self, seed):
        self.seed = seed

    def make(self):
        """Tensors with a gradient first, then some that may be written to."""
        rng = random.Random(self.seed)
        special = rng.random() < 0.35
        tensors = []
        for number in range(rng.randint(1, 2)):
            tensor = laid_out(rng, make_tensor(rng, rng.choice(SHAPES), rng.choice(FLOATS), special))
            tensors.append(tensor.requires_grad_())
        for number in range(rng.randint(1, 3)):
            dtype = rng.choice(FLOATS + OTHERS + OTHERS)
            tensors.append(laid_out(rng, make_tensor(rng, rng.choice(SHAPES), dtype, special)))
        if rng.random() < 0.3:  # Two views of the same memory.
            base = tensors[-1]
            if base.dim() and base.shape[0] > 1:
                tensors.append(base[1:] if rng.random() < 0.5 else base.transpose(0, -1))
        return tensors


def fill(rng, line, names, tensors):
    """A line with names and numbers in its places: {a}, {b} and {c} are tensors, {i} a number that a dimension may
    have, {n} any number, {m} a mask of a's shape, {k} indices, {t} a type."""
    places = {key: rng.choice(names) for key in "abc"}
    rank = tensors[places["a"]].dim()
    return line.format(
        **places, i=rng.randint(-rank, rank - 1) if rank else 0, j=rng.randint(-rank, rank - 1) if rank else -1,
        n=rng.choice(["2", "-1", "0.5", "0", "3", "-2.5", "float('nan')", "float('inf')", "True", "1e-3", "-3", "7",
                      "2**40", "255", "-0.0"]),
        s=rng.choice(["1", "2", "-1", "0", "3"]), p=rng.choice(["1", "2", "3"]), o=rng.choice(["True", "False"]),
        k="torch.tensor(%s)" % [rng.randint(0, 1) for _ in range(rng.randint(1, 3))],
        t=rng.choice(["torch.float64", "torch.float32", "torch.int64", "torch.int32", "torch.uint8", "torch.bool",
                      "torch.int8", "torch.complex128", "torch.float16", "torch.bfloat16"]))


def make_function(seed):
    """The source of a function, and its inputs."""
    rng = random.Random(seed)
    inputs = Inputs(seed)
    given = inputs.make()
    environment = {"x%d" % number: tensor for number, tensor in enumerate(given)}
    names, lines = list(environment), []
    for _ in range(200):
        if len(lines) == 2 + seed % 9:
            break
        kind = rng.choice(list(LINES))
        template = rng.choice(LINES[kind])
        line = fill(rng, template, names, environment)
        is_statement = kind == "writes"
        name = "v%d" % len(lines)
        text = line if is_statement else "%s = %s" % (name, line)
        trial = dict(environment, torch=torch, F=F)
        versions = {key: value._version for key, value in environment.items()}
        try:
            exec(text, trial)
            result = trial.get(name, torch.zeros(()))
            if not isinstance(result, torch.Tensor) or result.numel() > 400 or result.dim() > 5:
                continue
        except Exception:
            if any(value._version != versions[key] for key, value in environment.items()):
                break  # It has written something before it failed.
            continue
        lines.append(text)
        if not is_statement:
            environment[name] = result
            names += [name, name]  # More often what is new.
    results = [name for name in environment if name.startswith("v")][-4:]
    results += [name for name in environment if name.startswith("x") and rng.random() < 0.15]
    source = "def function(%s):\n" % ", ".join("x%d" % n for n in range(len(given)))
    source += "".join("    %s\n" % line for line in lines) + "    return [%s]\n" % ", ".join(results)
    return source, inputs


def memory_of(tensor):
    return tensor.untyped_storage().data_ptr() if tensor.numel() else None


def run(function, inputs):
    """Everything that can be seen of a call."""
    given = inputs.make()
    results = list(function(*given))
    shared = [[number for number, x in enumerate(given) if x.numel() and memory_of(x) == memory_of(result)]
              for result in results]
    leaves = [r for r in results if r.requires_grad]
    loss = 0
    for number, result in enumerate(leaves):
        weight = torch.linspace(0.5, 1.5 + number, result.numel(), dtype=torch.float64).view(result.shape)
        part = result.real if result.is_complex() else result
        if result.is_complex():
            part = part + 2 * result.imag
        loss = loss + torch.where(part.isfinite() & (part.abs() < 1e10), part.double() * weight, 0).sum()
    if leaves:
        loss.backward()
    return {"results": [r.detach() for r in results], "inputs": [x.detach() for x in given],
            "gradients": [x.grad for x in given], "shared": shared, "needs": [r.requires_grad for r in results]}


def steps(tensor):
    return [step for step, extent in zip(tensor.stride(), tensor.shape) if extent > 1]


def is_dense(tensor):
    count = 1
    for step, extent in sorted((s, e) for s, e in zip(tensor.stride(), tensor.shape) if e > 1):
        if step != count:
            return False
        count *= extent
    return True


def difference(found, expected, what, strides):
    """What is different about a tensor, or None."""
    if (found is None) != (expected is None):
        return "%s: %s, expected %s" % (what, found, expected)
    if found is None:
        return None
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return "%s: %s of %s, expected %s of %s" % (what, found.dtype, tuple(found.shape), expected.dtype,
                                                   tuple(expected.shape))
    # A result that is a part of another tensor for PyTorch may be dense.
    if strides and is_dense(expected) and steps(found) != steps(expected):
        return "%s: strides %s, expected %s" % (what, found.stride(), expected.stride())
    a, b = found.resolve_conj().resolve_neg(), expected.resolve_conj().resolve_neg()
    if a.is_complex():  # What is not finite in one part may be anything.
        a, b = (torch.view_as_real(torch.where(x.isfinite(), x, complex("nan+nanj"))) for x in (a, b))
    if not a.is_floating_point():
        return None if torch.equal(a, b) else "%s: %s, expected %s" % (what, found.tolist(), expected.tolist())
    wide_a, wide_b = a.double(), b.double()
    finite = wide_b.isfinite()
    scale = max(float(wide_b[finite].abs().max()) if bool(finite.any()) else 1.0, 1e-3)
    same = torch.isclose(wide_a, wide_b, rtol=ALLOWED[found.dtype], atol=ALLOWED[found.dtype] * min(scale, 1e3),
                         equal_nan=True)
    return None if bool(same.all()) else "%s: %s, expected %s" % (what, found.tolist(), expected.tolist())


def compare(found, expected):
    for kind, strides in (("results", True), ("inputs", True), ("gradients", False)):
        for number, (a, b) in enumerate(zip(found[kind], expected[kind])):
            wrong = difference(a, b, "%s[%d]" % (kind, number), strides)
            if wrong:
                return wrong
    for kind in ("shared", "needs"):
        if found[kind] != expected[kind]:
            return "%s: %s, expected %s" % (kind, found[kind], expected[kind])
    return None


def check(seed, budget=None, show=False):
    """What is wrong with the function of a seed, or None; and its source."""
    source, inputs = make_function(seed)
    namespace = {"torch": torch, "F": F}
    # Dynamo wants to read it.
    code = compile(source, "<fuzz %d>" % seed, "exec")
    exec(code, namespace)
    function = namespace["function"]
    if show:
        print(source, [(tuple(x.shape), x.dtype, x.stride()) for x in inputs.make()])
    try:
        expected = run(function, inputs)
    except Exception:  # PyTorch itself has no derivative of it, say.
        return None, source, False
    options = {"threads": 1, **({"budget": budget} if budget else {})}
    wrong = try_backend(function, inputs, expected, show, backend=rt.backend, options=options)
    if wrong and try_backend(function, inputs, expected, False, backend="aot_eager"):
        wrong = None  # PyTorch does not trace it, or traces something else.
    return wrong, source, True


def try_backend(function, inputs, expected, show, **options):
    """What is wrong with a function that a backend compiles, or None."""
    torch._dynamo.reset()
    try:
        found = run(torch.compile(function, **options), inputs)
    except Exception as error:
        return describe(error, show)
    return compare(found, expected)


if __name__ == "__main__":
    sys.exit(run_all(check, __doc__))
