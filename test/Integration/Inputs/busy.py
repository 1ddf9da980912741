# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command while another process uses a core: busy.py COMMAND... ; exits with its status."""
import subprocess
import sys

other = subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE)
other.stdout.readline()
try:
    sys.exit(subprocess.run(sys.argv[1:]).returncode)
finally:
    other.kill()
