"""What the fuzzers have in common: options, running tools, keeping and shrinking what fails."""

import argparse
import hashlib
import math
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

# What LLVM and the shell print when a process dies of an assertion or a signal.
CRASH_LINES = ("Assertion `", "LLVM ERROR", "UNREACHABLE executed", "AddressSanitizer", "runtime error:")
CRASH_WORDS = CRASH_LINES + ("PLEASE submit a bug report", "Stack dump:", "double free or corruption")
ALLOWED = (0, 1, 2, 3)
# What REMAT_TEST_MCPU may be, as for the tests of lit, and what oneDNN calls its instructions.
OTHER_CPUS = {"haswell": "AVX2", "x86-64": "SSE41"}


def parse_options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("tools", help="the folder of remat-run and the others")
    parser.add_argument("--seed", type=int, default=1, help="of the first input; the next has the next number")
    parser.add_argument("--count", type=int, default=None, help="inputs to try")
    parser.add_argument("--seconds", type=float, default=None, help="begin no new input after this time")
    parser.add_argument("--keep", default=None, metavar="DIR", help="write failing inputs and commands to this folder")
    parser.add_argument("--no-shrink", action="store_true", help="keep failing inputs as they are")
    parser.add_argument("--timeout", type=float, default=120, help="seconds of processor time that a run may take")
    options = parser.parse_args()
    options.tools = os.path.abspath(options.tools)
    if options.count is None and options.seconds is None:
        options.count = 10
    return options


class Outcome:
    """How a run ended: `problem` is None, or a crash, a time-out or an unknown status in words."""

    def __init__(self, status, out, err, timed_out=False):
        self.status, self.out, self.err = status, out, err
        self.problem = None
        found = next((word for word in CRASH_WORDS if word in err), None)
        if timed_out:
            self.problem = "does not end"
        elif status < 0 or status >= 128:
            self.problem = f"dies with status {status}: {summarize(err)}"
        elif found:
            self.problem = f"status {status}, but prints: {summarize(err)}"
        elif status not in ALLOWED:
            self.problem = f"status {status}"


def summarize(text):
    """The line of a standard error that tells a crash from others."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        if any(word in line for word in CRASH_LINES):
            return line.strip()[:300]
    return lines[0].strip()[:300] if lines else ""


def choose_cpu(command, environment):
    """The command for the CPU in REMAT_TEST_MCPU, unless it is for another one or for a GPU; sets what it runs in."""
    cpu = os.environ.get("REMAT_TEST_MCPU")
    if not cpu:
        return command
    if cpu not in OTHER_CPUS:
        sys.exit(f"REMAT_TEST_MCPU is '{cpu}', expected one of {', '.join(OTHER_CPUS)}")
    environment["ONEDNN_MAX_CPU_ISA"] = OTHER_CPUS[cpu]
    is_other = any(flag.startswith(("--mcpu", "--device", "--target")) for flag in command)
    compiles = os.path.basename(command[0]) in ("remat-run", "remat-compile")
    return command + ["--mcpu=" + cpu] * (compiles and not is_other)


def run(command, timeout, cwd=None):
    """Runs a tool within limits of time and memory."""

    def limit():
        seconds = int(timeout) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if "ASAN_OPTIONS" not in os.environ:  # A sanitizer reserves terabytes of addresses.
            resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))

    environment = dict(os.environ, OMP_WAIT_POLICY="passive", LLVM_DISABLE_SYMBOLIZATION="1")
    command = choose_cpu(command, environment)
    try:
        # The clock on the wall is for what sleeps; a loaded machine may be slow. Ctrl-C is for the fuzzer alone: a run
        # that it ended would be a finding.
        done = subprocess.run(command, capture_output=True, timeout=timeout * 10, cwd=cwd, env=environment,
                              preexec_fn=limit, stdin=subprocess.DEVNULL, start_new_session=True)
    except subprocess.TimeoutExpired:
        return Outcome(0, "", "", timed_out=True)
    decode = lambda data: data.decode("utf-8", "replace")
    return Outcome(done.returncode, decode(done.stdout), decode(done.stderr), timed_out=done.returncode in (-24, -9))


class Session:
    """Counts inputs and findings, and keeps the latter."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.start = time.monotonic()
        self.work = tempfile.mkdtemp(prefix="remat-fuzz-")
        self.counts = {"runs": 0}
        self.findings = []
        # `kill` and Ctrl-C end a long run with its counts, behind the input under way. The next one ends it at once.
        self.stopped = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)
        self.shown = self.start

    def stop(self, number, _):
        self.stopped = True
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def show(self):
        """Says on a terminal, once a second, how far it is."""
        now = time.monotonic()
        if now - self.shown > 1 and sys.stderr.isatty():
            self.shown = now
            print(f"\r\033[K{self.name}: {now - self.start:.1f} s: {self.describe()}", end="", file=sys.stderr,
                  flush=True)

    def clear(self):
        if self.shown != self.start:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def describe(self):
        return ", ".join(f"{value} {key}" for key, value in dict(self.counts, findings=len(self.findings)).items())

    def seeds(self):
        seed = self.options.seed
        while True:
            self.show()
            done = seed - self.options.seed
            if self.stopped or self.options.count is not None and done >= self.options.count:
                return
            if self.options.seconds is not None and time.monotonic() - self.start > self.options.seconds:
                return
            yield seed
            seed += 1

    def count(self, what, number=1):
        self.counts[what] = self.counts.get(what, 0) + number

    def report(self, seed, symptom, files, command):
        """A finding: `files` maps names to contents, `command` repeats it."""
        repeat = f"python3 {os.path.relpath(sys.argv[0])} TOOLS --seed={seed} --count=1"
        self.findings.append((seed, symptom))
        self.clear()
        print(f"{self.name}: seed {seed}: {symptom}", flush=True)
        if not self.options.keep:
            return
        digest = hashlib.sha1(repr(sorted(files)).encode() + symptom.encode()).hexdigest()[:6]
        folder = os.path.join(self.options.keep, f"{self.name}-{seed}-{digest}")
        os.makedirs(folder, exist_ok=True)
        for name, content in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, content)
        write(os.path.join(folder, "README"),
              f"{symptom}\n\nin this folder:\n  {command}\nall over again:\n  {repeat}\n")

    def finish(self):
        shutil.rmtree(self.work, ignore_errors=True)
        self.clear()
        print(f"{self.name}: {self.describe()}")
        sys.exit(1 if self.findings else 0)


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def shrink(parts, fails, budget=300):
    """The parts that are left when every chunk is taken out without which `fails` still holds."""
    size = max(1, len(parts) // 2)
    while size and budget > 0:
        at, changed = 0, False
        while at < len(parts) and budget > 0:
            budget -= 1
            rest = parts[:at] + parts[at + size:]
            if rest and fails(rest):
                parts, changed = rest, True
            else:
                at += size
        if size > 1:
            size //= 2
        elif not changed:
            break
    return parts


# Of a float: its letters in a NumPy file, its digits, the exponent of its last subnormal one, and its largest number.
FLOATS = {"f64": ("f8", 53, -1074, 1.8e308), "f32": ("f4", 24, -149, (2 - 2.0**-23) * 2.0**127),
          "f16": ("f2", 11, -24, 65504.0), "bf16": ("u2", 8, -133, (2 - 2.0**-7) * 2.0**127)}


def round_to(element, value):
    """The number of a float type that is nearest to one of f64, of two the even one."""
    _, digits, least, most = FLOATS[element]
    if not math.isfinite(value) or element == "f64":
        return value
    last = max(math.frexp(value)[1] - digits, least)
    rounded = math.ldexp(round(math.ldexp(value, -last)), last)
    return rounded if abs(rounded) <= most else math.copysign(math.inf, value)


def npy(dtype, shape, values):
    """A NumPy file: `dtype` is 'f2', 'f4', 'f8', 'i4' or 'i8', or 'u2' for the bits of bf16."""
    dims = "".join(f"{extent}, " for extent in shape)
    header = f"{{'descr': '<{dtype}', 'fortran_order': False, 'shape': ({dims}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    if dtype == "u2":
        values = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]
    code = {"f2": "e", "f4": "f", "f8": "d", "i4": "i", "i8": "q", "u2": "H"}[dtype]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + \
        struct.pack(f"<{len(values)}{code}", *values)


def read_npy(path):
    """The numbers in such a file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10:10 + size].decode()
    dtype = header.split("'descr': '<")[1][:2]
    code, width = {"f2": ("e", 2), "f4": ("f", 4), "f8": ("d", 8), "i4": ("i", 4), "i8": ("q", 8),
                   "u2": ("H", 2)}[dtype]
    payload = data[10 + size:]
    values = list(struct.unpack(f"<{len(payload) // width}{code}", payload))
    if dtype == "u2":
        values = [struct.unpack("<f", struct.pack("<I", value << 16))[0] for value in values]
    return values
