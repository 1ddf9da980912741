# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command that may write no file of more than so many bytes, as on a full disk: limited.py BYTES COMMAND..."""
import os
import resource
import sys

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execvp(sys.argv[2], sys.argv[2:])
