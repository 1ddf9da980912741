# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interrupts a command when there is a file called as the pattern: interrupt.py PATTERN COMMAND...

Then it must end by the signal. The command's output follows on standard error."""
import glob
import signal
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE, text=True)
while not glob.glob(sys.argv[1]) and process.poll() is None:
    time.sleep(0.01)
process.send_signal(signal.SIGINT)
print(process.communicate(timeout=300)[1], file=sys.stderr)
sys.exit(0 if process.returncode == -signal.SIGINT else "ended with status %d" % process.returncode)
