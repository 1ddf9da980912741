#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""stablehlo.py TOOLS: functions of JAX, as it writes them in StableHLO, against what JAX computes.

    stablehlo.py TOOLS [--seed=N] [--count=N] [--seconds=N] [--only=NAME,...] [--keep=DIR] [--write=DIR]

Each case of stablehlo_cases.py draws shapes and arguments by a seed. Its results are compared with those of JAX, and
its gradients with jax.vjp, in the types of the program. Needs jax. A count of 1 runs each case once.
With --write, a case that passes becomes a test for lit, which needs no JAX: DIR/NAME.mlir."""

import os
import random
import subprocess
import sys

import numpy as np

try:
    import jax
except ImportError:
    sys.exit("stablehlo.py: needs jax, which is not installed")

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

from frameworks import make_parser, run_cases  # noqa: E402
import stablehlo_linear  # noqa: E402,F401  (more cases)
from stablehlo_cases import CASES  # noqa: E402  (types depend on the configuration)

# Unsigned and boolean arrays travel as integers of their size.
SIGNLESS = {"uint8": "i1", "uint16": "<i2", "uint32": "<i4", "uint64": "<i8"}
# Relative to the largest element of a result or gradient.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-5, "complex64": 2e-5, "float16": 2e-2,
              "bfloat16": 4e-2}


def save(path, array):
    array = np.asarray(array)
    if str(array.dtype) == "bfloat16":
        array = array.view(np.uint16)
    elif str(array.dtype) in SIGNLESS:
        array = array.view(SIGNLESS[str(array.dtype)])
    np.save(path, np.ascontiguousarray(array).reshape(array.shape))


def load(path, like):
    array = np.load(path)
    like = np.asarray(like)
    return array if array.dtype == like.dtype else array.view(like.dtype)


def is_inexact(array):
    return jax.numpy.issubdtype(jax.numpy.result_type(array), jax.numpy.inexact)


def describe_difference(name, got, wanted, factor):
    """What is wrong with `got`, or None."""
    wanted = np.asarray(wanted)
    if got.shape != wanted.shape:
        return f"{name} has shape {got.shape}, expected {wanted.shape}"
    if not is_inexact(wanted):
        return None if np.array_equal(got, wanted) else f"{name} is\n{got}\nexpected\n{wanted}"
    tolerance = TOLERANCES[str(wanted.dtype)] * factor
    wide = np.complex128 if np.iscomplexobj(wanted) else np.float64
    a, b = got.astype(wide), wanted.astype(wide)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(b)
    scale = max(np.abs(b[finite]).max(initial=0), 1e-3)
    with np.errstate(invalid="ignore"):
        wrong = ~same & ~(np.abs(a - b) <= tolerance * scale)
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{name} differs at {place}: {got[place]}, expected {wanted[place]}, scale {scale:.3g}"


def export(function, args, platform, debug=True):
    lowered = jax.jit(function, keep_unused=True).trace(*args).lower(lowering_platforms=(platform,))
    return lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True, enable_debug_info=debug)


def describe_array(kind, number, array):
    """A comment for test/Import/Inputs/foreign_values.py."""
    array = np.asarray(array)
    if str(array.dtype) == "bfloat16":
        array = array.view(np.uint16)
    elif str(array.dtype) in SIGNLESS:
        array = array.view(SIGNLESS[str(array.dtype)])
    flat = array.reshape(-1)
    if np.iscomplexobj(flat):
        flat = np.stack([flat.real, flat.imag], -1).reshape(-1)
    digits = (lambda v: repr(int(v))) if flat.dtype.kind in "iub" else (
        lambda v: np.format_float_positional(v, trim="-") if 1e-4 < abs(v) < 1e6 or v == 0 else repr(float(v)))
    return (f"// {kind} {number} {array.dtype.str[1:]} {'x'.join(map(str, array.shape))}: "
            + " ".join(map(digits, flat)) + "\n")


def write_test(path, function, platform, args, results, cotangents, gradients, tolerance):
    with open(path, "w") as file:
        file.write("// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t\n\n")
        file.write(f"// From test/fuzz/stablehlo_cases.py, as JAX {jax.__version__} lowers and computes it.\n\n")
        file.write(f"// tolerance {tolerance:.3g}\n")
        for kind, arrays in (("arg", args), ("cotangent", cotangents), ("result", results), ("gradient", gradients)):
            for number, array in enumerate(arrays):
                if array is not None:
                    file.write(describe_array(kind, number, array))
        file.write("\n" + export(function, args, platform, debug=False))


def run_case(tools, case, seed, folder, test=None):
    """Runs a case; returns what is wrong, or None."""
    rng = np.random.default_rng(seed)
    made = case(random.Random(seed), rng)
    function, args = made[0], [jax.numpy.asarray(arg) for arg in made[1]]
    options = made[2] if len(made) > 2 else {}
    flat = lambda *a: tuple(jax.numpy.asarray(leaf) for leaf in jax.tree.leaves(function(*a)))
    # What XLA has calls of LAPACK for on the CPU are operations elsewhere.
    platform = options.get("platform", "cpu")
    with open(folder + "/model.mlir", "w") as file:
        file.write(export(flat, args, platform))
    results = flat(*args)
    for number, arg in enumerate(args):
        save(f"{folder}/in/arg{number}.npy", arg)
    active = [number for number, arg in enumerate(args) if is_inexact(arg)]
    emit = "forward"
    gradients, cotangents = [], []
    if active and options.get("gradient", True) and any(is_inexact(result) for result in results):
        emit += ",vjp"
        cotangents = [rng.uniform(-1, 1, np.shape(r)).astype(r.dtype) if is_inexact(r) else None for r in results]
        for number, cotangent in enumerate(cotangents):
            if cotangent is not None:
                save(f"{folder}/in/cotangent{number}.npy", cotangent)

        def of_active(*values):
            full = list(args)
            for number, value in zip(active, values):
                full[number] = value
            return tuple(r for r in flat(*full) if is_inexact(r))

        _, pull = jax.vjp(of_active, *[args[number] for number in active])
        gradients = pull(tuple(jax.numpy.asarray(c) for c in cotangents if c is not None))
        # JAX's gradient of a complex argument is the conjugate of remat's.
        gradients = [np.conj(np.asarray(g)) if np.iscomplexobj(g) else g for g in gradients]
        if any(np.iscomplexobj(c) for c in cotangents if c is not None):
            emit, gradients, cotangents = "forward", [], []
    command = [tools + "/remat-run", "model.mlir", "--inputs=in", "--outputs=out", "--emit=" + emit, "--effort=0.01",
               "--threads=1"]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if outcome.returncode:
        return f"status {outcome.returncode}: " + outcome.stderr.strip()[:1500]
    factor = options.get("factor", 1)
    for number, result in enumerate(results):
        error = describe_difference(f"result {number}", load(f"{folder}/out/result{number}.npy", result), result,
                                    factor)
        if error:
            return error
    for number, gradient in enumerate(gradients):
        error = describe_difference(f"gradient {number}", load(f"{folder}/out/vjp{number}.npy", gradient), gradient,
                                    factor)
        if error:
            return error
    if test:
        tolerance = max(TOLERANCES[str(np.asarray(r).dtype)] for r in [*results, *gradients, 1.0] if is_inexact(r))
        write_test(test, flat, platform, args, results, cotangents, gradients, tolerance * factor)
    return None


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--write", default="", metavar="DIR", help="make tests for lit of cases that pass")
    options = parser.parse_args()

    def run(name, seed, folder):
        test = options.write and os.path.join(options.write, name.replace("_", "-") + ".mlir")
        return run_case(options.tools, CASES[name], seed, folder, test)

    return run_cases(options, CASES, run)


if __name__ == "__main__":
    sys.exit(main())
