"""Interrupts a planner as soon as it reports a plan: interrupt.py COMMAND... ; exits with its status."""
import signal, subprocess, sys

process = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True)
line = process.stderr.readline()
process.send_signal(signal.SIGINT)
print(line + process.communicate(timeout=300)[1], file=sys.stderr)
sys.exit(process.returncode)
