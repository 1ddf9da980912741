#!/usr/bin/env python3
"""budgets.py TOOLS: random networks, planned with more and with less freedom, each in a run of its own.

More bytes, more effort, a link to the host and packed forms must not make a plan slower, nor the smallest arena
larger."""

import json
import os
import random

from harness import Session, parse_options, run, write

EFFORTS = (0, 0.02, 0.1)
FREEDOMS = ((), ("--link-bandwidth=4GB/s",), ("--compress=int8",))
POINTWISE = ("math.tanh", "math.exp", "math.sin")


def make_network(seed):
    """A function of layers: products, gates, residuals and a loss, of uneven sizes."""
    dice = random.Random(seed)
    rows, lines, number = dice.choice([8, 24, 64]), [], [0]
    args = []

    def add(width, text):
        number[0] += 1
        lines.append(f"%v{number[0]} = {text.format(type=f'tensor<{rows}x{width}xf32>')}")
        return f"%v{number[0]}"

    def product(value, width, to):
        args.append(f"%w{len(args)}: tensor<{width}x{to}xf32>")
        empty = add(to, "tensor.empty() : {type}")
        zero = add(to, f"linalg.fill ins(%zero : f32) outs({empty} : {{type}}) -> {{type}}")
        return add(to, f"linalg.matmul ins({value}, %w{len(args) - 1} : tensor<{rows}x{width}xf32>, "
                       f"tensor<{width}x{to}xf32>) outs({zero} : {{type}}) -> {{type}}")

    def pointwise(value, width):
        return add(width, f"{dice.choice(POINTWISE)} {value} : {{type}}")

    width = dice.choice([8, 16, 40])
    first, value = width, "%x"
    for _ in range(dice.randint(2, 7)):
        kind, to = dice.choice(["plain", "gated", "residual", "pointwise"]), dice.choice([8, 16, 40, 96])
        if kind == "pointwise":
            for _ in range(dice.randint(1, 4)):
                value = pointwise(value, width)
        elif kind == "plain":
            value, width = pointwise(product(value, width, to), to), to
        elif kind == "gated":
            gate, up = pointwise(product(value, width, to), to), product(value, width, to)
            value = product(add(to, f"arith.mulf {gate}, {up} : {{type}}"), to, width)
        else:
            inner = product(pointwise(product(value, width, to), to), to, width)
            value = add(width, f"arith.addf {value}, {inner} : {{type}}")
    square = add(width, f"arith.mulf {value}, {value} : {{type}}")
    inputs = ", ".join([f"%x: tensor<{rows}x{first}xf32>", *args])
    body = "\n  ".join(["%zero = arith.constant 0.0 : f32", *lines, "%none = tensor.from_elements %zero : tensor<f32>",
                        f"%loss = linalg.reduce {{arith.addf}} ins({square} : tensor<{rows}x{width}xf32>) "
                        "outs(%none : tensor<f32>) dimensions = [0, 1]", "return %loss : tensor<f32>"])
    return f"func.func @main({inputs}) -> tensor<f32> {{\n  {body}\n}}\n"


class Trial:
    """One network, and what was planned of it by budget, effort and freedom."""

    def __init__(self, seed, options, session):
        self.seed, self.options, self.session = seed, options, session
        self.text = make_network(seed)
        self.folder = session.work
        write(self.folder + "/model.mlir", self.text)

    def plan(self, budget, effort, freedom):
        """The report of a run; None where the budget has no plan."""
        flags = ["model.mlir", f"--budget={budget}", f"--effort={effort}", *freedom, "--json=report.json"]
        command = "remat-plan " + " ".join(flags)
        outcome = run([self.options.tools + "/remat-plan", *flags], self.options.timeout, self.folder)
        self.session.count("runs")
        if outcome.problem or outcome.status not in (0, 3):
            self.report(outcome.problem or outcome.err.splitlines()[0], command)
            return None
        if outcome.status:
            return None
        with open(self.folder + "/report.json") as file:
            return dict(json.load(file), command=command)

    def report(self, symptom, command):
        self.session.report(self.seed, symptom, {"model.mlir": self.text}, command)

    def check(self):
        dice = random.Random(self.seed + 1)
        plans = {}
        for effort in EFFORTS:
            for freedom in FREEDOMS:
                report = self.plan("min", effort, freedom)
                if report:
                    plans["min", effort, freedom] = report
        if not plans:
            return
        smallest = min(report["arena_bytes"] for report in plans.values())
        all_bytes = next(iter(plans.values()))["save_all_peak_bytes"]
        budgets = sorted({report["arena_bytes"] for report in plans.values()}
                         | {int(smallest + dice.random() * (all_bytes - smallest)) for _ in range(4)})
        for budget in budgets:
            for effort in EFFORTS:
                for freedom in FREEDOMS:
                    plans[budget, effort, freedom] = self.plan(budget, effort, freedom)
        self.compare(plans, budgets)

    def compare(self, plans, budgets):
        for effort in EFFORTS:
            for freedom in FREEDOMS:
                of = lambda budget: plans.get((budget, effort, freedom))
                what = f"at effort {effort} {' '.join(freedom)}"
                best = of("min")
                for budget in budgets:
                    found = of(budget)
                    if best and best["arena_bytes"] <= budget:
                        self.is_no_worse("budget", best, found, f"{what}, {budget} bytes against "
                                                                f"{best['arena_bytes']}")
                    if found and (not best or found["time"] < best["time"]):
                        best = found
        for budget in ["min", *budgets]:
            for effort in EFFORTS:
                for freedom in FREEDOMS[1:]:
                    self.is_no_worse("freedom", plans.get((budget, effort, ())), plans.get((budget, effort, freedom)),
                                     f"of {budget} bytes at effort {effort} with {freedom[0]}", budget == "min")
            for freedom in FREEDOMS:
                for less, more in zip(EFFORTS, EFFORTS[1:]):
                    self.is_no_worse("effort", plans.get((budget, less, freedom)), plans.get((budget, more, freedom)),
                                     f"of {budget} bytes at effort {more} against {less} {' '.join(freedom)}",
                                     budget == "min")

    def is_no_worse(self, kind, less, more, what, is_smallest=False):
        """`more` may do whatever `less` does. Of the smallest arenas, the bytes count."""
        if less is None:
            return
        self.session.count("comparisons")
        key = "arena_bytes" if is_smallest else "time"
        if more is not None and more[key] <= less[key]:
            return
        worse = "no plan" if more is None else f"{more[key] / less[key] - 1:+.2%}"
        self.session.count("worse by " + kind)
        self.report(f"{kind}: {key} {what}: {worse}", "; ".join(report["command"] for report in (less, more) if report))


def main():
    options = parse_options(__doc__)
    session = Session("budgets", options)
    for seed in session.seeds():
        session.count("networks")
        Trial(seed, options, session).check()
    session.finish()


if __name__ == "__main__":
    main()
