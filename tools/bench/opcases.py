#!/usr/bin/env python3
"""Runs a corpus of op cases through remat-run and compares with its goldens.

A case is one forward graph with argument values, the results that a reference
framework computes, and its vector-Jacobian products. Every case is imported,
differentiated, planned, compiled and run; what does not hold is printed, one
line per case.

usage: opcases.py BIN CASES_DIR [--only=REGEX] [--json=FILE] [--jobs=2]
                  [--options="--budget=min --poison"]

  BIN        directory of remat-run
  CASES_DIR  directory of cases.json and the graphs that it names
  --options  more options for remat-run; poison finds reads of dead buffers

Outcomes: `ok`; `ok 5x` (within five tolerances, as reassociated reductions
need); `result` and `vjp` (wrong values, with the error); `refused` (a clean
diagnostic); `crash` (a signal, or an exit status that is not 0 or 1, or no
diagnostic). The exit status is 1 if a value is wrong or something crashed.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import argparse
import base64
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

# How elements are stored, by name of the dtype. bf16 travels as raw bits.
NUMPY_TYPES = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "bf16": "<u2",
               "i64": "<i8", "i32": "<i4", "i16": "<i2", "i8": "|i1",
               "i1": "|b1"}
LOOSE = 5.0


def decode(entry):
    """The array of an argument or cotangent."""
    data = base64.b64decode(entry["values"])
    return np.frombuffer(data, NUMPY_TYPES[entry["dtype"]]).reshape(
        entry["shape"])


def to_float(array, dtype):
    """Values in f64 of an array that was read from a file."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(
            np.float64)
    return array.astype(np.float64)


def measure(values, golden):
    """The error of `values` in multiples of the tolerance; inf if nan and inf
    are in other places than in the golden, or the shape differs."""
    want = np.frombuffer(base64.b64decode(golden["golden"]), "<f8").reshape(
        golden["shape"])
    if values.shape != want.shape or not np.array_equal(
            np.isnan(values), np.isnan(want)):
        return np.inf
    infinite = np.isinf(values) | np.isinf(want)
    if not np.array_equal(values[infinite], want[infinite]):
        return np.inf
    finite = np.isfinite(want)
    difference = np.abs(values[finite] - want[finite])
    error = difference / (1 + np.abs(want[finite]))
    return float(error.max()) / golden["tol"] if error.size else 0.0


def measure_all(directory, prefix, goldens, dtypes):
    """The worst error over all files PREFIX0.npy, ..."""
    worst = 0.0
    for number, golden in enumerate(goldens):
        array = np.load(os.path.join(directory, f"{prefix}{number}.npy"))
        worst = max(worst, measure(to_float(array, dtypes[number]), golden))
    return worst


def write_inputs(case, directory):
    for prefix, entries in (("arg", case["args"]),
                            ("cotangent", case["cotangents"])):
        for number, entry in enumerate(entries):
            np.save(os.path.join(directory, f"{prefix}{number}.npy"),
                    decode(entry))


def check(case, outputs, has_vjp):
    """The outcome of a case that ran, and how wrong it is."""
    error = measure_all(outputs, "result", case["results"],
                        [entry["dtype"] for entry in case["results"]])
    if error > LOOSE:
        return "result", f"{error:.3g} tolerances"
    if has_vjp:
        dtypes = [entry["dtype"] for entry in case["args"] if entry["diff"]]
        vjp = measure_all(outputs, "vjp", case["vjp"], dtypes)
        # What one local rule for each op of the graph gives is right, too.
        if case.get("ir_rule") == "differs" and case.get("vjp_ir"):
            vjp = min(vjp,
                      measure_all(outputs, "vjp", case["vjp_ir"], dtypes))
        if vjp > LOOSE:
            return "vjp", f"{vjp:.3g} tolerances"
        error = max(error, vjp)
    return ("ok", "") if error <= 1 else ("ok 5x", f"{error:.3g} tolerances")


def first_error(text):
    """The first diagnostic, without the place."""
    for line in text.splitlines():
        match = re.search(r"error: (.*)", line)
        if match:
            return match.group(1)
    return ""


def run_case(case, arguments):
    wrt = [i for i, entry in enumerate(case["args"]) if entry["diff"]]
    has_vjp = bool(wrt) and bool(case["results"])
    with tempfile.TemporaryDirectory() as directory:
        inputs = os.path.join(directory, "in")
        outputs = os.path.join(directory, "out")
        os.mkdir(inputs)
        write_inputs(case, inputs)
        command = [os.path.join(arguments.bin, "remat-run"),
                   os.path.join(arguments.cases, case["file"]),
                   f"--inputs={inputs}", f"--outputs={outputs}",
                   "--threads=2", *arguments.options.split()]
        if has_vjp:
            command += ["--emit=forward,vjp",
                        "--wrt=" + ",".join(map(str, wrt))]
        else:
            command += ["--emit=forward"]
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, errors="replace",
                timeout=120, env=dict(os.environ, OMP_WAIT_POLICY="passive"))
        except subprocess.TimeoutExpired:
            return "crash", "ran longer than 120 s"
        message = first_error(process.stderr)
        if process.returncode == 1 and message:
            if os.path.isdir(outputs):
                return "crash", "wrote outputs although it failed: " + message
            return "refused", message
        if process.returncode != 0:
            last = process.stderr.strip().splitlines()
            return "crash", (f"exit status {process.returncode}: " +
                             (last[0] if last else ""))
        return check(case, outputs, has_vjp)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("bin", metavar="BIN", help="directory of remat-run")
    parser.add_argument("cases", metavar="CASES_DIR",
                        help="directory of cases.json and its graphs")
    parser.add_argument("--only", default="",
                        help="only cases whose name this expression finds")
    parser.add_argument("--options", default="",
                        help="more options for remat-run")
    parser.add_argument("--json", help="write all outcomes to this file")
    parser.add_argument("--jobs", type=int, default=2,
                        help="cases to run at once")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with open(os.path.join(arguments.cases, "cases.json")) as file:
        cases = [case for case in json.load(file)
                 if re.search(arguments.only, case["name"])]
    counts = collections.Counter()
    report = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = pool.map(lambda case: run_case(case, arguments), cases)
        for case, (outcome, detail) in zip(cases, outcomes):
            counts[outcome] += 1
            report.append({"name": case["name"], "outcome": outcome,
                           "detail": detail})
            if outcome != "ok":
                print(f"{case['name']}: {outcome}: {detail}", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(report, file, indent=1)
    held = counts["ok"] + counts["ok 5x"]
    print(f"{held} of {len(cases)} cases hold ({counts['ok 5x']} of them "
          f"within {LOOSE:g} tolerances), {counts['refused']} refused, "
          f"{counts['result']} wrong results, {counts['vjp']} wrong vjps, "
          f"{counts['crash']} crashes")
    return 1 if counts["result"] + counts["vjp"] + counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
