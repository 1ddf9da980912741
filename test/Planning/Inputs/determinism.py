"""Runs a planner many times and compares the schedules: determinism.py OUT COMMAND... ; OUT is a file to write to.

Addresses are random or not, and at another place with every size of the environment; the number of threads changes."""
import os, shutil, subprocess, sys

out, command = sys.argv[1], sys.argv[2:]
fixed = ["setarch", "-R"] if shutil.which("setarch") and subprocess.call(["setarch", "-R", "true"]) == 0 else []
schedules = set()
for run in range(20):
    environment = dict(os.environ, REMAT_PADDING="x" * (997 * run))
    prefix = fixed if run % 5 == 4 else []
    subprocess.run(prefix + command + [f"--search-threads={1 + run % 2}", "-o", out], check=True, env=environment)
    schedules.add(open(out).read())
    os.remove(out)
sys.exit(f"{len(schedules)} different schedules in 20 runs" if len(schedules) > 1 else 0)
