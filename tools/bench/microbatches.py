#!/usr/bin/env python3
"""Compares a step over several parts of a batch with the mean of a step for each, and counts the bytes that it takes.

usage: microbatches.py BIN MODEL.mlir MANIFEST.json [--parts=8] [--budgets=none,60%,min]
                       [--optimizer=adamw:lr=1e-3] [--optimizer-budgets=none,60%,min] [--tolerance=1e-6] [--threads=2]

Needs NumPy, and a model whose data are integers. Weights and data are drawn within the bounds that the manifest fills
them with, and each part has data of its own. `relative` is the largest difference of a gradient from the mean over its
largest element, or of the loss. Runs in the same order of parts must give the same bits.

`bytes` is what a step takes beyond weights, inputs and state, its arena and the results that are in no argument's
buffer. Without a budget, it may be what one part takes whose gradients hold nothing else (a step for one part with
`--reuse-result-buffers=false`). With the optimizer, `order` says which order the planner took for the budget. Exit
status 1 when something falls short.
"""
import argparse, json, os, subprocess, sys, tempfile

import numpy


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("model")
    parser.add_argument("manifest")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--budgets", default="none,60%,min")
    parser.add_argument("--optimizer", default="adamw:lr=1e-3")
    parser.add_argument("--optimizer-budgets", default="none,60%,min")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


options = parse_arguments()


def run(manifest, inputs, folder, *flags):
    """The report of one run, which leaves its results in the folder."""
    report = os.path.join(folder, "report.json")
    weights = [str(number) for number, argument in enumerate(manifest["args"]) if argument["role"] == "param"]
    command = [os.path.join(options.bin, "remat-run"), options.model, f"--inputs={inputs}", f"--json={report}",
               f"--wrt={','.join(weights)}", f"--result={manifest.get('loss', 0)}", f"--threads={options.threads}",
               f"--outputs={folder}", "--steps=1", *flags]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        sys.exit(f"{' '.join(command)}\n{process.stderr}")
    return json.load(open(report))


def draw(manifest):
    """All arguments; data are those of all parts."""
    random, values = numpy.random.default_rng(0), []
    for argument in manifest["args"]:
        shape, fill = list(argument["shape"]), argument["fill"]
        if argument["role"] == "data":
            shape[0] *= options.parts
            values.append(random.integers(0, fill["below"], shape).astype(argument["dtype"]))
        else:
            values.append(random.uniform(fill["lo"], fill["hi"], shape).astype(argument["dtype"]))
    return values


def write_inputs(folder, values):
    os.mkdir(folder)
    for number, value in enumerate(values):
        numpy.save(os.path.join(folder, f"arg{number}.npy"), value)


def load(folder):
    """The loss and all gradients."""
    values = [numpy.load(os.path.join(folder, "result0.npy"))]
    while os.path.exists(file := os.path.join(folder, f"vjp{len(values) - 1}.npy")):
        values.append(numpy.load(file))
    return values


def find_mean(root, manifest, values):
    """The mean over the parts of what a step for each returns, and the bytes that such a step takes."""
    sums, taken = None, 0
    for part in range(options.parts):
        inputs, folder = os.path.join(root, f"inputs{part}"), os.path.join(root, f"part{part}")
        os.mkdir(folder)
        write_inputs(inputs, [numpy.split(value, options.parts)[part] if argument["role"] == "data" else value
                              for argument, value in zip(manifest["args"], values)])
        report = run(manifest, inputs, folder, "--reuse-result-buffers=false")
        taken = report["arena_bytes"] + report["result_bytes"]
        found = [value.astype(numpy.float64) for value in load(folder)]
        sums = found if sums is None else [a + b for a, b in zip(sums, found)]
    return [value / options.parts for value in sums], taken


def main():
    manifest = json.load(open(options.manifest))
    good = True
    with tempfile.TemporaryDirectory() as root:
        values, inputs = draw(manifest), os.path.join(root, "inputs")
        write_inputs(inputs, values)
        expected, limit = find_mean(root, manifest, values)
        print(f"one part takes {limit} bytes, its gradients among them")
        print(f"{'':12} {'budget':>10} {'order':>7} {'bytes':>12} {'arena':>12}  relative, bits")
        for optimizer, budgets in ("", options.budgets), (options.optimizer, options.optimizer_budgets):
            hashes = {}
            for budget in budgets.split(","):
                folder = os.path.join(root, f"{bool(optimizer)}-{budget}")
                os.mkdir(folder)
                report = run(manifest, inputs, folder, f"--microbatches={options.parts}",
                             *([f"--budget={budget}"] if budget != "none" else []),
                             *([f"--optimizer={optimizer}"] if optimizer else []))
                order = report.get("microbatch_order") or "parts"
                taken = report["arena_bytes"] + report["result_bytes"]
                same = hashes.setdefault(order, report["result_hash"]) == report["result_hash"]
                good &= same
                error = ""
                if not optimizer:
                    worst = max(abs(found - known).max() / max(abs(known).max(), 1e-30)
                                for found, known in zip(load(folder), expected))
                    good &= worst <= options.tolerance and (budget != "none" or taken <= limit)
                    error = f"{worst:.1e}, "
                print(f"{optimizer:12} {budget:>10} {order:>7} {taken:12} {report['arena_bytes']:12}  "
                      f"{error}{'same' if same else 'OTHER BITS'}", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
