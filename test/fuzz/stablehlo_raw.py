#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""stablehlo_raw.py TOOLS: operations of StableHLO with drawn attributes, against what XLA makes of the same text.

    stablehlo_raw.py TOOLS [--seed=N] [--count=N] [--seconds=N] [--only=NAME,...] [--keep=DIR]

Draws of stablehlo_text.py come several to a program. Gradients in f64 are compared with differences of what XLA
computes. What remat refuses is no finding, but is printed once. Needs jax."""

import collections
import os
import random
import re
import subprocess
import sys

import numpy as np

try:
    import jax
except ImportError:
    sys.exit("stablehlo_raw.py: needs jax, which is not installed")

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

from jax.extend import backend  # noqa: E402
from jax._src.interpreters.mlir import make_ir_context  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

from frameworks import make_parser, run_cases  # noqa: E402
from stablehlo import describe_difference, is_inexact, load, save  # noqa: E402
from stablehlo_text import DRAWS, Draft, Skip, tensor  # noqa: E402

PARTS = 4
refusals = collections.OrderedDict()


class Program:
    """A function of several drafts."""

    def __init__(self, drafts):
        self.drafts = drafts
        lines, arguments, results = [], [], []
        for number, draft in enumerate(drafts):
            own = lambda text: re.sub(r"%(arg)?(\d+)", rf"%p{number}_\1\2", text)
            arguments += [f"{own(a[0])}: {tensor(a[1], a[2])}" for a in draft.arguments]
            lines += [own(line) for line in draft.lines]
            results += [(own(r[0]), tensor(*r[1:])) for r in draft.results]
        types = ", ".join(a.split(": ")[1] for a in arguments)
        result_types = ", ".join(r[1] for r in results)
        self.text = "\n".join([
            '"builtin.module"() ({',
            f'"func.func"() <{{sym_name = "main", function_type = ({types}) -> ({result_types})}}> ({{',
            f'^bb0({", ".join(arguments)}):' if arguments else "^bb0:", *lines,
            f'"func.return"({", ".join(r[0] for r in results)}) : ({result_types}) -> ()',
            "}) : () -> ()", "}) : () -> ()"])
        self.arguments = [jax.numpy.asarray(a[3]) for draft in drafts for a in draft.arguments]

    def compile(self):
        client = backend.get_backend("cpu")
        with make_ir_context():
            module = ir.Module.parse(self.text)
            self.text = module.operation.get_asm(print_generic_op_form=True)
            executable = client.compile_and_load(str(module), client.local_devices()[:1], xla_client.CompileOptions())

        def run(arguments):
            outcome = executable.execute_sharded([jax.device_put(a) for a in arguments])
            return [np.asarray(each[0]) for each in outcome.disassemble_into_single_device_arrays()]

        return run


def is_real(array):
    return np.asarray(array).dtype == np.float64


def check_gradients(run, program, rng, folder):
    """Compares gradients along a random direction with differences."""
    step = 1e-6
    directions = [rng.normal(size=a.shape) if is_real(a) else None for a in program.arguments]
    moved = lambda by: run([a if d is None else a + by * d for a, d in zip(program.arguments, directions)])
    ahead, back = moved(step), moved(-step)
    wanted, got = 0.0, 0.0
    for number, (f, b) in enumerate(zip(ahead, back)):
        if is_real(f) and np.isfinite(f).all():
            cotangent = np.load(f"{folder}/in/cotangent{number}.npy")
            wanted += np.sum(cotangent * (f - b)) / (2 * step)
    # Gradients are numbered among the arguments that have one.
    active = [d for d, a in zip(directions, program.arguments) if is_inexact(a)]
    for number, d in enumerate(active):
        if d is not None:
            got += np.sum(d * np.load(f"{folder}/out/vjp{number}.npy"))
    if not np.isfinite(wanted):
        return None
    return None if abs(got - wanted) <= 1e-5 * max(1, abs(wanted)) else (
        f"gradients along a direction are {got}, expected {wanted}")


def draw_program(names, seed):
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    drafts = []
    for name in names:
        while True:
            draft = Draft(draw, rng)
            try:
                DRAWS[name](draft)
            except Skip:
                continue
            drafts.append(draft)
            break
    return Program(drafts), rng


def run_program(tools, names, seed, folder):
    os.makedirs(folder + "/in", exist_ok=True)
    program, rng = draw_program(names, seed)
    try:
        run = program.compile()
    except Exception as problem:  # XLA's own limits, such as floating-point types of two widths in one reduction
        return f"REFUSED by XLA: {problem}"[:300]
    with open(folder + "/model.mlir", "w") as file:
        file.write(program.text)
    results = run(program.arguments)
    for number, argument in enumerate(program.arguments):
        save(f"{folder}/in/arg{number}.npy", argument)
    emit = "forward"
    smooth = all(draft.smooth for draft in program.drafts)
    if smooth and any(is_real(r) for r in results) and any(is_real(a) for a in program.arguments):
        emit += ",vjp"
        for number, result in enumerate(results):
            if is_inexact(result):
                # Those of other types have no part in the comparison.
                cotangent = rng.normal(size=result.shape) if is_real(result) and np.isfinite(result).all() else (
                    np.zeros(result.shape))
                save(f"{folder}/in/cotangent{number}.npy", cotangent.astype(result.dtype))
    command = [tools + "/remat-run", "model.mlir", "--inputs=in", "--outputs=out", "--emit=" + emit, "--effort=0.01",
               "--threads=1"]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if outcome.returncode:
        message = next((line for line in outcome.stderr.splitlines() if "error:" in line), outcome.stderr[:300])
        # A crash is a finding, an error is not.
        if outcome.returncode != 1 or "error:" not in message:
            return f"status {outcome.returncode}: {outcome.stderr.strip()[:800]}"
        return "REFUSED " + message.split("error:", 1)[1].strip()[:300]
    for number, result in enumerate(results):
        error = describe_difference(f"result {number}", load(f"{folder}/out/result{number}.npy", result), result, 3)
        if error:
            return error
    return check_gradients(run, program, rng, folder) if emit.endswith("vjp") else None


def run_case(tools, name, seed, folder):
    """Several draws together, and one by one if something is wrong."""
    draw = random.Random(f"{name} {seed}")
    seeds = draw.randrange(2 ** 30)
    error = run_program(tools, [name] * PARTS, seeds, folder)
    if not error:
        return None
    findings = []
    for part in range(PARTS):
        own = f"{folder}/{part}"
        error = run_program(tools, [name], seeds + part + 1, own)
        if error and error.startswith("REFUSED "):
            refusals.setdefault((name, re.sub(r"[\d.]+", "N", error)), error)
        elif error:
            findings.append(f"part {part}: {error}")
    return "\n".join(findings) or None


def main():
    options = make_parser(__doc__).parse_args()
    cases = dict.fromkeys(DRAWS)
    status = run_cases(options, cases, lambda name, seed, folder: run_case(options.tools, name, seed, folder))
    for (name, _), message in refusals.items():
        print(f"{name}: {message}")
    return status


if __name__ == "__main__":
    sys.exit(main())
