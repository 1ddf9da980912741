"""Compares what two orders of one graph need: the first as it is, the second with --reorder.

usage: compare_orders.py REMAT-PLAN NATURAL.json DEFERRED.json RATIO EFFORT [PERCENT]

Budgets are peaks. The peak of the second is at least RATIO times that of the first; with --reorder it is no larger than that, and a budget
as large takes no recomputation. With PERCENT of the first's peak as the budget, the second takes at most 1 % longer.
"""
import json, subprocess, sys

program, natural, deferred, ratio, effort = sys.argv[1:6]


def plan(instance, *options):
    report = instance + ".report"
    subprocess.run([program, instance, f"--effort={effort}", "--budget-counts=peak", "--json=" + report, *options], check=True)
    with open(report) as file:
        return json.load(file)


def expect(condition, message):
    if not condition:
        sys.exit(f"compare_orders.py: error: {message}")


peak = plan(natural)["peak_bytes"]
given = plan(deferred)["peak_bytes"]
expect(given >= float(ratio) * peak, f"the given order needs {given} bytes, expected {ratio} times {peak}")
lower = plan(deferred, "--reorder")["peak_bytes"]
expect(lower <= peak, f"the returned order needs {lower} bytes, expected at most {peak}")
within = plan(deferred, "--reorder", f"--budget={peak}")
expect(within["tdi_percent"] == 0, f"within {peak} bytes +{within['tdi_percent']} %, expected no recomputation")
if len(sys.argv) > 6:
    budget = f"--budget={peak * int(sys.argv[6]) // 100}"
    times = [plan(natural, budget)["time"], plan(deferred, budget, "--reorder")["time"]]
    expect(times[1] <= 1.01 * times[0], f"within a smaller budget {times[1]}, expected at most 1 % above {times[0]}")
