#!/usr/bin/env python3
"""Makes the package that gpu.sh carries to a machine with a GPU.

usage: pack.py BUILD DIR [MODEL...] [--timed=FILE.mlir...]

For each model: its manifest and the CPU's results as files of elements, and for each budget a shared library with the
step. A model that is only timed, with its manifest beside it, is not run here, and rounds as PyTorch does on a GPU. The
program that runs steps and the libraries that it needs beside the driver go along.
"""
import json, os, re, shutil, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

BUDGETS = ["100%", "80%", "min"]
TIMED_BUDGETS = ["100%", "60%", "min"]
# Rounded as PyTorch's kernels round.
TIMED_OPTIONS = ["--effort=0.3", "--bias-rounding=once", "--attention-rounding=factors"]
# The exit status of remat-compile where no plan fits.
INFEASIBLE = 3
# Libraries of the system that a machine with a GPU need not have.
CARRIED = re.compile(r"lib(dnnl|gomp)\.so")


def call(*command):
    """What the command prints; nothing where no plan fits into the budget."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode == INFEASIBLE:
        return None
    if result.returncode != 0:
        raise RuntimeError("%s failed:\n%s" % (" ".join(command), result.stderr))
    return result.stdout


def pack_model(binary, model, directory, is_timed):
    """The record of one model in the package."""
    base = model[:-len(".mlir")]
    name, manifest = os.path.basename(base), base + ".json"
    expected = os.path.join(directory, name, "expected")
    os.makedirs(expected)
    shutil.copy(manifest, os.path.join(directory, name, "manifest.json"))
    with open(manifest) as file:
        moved = json.load(file).get("moved_bytes")
    given = [model, "--manifest=" + manifest]
    if not is_timed:
        call(os.path.join(binary, "remat-run"), *given, "--outputs=" + expected)
    results = ["%s%d.npy" % (kind, number) for kind in ("result", "vjp") for number in range(len(os.listdir(expected)))
               if os.path.exists(os.path.join(expected, "%s%d.npy" % (kind, number)))]

    def pack_step(budget):
        path = os.path.join(name, "step-%s.so" % budget.strip("%"))
        code = os.path.join(directory, path[:-3] + ".o")
        summary = call(os.path.join(binary, "remat-compile"), *given, "--target=cuda", "--budget=" + budget,
                       *(TIMED_OPTIONS if is_timed else ["--effort=0.1"]), "-o", code)
        if summary is None:
            return None
        call("cc", "-shared", "-o", os.path.join(directory, path), code)
        os.remove(code)
        peak = int(re.search(r"planned peak (\d+) bytes", summary).group(1))
        return {"budget": budget, "library": path, "planned_peak_bytes": peak}

    with ThreadPoolExecutor() as pool:
        # Nothing of a single kernel is kept.
        budgets = ["100%"] if moved else TIMED_BUDGETS if is_timed else BUDGETS
        steps = [step for step in pool.map(pack_step, budgets) if step]
    return {"name": name, "timed": is_timed, "moved_bytes": moved, "results": results, "steps": steps}


def main():
    timed = [given[len("--timed="):] for given in sys.argv[1:] if given.startswith("--timed=")]
    rest = [given for given in sys.argv[1:] if not given.startswith("--timed=")]
    wrong = [given for given in rest if given.startswith("-")] + [file for file in timed if not file.endswith(".mlir")]
    if len(rest) < 2 or wrong:
        sys.exit(__doc__)
    build, directory, names = rest[0], rest[1], rest[2:]
    source = os.path.dirname(os.path.abspath(__file__))
    models = os.path.join(source, "..", "..", "..", "test", "Inputs", "models")
    names = names or ["mlp_tiny", "gpt2_tiny", "resnet_tiny", "gpt2_8l"]
    packed = names + [os.path.basename(file)[:-len(".mlir")] for file in timed]
    if len(set(packed)) != len(packed):
        sys.exit("two models have the same name, of: " + ", ".join(packed))
    if os.path.exists(directory):
        sys.exit("%s exists already" % directory)
    os.makedirs(directory)
    binary = os.path.join(build, "bin")
    files = [os.path.join(models, name + ".mlir") for name in names]
    with ThreadPoolExecutor() as pool:
        models = list(pool.map(lambda file: pack_model(binary, file, directory, is_timed=file in timed), files + timed))
    package = {"models": models}
    runner = os.path.join(binary, "remat-run-step")
    shutil.copy(runner, directory)
    for line in call("ldd", runner).splitlines():
        library = re.search(r"(\S+) => (/\S+)", line)
        if library and CARRIED.match(library.group(1)):
            shutil.copy(library.group(2), os.path.join(directory, library.group(1)))
    shutil.copy(os.path.join(source, "..", "gpu.sh"), directory)
    for script in "report.py", "arguments.py", "torch_models.py":
        shutil.copy(os.path.join(source, script), directory)
    with open(os.path.join(directory, "package.json"), "w") as file:
        json.dump(package, file, indent=1)
    print("run %s/gpu.sh on a machine with a GPU" % directory)


try:
    main()
except RuntimeError as error:
    sys.exit(str(error))
