# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command that cannot write to a directory: read-only.py DIRECTORY COMMAND...

Permissions do not stop root, so what root may do beyond them is taken away first."""
import ctypes
import os
import sys

mode = os.stat(sys.argv[1]).st_mode
os.chmod(sys.argv[1], mode & ~0o222)
child = os.fork()
if child == 0:
    # A new program has root's capabilities, except those that were dropped from the bounding set (PR_CAPBSET_DROP).
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # CAP_DAC_OVERRIDE
    os.execvp(sys.argv[2], sys.argv[2:])
status = os.waitpid(child, 0)[1]
os.chmod(sys.argv[1], mode)
sys.exit(os.waitstatus_to_exitcode(status))
