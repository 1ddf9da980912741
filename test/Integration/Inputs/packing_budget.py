# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds a budget at which a plan packs values; which one does depends on the CPU.

usage: packing_budget.py [--without] OPTIONS REPORT PERCENT,... COMMAND...

Runs the command, which writes REPORT, under each budget until the plan packs a value (with --without: makes values again
and packs none), and writes that budget to OPTIONS, a response file.
"""
import json, subprocess, sys

without = sys.argv[1] == "--without"
options, report, budgets, *command = sys.argv[1 + without :]
tried = []
for budget in budgets.split(","):
    if subprocess.run([*command, f"--budget={budget}%"], stdout=subprocess.DEVNULL).returncode:
        continue
    run = json.load(open(report))
    run = run[0] if isinstance(run, list) else run
    tried.append((budget, run["packed_values"], run["recomputed_tasks"]))
    if (run["packed_values"] == 0 and run["recomputed_tasks"] > 0) if without else run["packed_values"] > 0:
        open(options, "w").write(f"--budget={budget}%\n")
        sys.exit()
sys.exit(f"no such budget: (budget, packed values, tasks that run again) {tried}")
