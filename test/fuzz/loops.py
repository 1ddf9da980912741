#!/usr/bin/env python3
"""loops.py TOOLS: random programs of loops, which stay loops or are unrolled. Some loops run as often as an argument
says, up to a maximum, and are unrolled where the program says it.

What a loop computes is what its iterations compute, up to rounding: of 2,855 results and derivatives of 317 programs,
51 gradients, 3 tangents and 1 result have other bits. What iterations share has a gradient that is summed in another
order. A loop that stays one has the same bits under every budget and number of threads, and peaks are what was
planned, also on a simulated GPU."""

import json
import math
import os
import random
import shutil

from harness import Session, npy, parse_options, read_npy, run, shrink, write
from loop_generator import COUNTERS, FLOATS, LoopGenerator

# Gradients of what iterations share are summed in another order, and what is rounded on the way may be rounded
# elsewhere. Relative to the largest element.
TOLERANCE = {"f32": 1e-5, "f64": 1e-12}
# Programs of more statements have no second derivatives: unrolled, these take long to compile.
MOST_TWICE = 60
# What bf16 is in a program is rounded to 8 bits, wherever a sum ends.
BF16_TOLERANCE = 0.05
# A program may amplify what is rounded on its way: where a state doubles in each iteration, terms of a gradient cancel
# each other. How much, is how far f32 and f64 are apart in it. Numbers may differ by ten times that, which is as much
# less in f64 as its numbers are finer.
AMPLIFIED = {"f32": 10, "f64": 10 * 2.0 ** -29}


class Failure(Exception):
    def __init__(self, kind, text, command):
        super().__init__(text)
        self.kind, self.text, self.command = kind, text, command


class Trial:
    """One program with its arguments, cotangents and tangents."""

    def __init__(self, program, removed, options, folder, session=None):
        self.program, self.removed, self.options, self.folder = program, removed, options, folder
        self.session = session
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.text = program.render(removed)
        write(folder + "/model.mlir", self.text)
        program.fixed = True
        write(folder + "/fixed.mlir", program.render(removed))
        program.fixed = False
        self.write_inputs("in", FLOATS, lambda value: round(value * 1024) / 1024)
        self.is_measured = False

    def write_inputs(self, inputs, types, rounded):
        """The files of arguments, cotangents and tangents; `types` are what NumPy calls those of floating point, and
        `rounded` is what drawn numbers become."""
        os.makedirs(f"{self.folder}/{inputs}", exist_ok=True)
        numbers = random.Random(self.program.seed)
        draw = lambda dims: [rounded(numbers.uniform(-1, 1)) for _ in range(product(dims))]
        tangents = 0
        for number, (_, (dims, element), dtype, values) in enumerate(self.program.args):
            write(f"{self.folder}/{inputs}/arg{number}.npy", npy(types.get(element, dtype), dims, values))
            if element in FLOATS:
                write(f"{self.folder}/{inputs}/tangent{tangents}.npy", npy(types[element], dims, draw(dims)))
                tangents += 1
        for number, (_, (dims, element)) in enumerate(self.program.results):
            if element in FLOATS:
                write(f"{self.folder}/{inputs}/cotangent{number}.npy", npy(types[element], dims, draw(dims)))

    def run(self, what, flags, outputs, model="model.mlir", emit=None, inputs="in"):
        """The rows of the report of a run, and the command."""
        emit = emit or "forward,vjp,jvp" + ",hvp" * (self.program.unrolled <= MOST_TWICE)
        flags = ["--inputs=" + inputs, "--outputs=" + outputs, "--json=report.json", "--effort=0.02", "--steps=1",
                 "--kernel-cache=cache", "--emit=" + emit] + flags
        command = f"remat-run {model} " + " ".join(flags)
        outcome = run([self.options.tools + "/remat-run", model] + flags, self.options.timeout, self.folder)
        if self.session:
            self.session.count("runs")
        if outcome.problem:
            raise Failure("crash", f"{what}: {outcome.problem}", command)
        if outcome.status:
            errors = [line for line in outcome.err.splitlines() if "error" in line] or [outcome.err]
            raise Failure("refused", f"{what}: {errors[0]}", command)
        with open(self.folder + "/report.json") as file:
            report = json.load(file)
        rows = [report, *report["further_budgets"]]
        for row in rows:
            for place in ("", "host_"):
                peaks = [row[f"{kind}_{place}peak_bytes"] for kind in ("planned", "simulated", "measured")]
                if len(set(peaks)) > 1:
                    raise Failure("peak", f"{what}: planned, simulated and measured {place}peak are {peaks}", command)
        return rows, command

    def check(self):
        """Raises a Failure if anything is wrong."""
        kept = ["--unroll-limit=0", "--poison"]
        self.run("unrolled", ["--unroll-limit=1000000", "--threads=1"], "unrolled", "fixed.mlir")
        self.budgets = random.Random(self.program.seed)
        (all_saved, *rows), command = self.run("kept", kept + ["--threads=1", "--explain", self.draw_budgets(3)],
                                               "kept")
        self.compare("kept", command)
        self.check_bits(rows, all_saved["result_hash"], command)
        self.check_policies([all_saved, *rows], command)
        if self.session and any(row["arena_bytes"] < all_saved["arena_bytes"] for row in rows):
            self.session.count("smaller")
        for what, text in (("counted at run time", "remat.max_trip_count"), ("regions", "remat.checkpoint"),
                           ("draws", "remat.random"), ("policies", "remat.policy")):
            if self.session and text in self.text:
                self.session.count(what)
        for feature in self.program.features if self.session else ():
            self.session.count(feature)
        self.check_host(kept, all_saved["result_hash"])
        ways = [["--threads=4", "--determinism-check=bitwise"], ["--link-bandwidth=1GB/s"], ["--reorder"],
                ["--reuse-result-buffers=false"]]
        way = random.Random(self.program.seed).choice(ways)
        rows, command = self.run(way[0][2:], kept + [self.draw_budgets(2)] + way, "kept")
        self.check_bits(rows, all_saved["result_hash"], command)
        donations = self.donations()
        if donations:
            write(self.folder + "/donated.mlir", self.program.render(self.removed, donations))
            rows, command = self.run("donated arguments", kept + ["--threads=1", self.draw_budgets(2)], "kept",
                                     "donated.mlir")
            self.check_bits(rows, all_saved["result_hash"], command)
        # Two calls are two graphs: what was fused is fused no longer.
        rows, command = self.run("separate calls", kept + ["--threads=1", self.draw_budgets(2), "--separate-backward"],
                                 "separate", emit="forward,vjp")
        self.check_bits(rows, rows[0]["result_hash"], command)

        # The kernels of a GPU compute in an order of their own. It has a link to the host, too.
        link = random.Random(self.program.seed).choice([[], ["--link-bandwidth=1GB/s"], ["--link-bandwidth=inf"]])
        rows, command = self.run("a GPU", kept + ["--target=cuda", "--device=sim", self.draw_budgets(3)] + link,
                                 "device")
        self.compare("device", command)
        self.check_bits(rows, rows[0]["result_hash"], command)

    def draw_budgets(self, count):
        """Everything and some of the budgets below, others in each run: a program is of less use under all of them than
        another program."""
        below = ["80%", "60%", "40%", "20%", "min"]
        return "--budget=100%," + ",".join(self.budgets.sample(below, count - 1))

    def check_host(self, kept, known):
        """States may be in host memory: over a link of any speed, in as much room as there may be."""
        draw = random.Random(self.program.seed)
        link = draw.choice(["inf", "1GB/s", "100MB/s", "5MB/s"])
        # What a policy sends there has to fit.
        room = draw.choice([None] if "offload" in self.text else [None, 64, 200, 1000])
        rows, command = self.run("states on the host", kept + [self.draw_budgets(3), "--link-bandwidth=" + link,
                                                               f"--threads={draw.choice([1, 4])}"] +
                                 ([] if room is None else [f"--host-budget={room}"]), "kept")
        self.check_bits(rows, known, command)
        if self.session and any(row["measured_host_peak_bytes"] for row in rows):
            self.session.count("on the host")

    def check_bits(self, rows, known, command):
        if any(row["result_hash"] != known for row in rows):
            raise Failure("bits", f"results are {[row['result_hash'] for row in rows]}, expected {known}", command)

    def check_policies(self, rows, command):
        """What must be kept is not made again."""
        for value in (value for row in rows for value in row["explanation"]):
            if value.get("policy") in ("MUST_SAVE", "MUST_CPU_OFFLOAD") and value["recomputed"]:
                raise Failure("policy", f"{value['value']} is {value['policy']}, and made again", command)

    def donations(self):
        """Arguments that can give their buffers to results, and the numbers of these."""
        donations, results = {}, self.program.results
        for result, (name, shape) in enumerate(results):
            for number, (argument, other, _, _) in enumerate(self.program.args):
                if other == shape and number not in donations and (name, shape) not in results[:result]:
                    donations[number] = result
                    break
        return donations

    def compare(self, outputs, command):
        """Compares what loops and their iterations computed."""
        names = sorted(os.listdir(self.folder + "/unrolled"))
        found = sorted(os.listdir(f"{self.folder}/{outputs}"))
        if names != found:
            raise Failure("number", f"files are {found}, expected {names}", command)
        for name in names:
            contents = []
            for folder in ("unrolled", outputs):
                with open(f"{self.folder}/{folder}/{name}", "rb") as file:
                    contents.append(file.read())
            # Of the same machine, few results have other bits.
            is_counted = self.session and outputs == "kept"
            if is_counted:
                self.session.count("files")
            if contents[0] == contents[1]:
                continue
            if is_counted:
                self.session.count("rounded " + name.rstrip("0123456789.npy"))
            self.compare_numbers(name, outputs, command)

    def compare_numbers(self, name, outputs, command):
        known, found = (read_npy(f"{self.folder}/{folder}/{name}") for folder in ("unrolled", outputs))
        element = "f32" if "f32" in self.text else "f64"
        tolerance = BF16_TOLERANCE if "bf16" in self.text else TOLERANCE[element]
        scale = max([abs(value) for value in known if math.isfinite(value)] + [1.0])
        # NaNs of two machines have other bits.
        differs = lambda a, b, bound: not (a == b or (a != a and b != b)) and not abs(a - b) <= bound
        wrong = [index for index, (a, b) in enumerate(zip(found, known)) if differs(a, b, tolerance * scale)]
        if not wrong:
            return
        bound = AMPLIFIED[element] * self.measure_amplified(name)
        for index in wrong:
            if differs(found[index], known[index], bound):
                text = f"{name}, element {index}: {found[index]!r}, unrolled {known[index]!r}"
                raise Failure("number", text, command)
        if self.session:
            self.session.count("amplified")

    def measure_amplified(self, name):
        """How far the unrolled program in f32 is from what it computes in f64, of numbers that have all digits."""
        if not self.is_measured:
            with open(self.folder + "/fixed.mlir") as file:
                text = file.read()
            write(self.folder + "/narrow.mlir", text if "f32" in text else text.replace("f64", "f32"))
            self.write_inputs("rough", {"f32": "f4", "f64": "f8" if "f32" in text else "f4"}, lambda value: value)
            for flags, outputs in ([], "narrow"), (["--widen"], "wide"):
                self.run("amplified", ["--unroll-limit=1000000", "--threads=1"] + flags, outputs, "narrow.mlir",
                         inputs="rough")
            self.is_measured = True
        narrow, wide = (read_npy(f"{self.folder}/{folder}/{name}") for folder in ("narrow", "wide"))
        return max([abs(a - b) for a, b in zip(narrow, wide) if math.isfinite(a - b)] + [0.0])


def product(dims):
    count = 1
    for extent in dims:
        count *= extent
    return count


def main():
    options = parse_options(__doc__)
    session = Session("loops", options)
    for seed in session.seeds():
        program = LoopGenerator(seed).generate()
        session.count("programs")
        try:
            Trial(program, (), options, session.work + "/trial", session).check()
        except Failure as failure:
            report(session, seed, program, failure, options)
    session.finish()


def report(session, seed, program, failure, options):
    first, removed = failure, ()
    if options.keep and not options.no_shrink:
        removed, failure = reduce(session, program, failure, options)
    trial = Trial(program, removed, options, session.work + "/kept")
    with open(trial.folder + "/fixed.mlir") as file:
        fixed = file.read()
    files = {"model.mlir": program.render(removed), "fixed.mlir": fixed, "whole.mlir": program.render(),
             "donated.mlir": program.render(removed, trial.donations())}
    for name in sorted(os.listdir(trial.folder + "/in")):
        with open(f"{trial.folder}/in/{name}", "rb") as file:
            files["in-" + name] = file.read()
    session.report(seed, first.text, files, "mkdir in; for f in in-*; do cp $f in/${f#in-}; done; " + failure.command)


def reduce(session, program, failure, options):
    """The numbers of statements that can be constants while the program fails in the same way."""
    everything = [statement.number for statement in program.statements() if statement.removable]
    last = [failure]

    def fails(kept):
        removed = set(everything) - set(kept)
        try:
            Trial(program, removed, options, session.work + "/shrunk").check()
        except Failure as other:
            if other.kind == failure.kind:
                last[0] = other
                return True
        return False

    kept = shrink(everything, fails, 60)
    return set(everything) - set(kept), last[0]


if __name__ == "__main__":
    main()
