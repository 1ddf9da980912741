"""several_derivatives.py TOOLS DIR: any number of derivatives of functions with regions, in any order.

Programs take several products of a function with one or two regions: vjps and jvps of different results and arguments,
of the same values or one of what the other returned. Each compiles under every budget and gives the bits that it gives
without regions. Without a budget, no task is recomputed twice, also where backward calls are separate. With scopes
that offload in the place of regions, programs give these bits, too, and offload."""

import itertools
import json
import os
import re
import subprocess
import sys

TOOLS, DIR = sys.argv[1:]
T = "tensor<32x32xf32>"
REGION, SCOPE = "remat.checkpoint", "remat.scope attributes {offload}"


def product(name, a, b="w"):
    return f"%{name} = linalg.matmul ins(%{a}, %{b} : {T}, {T}) outs(%zero : {T}) -> {T}\n"


def sine(name, a):
    return f"%{name} = math.sin %{a} : {T}\n"


def region(names, values, body, kind):
    """`body` in a region of this kind that yields `values`; without a region if that is None."""
    if not kind:
        for name, value in zip(names, values):
            body = body.replace(f"%{value} ", f"%{name} ").replace(f"%{value},", f"%{name},")
        return body
    types = ", ".join([T] * len(values))
    yielded = ", ".join(f"%{value}" for value in values)
    results = ", ".join(f"%{name}" for name in names)
    return f"{results} = {kind} {{\n{body}remat.yield {yielded} : {types}\n}} : {types}\n"


def write_bodies(kind):
    """Functions of %x and %w with two results %y and %v, with regions of this kind."""
    second = product("c", "y") + sine("d", "c") + product("a", "d") + sine("b", "a")
    outer = product("n", "w") + sine("m", "n") + product("p", "x", "m") + sine("t", "p")
    inner = region(["q", "k"], ["r", "s"], product("o", "t", "m") + sine("r", "o") + product("s", "r"), kind)
    chain = product("p", "x") + sine("t", "p") + product("q", "t") + sine("u", "q")
    return {
        # Both results of one region, one on the way to the other.
        "one": region(["y", "v"], ["t", "u"], chain, kind),
        # Two regions, the second of which reads what the first yields.
        "two": region(["y"], ["u"], chain, kind) + region(["v"], ["b"], second, kind),
        # A region in a region, and what depends on %w alone.
        "nested": region(["y", "v"], ["u", "k"], outer + inner + sine("u", "q"), kind),
    }


def write(body, derivatives):
    """A program that takes `derivatives` of a function: vjps and jvps as (mode, result, argument, input)."""
    text = f"func.func private @f(%x: {T}, %w: {T}) -> ({T}, {T}) {{\n"
    text += f"%zero = arith.constant dense<0.0> : {T}\n{body}return %y, %v : {T}, {T}\n}}\n"
    calls, results = "", []
    for number, (mode, of, wrt, x) in enumerate(derivatives):
        seeds = "cotangents" if mode == "vjp" else "tangents"
        chosen = f"{{wrt = array<i64: {wrt}>, of = array<i64: {of}>}}"
        calls += f"%d{number}:3 = remat.{mode} @f(%{x}, %w) {seeds}(%g) {chosen} : ({T}, {T}, {T}) -> ({T}, {T}, {T})\n"
        results.append(f"%d{number}#2")
    types = ", ".join([T] * len(results))
    text += f"func.func @main(%x: {T}, %w: {T}, %g: {T}) -> ({types}) {{\n"
    return text + f"{calls}return {', '.join(results)} : {types}\n}}\n"


def run(name, text, *options):
    model, out = f"{DIR}/{name}.mlir", f"{DIR}/{name}"
    with open(model, "w") as file:
        file.write(text)
    files = [f"--inputs={DIR}/in", f"--outputs={out}", f"--json={out}.json"]
    command = [f"{TOOLS}/remat-run", model, *files, "--emit=forward", "--steps=1", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 3 and "--budget=80%" in options:
        return None  # Nothing fits into that.
    if done.returncode:
        sys.exit(f"{name} {options}: {done.stderr}")
    return json.load(open(f"{out}.json")), [open(f"{out}/{file}", "rb").read() for file in sorted(os.listdir(out))]


def count_repeats(name, *options):
    """How often the task that is recomputed most often is."""
    command = [f"{TOOLS}/remat-opt", f"{DIR}/{name}.mlir", f"--remat-pipeline=differentiate=false {' '.join(options)}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} {options}: {done.stderr}")
    return max([int(number) for number in re.findall(r" copy (\d+) ", done.stdout)], default=0)


# Of different results, of the same one, forwards and in reverse, and of what another has returned.
PROGRAMS = {
    "apart": [("vjp", 0, 1, "x"), ("vjp", 1, 1, "x")],
    "arguments": [("vjp", 1, 0, "x"), ("vjp", 1, 1, "x")],
    "mixed": [("vjp", 0, 0, "x"), ("jvp", 1, 1, "x"), ("vjp", 1, 0, "x")],
    "batches": [("vjp", 1, 1, "x"), ("vjp", 1, 1, "g")],
    "steps": [("vjp", 0, 0, "x"), ("vjp", 1, 1, "d0#2")],
    "three": [("vjp", 1, 1, "x"), ("vjp", 0, 0, "d0#2"), ("vjp", 1, 0, "d1#2")],
}
for (shape, body), (name, derivatives) in itertools.product(write_bodies(REGION).items(), PROGRAMS.items()):
    dependent = any(x.startswith("d") for _, _, _, x in derivatives)
    orders = [derivatives] if dependent else list(itertools.permutations(derivatives))
    if shape != "one":
        orders = orders[-1:]
    for number, order in enumerate(orders):
        program = f"{shape}-{name}-{number}"
        text = write(body, order)
        _, plain = run(program + "-plain", write(write_bodies(None)[shape], order))
        several = [["--budget=80%", "--poison", "--effort=0.1"], ["--separate-backward"], ["--reorder"]]
        several.append(["--planner=recompute-all", "--determinism-check=bitwise"])
        for options in [[], ["--budget=min", "--effort=0.1"]] + (several if number == 0 else []):
            done = run(program, text, *options)
            if not done:
                continue
            report, results = done
            if results != plain:
                sys.exit(f"{program} {options}: other results than without regions")
            if not options:
                print(program, report["recomputed_tasks"], report["planned_peak_bytes"])
                if any(mode == "vjp" and of == 1 for mode, of, _, _ in order) and report["recomputed_tasks"] == 0:
                    sys.exit(f"{program}: nothing is recomputed")
        for options in [], ["separate-backward"]:
            repeats = count_repeats(program, *options)
            if repeats > 1:
                sys.exit(f"{program} {options}: a task is recomputed {repeats} times")

for (shape, body), (name, derivatives) in itertools.product(write_bodies(SCOPE).items(), PROGRAMS.items()):
    program = f"{shape}-{name}-offload"
    _, plain = run(program + "-plain", write(write_bodies(None)[shape], derivatives))
    several = [["--budget=min", "--effort=0.1"], ["--separate-backward"]]
    for options in [[]] + (several if shape == "one" else []):
        report, results = run(program, write(body, derivatives), *options)
        if results != plain:
            sys.exit(f"{program} {options}: other results than without scopes")
        if report["offloaded_bytes"] == 0:
            sys.exit(f"{program} {options}: nothing is offloaded")
