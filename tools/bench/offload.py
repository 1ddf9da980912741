#!/usr/bin/env python3
"""Sweeps the speed of the link to the host: recomputation alone, offloading alone, and both together.

usage: offload.py BIN INSTANCE.json... [--budget=60] [--factors=0,1/8,1/4,1/2,1,3/2,2,3,4,inf] [--planner=auto]
                  [--effort=1] [--time-limit=S] [--seed=1] [--json=FILE]

BIN is the folder with remat-plan. The budget is a percentage of the peak without rematerialization. A factor is a
bandwidth, in units of one that moves that peak's bytes once while every op runs once. Prints what each of the three
adds to the time of running every op once, in percent, waits for transfers included; `-` where no plan fits.

Flags: `better` where both together are strictly faster than each alone, `WORSE` where they are slower than one of them,
`slower` where a larger bandwidth gave a slower plan. Exit status 1 if anything is `WORSE`, or if no bandwidth of an
instance is `better`.
"""
import fractions, json, os, subprocess, sys, tempfile

INFEASIBLE_EXIT = 3

paths = [a for a in sys.argv[1:] if not a.startswith("--")]
options = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:] if a.startswith("--"))
KNOWN_OPTIONS = {"budget", "factors", "planner", "effort", "time-limit", "seed", "json"}
if len(paths) < 2 or set(options) - KNOWN_OPTIONS:
    sys.exit(__doc__)
tool = os.path.join(paths[0], "remat-plan")


def plan(file, bandwidth, scratch):
    """The report; None if there is no plan."""
    report = os.path.join(scratch, "report.json")
    command = [tool, file, f"--budget={options.get('budget', '60')}%", "--budget-counts=peak",
               f"--link-bandwidth={bandwidth}", "--planner=" + options.get("planner", "auto"),
               "--seed=" + options.get("seed", "1"), "--json=" + report]
    command.append("--time-limit=" + options["time-limit"] if "time-limit" in options
                   else "--effort=" + options.get("effort", "1"))
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode not in (0, INFEASIBLE_EXIT):
        sys.exit(f"{file}, bandwidth {bandwidth}: exit {process.returncode}: {process.stderr.strip()[-300:]}")
    return json.load(open(report)) if process.returncode == 0 else None


def bandwidth_of(factor, report):
    """Bytes per second, as the tool takes it. Costs are nanoseconds."""
    if factor == "inf":
        return "inf"
    return str(int(fractions.Fraction(factor) * report["save_all_peak_bytes"] * 10**9 / max(1, report["base_cost"])))


def sweep(file, scratch):
    instance = json.load(open(file))
    for node in instance["nodes"]:
        node["recomputable"] = False
    alone = os.path.join(scratch, "offload-only.json")
    json.dump(instance, open(alone, "w"))
    name = os.path.splitext(os.path.basename(file))[0]
    recomputed = plan(file, 0, scratch)
    measure = recomputed or plan(file, "inf", scratch)
    if not measure:
        sys.exit(f"{name}: no plan fits, not even with an infinite bandwidth")
    before = None
    for factor in options.get("factors", "0,1/8,1/4,1/2,1,3/2,2,3,4,inf").split(","):
        bandwidth = bandwidth_of(factor, measure)
        plans = {"recompute": recomputed, "offload": plan(alone, bandwidth, scratch),
                 "both": plan(file, bandwidth, scratch)}
        times = {kind: report and report["time"] for kind, report in plans.items()}
        others = [t for t in (times["recompute"], times["offload"]) if t is not None]
        both, flags = times["both"], []
        if others and (both is None or both > min(others)):
            flags.append("WORSE")
        elif both is not None and (not others or both < min(others)):
            flags.append("better")
        if before is not None and (both is None or both > before):
            flags.append("slower")
        before = both
        yield {"instance": name, "factor": factor, "bandwidth": bandwidth, "base_cost": measure["base_cost"],
               "optimal": bool(plans["both"] and plans["both"]["optimal"]), **times, "flags": flags}


def percent(row, kind):
    time = row[kind]
    return f"{'-':>10}" if time is None else f"{100 * (time / max(1, row['base_cost']) - 1):10.4f}"


rows, failed = [], False
print(f"{'instance':24} {'factor':>7} {'bytes/s':>16} {'recompute':>10} {'offload':>10} {'both':>10}  flags")
with tempfile.TemporaryDirectory() as scratch:
    for file in paths[1:]:
        better = False
        for row in sweep(file, scratch):
            print(f"{row['instance']:24} {row['factor']:>7} {row['bandwidth']:>16} {percent(row, 'recompute')} "
                  f"{percent(row, 'offload')} {percent(row, 'both')}  "
                  f"{' '.join(row['flags'] + ['optimal'] * row['optimal'])}", flush=True)
            rows.append(row)
            failed |= "WORSE" in row["flags"]
            better |= "better" in row["flags"]
        if not better:
            print(f"{rows[-1]['instance']}: no bandwidth at which both together are strictly better")
            failed = True
if "json" in options:
    json.dump(rows, open(options["json"], "w"), indent=1)
sys.exit(failed)
