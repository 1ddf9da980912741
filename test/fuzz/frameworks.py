# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the comparisons with frameworks have in common: options, and running each case with each seed."""

import argparse
import os
import subprocess
import sys
import tempfile
import time


def make_parser(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", type=os.path.abspath, help="the folder of remat-run")
    parser.add_argument("--seed", type=int, default=0, help="of the first round; the next has the next number")
    parser.add_argument("--count", type=int, default=1, help="rounds of all cases")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no new case after this time")
    parser.add_argument("--only", default="", metavar="NAME,...", help="these cases")
    parser.add_argument("--keep", default="", metavar="DIR", help="write programs and their data to this folder")
    return parser


def run_cases(options, cases, run_case):
    """Calls run_case(name, seed, folder), which returns what is wrong or None; returns the exit status."""
    only = [name for name in options.only.split(",") if name]
    for name in only:
        if name not in cases:
            sys.exit(f"unknown case '{name}', known are {', '.join(cases)}")
    begin, runs, failures = time.time(), 0, 0
    for seed in range(options.seed, options.seed + options.count):
        for name in only or cases:
            if time.time() - begin > options.seconds:
                break
            with tempfile.TemporaryDirectory() as temporary:
                folder = os.path.join(options.keep, f"{name}-{seed}") if options.keep else temporary
                os.makedirs(os.path.join(folder, "in"), exist_ok=True)
                try:
                    error = run_case(name, seed, folder)
                except subprocess.TimeoutExpired:
                    error = "does not end"
                except Exception as problem:  # of the case itself, or of the framework
                    error = f"the framework: {type(problem).__name__}: {problem}"[:400]
            runs += 1
            if error:
                failures += 1
                print(f"{name}, seed {seed}: {error}", flush=True)
    print(f"{runs} programs, {failures} findings")
    return 1 if failures else 0
