"""What can go wrong, as exceptions. All are `remat.Error`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""


class Error(Exception):
    """The message has all diagnostics with their notes; `diagnostics` has them as dictionaries: severity, message,
    notes and, for what has a place in a file, file, line and column."""

    def __init__(self, message, diagnostics=()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class OptionError(Error, ValueError):
    """An unknown option, or a value that an option does not have."""


class CompileError(Error):
    """The module cannot be parsed or compiled."""


class InfeasibleBudget(Error):
    """No plan fits. `smallest_budget` is the smallest one that a plan is known for, in bytes; 0 if there is none."""

    def __init__(self, message, diagnostics, smallest_budget):
        super().__init__(message, diagnostics)
        self.smallest_budget = smallest_budget


class RunError(Error):
    """A step could not be loaded or did not run to its end; `status` is the runtime's name of what happened."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class ArgumentError(RunError, ValueError):
    """A step was called with tensors that are not those that it takes."""

    def __init__(self, message):
        super().__init__(message, "invalid argument")


class NoDeviceError(RunError):
    """There is no GPU that the step could run on, or no driver for it. The message names the library."""

    def __init__(self, message):
        super().__init__(message, "no device")


class ExportError(Error):
    """A program of a framework cannot be exported with all of its meaning."""
