# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command with a pipe that nobody reads as its standard output: closed-pipe.py COMMAND... ; exits with its status."""
import os
import subprocess
import sys

reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.run(sys.argv[1:], stdout=writer).returncode)
