#!/usr/bin/env python3
"""Runs models with manifests under several budgets and checks what was promised.

usage: models.py BIN MODEL_DIR [MODEL...] [--budgets=100%,50%,min] [--steps=1] [--tolerance=1e-3] [--json=FILE]

For each model (default: all that have a manifest) and budget: the planned, simulated and measured peak are one
number, the arena is within the budget, the resident set grew by no more than arena + results + 16 MiB, the loss is
within 1e-5 of the golden and the gradients within the tolerance, and no bit of them depends on the budget. Where
MODEL.grads.npz stands beside the manifest (and numpy is there), every gradient is compared with it in full: the
largest difference relative to the largest element. Exit status 1 when something falls short.
"""
import json, os, subprocess, sys, tempfile

from models_arguments import read_arguments

binary, directory, models, options = read_arguments(__doc__, ["budgets", "steps", "tolerance", "json"])
budgets = options.get("budgets", "100%,50%,min").split(",")
tolerance = float(options.get("tolerance", "1e-3"))
MIB = 1 << 20


def compare_in_full(model, manifest, outputs):
    """The largest relative difference to the stored gradients, or None."""
    file = os.path.join(directory, model + ".grads.npz")
    if not os.path.exists(file):
        return None
    import numpy
    golden, worst = numpy.load(file), 0.0
    parameters = [a["name"] for a in manifest["args"] if a["role"] == "param"]
    for number, name in enumerate(parameters):
        if name in golden:
            gradient = numpy.load(os.path.join(outputs, f"vjp{number}.npy"))
            expected = golden[name]
            scale = max(float(abs(expected).max()), 1e-30)
            worst = max(worst, float(abs(gradient - expected).max()) / scale)
    return worst


def run(model, budget):
    """The report of one run, or the exit status and the last line of its message."""
    base = os.path.join(directory, model)
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        process = subprocess.run(
            [binary, base + ".mlir", "--manifest=" + base + ".json", "--budget=" + budget, "--json=" + report,
             "--outputs=" + scratch, "--steps=" + options.get("steps", "1")], capture_output=True, text=True)
        if process.returncode:
            return process.returncode, process.stderr.strip()
        result = json.load(open(report))
        result["full_error"] = compare_in_full(model, json.load(open(base + ".json")), scratch)
        return result, None


def check(result, golden):
    """What falls short, as a list of sentences."""
    peaks = [result[k + "_peak_bytes"] for k in ("planned", "simulated", "measured")]
    problems = []
    if len(set(peaks)) != 1:
        problems.append(f"peaks differ: {peaks}")
    if result["arena_bytes"] > result["budget_bytes"]:
        problems.append(f"arena {result['arena_bytes']} exceeds the budget {result['budget_bytes']}")
    if result["rss_growth_bytes"] > result["arena_bytes"] + result["result_bytes"] + 16 * MIB:
        problems.append(f"resident set grew by {result['rss_growth_bytes']}")
    if abs(result["loss"] - golden["loss"]) > 1e-5 * abs(golden["loss"]):
        problems.append(f"loss {result['loss']} instead of {golden['loss']}")
    if not result["max_relative_error"] <= tolerance:
        problems.append(f"gradients are off by {result['max_relative_error']:.1e}")
    if result["full_error"] is not None and not result["full_error"] <= tolerance:
        problems.append(f"gradients are off by {result['full_error']:.1e} in full")
    return problems


rows, failed = [], 0
print(f"{'model':14} {'budget':>6} {'arena MiB':>10} {'peak bytes':>12} {'recomputed':>10} {'step s':>7} "
      f"{'error':>8} {'in full':>8}")
for model in models:
    golden, first = json.load(open(os.path.join(directory, model + ".json")))["golden"], None
    for budget in budgets:
        result, message = run(model, budget)
        if message is not None:
            if result != 3 or budget in ("100%", "min"):
                failed += 1
            status = "infeasible" if result == 3 else f"exit {result}"
            print(f"{model:14} {budget:>6} {status}: {message.splitlines()[0]}")
            continue
        problems = check(result, golden)
        first = first or result["result_hash"]
        if result["result_hash"] != first:
            problems.append("results depend on the budget")
        full, seconds = result["full_error"], sorted(result["step_seconds"])
        print(f"{model:14} {budget:>6} {result['arena_bytes'] / MIB:10.2f} {result['planned_peak_bytes']:12} "
              f"{result['recomputed_tasks']:10} {seconds[len(seconds) // 2]:7.3f} "
              f"{result['max_relative_error']:8.1e} {'-' if full is None else f'{full:8.1e}'}", *problems)
        failed += bool(problems)
        rows.append(result)
if "json" in options:
    json.dump(rows, open(options["json"], "w"), indent=1)
print(f"{len(rows)} runs, {failed} fall short")
sys.exit(bool(failed))
