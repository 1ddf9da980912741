"""What programs that compare random functions have in common: options, and a line for each finding.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import traceback
import warnings


def describe(error, show):
    """An error in a line; its trace is printed if it is to be shown."""
    if show:
        traceback.print_exc()
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return "%s: %s" % (type(error).__name__, " | ".join(lines[:2])[:400])


def run_all(check, doc):
    """Calls check(seed, budget, show), which returns what is wrong or None, the source, and whether it was compared.
    Returns the status of the program."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--budget")
    parser.add_argument("--refusals", action="store_true", help="print what is refused, too")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    findings = functions = refusals = 0
    for seed in range(options.seed, options.seed + options.count):
        wrong, source, was_compared = check(seed, options.budget, options.show)
        functions += was_compared
        if wrong and "ExportError" in wrong and "supported" in wrong and not options.refusals:
            refusals += 1
        elif wrong:
            findings += 1
            print("seed %d: %s\n%s" % (seed, wrong, source), flush=True)
    print("%d functions, %d of them refused, %d findings" % (functions, refusals, findings))
    return 1 if findings else 0
