"""damage.py with tools that die of some errors: to see that this is found, and that what they read is made smaller."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import damage

run = damage.run


def run_and_die(*arguments):
    outcome = run(*arguments)
    if "'backward' is not true" in outcome.err or "Invalid UTF-8" in outcome.err:
        outcome.problem = "dies with status -6: " + outcome.err.strip()
    return outcome


damage.run = run_and_die
damage.main()
