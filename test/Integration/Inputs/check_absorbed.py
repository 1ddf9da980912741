"""Checks reports of remat-run: the plan of the last one absorbs values, and all
have the peaks that were planned.

    check_absorbed.py REPORT.json"""

import json
import sys

first = json.load(open(sys.argv[1]))
reports = [first, *first["further_budgets"]]
for report in reports:
    peaks = {report[f"{kind}_peak_bytes"]
             for kind in ("planned", "simulated", "measured")}
    assert len(peaks) == 1, peaks
absorbed = sum(entry["absorbed"] for entry in reports[-1]["explanation"])
assert absorbed > 0, "nothing is absorbed"
assert reports[-1]["absorbed_tasks"] > 0
