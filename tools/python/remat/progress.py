"""How far something is that takes longer than a second, in a line on standard error.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import sys
import threading
import time

from .errors import OptionError

MODES = ("auto", "always", "never")
BAR_WIDTH = 20
CLEAR_LINE = "\r\033[K"
# What is longer than the line of a terminal is cut off: in a second line, it would not be deleted.
CUT_LINES, WRAP_LINES = "\033[?7l", "\033[?7h"

_mode = None


def set_progress(mode):
    """Says when to print how far the compiler is, once a second and only of what takes longer than that: "always",
    "never", or "auto", where standard error is a terminal. None is what the environment has in REMAT_PROGRESS, else
    "auto"."""
    global _mode
    if mode is not None:
        check(mode, "progress")
    _mode = mode


def check(mode, what):
    if mode not in MODES:
        raise OptionError("%s is %r, expected one of %s" % (what, mode, ", ".join("'%s'" % known for known in MODES)))
    return mode


def is_terminal():
    # A notebook's has no such method, a program without a console has none at all.
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def is_shown():
    mode = _mode or check(os.environ.get("REMAT_PROGRESS") or "auto", "REMAT_PROGRESS")
    return is_terminal() if mode == "auto" else mode == "always"


def describe(reached):
    """The words for the last RematProgress, as the tools have them, and the share of the time that is proven."""
    if reached is None:
        return "no plan yet", None
    planner, time, bound, base, peak = reached

    def percent(nanoseconds):
        return 100 * (nanoseconds - base) / base if base > 0 else 0.0

    gap = (time - bound) / time if time > 0 else 0.0
    return "%s: time %d ns (+%.3f%%), bound %d ns (+%.3f%%), gap %.3f%%, peak %d bytes" % (
        planner, time, percent(time), bound, percent(bound), 100 * gap, peak), 1 - gap


class ProgressLine:
    """While its block runs, says once a second how far it is: on a terminal in one line that changes, with a bar, else
    in lines below each other. `describe` gives words and, where it is known, a share; another thread calls it. Of
    blocks within each other, the innermost one speaks."""

    _open = []

    def __init__(self, describe):
        self.describe, self.has_line, self.thread = describe, False, None
        self.is_over = threading.Event()

    def __enter__(self):
        if is_shown():
            self.start, self.is_terminal = time.monotonic(), is_terminal()
            self.thread = threading.Thread(target=self._print_each_second, name="remat-progress", daemon=True)
            ProgressLine._open.append(self)
            self.thread.start()
        return self

    def __exit__(self, *_):
        if self.thread is None:
            return
        self.is_over.set()
        ProgressLine._open.remove(self)
        self.thread.join()
        if self.has_line:
            self._write(CLEAR_LINE)

    def _print_each_second(self):
        second = 1
        while not self.is_over.wait(max(0, self.start + second - time.monotonic())):
            second = int(time.monotonic() - self.start) + 1
            if ProgressLine._open[-1:] != [self]:
                continue
            words, share = self.describe()
            bar = ""
            if self.is_terminal and share is not None:
                done = int(min(max(share, 0), 1) * BAR_WIDTH)
                bar = "[%s%s] " % ("#" * done, "." * (BAR_WIDTH - done))
            line = "remat: %.1f s: %s%s" % (time.monotonic() - self.start, bar, words)
            self.has_line = self.is_terminal
            self._write(CUT_LINES + CLEAR_LINE + line + WRAP_LINES if self.is_terminal else line + "\n")

    @staticmethod
    def _write(text):
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (AttributeError, OSError, ValueError):  # Closed meanwhile: nothing that could be said.
            pass
