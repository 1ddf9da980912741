"""Writes a test of one case of a corpus as tools/bench/opcases.py reads:

    make.py CASES_DIR CASE 'what is tested' > FILE.mlir

The corpus holds graphs, arguments and what PyTorch computes in double
precision. Needs NumPy."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..",
                                "tools", "bench"))
import opcases  # noqa: E402


def line(name, dtype, shape, values):
    shape = "x".join(map(str, shape))
    values = " ".join(f"{value:.9g}" for value in np.ravel(values).tolist())
    print(f"// {name}: {dtype} {shape}{' ' if shape else ''}= {values}")


def main():
    directory, name, what = sys.argv[1:4]
    with open(os.path.join(directory, "cases.json")) as file:
        case = next(case for case in json.load(file) if case["name"] == name)
    print("// RUN: %python %S/Inputs/check.py remat-run %s\n\n// " + what)
    wrt = [i for i, entry in enumerate(case["args"]) if entry["diff"]]
    goldens = [entry for mode in ("results", "vjp", "jvp", "hvp")
               for entry in case[mode] or []]
    print("// wrt: " + ",".join(map(str, wrt)))
    print(f"// tolerance: {max(entry['tol'] for entry in goldens):.3g}")
    for prefix, key in (("arg", "args"), ("cotangent", "cotangents"),
                        ("tangent", "tangents")):
        for i, entry in enumerate(case[key]):
            line(f"{prefix}{i}", entry["dtype"], entry["shape"],
                 opcases.to_float(opcases.decode(entry), entry["dtype"]))
    arguments = [case["args"][i]["dtype"] for i in wrt]
    results = [entry["dtype"] for entry in case["results"]]
    for prefix, key, dtypes in (("result", "results", results),
                                ("vjp", "vjp", arguments),
                                ("jvp", "jvp", results),
                                ("hvp", "hvp", arguments)):
        for i, (entry, dtype) in enumerate(zip(case[key] or [], dtypes)):
            line(f"{prefix}{i}", dtype, entry["shape"],
                 np.frombuffer(opcases.base64.b64decode(entry["golden"])))
    with open(os.path.join(directory, case["file"])) as file:
        print("\n" + file.read().strip())


if __name__ == "__main__":
    main()
