"""Compares what the tools report of one step: same_numbers.py PLAN.json RUN.json COMPILE.txt"""
import json, re, sys

plan, run = (json.load(open(path)) for path in sys.argv[1:3])
text = open(sys.argv[3]).read()
compiled = dict(
    zip(("planned_peak_bytes", "save_all_peak_bytes", "arena_bytes", "budget_bytes"),
        re.search(r"planned peak (\d+) bytes \((\d+) without rematerialization\), arena (\d+), budget (\w+)", text).groups()))
plan["planned_peak_bytes"] = plan["peak_bytes"]
for key, value in compiled.items():
    # Without a budget, remat-run says how large the arena is.
    if value == "none":
        assert plan[key] is None, (key, plan[key])
        continue
    assert plan[key] == run[key] == int(value), (key, plan[key], run[key], value)
