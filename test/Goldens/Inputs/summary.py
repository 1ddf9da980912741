"""Compares products of the Hessian of a model with stored summaries:

    summary.py REMAT_RUN MODEL.mlir MODEL.json GOLDEN.json [HESSIAN FUNCTION]

MODEL.json says how the arguments are filled. The direction of parameter i is
filled by the same recipe, uniform in -1 to 1, with the seed 1000 + i. GOLDEN.json
has for each parameter the l2 norm, the sum and samples [index, value] of the
product in double precision; hessian.py makes it. With HESSIAN, the FUNCTION in
that file takes the arguments and the directions; else --emit=hvp computes it."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import json
import math
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import check  # noqa: E402

MASK = 2 ** 64 - 1


def splitmix64(z):
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def fill(recipe, count):
    """The `count` elements of an argument, f32 or integers."""
    words = [splitmix64((recipe["seed"] << 32) + i) for i in range(count)]
    if recipe["kind"] == "index":
        return [(word >> 33) % recipe["below"] for word in words]
    low, high = recipe["lo"], recipe["hi"]
    values = [low + (high - low) * (word >> 40) / 2 ** 24 for word in words]
    return list(struct.unpack(f"<{count}f", struct.pack(f"<{count}f", *values)))


def get_direction(number):
    return {"kind": "uniform", "seed": 1000 + number, "lo": -1.0, "hi": 1.0}


def get_parameters(manifest):
    """The numbers of the arguments that are differentiated, and their entries."""
    return [(number, entry) for number, entry in enumerate(manifest["args"])
            if entry["role"] == "param"]


def summarize(values, indices):
    return {"l2": math.sqrt(math.fsum(value * value for value in values)),
            "sum": math.fsum(values),
            "samples": [[index, values[index]] for index in indices]}


def write_inputs(manifest, directory, is_function):
    parameters = get_parameters(manifest)
    prefix = "arg" if is_function else "tangent"
    first = len(manifest["args"]) if is_function else 0
    for number, entry in enumerate(manifest["args"]):
        dtype = {"float32": "f32", "int64": "i64"}[entry["dtype"]]
        check.write(os.path.join(directory, f"arg{number}.npy"), dtype,
                    entry["shape"],
                    fill(entry["fill"], math.prod(entry["shape"])))
    for position, (number, entry) in enumerate(parameters):
        check.write(os.path.join(directory, f"{prefix}{first + position}.npy"),
                    "f32", entry["shape"],
                    fill(get_direction(number), math.prod(entry["shape"])))
    if not is_function:
        check.write(os.path.join(directory, "cotangent0.npy"), "f32", [], [1.0])


def differs(got, want, count):
    """Norms by a part of themselves; sums and samples, of which some are zero but
    for rounding, by a part of what elements are on the average."""
    mean = want["l2"] / math.sqrt(count)
    pairs = zip(got["samples"], want["samples"])
    return (abs(got["l2"] - want["l2"]) > 1e-5 * want["l2"] or
            abs(got["sum"] - want["sum"]) > 1e-5 * want["l2"] or
            any(abs(a[1] - b[1]) > 2e-5 * (mean + abs(b[1])) for a, b in pairs))


def main():
    tool, model, manifest_path, golden_path = sys.argv[1:5]
    with open(manifest_path) as file:
        manifest = json.load(file)
    with open(golden_path) as file:
        golden = json.load(file)
    parameters = get_parameters(manifest)
    is_function = len(sys.argv) > 5
    with tempfile.TemporaryDirectory() as directory:
        inputs, outputs = (os.path.join(directory, name)
                           for name in ("in", "out"))
        os.mkdir(inputs)
        write_inputs(manifest, inputs, is_function)
        command = [tool, sys.argv[5] if is_function else model,
                   f"--inputs={inputs}", f"--outputs={outputs}"]
        if is_function:
            command += ["--emit=forward", "--function=" + sys.argv[6]]
        else:
            command += ["--emit=hvp", "--wrt=" + ",".join(
                str(number) for number, _ in parameters)]
        if subprocess.run(command).returncode != 0:
            return 1
        prefix = "result" if is_function else "hvp"
        wrong = 0
        for position, (number, entry) in enumerate(parameters):
            values = check.read(
                os.path.join(outputs, f"{prefix}{position}.npy"), "f32")
            want = golden[entry["name"]]
            got = summarize(values, [index for index, _ in want["samples"]])
            if len(values) != math.prod(entry["shape"]) or differs(
                    got, want, len(values)):
                print(f"{entry['name']}: got {got}, want {want}")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
