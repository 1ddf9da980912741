"""passes_alone.py REMAT_OPT MODEL: runs each pass of remat-opt alone on a model that has nothing of remat's dialect.

A pass may refuse it, with status 1 and a message. It may not die because what it makes belongs to a dialect that no
other pass has loaded."""
import re
import subprocess
import sys

tool, model = sys.argv[1:]
listed = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
passes = sorted(set(re.findall(r"^      --(remat-[\w-]+) ", listed, re.MULTILINE)))
failed = 0
for name in passes:
    done = subprocess.run([tool, model, "--" + name, "-o", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or (done.returncode == 1 and "error: " not in done.stderr):
        failed += 1
        print(f"{name}: status {done.returncode}: {done.stderr[:300]}")
print(f"{len(passes)} passes, {failed} failed")
