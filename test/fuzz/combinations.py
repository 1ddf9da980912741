#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""combinations.py TOOLS: random programs, compiled with any options of a step together.

Options that only say how to plan give the same bits as no plan at all. Other options give the same bits under each
budget and number of threads, and about what the program gives without them. Peaks are what was planned, and no more
than the budget, also when that is the smallest one or a few bytes more. The same options give the same placed step
again, whatever the number of threads that search, and the smallest step is that of a budget of its bytes. A schedule
that was stored gives the bits and the arena again. The same gradients are those of some arguments alone. Updates of
optimizers are those of their definitions, and parts of a batch give the mean of what each gives alone."""

import json
import os
import random
import re
import shutil

from harness import FLOATS, Session, npy, parse_options, read_npy, run, write
from generator import NARROW
from layered import Layered
from optimizers import OPTIMIZERS, RATE, wrong_element
from programs import LEGAL_REFUSALS, PLANNERS, POLICIES, Failure, Trial, report

# What a combination may ask for and not get, by its message.
REFUSALS = ("links to cut, expected", "policies are about no operation", "has no place between two operations",
            "excludes", "bytes on the host, and the host budget is", "codec of functions, whose types would",
            "no loop around both", "returns no gradient, expected", "cannot be narrowed", " of the batch",
            "the number of parts", "row by row", "once for each part", "no argument to split into parts",
            "has no effect with", "is out-of-bounds: 0 >= 0", "has a budget, but no forward value has this name")
CODECS = ["bf16", "int8", "fp8", "int4"]
CPUS = ["x86-64", "haswell"]


def some(draw, choices, most):
    """At most so many of the choices, each of which is a list of values of one flag."""
    return [draw.choice(values) for values in draw.sample(choices, draw.randint(1, most))]


def draw_plan_flags(draw):
    """Flags that say how to plan."""
    return some(draw, [
        ["--effort=0", "--effort=0", "--effort=0.1", "--effort=0.4"],
        ["--reorder"],
        ["--planner=" + planner for planner in PLANNERS],
        ["--link-bandwidth=" + speed for speed in ("inf", "1GB/s", "20MB/s", "target")],
        [f"--host-budget={room}" for room in (0, 1, 64, 1000)],
        ["--gap=0%", "--gap=5%", "--gap=100%"],
        ["--seed=0", "--seed=12345"],
        ["--search-threads=3", "--search-threads=0"],
        ["--reuse-result-buffers=false"],
        ["--offload=false"],
        ["--time-limit=0", "--time-limit=0.01"],
    ], 4)


def draw_graph_flags(draw):
    """Flags that say what to compute, or in which kernels."""
    return some(draw, [
        ["--fold-layers=always"],
        [f"--slice-rows={rows}" for rows in (1, 2, 3, 7)],
        ["--keep-repeated=always"],
        [f"--checkpoint-segments={count}" for count in (1, 2, 3, 100)],
        ["--policy=" + policy for policy in POLICIES],
        ["--save-ops=linalg.matmul", "--recompute-ops=linalg.generic,math.tanh", "--offload-ops=math.tanh"],
        ["--separate-backward"],
        ["--unroll-limit=0", "--unroll-limit=1"],
        ["--early-stop=false", "--early-stop=true"],
        ["--mcpu=" + cpu for cpu in CPUS],
        ["--split-batch=2", "--split-batch=3"],
        ["--checkpoint-segments=2"],
    ], 4)


def draw_lossy_flags(draw):
    """Flags that round what is kept, or choose by the budget what to compute: numbers are not compared."""
    codecs = ",".join(draw.sample(CODECS, draw.randint(1, 3)))
    return some(draw, [
        ["--compress=" + codecs],
        ["--narrow=bf16", "--narrow=f16"],
        ["--fold-layers=auto"], ["--slice-rows=auto"], ["--keep-repeated=auto"], ["--split-batch=auto"],
        ["--link-bandwidth=1GB/s"],
    ], 3)


class Combination(Trial):
    legal_refusals = LEGAL_REFUSALS + REFUSALS

    def run(self, what, flags, outputs="out", model="model.mlir"):
        rows = super().run(what, flags, outputs, model)
        # What is no plan for a budget is the smallest one. The clock may end a search before it has one.
        if any(flag.startswith("--time-limit") for flag in flags):
            return rows
        budgets = next((flag.split("=")[1].split(",") for flag in flags if flag.startswith("--budget=")), [])
        for budget, row in zip(budgets, rows or []):
            if budget.isdigit() and row["arena_bytes"] > int(budget):
                raise Failure("budget", f"{what}: {row['arena_bytes']} bytes of the arena, budget {budget}",
                              f"remat-run {model} " + " ".join(flags))
        return rows

    def without_offloading(self, flags):
        """The flags without that which forbids what the program asks for."""
        asks = "offload" in self.program.render(self.removed)
        return [flag for flag in flags if not asks or flag != "--offload=false"]

    def budgets(self, draw, what, flags):
        """A flag with budgets of all kinds; None where the program cannot be planned."""
        rows = self.run(what + ", smallest", flags + ["--budget=min"], "smallest")
        if not rows:
            return None
        least = rows[0]["arena_bytes"]
        kinds = ["100%", "90%", "70%", "33.3%", "min", str(least + draw.choice([0, 1, 63, 64, 1000]))]
        return "--budget=" + ",".join(draw.sample(kinds, 3))

    def place(self, flags):
        """A placed step, and what is reported of it; None where it is refused."""
        command = ["remat-compile", "model.mlir", "--emit=placed", "-o", "placed.mlir", "--json=placed.json",
                   "--effort=0.02", "--cotangents", "--threads=1"] + flags
        outcome = run([self.options.tools + "/" + command[0]] + command[1:], self.options.timeout, self.folder)
        if outcome.problem:
            raise Failure("crash", f"placed: {outcome.problem}", " ".join(command))
        if outcome.status:
            return None
        with open(self.folder + "/placed.mlir", encoding="utf-8") as file, \
                open(self.folder + "/placed.json", encoding="utf-8") as report:
            return file.read(), json.load(report), " ".join(command)

    def check_twice(self, flags):
        """A step is placed in the same way by any number of threads, and again within the bytes that it took."""
        one = self.place(flags + ["--search-threads=1"])
        if one is None:
            return
        two = self.place(flags + ["--search-threads=4"])
        if two is None or one[0] != two[0]:
            raise Failure("again", "placed in two ways", one[2])
        if "--budget=min" not in flags:
            return
        within = self.place([flag for flag in flags if flag != "--budget=min"] +
                            [f"--budget={one[1]['arena_bytes']}"])
        if within is None or within[0] != one[0]:
            raise Failure("smallest", f"the smallest plan, of {one[1]['arena_bytes']} bytes, is not the one of these: "
                          + ("none" if within is None else f"{within[1]['arena_bytes']} bytes"), one[2])

    def check(self):
        draw = random.Random(self.program.seed + 3)
        emit = "--emit=forward,vjp,jvp"
        if not self.check_numbers():
            return
        rows = self.run("as it is", [emit, "--threads=1"])
        known = rows[0]["result_hash"]
        for _ in range(2):
            flags = self.without_offloading(draw_plan_flags(draw))
            if "--time-limit" not in " ".join(flags):
                self.check_twice([flag for flag in flags if "search-threads" not in flag] +
                                 [draw.choice(["--budget=min", "--budget=60%"])])
            self.check_budgets(draw, flags + [emit, f"--threads={draw.randint(1, 5)}"], known)
        flags = draw_graph_flags(draw)
        emit_too = emit if "--separate-backward" not in flags else "--emit=forward,vjp"
        if self.check_budgets(draw, flags + [emit_too], None, "graph") and not self.program.lossy:
            self.check_near("graph", emit_too, flags)
        flags = draw_lossy_flags(draw) + self.without_offloading(draw_plan_flags(draw)[:1])
        if "auto" in " ".join(flags):
            self.run("chosen by the budget", flags + [emit, "--budget=100%,60%,min", "--poison"], "lossy")
        else:
            self.check_budgets(draw, flags + [emit], None, "lossy")
        if self.program.has_loss:
            self.check_optimizer(draw)
            self.check_parts(draw)
        # What was added later has dice of its own, for the seeds to give what they gave.
        draw = random.Random(self.program.seed + 4)
        self.check_regions(draw, known)
        self.check_some_arguments(draw)
        self.check_stored(draw)
        self.check_bounded_errors(draw)

    def check_regions(self, draw, known):
        """Bounds of what regions keep change no bits."""
        names = sorted(set(re.findall(r'(?<![.\w])name = "([^"]+)"', self.program.render(self.removed))))
        if names:
            names = draw.sample(names, min(len(names), 2))
            bounds = [f"{name}:{draw.choice([0, 8, 64, 1000, 1 << 40])}" for name in names]
            self.check_budgets(draw, ["--region-budget=" + ",".join(bounds), "--emit=forward,vjp,jvp", "--threads=1"],
                               known)

    def check_some_arguments(self, draw):
        floats = [number for number, arg in enumerate(self.program.args) if arg[2] != "i8"]
        wrt = draw.sample(floats, draw.randint(1, len(floats)))
        flags = ["--wrt=" + ",".join(map(str, wrt)), "--emit=forward,vjp"]
        shutil.rmtree(self.folder + "/some", ignore_errors=True)
        if not self.check_budgets(draw, flags, None, "some") or self.program.lossy:
            return
        for place, number in enumerate(wrt):
            file = f"vjp{floats.index(number)}.npy"
            whole, wide = (read_npy(f"{self.folder}/{folder}/{file}") for folder in ("out", "wide"))
            scale = max([abs(value) for value in wide] + [1.0])
            error = max([abs(a - b) for a, b in zip(wide, whole)] + [self.digit() * scale])
            self.compare(f"gradient of argument {number} among {wrt}", read_npy(f"{self.folder}/some/vjp{place}.npy"),
                         wide, 100 * error / scale,
                         "remat-run model.mlir --inputs=in --outputs=some " + " ".join(flags), scale)

    def check_stored(self, draw):
        """A schedule is run as it was planned."""
        flags = draw_graph_flags(draw) if draw.random() < 0.5 else []
        # The planner makes no code.
        flags = [flag for flag in flags if not flag.startswith(("--split-batch", "--mcpu"))]
        budget = "--budget=" + draw.choice(["min", "80%", "60%"])
        command = ["remat-plan", "model.mlir", "--cotangents", "--effort=0.02", "-o", "schedule.json",
                   "--json=planned.json", budget, *flags]
        outcome = run([self.options.tools + "/" + command[0]] + command[1:], self.options.timeout, self.folder)
        if outcome.problem:
            raise Failure("crash", f"stored: {outcome.problem}", " ".join(command))
        if outcome.status:
            return
        flags.append("--emit=forward,vjp")
        known = self.check_bits("planned", flags + [budget], None, "stored")
        flags.append("--plan=schedule.json")
        row = self.run_stored(flags)
        with open(self.folder + "/planned.json") as file:
            arena = json.load(file)["arena_bytes"]
        if row["result_hash"] != known or row["arena_bytes"] != arena:
            raise Failure("stored", f"a stored schedule gives {row['result_hash']} in {row['arena_bytes']} bytes, "
                          f"expected {known} in {arena}", " ".join(command) + "; remat-run model.mlir --inputs=in " +
                          " ".join(flags))
        if self.session:
            self.session.count("stored")

    def run_stored(self, flags):
        command = ["remat-run", "model.mlir", "--inputs=in", "--outputs=stored", "--json=report.json", "--steps=1",
                   *flags]
        outcome = run([self.options.tools + "/" + command[0]] + command[1:], self.options.timeout, self.folder)
        if outcome.problem or outcome.status:
            raise Failure("stored", f"a stored schedule: {outcome.problem or outcome.err.splitlines()[0]}",
                          " ".join(command))
        with open(self.folder + "/report.json") as file:
            return json.load(file)

    def check_bounded_errors(self, draw):
        """Packed forms within a bound of errors, beside policies."""
        flags = ["--compress=" + ",".join(draw.sample(CODECS, draw.randint(1, 3))),
                 f"--max-gradient-error={draw.choice([1e-9, 0.01, 1, 1e9])}", "--gradient-errors=errors.json"]
        flags += [flag for flag in draw_graph_flags(draw) if re.match("--(policy|save|recompute|offload|keep)", flag)]
        if os.path.exists(self.folder + "/errors.json"):
            os.remove(self.folder + "/errors.json")
        self.check_budgets(draw, flags + ["--emit=forward,vjp"], None, "bounded")

    def check_budgets(self, draw, flags, known, outputs="out"):
        budgets = self.budgets(draw, " ".join(flags), flags)
        if budgets is None:
            if self.session:
                self.session.count("refused")
            return False
        flags = flags + [budgets, "--poison"]
        known = self.check_bits(" ".join(flags), flags + ["--determinism-check=bitwise"], known, outputs)
        if not any(flag.startswith("--threads") for flag in flags):
            self.check_bits(" ".join(flags), flags + [f"--threads={draw.randint(2, 5)}"], known, outputs)
        return True

    def check_near(self, outputs, emit, flags):
        """What other kernels compute has an error like that of these."""
        counts = {"result": len(self.results), "vjp": len(self.tangents), "jvp": len(self.results)}
        for stem in ("result", "vjp", "jvp")[:2 + ("jvp" in emit)]:
            for number in range(counts[stem]):
                wide, here, there = (read_npy(f"{self.folder}/{folder}/{stem}{number}.npy")
                                     for folder in ("wide", "out", outputs))
                scale = max([abs(value) for value in wide] + [1.0])
                error = max([abs(a - b) for a, b in zip(wide, here)] + [self.digit() * scale])
                self.compare(f"{' '.join(flags)}: {stem} {number}", there, wide, 100 * error / scale,
                             f"remat-run model.mlir --inputs=in --outputs={outputs} {emit} " + " ".join(flags), scale)

    def check_optimizer(self, draw):
        name, decay = draw.choice(sorted(OPTIMIZERS)), draw.choice([0.0, 0.125])
        optimizer = f"--optimizer={name}:lr={RATE},weight_decay={decay}"
        extra = draw.choice(["", "", "clip_norm=1", "offload_state=true", "skip_nonfinite=true"])
        masters = ["masters=true"] * (self.program.element in NARROW and draw.random() < 0.5)
        flags = [",".join([optimizer, *([extra] if extra else []), *masters])]
        flags += draw.choice([[], [], ["--fold-layers=always"], ["--slice-rows=2"]])
        shutil.rmtree(self.folder + "/updated", ignore_errors=True)
        is_there = self.check_budgets(draw, flags, None, "updated")
        spec = OPTIMIZERS[name]
        is_exact = not self.program.lossy and self.program.element not in NARROW
        if not is_there or spec is None or extra == "clip_norm=1" or not is_exact:
            return
        self.run("gradients", ["--threads=1"], "gradients")
        floats = [arg for arg in self.program.args if arg[2] != "i8"]
        gradients = [read_npy(f"{self.folder}/gradients/vjp{number}.npy") for number in range(len(floats))]
        # What the loss does not depend on has no update.
        moved = [pair for pair in zip(floats, gradients) if any(pair[1])]
        updates = len([file for file in os.listdir(self.folder + "/updated") if file.startswith("update")])
        stride, others = 1 + spec.buffers, spec.counts_steps + (extra == "skip_nonfinite=true")
        if updates - others != stride * len(moved):
            return
        if self.session:
            self.session.count("updates")
        for number, (arg, gradient) in enumerate(moved):
            found = read_npy(f"{self.folder}/updated/update{spec.counts_steps + number * stride}.npy")
            wrong = wrong_element(spec, decay, arg[3], gradient, found, self.digit())
            if wrong:
                index, new, known = wrong
                raise Failure("update", f"{flags[0]}: {arg[0]}, element {index}: {new!r}, expected {known!r}",
                              "remat-run model.mlir --inputs=in --outputs=updated " + " ".join(flags))

    def check_parts(self, draw):
        """Parts of a batch give the mean of what each gives alone."""
        numbers = [number for number, arg in enumerate(self.program.args) if arg[1] and arg[2] != "i8"]
        wrt = [number for number, arg in enumerate(self.program.args) if arg[2] != "i8"]
        if len(wrt) < 2 or not numbers:
            return
        batch, count = draw.choice(numbers), draw.randint(2, 3)
        wrt.remove(batch)
        name, shape, kind, values = self.program.args[batch]
        dtype = FLOATS[self.program.element][0]
        parts = [values] + [draw.sample(values, len(values)) for _ in range(count - 1)]
        flags = ["--wrt=" + ",".join(map(str, wrt))]
        losses, sums = [], []
        shutil.copytree(self.folder + "/in", self.folder + "/kept-in", dirs_exist_ok=True)
        try:
            for part in parts:
                write(f"{self.folder}/in/arg{batch}.npy", npy(dtype, shape, part))
                self.run("a part", flags + ["--threads=1"], "part")
                losses.append(read_npy(f"{self.folder}/part/result{len(self.results) - 1}.npy")[0])
                sums.append([read_npy(f"{self.folder}/part/vjp{number}.npy") for number in range(len(wrt))])
            write(f"{self.folder}/in/arg{batch}.npy",
                  npy(dtype, [shape[0] * count, *shape[1:]], [value for part in parts for value in part]))
            flags += [f"--microbatches={count}", f"--batch-arguments={batch}"]
            flags += draw.choice([["--microbatch-order=parts"], ["--microbatch-order=layers"],
                                  ["--microbatch-order=parts", "--fold-layers=always"]])
            is_there = self.check_budgets(draw, flags, None, "parts")
        finally:
            shutil.rmtree(self.folder + "/in")
            os.rename(self.folder + "/kept-in", self.folder + "/in")
        if not is_there or self.program.lossy:
            return
        if self.session:
            self.session.count("parts")
        command = "remat-run model.mlir --inputs=in --outputs=parts " + " ".join(flags)
        for number in range(len(wrt)):
            known = [sum(values) / count for values in zip(*(part[number] for part in sums))]
            size = max([abs(value) for part in sums for value in part[number]] + [1.0])
            self.compare(f"gradient {number} of parts", read_npy(f"{self.folder}/parts/vjp{number}.npy"), known,
                         100 * self.digit(), command, size)
        self.compare("mean of losses", read_npy(f"{self.folder}/parts/result{len(self.results) - 1}.npy"),
                     [sum(losses) / count], 100 * self.digit(), command, max(map(abs, losses + [1.0])))


def main():
    options = parse_options(__doc__)
    session = Session("combinations", options)
    for seed in session.seeds():
        try:
            program = Layered(seed).generate()
        except (ArithmeticError, LookupError, ValueError):  # Few things can be made of nothing.
            program = None
        if program is None:
            session.count("not made")
            continue
        session.count("programs")
        try:
            Combination(program, (), options, session.work + "/trial", session).check()
        except Failure as failure:
            report(session, seed, program, failure, options)
    session.finish()


if __name__ == "__main__":
    main()
