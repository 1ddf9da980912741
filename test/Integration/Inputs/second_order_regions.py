"""second_order_regions.py REMAT-RUN DIR: regions around derivatives, in programs that are differentiated.

A chain of three blocks, each with a product of a function with its transposed Jacobian, is differentiated as the entry
or by remat.vjp of a function. A region around a block hides what the inner derivative computes from the outer one, the
inner backward computation included, and nothing from the inner one. Results are those without regions, bit for bit."""

import json
import os
import subprocess
import sys

REMAT_RUN, DIR = sys.argv[1:]
T = "tensor<32x32xf32>"
CONSTANTS = f"%zero = arith.constant dense<0.0> : {T}\n"


def product(name, a, b="w"):
    return f"%{name} = linalg.matmul ins(%{a}, %{b} : {T}, {T}) outs(%zero : {T}) -> {T}\n"


def sine(name, a):
    return f"%{name} = math.sin %{a} : {T}\n"


def wrap(head, name, body, value):
    """`body` in a region that yields `value` as `name`."""
    return f"%{name} = {head} {{\n{body}remat.yield %{value} : {T}\n}} : {T}\n"


def inner(head):
    """@f, with its body in a region if `head` is not empty."""
    body = product("p", "x") + sine("t", "p") + product("q", "t") + sine("u", "q")
    body = wrap(head, "y", body, "u") if head else body.replace("%u ", "%y ")
    return f"func.func private @f(%x: {T}, %w: {T}) -> {T} {{\n{CONSTANTS}{body}return %y : {T}\n}}\n"


def derivative(mode, x, n):
    seeds = ("cotangents", f"%{x}") if mode == "vjp" else ("tangents", f"%{x}")
    return (f"%{n}v, %{n}d = remat.{mode} @f(%{x}, %w) {seeds[0]}({seeds[1]}) {{wrt = array<i64: 0>}} : "
            f"({T}, {T}, {T}) -> ({T}, {T})\n")


def block(head, mode, x, n, tag=""):
    """A block from %x to %n: a derivative of @f, times what that returns."""
    body = derivative(mode, x, n)
    value = n + "d"
    if tag:
        body += f"%{n}k = remat.tag %{n}d {{{tag}}} : {T}\n"
        value = n + "k"
    body += f"%{n}m = arith.mulf %{n}v, %{value} : {T}\n" + sine(n + "s", n + "m")
    return wrap(head, n, body, n + "s") if head else body.replace(f"%{n}s ", f"%{n} ")


def chain(name, head, mode="vjp", inside="", tag="", results="c"):
    text = inner(inside)
    visibility = "" if name == "main" else "private "
    text += f"func.func {visibility}@{name}(%x: {T}, %w: {T}) -> {T} {{\n{CONSTANTS}"
    for x, n in ("xa", "ab", "bc"):
        text += block(head, mode, x, n, tag)
    return text + f"return %{results} : {T}\n}}\n"


def write_main(callee):
    return f"""func.func @main(%x: {T}, %w: {T}, %g: {T}) -> ({T}, {T}, {T}) {{
  %r:3 = remat.vjp @{callee}(%x, %w) cotangents(%g) : ({T}, {T}, {T}) -> ({T}, {T}, {T})
  return %r#0, %r#1, %r#2 : {T}, {T}, {T}
}}
"""


def run(name, text, *options, emit="forward,vjp"):
    model, out = f"{DIR}/{name}.mlir", f"{DIR}/{name}"
    with open(model, "w") as file:
        file.write(text)
    files = [f"--inputs={DIR}/in", f"--outputs={out}", f"--json={out}.json"]
    command = [REMAT_RUN, model, *files, "--steps=1", "--threads=1", f"--emit={emit}", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    report = json.load(open(f"{out}.json"))
    files = sorted(os.listdir(out), key=lambda file: (not file.startswith("result"), file))
    results = [open(f"{out}/{file}", "rb").read() for file in files]
    return report, results


def expect(condition, text):
    if not condition:
        sys.exit(text)


def peak(report):
    return report["planned_peak_bytes"]


REGION = "remat.checkpoint"
WHOLE = "remat.checkpoint attributes {early_stop = false}"
for mode in ("vjp", "jvp"):
    plain, known = run(f"{mode}-plain", chain("main", "", mode))
    report, results = run(f"{mode}-region", chain("main", REGION, mode))
    print(mode, "without regions", peak(plain), "with regions", peak(report), "recomputed", report["recomputed_tasks"])
    expect(results == known, f"{mode}: other results with regions")
    expect(report["recomputed_tasks"] > 0, f"{mode}: nothing is recomputed")
    expect(peak(report) < peak(plain), f"{mode}: regions save nothing")
    # Asked for by the program, the outer derivative is the same.
    nested, results = run(f"{mode}-nested", chain("g", REGION, mode) + write_main("g"), emit="forward")
    expect(results == known, f"{mode}: other results of remat.vjp")
    for key in ("planned_peak_bytes", "measured_peak_bytes", "recomputed_tasks"):
        expect(nested[key] == report[key], f"{mode}: {key} is {nested[key]} by remat.vjp, else {report[key]}")
    # Nothing is hidden from the inner derivative.
    alone, results = run(f"{mode}-alone", chain("main", REGION, mode), emit="forward")
    bare, known_alone = run(f"{mode}-bare", chain("main", "", mode), emit="forward")
    expect(results == known_alone and alone["recomputed_tasks"] == 0, f"{mode}: a region hides from what is inside")
    expect(peak(alone) == peak(bare), f"{mode}: {peak(alone)} bytes without an outer derivative, {peak(bare)} without regions")
    # All that runs again, and what a policy keeps or sends to the host.
    whole, results = run(f"{mode}-whole", chain("main", WHOLE, mode))
    expect(results == known and whole["recomputed_tasks"] > report["recomputed_tasks"], f"{mode}: early stop")
    kept, results = run(f"{mode}-kept", chain("main", REGION, mode, tag="policy = #remat.policy<must_save>"))
    expect(results == known, f"{mode}: other results where a value is kept")
    expect(0 < kept["recomputed_tasks"] < report["recomputed_tasks"],
           f"{mode}: {kept['recomputed_tasks']} tasks with a kept value, {report['recomputed_tasks']} without")
    tag = "policy = #remat.policy<must_cpu_offload>"
    hosted, results = run(f"{mode}-hosted", chain("main", REGION, mode, tag=tag))
    expect(results == known and hosted["offloaded_bytes"] > 0, f"{mode}: nothing is offloaded inside of a region")
    scoped, results = run(f"{mode}-scoped", chain("main", "remat.scope attributes {offload}", mode))
    expect(results == known and scoped["offloaded_bytes"] > hosted["offloaded_bytes"], f"{mode}: offloading scope")
    # Only what the outer derivative reads is rounded.
    packed, results = run(f"{mode}-packed", chain("main", 'remat.scope attributes {codec = "int8"}', mode))
    expect(results[0] == known[0] and results[1:] != known[1:], f"{mode}: a codec inside of what is differentiated")
    # Regions of the function, alone and in regions around its derivative.
    for name, text in {"inside": chain("main", "", mode, inside=REGION), "both": chain("main", REGION, mode, inside=REGION),
                       "wish": chain("main", "remat.checkpoint attributes {policy = #remat.policy<prefer_recompute>}", mode)}.items():
        report, results = run(f"{mode}-{name}", text)
        print(mode, name, peak(report), "recomputed", report["recomputed_tasks"], "offloaded", report["offloaded_bytes"])
        expect(results == known, f"{mode}-{name}: other results")
        for options in (["--budget=min", "--effort=0.05", "--poison", "--determinism-check=bitwise"], ["--reorder"],
                        ["--separate-backward"], ["--planner=recompute-all", "--poison"]):
            report, results = run(f"{mode}-{name}", text, *options)
            if "--separate-backward" not in options:
                expect(results == known, f"{mode}-{name} {options}: other results")

# One region around all of it: what runs again holds no more than what is kept without the region.
plain, known = run("all-plain", chain("main", ""))
text = inner("") + f"func.func @main(%x: {T}, %w: {T}) -> {T} {{\n{CONSTANTS}"
body = "".join(block("", "vjp", x, n) for x, n in ("xa", "ab", "bc"))
report, results = run("all-region", text + wrap(REGION, "y", body, "c") + f"return %y : {T}\n}}\n")
expect(results == known and report["recomputed_tasks"] > 0, "all: other results, or nothing is recomputed")
expect(peak(report) <= peak(plain), f"all: {peak(report)} bytes with a region, {peak(plain)} without")
# Under budgets: the same bits within them, and the least is no more than without regions.
least = {}
for name, head in (("plain", ""), ("region", REGION)):
    for budget in (str(peak(plain) * 7 // 10), str(peak(plain) // 2), "min"):
        report, results = run(f"budget-{name}", chain("main", head), f"--budget={budget}", "--effort=0.05", "--poison")
        expect(results == known, f"budget {budget}, {name}: other results")
        expect(peak(report) <= report["budget_bytes"], f"budget {budget}, {name}: {peak(report)} bytes")
    least[name] = peak(report)
expect(least["region"] <= least["plain"], f"least peaks {least}")
