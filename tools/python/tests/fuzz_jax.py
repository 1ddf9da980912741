"""Random functions of JAX, compiled by remat and compared with JAX: values, gradients, types and weak types.

    python fuzz_jax.py [--seed=N] [--count=N] [--budget=B] [--show]

As fuzz_torch.py does it for PyTorch.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import random
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import remat.jax as rj
from fuzz_driver import describe, run_all
from fuzz_jax_lines import LINES

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

SHAPES = [(), (3,), (2, 3), (3, 3), (1, 3), (2, 1), (2, 2, 3), (0, 3), (1,), (4, 2), (2, 3, 2, 2)]
FLOATS = ["float64", "float64", "float32", "complex128"]
OTHERS = ["int64", "int32", "uint8", "bool", "int8", "int16", "uint32", "uint64", "uint16", "complex64", "bfloat16",
          "float16"]
SPECIAL = [float("nan"), float("inf"), -float("inf"), -0.0, 0.5, 1.5, 2.5, -2.5, 1e-310, 1e300]
NUMBERS = ["2", "-1", "0.5", "0", "3", "-2.5", "jnp.nan", "jnp.inf", "True", "1e-3", "-3", "7", "100", "-0.0"]
TYPES = FLOATS + OTHERS
ALLOWED = {"float64": 1e-8, "complex128": 1e-8, "float32": 2e-4, "complex64": 2e-4, "float16": 1e-2, "bfloat16": 6e-2}


def make_array(rng, shape, dtype, special):
    count = int(np.prod(shape))
    kind = jnp.dtype(dtype)
    if dtype == "bool":
        elements = [rng.random() < 0.5 for _ in range(count)]
    elif jnp.issubdtype(kind, jnp.inexact):
        def number():
            return rng.choice(SPECIAL) if special and rng.random() < 0.3 else rng.randint(-12, 12) / 4
        elements = [complex(number(), number()) if dtype.startswith("complex") else number() for _ in range(count)]
    else:
        info = jnp.iinfo(kind)
        elements = [rng.choice([int(info.max), int(info.min)]) if special and rng.random() < 0.3 else
                    rng.randint(max(int(info.min), -6), 6) for _ in range(count)]
    return jnp.asarray(np.array(elements, dtype=kind).reshape(shape))


def fill(rng, line, names, arrays):
    a = rng.choice(names)
    rank = jnp.ndim(arrays[a])
    return line.format(
        a=a, b=rng.choice(names), c=rng.choice(names), i=rng.randint(-rank, rank - 1) if rank else 0,
        p=rng.randint(0, rank - 1) if rank else 0, n=rng.choice(NUMBERS), s=rng.choice(["1", "2", "-1", "0", "70"]),
        k="jnp.array(%s)" % [rng.choice([0, 1, 1, -1, 5]) for _ in range(rng.randint(1, 3))],
        t="jnp." + rng.choice([t.replace("bool", "bool_") for t in TYPES]),
        m=rng.choice(["'clip'", "'fill'", "'drop'", "'promise_in_bounds'"]).replace("'promise_in_bounds'", "'clip'"))


def make_function(seed):
    """The source of a function, and its arguments."""
    rng = random.Random(seed)
    special = rng.random() < 0.35
    given = [make_array(rng, rng.choice(SHAPES), rng.choice(FLOATS), special)]
    given += [make_array(rng, rng.choice(SHAPES), rng.choice(TYPES), special) for _ in range(rng.randint(1, 3))]
    environment = {"x%d" % number: array for number, array in enumerate(given)}
    names, lines = list(environment), []
    for _ in range(200):
        if len(lines) == 2 + seed % 8:
            break
        line = fill(rng, rng.choice(LINES[rng.choice(list(LINES))]), names, environment)
        try:
            result = eval(line, {"jax": jax, "jnp": jnp, "lax": lax, **environment})
            if not hasattr(result, "dtype") or result.size > 400 or result.ndim > 5:
                continue
        except Exception:
            continue
        name = "v%d" % len(lines)
        lines.append("%s = %s" % (name, line))
        environment[name] = result
        names += [name, name]
    results = [name for name in environment if name.startswith("v")][-4:]
    source = "def function(%s):\n" % ", ".join("x%d" % n for n in range(len(given)))
    return source + "".join("    %s\n" % line for line in lines) + "    return [%s]\n" % ", ".join(results), given


def difference(found, expected, what):
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return "%s: %s of %s, expected %s of %s" % (what, found.dtype, found.shape, expected.dtype, expected.shape)
    if getattr(found, "weak_type", False) != getattr(expected, "weak_type", False):
        return "%s: weak %s, expected %s" % (what, found.weak_type, expected.weak_type)
    name = found.dtype.name
    if name not in ALLOWED:
        same = np.array_equal(np.asarray(found), np.asarray(expected))
    else:
        wide = np.complex128 if name.startswith("complex") else np.float64
        a, b = np.asarray(found).astype(wide), np.asarray(expected).astype(wide)
        if wide is np.complex128:  # What is not finite in one part may be anything.
            a, b = (np.where(np.isfinite(x), x, np.nan) for x in (a, b))
        finite = np.abs(b[np.isfinite(b)])
        scale = max(finite.max(), 1e-3) if finite.size else 1.0
        same = np.isclose(a, b, rtol=ALLOWED[name], atol=ALLOWED[name] * min(scale, 1e3), equal_nan=True).all()
    return None if same else "%s: %s, expected %s" % (what, np.asarray(found).tolist(), np.asarray(expected).tolist())


def loss_of(function):
    def loss(x, *others):
        total = 0.0
        for number, result in enumerate(function(x, *others)):
            if jnp.issubdtype(result.dtype, jnp.inexact):
                weight = jnp.linspace(0.5, 1.5 + number, result.size).reshape(result.shape)
                part = result.real + 2 * result.imag if jnp.iscomplexobj(result) else result.astype(jnp.float64)
                total += jnp.where(jnp.isfinite(part) & (abs(part) < 1e10), part * weight, 0).sum()
        return total

    return loss


def check(seed, budget, show):
    source, given = make_function(seed)
    namespace = {"jax": jax, "jnp": jnp, "lax": lax}
    exec(compile(source, "<fuzz %d>" % seed, "exec"), namespace)
    function = namespace["function"]
    if show:
        print(source, [(x.shape, x.dtype.name) for x in given])
    ways = [("values", lambda: jax.jit(function)(*given),
             lambda: rj.compile(function, budget=budget, differentiate=False)(*given)),
            ("gradient", lambda: jax.jit(jax.value_and_grad(loss_of(function)))(*given),
             lambda: rj.compile(loss_of(function), budget=budget)(*given))]
    for what, run, run_compiled in ways:
        try:
            expected = run()
        except Exception:
            continue
        try:
            found = run_compiled()
        except Exception as error:
            return "%s: %s" % (what, describe(error, show)), source, True
        for number, (a, b) in enumerate(zip(jax.tree.leaves(found), jax.tree.leaves(expected))):
            wrong = difference(a, b, "%s[%d]" % (what, number))
            if wrong:
                return wrong, source, True
    return None, source, True


if __name__ == "__main__":
    sys.exit(run_all(check, __doc__))
