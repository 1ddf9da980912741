"""Compares profiles of one step (`remat-run --profile --json`) that are grouped in several ways.

usage: check_profiles.py OP.json LAYER.json NAME.json KERNEL.json PHASE.json

Times differ from run to run; calls, bytes and arithmetic do not, and rows add up to them in each grouping.
"""

import json
import sys

COUNTS = ("calls", "recompute_calls", "bytes", "flops")


def main():
    sums = set()
    groups = {}
    for path in sys.argv[1:]:
        with open(path) as file:
            report = json.load(file)
        profile = report["profile"]
        rows = profile["rows"]
        groups[profile["group"]] = {row["name"]: row for row in rows}
        sums.add(tuple(sum(row[count] for row in rows) for count in COUNTS))
        for count in (*COUNTS, "self_nanoseconds", "cpu_nanoseconds", "recompute_nanoseconds"):
            assert profile["total"][count] == sum(row[count] for row in rows), profile["total"]
        for row in rows:
            assert row["total_nanoseconds"] >= row["self_nanoseconds"] >= row["recompute_nanoseconds"], row
        assert sums == {next(iter(sums))}, f"{path}: {sums}"
        calls, repeated = next(iter(sums))[:2]
        assert calls == report["tasks"] and repeated == report["recomputed_tasks"], sums
        if profile["sort"] == "self":
            times = [row["self_nanoseconds"] for row in rows]
            assert times == sorted(times, reverse=True), times
    # What is in a layer is a part of its time.
    layers = groups["layer"]
    inner = sum(row["self_nanoseconds"] for name, row in layers.items() if name.startswith("h.*"))
    assert layers["h.*"]["total_nanoseconds"] == inner, (layers["h.*"], inner)
    assert groups["phase"]["recompute"]["calls"] == groups["phase"]["recompute"]["recompute_calls"]
    # 64 x 64 by 64 x 192, in both layers: an addition and a multiplication for each pair of elements.
    matmul = groups["kernel"]["matmul"]
    assert matmul["calls"] == 2 and matmul["flops"] == 2 * 2 * 64 * 64 * 192, matmul
    # Two operands and the result, in f32.
    assert matmul["bytes"] == 2 * 4 * (64 * 64 + 64 * 192 + 64 * 192), matmul


main()
