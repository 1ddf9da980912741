"""Interrupts a planner once it says of a plan that it has one: interrupt.py COMMAND... ; exits with its status."""
import signal, subprocess, sys

process = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True)
lines = ""
for line in process.stderr:
    lines += line
    if ": time " in line:
        process.send_signal(signal.SIGINT)
        break
print(lines + process.communicate(timeout=300)[1], file=sys.stderr)
sys.exit(process.returncode)
