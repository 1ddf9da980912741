"""What zoo.py and zoo_jax.py share: entries by name, the command line, and what is said about those that fail.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
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
        parser.add_argument("-v", "--verbose", action="store_true", help="print where errors come from")
        options = parser.parse_args()
        unknown = [name for name in options.names if name not in self.entries]
        if unknown:
            parser.error("unknown: %s; expected some of %s" % (", ".join(unknown), ", ".join(self.entries)))
        if options.list:
            print("\n".join(self.entries))
            return 0
        names, bad = options.names or list(self.entries), []
        for name in names:
            try:
                if not check(name, self.entries[name], options):
                    bad.append(name)
            except ModuleNotFoundError as error:
                print("skip %-22s %s" % (name, error), flush=True)
            except Exception as error:
                bad.append(name)
                print("FAIL %-22s %s: %s" % (name, type(error).__name__, " ".join(str(error).split())[:600]),
                      flush=True)
                if options.verbose:
                    traceback.print_exc()
        print("%d of %d failed: %s" % (len(bad), len(names), ", ".join(bad) or "none"))
        return int(bool(bad))
