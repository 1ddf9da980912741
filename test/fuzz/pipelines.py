#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pipelines.py TOOLS: passes in any order on the IR of all tests.

A piece of IR from the tests goes through some of the stages, and then through passes of this project and of MLIR in an
order that no pipeline has, some of them on each operation of one kind, in remat-opt or in MLIR's own mlir-opt with the
plugin. The tool may refuse it, with status 1; it may not crash, hang or print a stack. Where only passes of MLIR died,
the run is counted apart."""

import os
import random
import re
import shutil

from harness import Session, parse_options, run, shrink, write
from mutate import choose_options, find_passes, find_pieces

STAGES = ["remat-import-pipeline", "remat-joint-pipeline{{{joint}}}", "remat-tasks-pipeline", "remat-plan{{{plan}}}",
          "remat-assign-buffers", "remat-place", "remat-lower-cpu"]
JOINT = ["", "cotangents", "cotangents tangents", "cotangents=true fold-layers=always", "differentiate=false"]
PLAN = ["budget=min", "budget=70%", "budget=80% reorder=true", "link-bandwidth=1000000 budget=min", ""]
# What a tool around this one may run before, between or behind its passes.
UPSTREAM = ["canonicalize", "canonicalize{region-simplify=aggressive}", "cse", "symbol-dce", "inline", "sccp",
            "mem2reg", "sroa", "loop-invariant-code-motion", "control-flow-sink", "topological-sort",
            "remove-dead-values", "strip-debuginfo", "duplicate-function-elimination",
            "generate-runtime-verification", "outline-shape-computation", "int-range-optimizations", "arith-expand",
            "math-uplift-to-fma", "linalg-fold-unit-extent-dims", "linalg-generalize-named-ops",
            "linalg-specialize-generic-ops", "linalg-fuse-elementwise-ops", "linalg-inline-scalar-operands",
            "linalg-morph-ops{named-to-category}", "convert-elementwise-to-linalg", "convert-tensor-to-linalg",
            "fold-tensor-subset-ops", "empty-tensor-to-alloc-tensor", "resolve-shaped-type-result-dims",
            "one-shot-bufferize{bufferize-function-boundaries}", "convert-linalg-to-loops",
            "convert-linalg-to-affine-loops", "lower-affine", "scf-for-loop-canonicalization", "scf-for-loop-peeling",
            "convert-scf-to-cf", "lift-cf-to-scf", "convert-arith-to-llvm", "finalize-memref-to-llvm",
            "convert-func-to-llvm", "reconcile-unrealized-casts"]
ANCHORS = ["func.func", "remat.graph", "any"]


def choose_pipeline(dice, passes):
    """The passes of a pipeline on modules, as text."""
    chosen = []
    if dice.random() < 0.6:
        facts = {"joint": dice.choice(JOINT), "plan": dice.choice(PLAN)}
        chosen = [stage.format(**facts) for stage in STAGES[:dice.randint(1, len(STAGES))]]
        if dice.random() < 0.3 and len(chosen) > 1:
            del chosen[dice.randrange(len(chosen))]
    for _ in range(dice.choice([1, 2, 3, 5, 8])):
        kind = dice.random()
        if kind < 0.35:
            text = dice.choice(UPSTREAM)
        else:
            name, known, is_of_functions = dice.choice(passes)
            options = choose_options(known, dice) if dice.random() < 0.5 else []
            text = name + ("{" + " ".join(options) + "}" if options else "")
            if is_of_functions:
                text = f"func.func({text})"
        if dice.random() < 0.03:
            text = f"{dice.choice(ANCHORS)}({text})"
        chosen.insert(len(chosen) if dice.random() < 0.6 else dice.randint(0, len(chosen)), text)
    return chosen


class Trial:
    def __init__(self, seed, options, pieces, passes, folder):
        dice = random.Random(seed)
        self.options, self.folder = options, folder
        self.path, self.text = dice.choice([piece for piece in pieces if "errors" not in piece[0]])
        if "@main" not in self.text:
            self.text = re.sub(r"func\.func (private )?@\w+\(", "func.func @main(", self.text, count=1)
        self.passes = choose_pipeline(dice, passes)
        self.tool = [os.path.join(options.tools, "remat-opt")]
        plugin = os.path.join(options.tools, "../lib/RematPlugin.so")
        mlir_opt = shutil.which("mlir-opt") or shutil.which("/usr/lib/llvm-22/bin/mlir-opt")
        if dice.random() < 0.3 and mlir_opt and os.path.exists(plugin):
            self.tool = [mlir_opt, f"--load-dialect-plugin={plugin}", f"--load-pass-plugin={plugin}"]
        self.flags = ["--mlir-print-debuginfo"] * (dice.random() < 0.1)

    def command(self, passes=None):
        chosen = self.passes if passes is None else passes
        return self.tool + self.flags + ["input.mlir", f"--pass-pipeline=builtin.module({','.join(chosen)})"]

    def run(self, passes=None, text=None):
        write(self.folder + "/input.mlir", self.text if text is None else text)
        return run(self.command(passes), self.options.timeout, self.folder)

    def shrink(self, problem):
        """The passes, and then the lines, without which it does not end in the same way."""
        def fails(passes, text):
            return (self.run(passes, text).problem or "").split(":")[0] == problem.split(":")[0]

        passes = shrink(self.passes, lambda rest: fails(rest, self.text), 60)
        lines = shrink(self.text.split("\n"), lambda rest: fails(passes, "\n".join(rest)), 120)
        return passes, "\n".join(lines)


def main():
    options = parse_options(__doc__)
    session = Session("pipelines", options)
    tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    pieces = find_pieces(tests)
    passes = find_passes(os.path.join(tests, "..", "include"))
    known = set()
    for seed in session.seeds():
        trial = Trial(seed, options, pieces, passes, session.work)
        outcome = trial.run()
        session.count("runs")
        if outcome.status == 0 and not outcome.problem:
            session.count("accepted")
        if not outcome.problem:
            continue
        key = re.sub(r"\d+|'[^']*'|<[^>]*>", "#", outcome.problem)
        if key in known:
            session.count("repeated")
            continue
        known.add(key)
        left, text = trial.passes, trial.text
        if not options.no_shrink:
            left, text = trial.shrink(outcome.problem)
        if not any("remat-" in name for name in left):
            session.count("upstream")
            continue
        command = " ".join(f"'{word}'" for word in trial.command(left))
        session.report(seed, f"{trial.path}: {','.join(left)}: {outcome.problem}",
                       {"input.mlir": text, "whole.mlir": trial.text, "stderr": outcome.err}, command)
    session.finish()


if __name__ == "__main__":
    main()
