#!/usr/bin/env python3
"""Plans random graphs under budgets and efforts that grow, and counts where more of either leads to a dearer plan.

usage: monotone.py BIN [--graphs=20] [--seed=1] [--effort=1] [--efforts=0.25,0.5,1,2] [--what=budgets|efforts]
                   [--budget-counts=peak|arena] [--jobs=1] [--verbose]

BIN is the folder with remat-plan. The graphs have 60 to 300 ops: most are layered, a fifth are chains, and a fifth are
networks; graph i is made with the seed SEED + i by make_planning_instance.py. There are eight budgets: the smallest one
(`--budget=min`), the peak without rematerialization, and six between them, more of them near the smallest. With
`--what=efforts`, each of the efforts plans for the smallest budget that the first of them finds, and for two above.

A pair is two runs of one graph, the second with more bytes or effort; it is dearer if its plan takes more time. The
last line has how many are, by how much the extra time grew on average, and the processor time of all runs. Exit status
1 if there are any.
"""
import concurrent.futures, json, os, resource, subprocess, sys, tempfile

SIZES = (60, 100, 140, 200, 300)
KINDS = ("layered", "chain", "layered", "transformer", "layered", "layered", "chain", "layered", "unet", "layered")
PARTS = (0.002, 0.01, 0.04, 0.12, 0.3, 0.6, 1)
EFFORT_PARTS = (0, 0.02, 0.2)
INFEASIBLE_EXIT = 3

paths = [a for a in sys.argv[1:] if not a.startswith("--")]
options = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:] if a.startswith("--"))
KNOWN_OPTIONS = {"graphs", "seed", "effort", "efforts", "what", "budget-counts", "jobs", "verbose"}
if len(paths) != 1 or set(options) - KNOWN_OPTIONS or options.get("what", "budgets") not in ("budgets", "efforts"):
    sys.exit(__doc__)
tool, counts = os.path.join(paths[0], "remat-plan"), options.get("budget-counts", "peak")
generator = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_planning_instance.py")


def make_graph(number, folder):
    seed = int(options.get("seed", 1)) + number
    kind, ops = KINDS[number % len(KINDS)], SIZES[(number + number // len(KINDS)) % len(SIZES)]
    name = f"{kind}-{ops}-{seed}"
    path = os.path.join(folder, name + ".json")
    subprocess.run([sys.executable, generator, kind, str(ops), path, f"--seed={seed}"], check=True,
                   stdout=subprocess.DEVNULL)
    return name, path


def plan(path, budget, effort):
    """The report of a run; None where it finds no plan."""
    report = f"{path}.{budget}.{effort}.report"
    command = [tool, path, f"--budget={budget}", f"--effort={effort}", f"--budget-counts={counts}", "--json=" + report]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, INFEASIBLE_EXIT):
        sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    return None if run.returncode else json.load(open(report))


def place(report, part):
    """A budget that much of the way from the smallest one to the peak without rematerialization."""
    least, most = report["budget_bytes"], report["save_all_peak_bytes"]
    return least + int(part * max(most - least, 0))


def plan_budgets(path):
    effort = options.get("effort", "1")
    first = plan(path, "min", effort)
    budgets = sorted({place(first, part) for part in PARTS} - {first["budget_bytes"]})
    return [[(first["budget_bytes"], first)] + [(budget, plan(path, budget, effort)) for budget in budgets]]


def plan_efforts(path):
    efforts = options.get("efforts", "0.25,0.5,1,2").split(",")
    first = plan(path, "min", efforts[0])
    budgets = [place(first, part) for part in EFFORT_PARTS]
    return [[(f"{budget}@{effort}", plan(path, budget, effort)) for effort in efforts] for budget in budgets]


def compare(series):
    """The pairs of a series in which the second is the dearer one: (both labels, growth of the extra time)."""
    dearer = []
    for i, (less, one) in enumerate(series):
        for more, other in series[i + 1:]:
            if one is None or (other is not None and other["time"] <= one["time"]):
                continue
            growth = (other["time"] - one["time"]) / max(one["time"] - one["base_cost"], 1) if other else float("inf")
            dearer.append((less, more, growth))
    return dearer


def measure(number):
    with tempfile.TemporaryDirectory() as folder:
        name, path = make_graph(number, folder)
        all_series = plan_efforts(path) if options.get("what") == "efforts" else plan_budgets(path)
    return name, all_series


pairs, found = 0, []
with concurrent.futures.ThreadPoolExecutor(int(options.get("jobs", 1))) as pool:
    for name, all_series in pool.map(measure, range(int(options.get("graphs", 20)))):
        for series in all_series:
            pairs += len(series) * (len(series) - 1) // 2
            dearer = compare(series)
            found += dearer
            if dearer or "verbose" in options:
                costs = " ".join(f"{label}:{report['tdi_percent']:.2f}" if report else f"{label}:-"
                                 for label, report in series)
                print(f"{name}: {len(dearer)} dearer of {costs}", flush=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
growths = [growth for *_, growth in found if growth != float("inf")]
mean = sum(growths) / len(growths) if growths else 0
print(f"{len(found)} of {pairs} pairs dearer, the extra time on average by {100 * mean:.1f} %; "
      f"{len(found) - len(growths)} of them without a plan; {usage.ru_utime:.0f} s")
sys.exit(1 if found else 0)
