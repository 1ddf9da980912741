#!/usr/bin/env python3
"""programs.py TOOLS: random programs, differentiated and run in many ways.

Results are compared with an interpreter (interpreter.py), derivatives with finite differences of that interpreter. Both
are done in f64: programs in narrower types run with --widen for it. What bf16 and f16 give is compared with that, as
closely as the interpreter gets where it rounds each statement. Then the program runs as it is under several budgets,
numbers of threads, planners and checks, with donated arguments and with accumulated gradients, which all have to give
the same bits, and peaks have to be what was planned."""

import json
import math
import os
import random
import shutil

from generator import NARROW, Generator
from harness import FLOATS, Session, npy, parse_options, read_npy, round_to, run, shrink, write
from numerics import Dual, tangent_of, value_of
from targets import add_target, make_facts

PLANNERS = ["greedy", "search", "recompute-all", "chen-greedy", "min-cut", "knapsack", "lower-sets", "sqrt"]
POLICIES = ["everything_saveable", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable"]
# What a program may ask for and not get, by its message.
LEGAL_REFUSALS = ("no plan found within the budget",
                  "values can be offloaded for the outer ones only if")


class Failure(Exception):
    def __init__(self, kind, text, command):
        super().__init__(text)
        self.kind, self.text, self.command = kind, text, command


class Trial:
    """One program with its arguments, cotangents and tangents."""

    legal_refusals = LEGAL_REFUSALS

    def __init__(self, program, removed, options, folder, session=None):
        self.program, self.removed, self.options, self.folder = program, removed, options, folder
        self.session = session
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder + "/in")
        write(folder + "/model.mlir", program.render(removed))
        numbers = random.Random(program.seed)
        dtype, parts = FLOATS[program.element][0], 64 if program.element in NARROW else 1024
        draw = lambda count: [round(numbers.uniform(-1, 1) * parts) / parts for _ in range(count)]
        self.tangents, self.cotangents = [], []
        for number, (_, shape, kind, values) in enumerate(program.args):
            write(f"{folder}/in/arg{number}.npy", npy("i8" if kind == "i8" else dtype, shape, values))
            if kind != "i8":
                self.tangents.append(draw(len(values)))
                write(f"{folder}/in/tangent{len(self.tangents) - 1}.npy", npy(dtype, shape, self.tangents[-1]))
        self.results = program.evaluate(removed=removed)
        for number, ((_, shape), values) in enumerate(zip(program.results, self.results)):
            self.cotangents.append(draw(len(values)))
            write(f"{folder}/in/cotangent{number}.npy", npy(dtype, shape, self.cotangents[-1]))

    def run(self, what, flags, outputs="out", model="model.mlir"):
        """The rows of the report of a run; None where the budget has no plan."""
        flags = ["--inputs=in", "--outputs=" + outputs, "--json=report.json", "--effort=0.02", "--steps=1",
                 "--kernel-cache=cache"] + flags
        command = f"remat-run {model} " + " ".join(flags)
        outcome = run([self.options.tools + "/remat-run", model] + flags, self.options.timeout, self.folder)
        if self.session:
            self.session.count("runs")
        if outcome.problem:
            raise Failure("crash", f"{what}: {outcome.problem}", command)
        if outcome.status == 3 or any(text in outcome.err for text in self.legal_refusals):
            return None
        if outcome.status:
            errors = [line for line in outcome.err.splitlines() if "error" in line] or [outcome.err]
            raise Failure("refused", f"{what}: {errors[0]}", command)
        with open(self.folder + "/report.json") as file:
            report = json.load(file)
        rows = [report, *report["further_budgets"]]
        for row in rows:
            peaks = [row[kind + "_peak_bytes"] for kind in ("planned", "simulated", "measured")]
            if len(set(peaks)) > 1:
                raise Failure("peak", f"{what}: planned, simulated and measured peak are {peaks}", command)
            if self.session and row["recomputed_tasks"]:
                self.session.count("recomputing")
            if self.session and row["offloaded_bytes"]:
                self.session.count("offloading")
        return rows

    def check_bits(self, what, flags, known, outputs="out", model="model.mlir"):
        rows = self.run(what, flags, outputs, model) or []
        hashes = {row["result_hash"] for row in rows} | ({known} if known else set())
        if len(hashes) > 1:
            raise Failure("bits", f"{what}: results of {len(hashes)} kinds",
                          f"remat-run {model} --inputs=in --outputs={outputs} " + " ".join(flags))
        return known or (rows[0]["result_hash"] if rows else None)

    def differentiate(self, step):
        """Central differences of the results in the direction of the tangents."""

        def move(sign):
            values, tangents = [], iter(self.tangents)
            for _, _, kind, numbers in self.program.args:
                direction = None if kind == "i8" else next(tangents)
                values.append(numbers if direction is None else
                              [x + sign * step * t for x, t in zip(numbers, direction)])
            return self.program.evaluate(values, self.removed)

        return [[(a - b) / (2 * step) for a, b in zip(*pair)] for pair in zip(move(1), move(-1))]

    def check_numbers(self):
        """Whether the program may be compiled at all."""
        flags = ["--emit=forward,vjp,jvp", "--threads=1"] + ["--widen"] * (self.program.element != "f64")
        if self.run("against the interpreter", flags, "wide") is None:
            return False
        command = "remat-run model.mlir --inputs=in --outputs=wide " + " ".join(flags)
        # What inner derivatives read may be rounded.
        if self.program.lossy and "derivative" in self.program.features:
            return True
        load = lambda stem, count: [read_npy(f"{self.folder}/wide/{stem}{i}.npy") for i in range(count)]
        for number, (found, known) in enumerate(zip(load("result", len(self.results)), self.results)):
            self.compare(f"result {number}", found, known, 1e-9, command)
        if self.program.lossy:
            return True
        coarse, fine = self.differentiate(2e-5), self.differentiate(1e-5)
        scale = max([abs(value) for values in fine for value in values] + [1.0])
        if any(not abs(a - b) <= 1e-6 * scale for pair in zip(coarse, fine) for a, b in zip(*pair)):
            if self.session:
                self.session.count("unreliable")
            return True
        for number, (found, known) in enumerate(zip(load("jvp", len(fine)), fine)):
            self.compare(f"tangent {number}", found, known, 1e-5, command, scale)
        inner = lambda left, right: sum(a * b for x, y in zip(left, right) for a, b in zip(x, y))
        known = inner(self.cotangents, fine)
        sizes = inner([[abs(a) for a in x] for x in self.cotangents], [[abs(a) for a in x] for x in fine])
        found = inner(load("vjp", len(self.tangents)), self.tangents)
        self.compare("directional derivative", [found], [known], 1e-5, command, sizes + scale)
        if self.session:
            self.session.count("derivatives")
        return True

    def digit(self):
        """A few times the relative error of rounding."""
        return {"f64": 1e-6, "f32": 1e-6, "f16": 2e-3, "bf16": 1.6e-2}[self.program.element]

    def check_narrow(self):
        """Results and derivatives in the types of the program, where rounding each statement does not change them."""

        def rounding(value):
            if isinstance(value, Dual):
                return Dual(rounding(value.value), rounding(value.tangent))
            return value if isinstance(value, int) else round_to(self.program.element, value)

        def push(rounding):
            tangents, values = iter(self.tangents), []
            for _, _, kind, numbers in self.program.args:
                values.append(numbers if kind == "i8" else [Dual(*pair) for pair in zip(numbers, next(tangents))])
            results = self.program.evaluate(values, self.removed, rounding)
            return [[value_of(x) for x in result] for result in results], \
                [[tangent_of(x) for x in result] for result in results]

        command = "remat-run model.mlir --inputs=in --outputs=out --emit=forward,vjp,jvp"
        exact, rounded = push(None), push(rounding)
        scale = max([abs(value) for part in exact for values in part for value in values] + [1.0])
        errors = [max([abs(a - b) for pair in zip(*parts) for a, b in zip(*pair)] + [0.0])
                  for parts in zip(exact, rounded)]
        # A step between two sides of something that is not smooth.
        if not max(errors) <= 0.1 * scale:
            if self.session:
                self.session.count("unreliable")
            return
        load = lambda stem, count: [read_npy(f"{self.folder}/out/{stem}{i}.npy") for i in range(count)]
        for stem, known, error in zip(("result", "jvp"), exact, errors):
            for number, pair in enumerate(zip(load(stem, len(known)), known)):
                self.compare(f"{stem} {number}", *pair, 10 * (error / scale + self.digit()), command, scale)
        inner = lambda left, right: sum(a * b for x, y in zip(left, right) for a, b in zip(x, y))
        found, known = inner(load("vjp", len(self.tangents)), self.tangents), inner(self.cotangents, exact[1])
        sizes = inner([[abs(a) for a in x] for x in self.cotangents], [[abs(a) for a in x] for x in exact[1]])
        self.compare("directional derivative", [found], [known], 10 * (errors[1] / scale + self.digit()), command,
                     sizes + scale * sum(len(x) for x in self.cotangents))
        if self.session:
            self.session.count("narrow")

    def compare(self, what, found, known, tolerance, command, scale=None):
        if len(found) != len(known):
            raise Failure("number", f"{what} has {len(found)} elements, expected {len(known)}", command)
        scale = max([abs(value) for value in known] + [1.0]) if scale is None else scale
        for index, (a, b) in enumerate(zip(found, known)):
            if not abs(a - b) <= tolerance * scale:
                raise Failure("number", f"{what}, element {index}: {a!r}, expected {b!r}", command)

    def donations(self):
        """Arguments that can give their buffers to results, and the numbers of these."""
        donations = {}
        for result, (_, shape) in enumerate(self.program.results):
            for number, (_, other, kind, _) in enumerate(self.program.args):
                if kind != "i8" and list(other) == list(shape) and number not in donations:
                    donations[number] = result
                    break
        return donations

    def check_donations(self, flags, known):
        """Arguments that give their buffers to results change nothing."""
        donations = self.donations()
        if not donations:
            return
        write(self.folder + "/donated.mlir", self.program.render(self.removed, donations))
        self.check_bits("donated arguments", flags, known, model="donated.mlir")
        if self.session:
            self.session.count("donating")

    def check_sums(self):
        """Gradients that are added to sums are these and the gradients, added up once."""
        element, parts = FLOATS[self.program.element][0], 64 if self.program.element in NARROW else 1024
        numbers = random.Random(self.program.seed + 1)
        sums = []
        for _, shape, kind, values in self.program.args:
            if kind != "i8":
                sums.append([round(numbers.uniform(-1, 1) * parts) / parts for _ in values])
                write(f"{self.folder}/in/grad{len(sums) - 1}.npy", npy(element, shape, sums[-1]))
        flags = ["--cotangents", "--threads=1"]
        self.run("gradients", flags, "terms")
        flags += ["--accumulate", "--budget=100%,min", "--poison", "--determinism-check=bitwise"]
        self.check_bits("accumulated gradients", flags, None, "sums")
        for number, sum in enumerate(sums):
            terms, found = (read_npy(f"{self.folder}/{folder}/vjp{number}.npy") for folder in ("terms", "sums"))
            for index, (a, b, c) in enumerate(zip(sum, terms, found)):
                known = round_to(self.program.element, a + b)
                # A contraction that ends in the sum may leave out the rounding before it.
                near = self.program.element in NARROW and abs(c - known) <= self.digit() / 2 * max(map(abs, (a, b, c)))
                if c != known and not near and not (math.isnan(c) and math.isnan(known)):
                    raise Failure("sum", f"sum of gradients {number}, element {index}: {c!r}, expected {known!r}",
                                  "remat-run model.mlir --inputs=in --outputs=sums " + " ".join(flags))

    def check_target(self, choice):
        """A machine with other facts computes other bits, with an error like that of this one."""
        name = choice.choice(["cpu", "cuda"])
        write(self.folder + "/target.mlir", add_target(self.program.render(self.removed), make_facts(choice, name)))
        flags = ["--emit=forward,vjp,jvp", "--budget=100%,min", "--poison"]
        if name == "cpu":
            self.check_bits("other facts", flags + ["--threads=1"], None, "target", "target.mlir")
        else:
            known = self.check_bits("a device", flags + ["--device=sim"], None, "target", "target.mlir")
            self.check_bits("a device backwards", flags + ["--device=sim-reverse"], known, "target", "target.mlir")
        if self.session:
            self.session.count("targets")
        # What is saved, and so what is rounded, may be something else.
        if self.program.lossy:
            return
        counts = {"result": len(self.results), "vjp": len(self.tangents), "jvp": len(self.results)}
        for stem, count in counts.items():
            for number in range(count):
                wide, here, there = (read_npy(f"{self.folder}/{folder}/{stem}{number}.npy")
                                     for folder in ("wide", "out", "target"))
                scale = max([abs(value) for value in wide] + [1.0])
                error = max([abs(a - b) for a, b in zip(wide, here)] + [self.digit() * scale])
                self.compare(f"{name}: {stem} {number}", there, wide, 100 * error / scale,
                             "remat-run target.mlir --inputs=in --outputs=target " + " ".join(flags), scale)

    def check(self):
        """Raises a Failure if anything is wrong."""
        if not self.check_numbers():
            if self.session:
                self.session.count("refused")
            return
        emit = "--emit=forward,vjp,jvp"
        known = self.check_bits("budgets", [emit, "--threads=1", "--budget=100%,80%,min"], None)
        if self.program.element in NARROW and not self.program.lossy:
            self.check_narrow()
        self.check_target(random.Random(self.program.seed + 2))
        self.check_bits("two threads, poisoned, checked", [emit, "--threads=2", "--budget=100%,min", "--poison",
                                                          "--determinism-check=bitwise"], known)
        choice = random.Random(self.program.seed)
        planner = choice.choice(PLANNERS)
        ways = [["--link-bandwidth=1GB/s", "--budget=90%,min"], ["--link-bandwidth=inf", "--budget=min"],
                ["--reorder", "--budget=80%,min"], ["--reuse-result-buffers=false", "--budget=min"],
                ["--planner=" + planner, "--budget=90%"]]
        way = choice.choice(ways)
        self.check_bits(way[0][2:], [emit, "--threads=1", "--poison"] + way, known)
        self.check_donations([emit, "--threads=1", "--budget=100%,min", "--poison", "--determinism-check=bitwise"],
                             known)
        self.check_sums()
        # Fusion ends where a call ends, so the bits are others.
        # Tags end fusion, and so do calls: the bits are others.
        policy = choice.choice(POLICIES)
        self.check_bits(policy, [emit, "--threads=1", "--budget=100%,min", "--poison", "--policy=" + policy], None)
        separate = ["--separate-backward", "--emit=forward,vjp", "--poison"]
        known = self.check_bits("separate calls", separate + ["--threads=1", "--budget=100%,min"], None)
        self.check_bits("separate calls, two threads", separate + ["--threads=2", "--budget=80%",
                                                                   "--determinism-check=bitwise"], known)


def main():
    options = parse_options(__doc__)
    session = Session("programs", options)
    for seed in session.seeds():
        program = Generator(seed).generate()
        if program is None:
            continue
        session.count("programs")
        try:
            Trial(program, (), options, session.work + "/trial", session).check()
        except Failure as failure:
            report(session, seed, program, failure, options)
    session.finish()


def report(session, seed, program, failure, options):
    first = failure
    removed = ()
    if options.keep and not options.no_shrink:
        removed, failure = reduce(session, program, failure, options)
    trial = Trial(program, removed, options, session.work + "/kept")
    files = {"model.mlir": program.render(removed), "whole.mlir": program.render(),
             "donated.mlir": program.render(removed, trial.donations())}
    numbers = random.Random(program.seed + 2)
    files["target.mlir"] = add_target(program.render(removed), make_facts(numbers, numbers.choice(["cpu", "cuda"])))
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
        except (ArithmeticError, ValueError):
            pass
        return False

    kept = shrink(everything, fails, 60)
    return set(everything) - set(kept), last[0]


if __name__ == "__main__":
    main()
