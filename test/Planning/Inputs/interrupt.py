"""Interrupts a search once it says how far it is: interrupt.py [": time "] COMMAND... ; exits with its status.

The first argument, if it has a space, is what is in the line that is waited for."""
import signal, subprocess, sys

command = sys.argv[1:]
awaited = command.pop(0) if " " in command[0] else ": time "
process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
lines = ""
for line in process.stderr:
    lines += line
    if awaited in line:
        process.send_signal(signal.SIGINT)
        break
print(lines + process.communicate(timeout=300)[1], file=sys.stderr)
sys.exit(process.returncode)
