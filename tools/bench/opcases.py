#!/usr/bin/env python3
"""Runs a corpus of op cases through remat-run and compares with its goldens.

A case is one forward graph with argument values, the results that a reference
framework computes, and their derivatives: vector-Jacobian products (vjp),
Jacobian-vector products (jvp) and the tangents of the former (hvp). Every case
is imported, differentiated, planned, compiled and run; what does not hold is
printed, one line per case.

usage: opcases.py BIN CASES_DIR [--only=REGEX] [--json=FILE] [--jobs=2]
                  [--modes=forward,vjp] [--options="--budget=min --poison"]
                  [--package] [--seconds=N]

  BIN        directory of remat-run
  CASES_DIR  directory of cases.json and the graphs that it names
  --options  more options for remat-run; poison finds reads of dead buffers
  --package  compile and run with the Python package `remat` instead, many
             cases in one process: a GPU has one context for all of them. Then
             options are those of a step alone, such as --target=cuda. Its hvp
             are tangents of gradients; the goldens are gradients of gradients,
             which are not finite at some singular points where tangents are
  --seconds  begin no case after so many seconds

Outcomes of each mode: `ok`; `ok 5x` (within five tolerances, as reassociated
reductions need); `convention` (the golden follows a convention that the graph
does not show, see `follows_graph`); `wrong`; `refused` (a clean diagnostic); `crash`
(a signal, or an exit status that is not 0 or 1, or no diagnostic). A case holds
if all of its modes do. The exit status is 1 if a value is wrong or something
crashed.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import argparse
import base64
import collections
import concurrent.futures
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

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
    for prefix, key in (("arg", "args"), ("cotangent", "cotangents"),
                        ("tangent", "tangents")):
        for number, entry in enumerate(case[key]):
            np.save(os.path.join(directory, f"{prefix}{number}.npy"),
                    decode(entry))


def get_modes(case):
    """The modes that a case has goldens for."""
    modes = ["forward"]
    if any(entry["diff"] for entry in case["args"]) and case["results"]:
        modes += [mode for mode in ("vjp", "jvp", "hvp") if case.get(mode)]
    return modes


def dot(outputs, prefix, dtypes, weights):
    """The sum over files of <file, weight>, and that of the magnitudes."""
    total = scale = 0.0
    for number, (dtype, weight) in enumerate(zip(dtypes, weights)):
        array = np.load(os.path.join(outputs, f"{prefix}{number}.npy"))
        terms = to_float(array, dtype) * to_float(decode(weight),
                                                  weight["dtype"])
        total += float(terms.sum())
        scale += float(np.abs(terms).sum())
    return total, scale


def follows_graph(case, mode, outputs, results, arguments):
    """Whether a derivative that misses its golden is nevertheless that of the
    graph, where the golden follows a convention that the graph does not show.
    A jvp must agree with the vjp: <cotangents, J t> = <J' cotangents, t>."""
    if case.get("ir_rule") != "differs" and (
            "jvp_vjp_subgradients_differ" not in case["tags"]):
        return False
    if mode != "jvp":
        return mode == "hvp"
    left, scale = dot(outputs, "jvp", results, case["cotangents"])
    right, other = dot(outputs, "vjp", arguments, case["tangents"])
    return not np.isfinite(left + right) or (
        abs(left - right) <= 1e-5 * (1 + scale + other))


def check_mode(case, mode, outputs):
    """The outcome of one mode of a case that ran, and a detail."""
    results = [entry["dtype"] for entry in case["results"]]
    arguments = [entry["dtype"] for entry in case["args"] if entry["diff"]]
    prefix, goldens, dtypes = {
        "forward": ("result", case["results"], results),
        "vjp": ("vjp", case["vjp"], arguments),
        "jvp": ("jvp", case["jvp"], results),
        "hvp": ("hvp", case["hvp"], arguments)}[mode]
    error = measure_all(outputs, prefix, goldens, dtypes)
    # What one local rule for each op of the graph gives is right, too.
    if mode == "vjp" and case.get("vjp_ir"):
        error = min(error,
                    measure_all(outputs, prefix, case["vjp_ir"], dtypes))
    if error > LOOSE:
        excused = follows_graph(case, mode, outputs, results, arguments)
        return ("convention" if excused else "wrong",
                f"{error:.3g} tolerances")
    return ("ok", "") if error <= 1 else ("ok 5x", f"{error:.3g} tolerances")


def first_error(text):
    """The first diagnostic, without the place."""
    for line in text.splitlines():
        match = re.search(r"error: (.*)", line)
        if match:
            return match.group(1)
    return ""


def run_tool(case, modes, inputs, outputs, arguments):
    """Runs a case; returns an outcome and detail if there are no outputs."""
    wrt = [i for i, entry in enumerate(case["args"]) if entry["diff"]]
    command = [os.path.join(arguments.bin, "remat-run"),
               os.path.join(arguments.cases, case["file"]),
               f"--inputs={inputs}", f"--outputs={outputs}", "--threads=2",
               "--emit=" + ",".join(modes), *arguments.options.split()]
    if len(modes) > 1:
        command.append("--wrt=" + ",".join(map(str, wrt)))
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
    return None


def parse_option(option):
    """The name and the value of an option of a step, as the package has
    them."""
    name, has_value, value = option.removeprefix("--").partition("=")
    return name.replace("-", "_"), value if has_value else True


def run_package(case, modes, inputs, outputs, arguments):
    """The same as `run_tool` by the Python package."""
    import remat
    derivatives = {"vjp", "hvp"} & set(modes)
    tangents = {"jvp", "hvp"} & set(modes)
    options = dict(parse_option(o) for o in arguments.options.split())
    options |= {"differentiate": bool(derivatives), "threads": 1,
                "cotangents": bool(derivatives), "tangents": bool(tangents)}
    if len(modes) > 1 or modes != ["forward"]:
        options["wrt"] = [i for i, entry in enumerate(case["args"])
                          if entry["diff"]]
    given = ["arg"] * len(case["args"])
    made = ["result"] * len(case["results"])
    if derivatives:
        given += ["cotangent"] * len(case["cotangents"])
        made += ["vjp"] * len(case["tangents"])
    if tangents:
        given += ["tangent"] * len(case["tangents"])
        made += ["jvp"] * len(case["results"])
        made += ["hvp"] * len(case["tangents"]) if derivatives else []
    try:
        path = os.path.join(arguments.cases, case["file"])
        step = remat.compile(path, **options)
        arrays = [np.load(os.path.join(inputs, f"{name}{number}.npy"))
                  for name, number in number_each(given)]
        types = [{"bf16": "<V2"}.get(info.dtype, NUMPY_TYPES[info.dtype])
                 for info in step.results]
        results = [np.empty(info.shape, t)
                   for info, t in zip(step.results, types)]
        step.run([a.view("<V2") if info.dtype == "bf16" else a
                  for a, info in zip(arrays, step.arguments)], results)
    except remat.Error as error:
        return "refused", str(error).splitlines()[0]
    os.makedirs(outputs)
    for (name, number), result in zip(number_each(made), results):
        stored = result.view("<u2") if result.dtype == "<V2" else result
        np.save(os.path.join(outputs, f"{name}{number}.npy"), stored)
    return None


def number_each(names):
    """Each name with how often it was there before."""
    counts = collections.Counter()
    for name in names:
        yield name, counts[name]
        counts[name] += 1


def run_modes(case, modes, inputs, outputs, arguments):
    """Outcome and detail for each of `modes`, from one run if that works."""
    run = run_package if arguments.package else run_tool
    failure = run(case, modes, inputs, outputs, arguments)
    if not failure:
        return {mode: check_mode(case, mode, outputs) for mode in modes}
    if len(modes) == 1 or failure[0] == "crash":
        return {mode: failure for mode in modes}
    outcomes = {}
    for mode in modes:
        outcomes.update(run_modes(case, [mode], inputs, outputs + mode,
                                  arguments))
    return outcomes


def run_case(case, arguments):
    modes = [mode for mode in get_modes(case)
             if mode in arguments.modes.split(",")]
    with tempfile.TemporaryDirectory() as directory:
        inputs = os.path.join(directory, "in")
        os.mkdir(inputs)
        write_inputs(case, inputs)
        return run_modes(case, modes, inputs, os.path.join(directory, "out"),
                         arguments)


def serve(connection, arguments):
    """Runs the cases that come in, until there is nobody left to send any."""
    while True:
        try:
            case = connection.recv()
        except EOFError:
            return
        try:
            outcomes = run_case(case, arguments)
        except Exception as error:  # The other cases still have their turn.
            outcomes = {mode: ("crash", f"{type(error).__name__}: {error}")
                        for mode in get_modes(case)}
        connection.send(outcomes)


class Worker(threading.local):
    """A process for the cases of a thread."""

    connection = None

    def start(self, arguments):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, arguments),
                                       daemon=True)
        self.process.start()
        other.close()

    def run(self, case, arguments):
        if not self.connection:
            self.start(arguments)
        self.connection.send(case)
        try:
            return self.connection.recv()
        except EOFError:
            self.process.join()
            self.connection = None
            failure = "crash", f"exit status {self.process.exitcode}"
            return {mode: failure for mode in get_modes(case)}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("bin", metavar="BIN", help="directory of remat-run")
    parser.add_argument("cases", metavar="CASES_DIR",
                        help="directory of cases.json and its graphs")
    parser.add_argument("--only", default="",
                        help="only cases whose name this expression finds")
    parser.add_argument("--modes", default="forward,vjp,jvp,hvp",
                        help="what to check")
    parser.add_argument("--options", default="",
                        help="more options for remat-run")
    parser.add_argument("--json", help="write all outcomes to this file")
    parser.add_argument("--package", action="store_true",
                        help="use the Python package in place of remat-run")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="begin no case after so long")
    parser.add_argument("--jobs", type=int, default=2,
                        help="cases to run at once")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with open(os.path.join(arguments.cases, "cases.json")) as file:
        cases = [case for case in json.load(file)
                 if re.search(arguments.only, case["name"])]
    counts = collections.defaultdict(collections.Counter)
    held = 0
    report = []
    worker, begin = Worker(), time.monotonic()

    def run(case):
        if time.monotonic() - begin > arguments.seconds:
            return None
        if arguments.package:
            return worker.run(case, arguments)
        return run_case(case, arguments)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for case, outcomes in zip(cases, pool.map(run, cases)):
            if outcomes is None:
                continue
            held += all(outcome.startswith("ok") or outcome == "convention"
                        for outcome, _ in outcomes.values())
            report.append({"name": case["name"], "outcomes": outcomes})
            for mode, (outcome, detail) in outcomes.items():
                counts[mode][outcome] += 1
                if outcome != "ok":
                    print(f"{case['name']}: {mode}: {outcome}: {detail}",
                          flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(report, file, indent=1)
    kinds = ["ok", "ok 5x", "convention", "refused", "wrong", "crash"]
    print("".join(f"{word:>12}" for word in ["mode"] + kinds))
    for mode, count in counts.items():
        print(f"{mode:>12}" + "".join(f"{count[kind]:>12}" for kind in kinds))
    left = len(cases) - len(report)
    print(f"{held} of {len(report)} cases hold in all modes" +
          (f", {left} were not tried" if left else ""))
    bad = sum(count["wrong"] + count["crash"] for count in counts.values())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
