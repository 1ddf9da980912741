"""What zoo.py and zoo_jax.py share: entries by name, the command line, and what is said about those that fail.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import concurrent.futures
import subprocess
import sys
import traceback


class Zoo:
    """Functions that make a model, by name. Where there are several `dtypes`, models are tried in one of them."""

    def __init__(self, description, dtypes=()):
        self.description, self.dtypes, self.entries = description, dtypes, {}

    def register(self, name):
        """A decorator that enters a function under `name`."""
        def enter(function):
            self.entries[name] = function
            return function
        return enter

    def run(self, check):
        """Does what the command line asks for. `check` is called with an entry's name, what makes it, and the options;
        it prints a line and returns whether all is well. Returns the exit status."""
        parser = argparse.ArgumentParser(description=self.description,
                                         formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("names", nargs="*", metavar="NAME", help="what to try; all, if none is named")
        parser.add_argument("--list", action="store_true", help="print the names and stop")
        parser.add_argument("--budget", help="bytes, or a share such as 80%% of what the step needs at most")
        if self.dtypes:
            parser.add_argument("--dtype", choices=self.dtypes, default=self.dtypes[0], help="the type of weights and "
                                "inputs")
        parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where the framework and remat "
                            "run")
        parser.add_argument("--jobs", type=int, default=1, metavar="N", help="try N at a time, each in a process")
        parser.add_argument("-v", "--verbose", action="store_true", help="print where errors come from")
        options = parser.parse_args()
        unknown = [name for name in options.names if name not in self.entries]
        if unknown:
            parser.error("unknown: %s; expected some of %s" % (", ".join(unknown), ", ".join(self.entries)))
        if options.list:
            print("\n".join(self.entries))
            return 0
        names = options.names or list(self.entries)
        if options.jobs > 1:
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                good = list(pool.map(lambda name: _try_apart(name, options), names))
        else:
            good = [self._try(name, check, options) for name in names]
        bad = [name for name, is_good in zip(names, good) if not is_good]
        print("%d of %d failed: %s" % (len(bad), len(names), ", ".join(bad) or "none"))
        return int(bool(bad))

    def _try(self, name, check, options):
        try:
            return check(name, self.entries[name], options)
        except ModuleNotFoundError as error:
            print("skip %-22s %s" % (name, error), flush=True)
            return True
        except Exception as error:
            print("FAIL %-22s %s: %s" % (name, type(error).__name__, " ".join(str(error).split())[:600]), flush=True)
            if options.verbose:
                traceback.print_exc()
            return False


def _try_apart(name, options):
    """Tries an entry in a process of its own."""
    command = [sys.executable, sys.argv[0], name, "--device=" + options.device]
    command += ["--%s=%s" % (key, getattr(options, key)) for key in ("budget", "dtype") if getattr(options, key, None)]
    process = subprocess.run(command + ["-v"] * options.verbose, capture_output=True, text=True, check=False)
    # The last line counts.
    lines = process.stdout.splitlines()[:-1]
    if process.returncode not in (0, 1):
        lines = ["FAIL %-22s exit status %d: %s" % (name, process.returncode, process.stderr.strip()[-300:])]
    if options.verbose:
        lines += process.stderr.splitlines()
    print("\n".join(lines), flush=True)
    return process.returncode == 0
