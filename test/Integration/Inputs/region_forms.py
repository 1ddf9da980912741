"""region_forms.py REMAT-RUN DIR: a region does the same however the program asks for its derivative.

For each kind of region, a function with two regions is differentiated as the entry, by remat.vjp or remat.jvp, and by
these of a function that calls it. What stands in a region stands there itself, or is in a function that the region
calls, or in one that this calls. Recomputed tasks, planned peak, offloaded bytes and all results must be equal."""

import itertools
import json
import os
import subprocess
import sys

REMAT_RUN, DIR = sys.argv[1:]
T = "tensor<32x32xf32>"
PRODUCT = f"linalg.matmul ins(%{{0}}, %w : {T}, {T}) outs(%zero : {T}) -> {T}"
# The kinds, what the operation is called, and whether something is recomputed and the bits are those without a region.
KINDS = {
    "none": ("", False, True),
    "checkpoint": ("remat.checkpoint", True, True),
    "named": ('remat.checkpoint attributes {name = "block"}', True, True),
    "whole": ("remat.checkpoint attributes {early_stop = false}", True, True),
    "wish": ("remat.checkpoint attributes {policy = #remat.policy<prefer_recompute>}", None, True),
    "fresh": ("remat.checkpoint attributes {preserve_rng_state = false}", True, False),
    "int8": ('remat.scope attributes {codec = "int8"}', False, False),
    "pair": ("remat.scope attributes {codec = [@pack, @unpack]}", False, False),
    "host": ("remat.scope attributes {offload}", False, True),
    "nested": ("remat.checkpoint", True, True),
    "packed-inside": ("remat.checkpoint", None, False),
}
PAIR = f"""
func.func private @pack(%x: {T}) -> tensor<32x32xf16> {{
  %y = arith.truncf %x : {T} to tensor<32x32xf16>
  return %y : tensor<32x32xf16>
}}
func.func private @unpack(%x: tensor<32x32xf16>) -> {T} {{
  %y = arith.extf %x : tensor<32x32xf16> to {T}
  return %y : {T}
}}"""


def wrap(region, names, body, result):
    """`body`, which ends with the value `result`, in a region that yields it as `names`."""
    return f"{names} = {region} {{\n{body}\nremat.yield {result} : {T}\n}} : {T}"


def write_block(kind, x, p):
    """Operations on %x that end with %{p}y: products, sines and dropout."""
    inner = f"%{p}t = math.sin %{p}p : {T}\n%{p}q = {PRODUCT.format(p + 't')}"
    if kind == "nested":
        inner = wrap("remat.checkpoint", f"%{p}q", inner.replace(f"%{p}q", f"%{p}n"), f"%{p}n")
    if kind == "packed-inside":
        inner = wrap('remat.scope attributes {codec = "int8"}', f"%{p}q", inner.replace(f"%{p}q", f"%{p}n"), f"%{p}n")
    return f"""%{p}p = {PRODUCT.format(x)}
{inner}
%{p}u = remat.random %key, %offset : (tensor<i64>, tensor<i64>) -> {T}
%{p}d = arith.mulf %{p}q, %{p}u : {T}
%{p}y = math.sin %{p}d : {T}"""


CONSTANTS = f"""%zero = arith.constant dense<0.0> : {T}
%key = arith.constant dense<7> : tensor<i64>
%offset = arith.constant dense<0> : tensor<i64>"""


def write_function(kind, depth, name):
    """@name, with two regions, and the functions that it calls."""
    region = KINDS[kind][0]
    text = PAIR
    for level in range(depth):
        callee = f"func.call @level{level - 1}(%x, %w) : ({T}, {T}) -> {T}"
        body = write_block(kind, "x", "") if level == 0 else f"%y = {callee}"
        text += f"\nfunc.func private @level{level}(%x: {T}, %w: {T}) -> {T} {{\n"
        text += f"{CONSTANTS}\n{body}\nreturn %y : {T}\n}}"
    body, x = "", "x"
    for number in range(2):
        p = f"r{number}"
        block = f"%{p}y = func.call @level{depth - 1}(%{x}, %w) : ({T}, {T}) -> {T}"
        if depth == 0:
            block = write_block(kind, x, p)
        body += "\n" + (wrap(region, f"%{p}", block, f"%{p}y") if region else block)
        x = p if region else p + "y"
    visibility = "" if name == "main" else "private "
    text += f"\nfunc.func {visibility}@{name}(%x: {T}, %w: {T}) -> {T} {{\n"
    return text + f"{CONSTANTS}\n{body}\nreturn %{x} : {T}\n}}"


def write_main(mode, callee):
    """A function that asks for a product of @callee."""
    if mode == "vjp":
        return f"""
func.func @main(%x: {T}, %w: {T}, %g: {T}) -> ({T}, {T}, {T}) {{
  %r:3 = remat.vjp @{callee}(%x, %w) cotangents(%g) : ({T}, {T}, {T}) -> ({T}, {T}, {T})
  return %r#0, %r#1, %r#2 : {T}, {T}, {T}
}}"""
    return f"""
func.func @main(%x: {T}, %w: {T}, %dx: {T}, %dw: {T}) -> ({T}, {T}) {{
  %r:2 = remat.jvp @{callee}(%x, %w) tangents(%dx, %dw) : ({T}, {T}, {T}, {T}) -> ({T}, {T})
  return %r#0, %r#1 : {T}, {T}
}}"""


def run(name, text, mode):
    model, out = f"{DIR}/{name}.mlir", f"{DIR}/{name}"
    with open(model, "w") as file:
        file.write(text)
    emit = "forward," + mode if name.endswith("entry") else "forward"
    files = [f"--inputs={DIR}/in", f"--outputs={out}", f"--json={out}.json"]
    done = subprocess.run([REMAT_RUN, model, *files, f"--emit={emit}", "--steps=1"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    report = json.load(open(f"{out}.json"))
    keys = ["recomputed_tasks", "planned_peak_bytes", "measured_peak_bytes", "offloaded_bytes"]
    # The results of the entry come before those of the derivative.
    files = sorted(os.listdir(out), key=lambda file: (not file.startswith("result"), file))
    return [report[key] for key in keys], [open(f"{out}/{file}", "rb").read() for file in files]


def write_call(name, callee):
    return f"""
func.func private @{name}(%x: {T}, %w: {T}) -> {T} {{
  %y = func.call @{callee}(%x, %w) : ({T}, {T}) -> {T}
  return %y : {T}
}}"""


plain = {}
for kind, mode in itertools.product(KINDS, ["vjp", "jvp"]):
    # Forwards, there is nothing to keep.
    if mode == "jvp" and kind not in ("none", "checkpoint", "fresh", "int8"):
        continue
    known = None
    for depth in (0, 1, 2):
        function = write_function(kind, depth, "f")
        forms = {
            "entry": write_function(kind, depth, "main"),
            "derivative": function + write_main(mode, "f"),
            "called": function + write_call("g", "f") + write_main(mode, "g"),
            "called-twice": function + write_call("h", "f") + write_call("g", "h") + write_main(mode, "g"),
        }
        for form, text in forms.items():
            if (form == "called-twice" and depth != 1) or (form == "called" and depth == 2):
                continue
            name = f"{kind}-{mode}-{depth}-{form}"
            plan, results = run(name, text, mode)
            plain.setdefault(mode, results)
            if known is None:
                known = plan, results
                print(name, *plan)
            if plan != known[0]:
                sys.exit(f"{name}: plan {plan}, as an entry without calls {known[0]}")
            if results != known[1]:
                sys.exit(f"{name}: other results than as an entry without calls")
            recomputes, isExact = KINDS[kind][1:]
            if isExact and results != plain[mode]:
                sys.exit(f"{name}: other results than without a region")
            if mode == "vjp" and recomputes is not None and recomputes != (plan[0] > 0):
                sys.exit(f"{name}: {plan[0]} tasks are recomputed")
            if kind == "host" and mode == "vjp" and plan[3] == 0:
                sys.exit(f"{name}: nothing is offloaded")
