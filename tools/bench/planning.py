#!/usr/bin/env python3
"""Plans a folder of instances under several budgets, checks every schedule and compares with known results.

usage: planning.py BIN INSTANCE_DIR [--baselines=FILE] [--evaluate=EVALUATE.py] [--budgets=90,80,60,50,40,30]
                   [--planners=auto] [--time-limit=5] [--large-time-limit=10] [--reorder[=both]] [--threads=1]
                   [--seed=1] [--only=SUBSTRING,...] [--jobs=1] [--json=FILE] [--budget-counts=peak|arena]

BIN is the folder with remat-plan. A budget is a percentage of the instance's peak without rematerialization, `min`, or
bytes with `B` behind; `--budgets=baseline` takes those of the baselines file. Instances above 1200 ops get the large
time limit; `--time-limit=none` leaves the planner to its own deterministic effort. `--reorder` plans in free order,
`--reorder=both` in both orders and checks that free order is never worse. Budgets bound the peak, as in the literature,
or with `--budget-counts=arena` the arena that the copies of a plan are packed into; one that is too large is an error.

EVALUATE.py is called as `EVALUATE.py INSTANCE SCHEDULE --budget N --json` and must print `valid`, `peak` and
`tdi_percent`; exit status 0 is a valid schedule within the budget. The baselines file holds a list `best_known` of
{"instance", "frac", "best_known_tdi" (null where none is known), "proven_optimal", "proven_lower_bound"}.

Flags: `=` as good as the best known (within 0.005 points), `better`, `worse`, `far` (more than 3 % worse), `new` (no
schedule was known), `infeasible` (no plan found; `MISSED` where one is known), `optimal` (proven), `cut` (the clock
ended it). Exit status 1 when a schedule is invalid, the tool failed, a free order is worse, or a plan is missing where
one is known.
"""
import concurrent.futures, glob, json, os, statistics, subprocess, sys, tempfile, time

DEFAULT_BUDGETS = "90,80,60,50,40,30"
LARGE_OPS = 1200
INFEASIBLE_EXIT = 3
EQUAL_POINTS, BETTER_POINTS, FAR_RATIO = 0.005, 1e-4, 1.03

paths = [a for a in sys.argv[1:] if not a.startswith("--")]
options = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:] if a.startswith("--"))
KNOWN_OPTIONS = {"baselines", "evaluate", "budgets", "planners", "time-limit", "large-time-limit", "reorder", "threads",
                 "seed", "only", "jobs", "json", "budget-counts"}
if len(paths) != 2 or set(options) - KNOWN_OPTIONS:
    sys.exit(__doc__)
tool, folder = os.path.join(paths[0], "remat-plan"), paths[1]


def load_baselines():
    """(instance, percent) -> entry of the baselines file."""
    if "baselines" not in options:
        return {}
    entries = json.load(open(options["baselines"]))["best_known"]
    return {(e["instance"], f"{100 * e['frac']:g}"): e for e in entries}


def run_measured(command, scratch):
    """Exit status, standard error, seconds and the largest resident set in MiB."""
    with open(os.path.join(scratch, "stderr"), "w+") as stderr:
        start = time.time()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.time() - start
        stderr.seek(0)
        return process.returncode, stderr.read().strip(), seconds, usage.ru_maxrss / 1024


def budget_option(instance, budget):
    if budget == "min":
        return "min"
    if budget.endswith("B"):
        return budget[:-1]
    peak = instance.get("stats", {}).get("no_remat_peak")
    return str(int(float(budget) / 100 * peak)) if peak else budget + "%"


def plan(case):
    """Runs one case; returns it with what came out."""
    row = dict(case)
    instance = json.load(open(case["file"]))
    large = case["n"] > LARGE_OPS
    limit = options.get("large-time-limit", "10") if large else options.get("time-limit", "5")
    if options.get("time-limit") == "none":
        limit = "none"
    with tempfile.TemporaryDirectory() as scratch:
        schedule, report = os.path.join(scratch, "schedule.json"), os.path.join(scratch, "report.json")
        command = [tool, case["file"], "--budget=" + budget_option(instance, case["budget"]),
                   "--budget-counts=" + options.get("budget-counts", "peak"), "--planner=" + case["planner"],
                   "--search-threads=" + options.get("threads", "1"), "--seed=" + options.get("seed", "1"),
                   "-o", schedule, "--json=" + report]
        if limit != "none":
            command.append("--time-limit=" + limit)
        if case["reorder"]:
            command.append("--reorder")
        row["exit"], message, row["wall_seconds"], row["memory_mib"] = run_measured(command, scratch)
        row["report"] = json.load(open(report)) if os.path.exists(report) else {}
        if row["exit"] not in (0, INFEASIBLE_EXIT):
            row["error"] = f"exit {row['exit']}: " + (message.splitlines() or ["no message"])[-1]
        elif row["exit"] == 0:
            evaluate(row, schedule)
    judge(row)
    return row


def evaluate(row, schedule):
    """Fills in `tdi` and `peak`, from the evaluator if there is one; a disagreement is an error."""
    report = row["report"]
    row["tdi"], row["peak"] = report.get("tdi_percent"), report.get("peak_bytes")
    budget = report.get("budget_bytes")
    if report["budget_counts"] == "arena" and budget is not None and report["arena_bytes"] > budget:
        row["error"] = f"the arena takes {report['arena_bytes']} bytes of {budget}"
    if "evaluate" not in options:
        return
    command = [sys.executable, options["evaluate"], row["file"], schedule, "--json"]
    if report.get("budget_bytes") is not None:
        command += ["--budget", str(report["budget_bytes"])]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        text = process.stdout.strip() or process.stderr.strip()
        row["error"] = f"evaluator: exit {process.returncode}: {text[-200:]}"
        row["tdi"] = None
        return
    verdict = json.loads(process.stdout)
    if verdict["peak"] != row["peak"]:
        row["error"] = f"evaluator: peak is {verdict['peak']}, reported {row['peak']}"
    elif abs(verdict["tdi_percent"] - row["tdi"]) > 1e-6:
        row["error"] = f"evaluator: TDI is {verdict['tdi_percent']}, reported {row['tdi']}"
    row["tdi"] = verdict["tdi_percent"]


def judge(row):
    """Compares with the best known."""
    known, tdi, flags = row["best_known"], row.get("tdi"), []
    if row.get("error"):
        flags.append("ERROR")
    elif tdi is None:
        flags.append("infeasible" if known is None else "MISSED")
    elif known is not None:
        far = tdi > known * FAR_RATIO + EQUAL_POINTS
        better = tdi < known - BETTER_POINTS
        flags.append("far" if far else "better" if better else "=" if tdi <= known + EQUAL_POINTS else "worse")
    elif row["has_baselines"]:
        flags.append("new")
    flags += [name for key, name in (("optimal", "optimal"), ("cut_short", "cut")) if row["report"].get(key)]
    row["flags"] = flags


def cases():
    baselines = load_baselines()
    only = [s for s in options.get("only", "").split(",") if s]
    orders = {"": [True], "both": [False, True]}[options["reorder"]] if "reorder" in options else [False]
    for file in sorted(glob.glob(os.path.join(folder, "*.json"))):
        name = os.path.splitext(os.path.basename(file))[0]
        if only and not any(s in name for s in only):
            continue
        instance = json.load(open(file))
        if "nodes" not in instance:
            continue
        budgets = options.get("budgets", DEFAULT_BUDGETS).split(",")
        if budgets == ["baseline"]:
            budgets = [b for i, b in baselines if i == name and baselines[i, b].get("best_known_tdi") is not None]
            budgets.sort(key=float, reverse=True)
        for budget in budgets:
            entry = baselines.get((name, budget), {})
            for planner in options.get("planners", "auto").split(","):
                for reorder in orders:
                    yield {"instance": name, "file": file, "n": len(instance["nodes"]), "budget": budget,
                           "planner": planner, "reorder": reorder, "has_baselines": bool(baselines),
                           "best_known": entry.get("best_known_tdi"),
                           "proven": bool(entry.get("proven_optimal"))}


def number(value, width, digits=3):
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"


def print_row(row):
    report = row["report"]
    label = row["planner"] + ("+reorder" if row["reorder"] else "")
    print(f"{row['instance']:24} {row['n']:6} {row['budget']:>6} {label:14} {number(row.get('tdi'), 9, 4)} "
          f"{number(row['best_known'], 9, 4)} {number(report.get('lower_bound_tdi_percent'), 9, 4)} "
          f"{number(report.get('first_plan_seconds'), 7)} {number(report.get('time_to_best'), 7)} "
          f"{row['wall_seconds']:7.2f} {row['memory_mib']:6.0f}  {' '.join(row['flags'])}", flush=True)
    if row.get("error"):
        print("   ", row["error"], flush=True)


def share(count, total):
    return f"{count}/{total}" + (f" ({100 * count / total:.1f} %)" if total else "")


def summarize(rows, label):
    """The lines to judge by, for one planner and one order."""
    known = [r for r in rows if r["best_known"] is not None]
    planned = [r for r in rows if r.get("tdi") is not None]
    print(f"-- {label}: {share(len(planned), len(rows))} planned, {sum(bool(r.get('error')) for r in rows)} errors")
    if known:
        compared = [r for r in known if r.get("tdi") is not None]
        reached = [r for r in compared if r["tdi"] <= r["best_known"] + EQUAL_POINTS]
        unproven = [r for r in known if not r["proven"]]
        better = [r for r in unproven if "better" in r["flags"]]
        proven = [r for r in known if r["proven"]]
        print(f"   feasible where a baseline is: {share(len(compared), len(known))}")
        print(f"   at the best known + {EQUAL_POINTS} points: {share(len(reached), len(known))}")
        print(f"   strictly better where that is not proven optimal: {share(len(better), len(unproven))}")
        # What our own bounds prove optimal cannot be beaten either.
        beatable = [r for r in unproven if r.get("tdi") is not None and
                    r["report"].get("lower_bound_tdi_percent", 0) < r["best_known"] - BETTER_POINTS]
        print(f"   ... nor proven optimal by us: "
              f"{share(sum('better' in r['flags'] for r in beatable), len(beatable))}")
        worse = [(r["tdi"] / r["best_known"] - 1 if r["best_known"] else float("inf"), r) for r in compared
                 if r["tdi"] > r["best_known"] + EQUAL_POINTS]
        if worse:
            ratio, row = max(worse, key=lambda w: w[0])
            print(f"   worst relative to the best known: +{100 * ratio:.2f} % ({row['instance']} {row['budget']}), "
                  f"{sum('far' in r['flags'] for r in compared)} beyond 3 %")
        else:
            print("   worst relative to the best known: none is worse")
        print(f"   proven optimal by us where it is known: "
              f"{share(sum(bool(r['report'].get('optimal')) for r in proven), len(proven))}")
    bounded = [r for r in planned if r["report"].get("lower_bound_tdi_percent") is not None]
    if bounded:
        gaps = [(r["tdi"] - r["report"]["lower_bound_tdi_percent"]) / r["tdi"] if r["tdi"] > 0 else 0.0
                for r in bounded]
        parts = statistics.quantiles(gaps, n=20) if len(gaps) > 1 else gaps * 19
        print(f"   (TDI - lower bound) / TDI: median {parts[9]:.3f}, at most {parts[14]:.3f} for 75 % and "
              f"{parts[17]:.3f} for 90 %; proven optimal: "
              f"{share(sum(bool(r['report'].get('optimal')) for r in bounded), len(bounded))}")
    first = [r["report"]["first_plan_seconds"] for r in planned if r["report"].get("first_plan_seconds") is not None]
    if first:
        print(f"   first plan: median {statistics.median(first):.3f} s, slowest {max(first):.3f} s; "
              f"largest resident set {max(r['memory_mib'] for r in rows):.0f} MiB")


def compare_orders(rows):
    """How many pairs are worse in free order than in the given one."""
    fixed = {(r["instance"], r["budget"], r["planner"]): r.get("tdi") for r in rows if not r["reorder"]}
    worse = 0
    for row in rows:
        if not row["reorder"]:
            continue
        before, after = fixed.get((row["instance"], row["budget"], row["planner"])), row.get("tdi")
        if before is not None and (after is None or after > before + 1e-9):
            worse += 1
            print(f"   free order is worse: {row['instance']} {row['budget']}: {after} instead of {before}")
    print(f"-- free order is worse on {worse} of {len(fixed)}")
    return worse


print(f"{'instance':24} {'n':>6} {'budget':>6} {'planner':14} {'TDI %':>9} {'known %':>9} {'bound %':>9} "
      f"{'first s':>7} {'best s':>7} {'seconds':>7} {'MiB':>6}  flags")
rows = []
with concurrent.futures.ThreadPoolExecutor(int(options.get("jobs", "1"))) as pool:
    for row in pool.map(plan, cases()):
        print_row(row)
        rows.append(row)
failed = sum(bool(r.get("error")) or "MISSED" in r["flags"] for r in rows)
for planner in options.get("planners", "auto").split(","):
    for reorder in (False, True):
        group = [r for r in rows if r["planner"] == planner and r["reorder"] == reorder]
        if group:
            summarize(group, planner + ("+reorder" if reorder else ""))
if options.get("reorder") == "both":
    failed += compare_orders(rows)
if "json" in options:
    for row in rows:
        row["file"] = os.path.basename(row["file"])
    json.dump(rows, open(options["json"], "w"), indent=1)
sys.exit(bool(failed) or not rows)
