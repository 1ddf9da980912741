"""Runs a command on a terminal of its own and prints what it wrote: terminal.py COMMAND..."""

import os
import pty
import sys

sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
