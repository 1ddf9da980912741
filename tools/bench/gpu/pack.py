#!/usr/bin/env python3
"""Makes the package that gpu.sh carries to a machine with a GPU.

usage: pack.py BUILD DIR [MODEL...]

For each model: its arguments and the CPU's results as files of elements, and for each budget a shared library with the
step. The program that runs them and the libraries that it needs beside the driver go along.
"""
import json, os, re, shutil, subprocess, sys

import numpy

BUDGETS = ["100%", "80%", "min"]
# The exit status of remat-compile where no plan fits.
INFEASIBLE = 3
# Libraries of the system that a machine with a GPU need not have.
CARRIED = re.compile(r"lib(dnnl|gomp)\.so")


def splitmix64(state):
    """The generator of Manifest.h, for an array of states."""
    z = state + numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


def make_argument(argument):
    fill, count = argument["fill"], int(numpy.prod(argument["shape"], dtype=numpy.int64))
    with numpy.errstate(over="ignore"):
        index = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(fill["seed"] << 32)
        bits = splitmix64(index)
    if fill["kind"] == "index":
        values = (bits >> numpy.uint64(33)) % numpy.uint64(fill["below"])
    else:
        values = fill["lo"] + (fill["hi"] - fill["lo"]) * ((bits >> numpy.uint64(40)).astype(numpy.float64) / 2.0**24)
    return values.astype(argument["dtype"]).reshape(argument["shape"])


def call(*command):
    """What the command prints; nothing where no plan fits into the budget."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode == INFEASIBLE:
        return None
    if result.returncode != 0:
        sys.exit("%s failed:\n%s" % (" ".join(command), result.stderr))
    return result.stdout


def pack_model(binary, models, name, directory):
    """The record of one model in the package."""
    model, manifest = (os.path.join(models, name + end) for end in (".mlir", ".json"))
    place = os.path.join(directory, name)
    arguments, expected = os.path.join(place, "arguments"), os.path.join(place, "expected")
    os.makedirs(arguments), os.makedirs(expected)
    with open(manifest) as file:
        described = json.load(file)
    for number, argument in enumerate(described["args"]):
        make_argument(argument).tofile(os.path.join(arguments, "arg%d.bin" % number))
    given = [model, "--manifest=" + manifest]
    call(os.path.join(binary, "remat-run"), *given, "--outputs=" + expected)
    results = ["%s%d.npy" % (kind, number) for kind in ("result", "vjp") for number in range(len(os.listdir(expected)))
               if os.path.exists(os.path.join(expected, "%s%d.npy" % (kind, number)))]
    steps = []
    for budget in BUDGETS:
        path = os.path.join(name, "step-%s.so" % budget.strip("%"))
        code = os.path.join(directory, path[:-3] + ".o")
        summary = call(os.path.join(binary, "remat-compile"), *given, "--target=cuda", "--budget=" + budget,
                       "--effort=0.1", "-o", code)
        if summary is None:
            continue
        call("cc", "-shared", "-o", os.path.join(directory, path), code)
        os.remove(code)
        peak = int(re.search(r"planned peak (\d+) bytes", summary).group(1))
        steps.append({"budget": budget, "library": path, "planned_peak_bytes": peak})
    return {"name": name, "results": results, "steps": steps}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, directory, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    source = os.path.dirname(os.path.abspath(__file__))
    models = os.path.join(source, "..", "..", "..", "test", "Inputs", "models")
    names = names or ["mlp_tiny", "gpt2_tiny", "resnet_tiny", "gpt2_8l"]
    if os.path.exists(directory):
        sys.exit("%s exists already" % directory)
    os.makedirs(directory)
    binary = os.path.join(build, "bin")
    package = {"models": [pack_model(binary, models, name, directory) for name in names]}
    runner = os.path.join(binary, "remat-run-step")
    shutil.copy(runner, directory)
    for line in call("ldd", runner).splitlines():
        library = re.search(r"(\S+) => (/\S+)", line)
        if library and CARRIED.match(library.group(1)):
            shutil.copy(library.group(2), os.path.join(directory, library.group(1)))
    shutil.copy(os.path.join(source, "..", "gpu.sh"), directory)
    shutil.copy(os.path.join(source, "report.py"), directory)
    with open(os.path.join(directory, "package.json"), "w") as file:
        json.dump(package, file, indent=1)
    print("run %s/gpu.sh on a machine with a GPU" % directory)


main()
