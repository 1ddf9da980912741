#!/usr/bin/env python3
"""Measures how far loss and gradients in f32 are from f64, for remat and for PyTorch.

usage: accuracy.py BIN MODEL_DIR [MODEL...] [--flags=FLAG,...] [--json=FILE]

Runs each model (default: all that have a manifest) as it is and with `--widen`, which computes in f64 from the same
arguments. PyTorch's results in f32 are those of the manifest, and of MODEL.grads.npz where that stands beside it. For
each gradient there are two errors, relative to its norm in f64: that of the norm, and the norm of the difference. The
norm in f64 counts as at least 1e-7 of the largest one of the model, since a gradient that is zero but for rounding has
no relative error. Exit status 1 where remat's largest error of a norm is above twice PyTorch's and above 1e-6, or where
the loss is off by more than 1e-5: it is one number, of which chance decides the last digits. `--flags` are further
flags of remat-run for the run in f32. Needs NumPy.
"""
import json, os, statistics, subprocess, sys, tempfile

import numpy

from models_arguments import read_arguments

binary, directory, models, options = read_arguments(__doc__, ["flags", "json"])
ROUNDING, LOSS = 1e-6, 1e-5


def run(base, parameters, *flags):
    """Loss and gradients, as arrays."""
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        subprocess.run([binary, base + ".mlir", "--manifest=" + base + ".json", "--json=" + report,
                        "--outputs=" + scratch, *flags], check=True, stdout=subprocess.DEVNULL)
        gradients = {name: numpy.load(os.path.join(scratch, f"vjp{number}.npy")).astype(numpy.float64)
                     for number, name in enumerate(parameters)}
        return json.load(open(report))["loss"], gradients


def measure(model):
    base = os.path.join(directory, model)
    manifest = json.load(open(base + ".json"))
    parameters = [a["name"] for a in manifest["args"] if a["role"] == "param"]
    flags = [flag for flag in options.get("flags", "").split(",") if flag]
    exact_loss, exact = run(base, parameters, "--widen")
    loss, gradients = run(base, parameters, *flags)
    norms = {name: float(numpy.linalg.norm(gradient)) for name, gradient in exact.items()}
    least = 1e-7 * max(norms.values())
    scale = {name: max(norm, least) or 1.0 for name, norm in norms.items()}

    def vectors(others):
        return [float(numpy.linalg.norm(others[n] - exact[n])) / scale[n] for n in parameters if n in others]

    golden = manifest["golden"]
    row = {"model": model,
           "loss": abs(loss - exact_loss) / abs(exact_loss),
           "norms": [abs(float(numpy.linalg.norm(gradients[n])) - norms[n]) / scale[n] for n in parameters],
           "vectors": vectors(gradients),
           "torch_loss": abs(golden["loss"] - exact_loss) / abs(exact_loss),
           "torch_norms": [abs(golden["gradients"][n]["l2"] - norms[n]) / scale[n] for n in parameters
                           if n in golden["gradients"]],
           "torch_vectors": []}
    if os.path.exists(base + ".grads.npz"):
        stored = numpy.load(base + ".grads.npz")
        row["torch_vectors"] = vectors({name: stored[name].astype(numpy.float64) for name in stored})
    return row


def cell(errors):
    return f"{max(errors):8.1e} {statistics.median(errors):8.1e}" if errors else f"{'-':>8} {'-':>8}"


rows, failed = [], 0
print(f"{'':14} {'loss':^17}  {'norm, remat':^17} {'norm, PyTorch':^17}  {'vector, remat':^17} {'vector, PyTorch':^17}")
print(f"{'model':14} {'remat':>8} {'PyTorch':>8} " + 4 * f" {'largest':>8} {'median':>8}")
for model in models:
    row = measure(model)
    rows.append(row)
    worse = ["loss"] if row["loss"] > LOSS else []
    if max(row["norms"]) > max(2 * max(row["torch_norms"]), ROUNDING):
        worse.append("norm")
    failed += bool(worse)
    print(f"{model:14} {row['loss']:8.1e} {row['torch_loss']:8.1e}  {cell(row['norms'])} {cell(row['torch_norms'])}  "
          f"{cell(row['vectors'])} {cell(row['torch_vectors'])}", *(f"{what} above the bound" for what in worse),
          flush=True)
if "json" in options:
    json.dump(rows, open(options["json"], "w"), indent=1)
sys.exit(bool(failed))
