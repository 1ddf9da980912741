#!/usr/bin/env python3
"""mutate.py TOOLS: mutated IR of all tests through the tools.

Every .mlir of the tests, in the pieces of split-file and --split-input-file, loses, repeats, swaps and changes tokens,
lines and numbers. They go through pipelines, or through single passes with any options. The tools may refuse what
comes out, with status 1, 2 or 3; they may not crash, hang or print a stack. What MLIR's own mlir-opt crashes on, too,
is counted apart: its parser is not this project's."""

import os
import random
import re
import shutil

from harness import Session, parse_options, run, shrink, write

TOKEN = re.compile(r'"[^"\n]*"|[%@#^!]?[A-Za-z_][\w.$-]*|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|->|\s+|.', re.DOTALL)
NUMBERS = ["0", "-1", "1", "2", "7", "64", "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808",
           "1099511627776", "0x7FC00000", "1.0e308"]
TYPES = ["f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64", "index", "complex<f32>", "f8E4M3FN", "i0", "si32", "?"]
# What the pieces are put through: the tool and its flags.
WAYS = [
    ("remat-opt", ["--remat-pipeline=budget=min cotangents"]), ("remat-opt", ["--remat-pipeline=emit=code cotangents"]),
    ("remat-opt", ["--remat-import-pipeline", "--remat-joint-pipeline=cotangents=true tangents=true"]),
    ("remat-opt", ["--remat-import-pipeline", "--remat-tasks-pipeline", "--remat-plan=budget=80%"]),
    ("remat-opt", ["--remat-pipeline=cotangents separate-backward budget=min reorder"]),
    ("remat-opt", ["--remat-pipeline=cotangents link-bandwidth=1000000 budget=min widen"]),
    ("remat-opt", ["--canonicalize", "--cse"]),
    ("remat-opt", ["--remat-expand-derivatives", "--remat-lower-checkpoints"]),
    ("remat-compile", ["--cotangents", "-o", "step.o", "--header=step.h"]),
    ("remat-compile", ["--no-gradients", "-o", "step.o"]),
    ("remat-run", ["--gradcheck"]), ("remat-plan", ["--cotangents", "--budget=min"]),
    ("remat-plan", ["--cotangents", "--frontier=3", "--reorder"]),
]
GRAPH_WAYS = [
    ("remat-opt", ["--remat-plan=budget=min", "--remat-assign-buffers", "--remat-place"]),
    ("remat-opt", ["--remat-plan=budget=80% reorder explain"]), ("remat-opt", ["--remat-place", "--remat-lower-cpu"]),
    ("remat-opt", ["--remat-assign-buffers", "--remat-order-tasks"]), ("remat-opt", ["--canonicalize", "--cse"]),
    ("remat-opt", ["--remat-annotate-costs", "--remat-choose-implementations"]),
    ("remat-compile", ["-o", "step.o", "--header=step.h"]), ("remat-plan", ["--budget=min"]), ("remat-run", []),
]
# How often a mutant goes through single passes in any order instead, with any of their options.
PASSES_SHARE = 0.3
UPSTREAM = ["--verify-each=false", "--allow-unregistered-dialect"]


def find_pieces(root):
    """(path, text) of every piece of the tests, in order of the names."""
    pieces = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in ("Inputs", "fuzz"))
        for name in sorted(files):
            if not name.endswith((".mlir", ".test")):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            parts = re.split(r"^(?://|#)---.*$|^// -----.*$", text, flags=re.MULTILINE)
            for part in parts:
                lines = [line for line in part.splitlines()
                         if line.strip() and not re.match(r"\s*//|[A-Z-]+:|# ", line)]
                part = "\n".join(lines) + "\n"
                if re.match(r"#|!|module|func|remat\.graph", part) and "%" in part and len(part) < 20000:
                    pieces.append((os.path.relpath(path, root), part))
    return pieces


def find_passes(root):
    """(name, [(option, type)], is of functions) of every pass that TableGen files below a folder define, in order of
    the names."""
    passes = []
    for folder, _, files in os.walk(root):
        for name in files:
            if not name.endswith("Passes.td"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            for part in re.split(r"^def ", text, flags=re.MULTILINE)[1:]:
                found = re.search(r'Pass<"([\w-]+)"([^>]*)', part)
                if found:
                    options = re.findall(r'Option<"\w+",\s*"([\w-]+)",\s*"([^"]+)"', part)
                    passes.append((found[1], options, "FuncOp" in found[2]))
    return sorted(passes)


def choose_options(known, dice):
    """Some of the options of a pass, with values."""
    options = []
    for option, kind in dice.sample(known, dice.randrange(len(known) + 1)):
        if kind == "bool":
            value = dice.choice(["true", "false"])
        elif re.search(r"int|unsigned|double", kind):
            value = dice.choice(NUMBERS + ["0", "1", "2", "3"] * 3)
        else:
            value = dice.choice(["main", "f", "0", "1", "min", "80%", "cpu", "cuda", "x"])
        options.append(f"{option}={value}")
    return options


def choose_passes(passes, dice):
    """Flags of remat-opt for a few passes."""
    flags = []
    for name, known, _ in dice.choices(passes, k=dice.choice([1, 1, 2, 3])):
        options = choose_options(known, dice)
        flags.append(f"--{name}" + ("=" + " ".join(options) if options else ""))
    return flags


# Changes and how often they are made. Most keep the text readable for the parser, so that the passes get to see it.
KINDS = {"token": 1, "delete-line": 2, "repeat-line": 1, "swap-lines": 2, "foreign-line": 1, "cut": 1, "number": 6,
         "number-everywhere": 2, "type": 1, "value": 6, "operation": 4, "item": 4, "keyword": 2, "brackets": 1,
         "dimension": 10, "element": 5}


def mutate_lines(kind, text, dice, other):
    if kind == "cut":
        return text[:dice.randrange(len(text) + 1)]
    lines = text.split("\n")
    here = dice.randrange(len(lines))
    if kind == "delete-line":
        del lines[here]
    elif kind == "repeat-line":
        lines.insert(here, lines[here])
    elif kind == "foreign-line":
        lines.insert(here, dice.choice(other.split("\n")))
    else:
        there = dice.randrange(len(lines))
        lines[here], lines[there] = lines[there], lines[here]
    return "\n".join(lines)


def mutate_types(kind, text, dice):
    """Gives all dimensions of one size another, or all elements of one type another."""
    pattern = r"(?<=[<x])\d+(?=x)" if kind == "dimension" else r"\b(?:f32|f64|f16|bf16|i64|i32|i1)\b|(?<=\dx)[fi]\d+\b"
    found = re.findall(pattern, text)
    if not found:
        return text
    old = dice.choice(found)
    new = dice.choice(["0", "1", "2", "3", "7", "64", "?", "4096", "1099511627776"] if kind == "dimension" else TYPES)
    if kind == "dimension" and dice.random() < 0.7:  # Sizes in attributes and offsets, too.
        pattern = r"(?<=[<x])\d+(?=x)|(?<=[\[ ])\d+(?=[\],])"
    return re.sub(pattern, lambda match: new if match[0] == old else match[0], text)


def is_number(token):
    return token[0].isdigit() or token[0] == "-" and token != "->"


PLACES = {
    "token": lambda token: not token.isspace(),
    "number": is_number,
    "type": lambda token: re.fullmatch(r"(x\d+)*x?(f\d+|i\d+|bf16|index)", token),
    "value": lambda token: token[0] == "%",
    "operation": lambda token: re.fullmatch(r"(remat|linalg|tensor|arith|math|scf|complex)\.\w+", token),
    "keyword": lambda token: re.fullmatch(r'[a-z_]{3,}|"[^"]*"', token),
    "brackets": lambda token: token in ("{", "<", "["),
}


def mutate(text, dice, other):
    """One random change; `other` is another piece, to take lines and tokens from."""
    kind = dice.choices(list(KINDS), list(KINDS.values()))[0]
    if kind == "item":  # `, name = value` or `name = value, ` of a list of attributes.
        found = list(re.finditer(r", \w+ = [^,={}]+(?=[,}])|(?<=\{)\w+ = [^,={}]+, ?", text))
        if not found:
            return text
        item = dice.choice(found)
        return text[:item.start()] + text[item.end():]
    if kind in ("dimension", "element"):
        return mutate_types(kind, text, dice)
    if kind not in ("token", "brackets") and kind.split("-")[0] not in PLACES:
        return mutate_lines(kind, text, dice, other)
    tokens = TOKEN.findall(text)
    base = kind.split("-")[0]
    found = [i for i, token in enumerate(tokens) if token and PLACES[base](token)]
    if not found:
        return text
    at = dice.choice(found)
    places = [i for i in found if tokens[i] == tokens[at]] if kind.endswith("everywhere") else [at]
    theirs = [token for token in TOKEN.findall(other) if PLACES[base](token)]
    if base == "number":
        new = dice.choice(NUMBERS + ["0", "1", "2", "3", "5", "16"] * 2)
    elif base == "type":
        new = re.sub(r"(f\d+|i\d+|bf16|index)$", lambda match: dice.choice(TYPES), tokens[at])
    elif base == "brackets":
        closing = {"{": "}", "<": ">", "[": "]"}[tokens[at]]
        end = next((i for i in range(at, len(tokens)) if tokens[i] == closing), at)
        return "".join(tokens[:at] + tokens[end + 1:])
    elif base in ("value", "keyword") or not theirs or dice.random() < 0.5:
        new = tokens[dice.choice(found)]
    elif base == "token" and dice.random() < 0.5:
        new = dice.choice(["", tokens[at] * 2])
    else:
        new = dice.choice(theirs)
    for place in places:
        tokens[place] = new
    return "".join(tokens)


class Mutant:
    def __init__(self, seed, pieces, passes):
        self.dice = random.Random(seed)
        # Tests of errors hold much that the parser refuses as it is.
        good = [piece for piece in pieces if "errors" not in piece[0]]
        self.path, text = self.dice.choice(good if self.dice.random() < 0.8 else pieces)
        if "@main" not in text:
            text = re.sub(r"func\.func (private )?@\w+\(", "func.func @main(", text, count=1)
        for _ in range(self.dice.choice([1, 1, 1, 2, 3])):
            text = mutate(text, self.dice, self.dice.choice(pieces)[1])
        self.tool, self.flags = self.dice.choice(GRAPH_WAYS if "remat.graph" in text else WAYS)
        if self.dice.random() < PASSES_SHARE:
            self.tool, self.flags = "remat-opt", choose_passes(passes, self.dice)
        # A product of so large a size ends, but not soon.
        self.text = text.replace("4096", "64") if "--gradcheck" in self.flags else text

    def run(self, options, folder, text=None):
        write(folder + "/mutant.mlir", self.text if text is None else text)
        flags = list(self.flags)
        if self.tool != "remat-opt" and "--gradcheck" not in flags:
            flags.append("--effort=0.02")
        return run([os.path.join(options.tools, self.tool), "mutant.mlir"] + flags, options.timeout, folder)

    def command(self):
        return " ".join([self.tool, "mutant.mlir"] + [f"'{flag}'" for flag in self.flags])


def died_in_parser(trace):
    """Whether the tool died in MLIR's own parser, before any code of this project in the stack."""
    for frame in re.findall(r"^ *#?\d+ .*0x.*", trace, re.MULTILINE):
        if "mlir::detail::Parser::" in frame:
            return True
        if not re.search(r"lib(MLIR|LLVM|c)\.so", frame):
            return False
    return False


def is_upstream(options, folder, mlir_opt, outcome):
    """Whether MLIR's own tool dies of the same text, or the tool died while it parsed what is MLIR's.

    Some of these parsers use memory after they have freed it, so that not every run dies."""
    parsed = re.findall(r"MLIR Parser: custom op parser '([^']+)'", outcome.err)
    if parsed and not parsed[-1].startswith("remat."):
        return True
    if died_in_parser(outcome.err):
        return True
    return bool(mlir_opt and run([mlir_opt, "mutant.mlir"] + UPSTREAM, options.timeout, folder).problem)


def main():
    options = parse_options(__doc__)
    session = Session("mutate", options)
    tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    pieces = find_pieces(tests)
    passes = find_passes(os.path.join(tests, "..", "include"))
    mlir_opt = shutil.which("mlir-opt") or shutil.which("/usr/lib/llvm-22/bin/mlir-opt")
    known = {}
    for seed in session.seeds():
        mutant = Mutant(seed, pieces, passes)
        outcome = mutant.run(options, session.work)
        session.count("runs")
        if outcome.status == 0 and not outcome.problem:
            session.count("accepted")
        if not outcome.problem:
            continue
        if is_upstream(options, session.work, mlir_opt, outcome):
            session.count("upstream")
            continue
        # The same crash from many mutants is one finding; its numbers and names differ.
        key = re.sub(r"\d+|'[^']*'", "#", outcome.problem)
        known[key] = known.get(key, 0) + 1
        if known[key] > 1:
            session.count("repeated")
            continue
        report(session, seed, mutant, outcome, options)
    session.finish()


def report(session, seed, mutant, outcome, options):
    text = mutant.text
    if options.keep and not options.no_shrink:
        def fails(lines):
            other = mutant.run(options, session.work, "\n".join(lines))
            return other.problem is not None and other.problem.split(":")[0] == outcome.problem.split(":")[0]

        text = "\n".join(shrink(text.split("\n"), fails, 120))
    symptom = f"{mutant.tool} on a mutant of {mutant.path}: {outcome.problem}"
    files = {"mutant.mlir": text, "whole.mlir": mutant.text, "stderr": outcome.err}
    session.report(seed, symptom, files, mutant.command())


if __name__ == "__main__":
    main()
