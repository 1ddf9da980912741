"""Runs a fuzzer on a terminal and interrupts it once it says how far it is: interrupt.py COMMAND... ; prints what it wrote
and exits with its status."""
import os
import pty
import signal
import sys

process, terminal = pty.fork()
if process == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
written, is_interrupted = b"", False
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:  # The other end is closed.
        break
    if not more:
        break
    written += more
    if not is_interrupted and b" s: " in written:
        is_interrupted = True
        os.write(terminal, b"\x03")  # As the key does: for all processes of the terminal.
sys.stdout.write(written.decode().replace("\r\033[K", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
