# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command that writes more than a page to a pipe, and puts a folder in the place of another file of its as soon
as it has begun to: meanwhile.py PIPE FILE COMMAND..."""
import fcntl
import os
import select
import subprocess
import sys

pipe, path = sys.argv[1:3]
os.mkfifo(pipe)
reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
fcntl.fcntl(reader, 1031, 4096)  # F_SETPIPE_SZ: the command waits for a reader behind a page.
child = subprocess.Popen(sys.argv[3:])
while not select.select([reader], [], [], 0.1)[0] and child.poll() is None:
    pass
os.remove(path)
os.mkdir(path)
os.set_blocking(reader, True)
while os.read(reader, 4096):
    pass
sys.exit(child.wait())
