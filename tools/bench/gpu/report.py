#!/usr/bin/env python3
"""Runs a package of steps on the GPU of this machine and writes a report; see gpu.sh.

usage: report.py DIR REPORT.json

Of each step: results against those of the CPU, the same bits in all runs, under all budgets and with buffers
overwritten when they die, recomputations against their originals, and measured bytes against planned ones. Where
compute-sanitizer is, it runs the smallest budgets. Several models are checked at a time, so times mean something for
models that are only timed. These run one after the other, with their tensors on the device; where PyTorch is, it runs
them, too. The exit status is 1 if anything falls short.
"""
import hashlib, importlib.util, json, os, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

try:
    import numpy
except ImportError:
    sys.exit("%s has no NumPy: install it, or begin PATH with a Python that has it" % sys.executable)

from arguments import write_arguments

# Relative to the largest element of a result: f32 sums in another order.
TOLERANCE = 1e-3
RUNS = 20


def find_libraries(directory):
    """Where libraries of the device are: in the package, and in the wheel of cuDNN that PyTorch brings."""
    found = importlib.util.find_spec("nvidia")
    wheels = [os.path.join(path, "cudnn", "lib") for path in found.submodule_search_locations or []] if found else []
    given = os.environ.get("LD_LIBRARY_PATH")
    return ":".join([directory, *filter(os.path.isdir, wheels), *([given] if given else [])])


def run_step(directory, model, step, results, *options, prefix=()):
    """What the program printed, or the message with which it failed."""
    command = [*prefix, os.path.join(directory, "remat-run-step"), os.path.join(directory, step["library"]),
               model["arguments"], results, *options]
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = find_libraries(directory)
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if ran.returncode != 0:
        return None, (ran.stderr.strip() or ran.stdout.strip() or "status %d" % ran.returncode)
    return json.loads([line for line in ran.stdout.splitlines() if line.startswith("{")][-1]), None


def read_bits(results, count):
    bits = []
    for number in range(count):
        with open(os.path.join(results, "result%d.bin" % number), "rb") as file:
            bits.append(file.read())
    return bits


def compare(directory, model, bits):
    """The largest difference to the CPU's results, relative to the largest element of each."""
    worst = 0.0
    for name, given in zip(model["results"], bits):
        expected = numpy.load(os.path.join(directory, model["name"], "expected", name))
        found = numpy.frombuffer(given, dtype=expected.dtype).reshape(expected.shape).astype(numpy.float64)
        scale = max(float(abs(expected).max(initial=0)), 1e-30)
        difference = abs(found - expected).max(initial=0)
        worst = max(worst, float(difference) / scale if numpy.isfinite(difference) else float("inf"))
    return worst


def check_model(directory, model, scratch):
    """A record for each step, and what fell short."""
    records, failures, first = [], [], None
    sanitizer = shutil.which("compute-sanitizer")
    for step in model["steps"]:
        what = "%s at %s" % (model["name"], step["budget"])
        results = os.path.join(scratch, model["name"] + step["budget"].strip("%"))
        os.makedirs(results, exist_ok=True)
        record, error = run_step(directory, model, step, results, "--runs=%d" % RUNS)
        if error:
            failures.append("%s: %s" % (what, error))
            records.append({"model": model["name"], "budget": step["budget"], "error": error})
            break
        bits = read_bits(results, len(model["results"]))
        first = first or bits
        record.update(model=model["name"], budget=step["budget"], planned_peak_bytes=step["planned_peak_bytes"],
                      error_to_cpu=compare(directory, model, bits), same_bits=bits == first)
        if record["error_to_cpu"] > TOLERANCE:
            failures.append("%s: results differ by %g from the CPU's" % (what, record["error_to_cpu"]))
        if bits != first:
            failures.append("%s: other bits than at %s" % (what, model["steps"][0]["budget"]))
        if record["measured_peak_bytes"] != step["planned_peak_bytes"]:
            failures.append("%s: measured %d bytes, planned %d" %
                            (what, record["measured_peak_bytes"], step["planned_peak_bytes"]))
        for option in ("--poison", "--bitwise", "--profile"):
            checked, error = run_step(directory, model, step, results, option, "--runs=2")
            if error or read_bits(results, len(model["results"])) != bits:
                failures.append("%s with %s: %s" % (what, option, error or "other bits"))
            elif option == "--profile":
                record["entries"] = checked["entries"]
        if sanitizer and step is model["steps"][-1]:
            for tool in ("memcheck", "racecheck"):
                prefix = (sanitizer, "--error-exitcode=9", "--tool", tool)
                _, error = run_step(directory, model, step, results, prefix=prefix)
                record[tool] = error or "passed"
                if error:
                    failures.append("%s: %s: %s" % (what, tool, error.splitlines()[-1]))
        records.append(record)
    return records, failures


def hash_results(results):
    """One hash of all files, which may be large."""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(results)):
        with open(os.path.join(results, name), "rb") as file:
            while piece := file.read(1 << 24):
                digest.update(piece)
    return digest.hexdigest()


def time_model(directory, model, scratch):
    """The same for a model that is only timed."""
    records, failures, first = [], [], None
    for step in model["steps"]:
        what = "%s at %s" % (model["name"], step["budget"])
        results = os.path.join(scratch, "results")
        os.makedirs(results)
        record, error = run_step(directory, model, step, results, "--on-device", "--runs=%d" % RUNS)
        if error:
            failures.append("%s: %s" % (what, error))
            records.append({"model": model["name"], "budget": step["budget"], "error": error})
            break
        bits = hash_results(results)
        first = first or bits
        record.update(model=model["name"], budget=step["budget"], planned_peak_bytes=step["planned_peak_bytes"],
                      same_bits=bits == first)
        if bits != first:
            failures.append("%s: other bits than at %s" % (what, model["steps"][0]["budget"]))
        if record["measured_peak_bytes"] != step["planned_peak_bytes"]:
            failures.append("%s: measured %d bytes, planned %d" %
                            (what, record["measured_peak_bytes"], step["planned_peak_bytes"]))
        profiled, error = run_step(directory, model, step, results, "--on-device", "--profile", "--runs=2")
        record["entries"] = profiled["entries"] if profiled else error
        if profiled and model["moved_bytes"]:
            record["bytes_per_second"] = model["moved_bytes"] / (sum(time for _, time in profiled["entries"]) * 1e-9)
        records.append(record)
        shutil.rmtree(results)
    return records, failures


def time_torch(directory, model):
    """PyTorch's times and peaks, if it is there and knows the model."""
    if not importlib.util.find_spec("torch"):
        return []
    ran = subprocess.run([sys.executable, os.path.join(directory, "torch_models.py"), "measure", model["name"]],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    records = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return records or [{"model": model["name"], "variant": "torch", "error": ran.stderr.strip()}]


def run_model(directory, model, run):
    """What `run` gives for the model, with arguments in a directory of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        model["arguments"] = os.path.join(scratch, "arguments")
        os.makedirs(model["arguments"])
        with open(os.path.join(directory, model["name"], "manifest.json")) as file:
            write_arguments(json.load(file)["args"], model["arguments"])
        return run(directory, model, scratch)


def describe_machine():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                              stdout=subprocess.PIPE, text=True).stdout.strip()
    except OSError:
        return "unknown"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    directory, path = sys.argv[1:]
    with open(os.path.join(directory, "package.json")) as file:
        package = json.load(file)
    report, failures = {"machine": describe_machine(), "steps": [], "torch": []}, []
    checked = [model for model in package["models"] if not model["timed"]]
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(zip(checked, pool.map(lambda model: run_model(directory, model, check_model), checked)))
    is_there = not any("no device" in failure for _, (_, found) in outcomes for failure in found)
    for model in package["models"] if is_there else []:
        if model["timed"]:
            outcomes.append((model, run_model(directory, model, time_model)))
            report["torch"] += time_torch(directory, model)
    for _, (records, fell_short) in outcomes:
        report["steps"] += records
        failures += fell_short
    report["failures"] = failures
    with open(path, "w") as file:
        json.dump(report, file, indent=1)
    for failure in failures:
        print(failure, file=sys.stderr)
    for record in report["steps"]:
        if "run_ms" in record:
            error = "  error %.1e" % record["error_to_cpu"] if "error_to_cpu" in record else ""
            degraded = record["degraded_calls"]
            notes = "  %d convolutions without cuDNN's plans" % degraded if degraded else ""
            if "bytes_per_second" in record:
                notes += "  %.2f TB/s" % (record["bytes_per_second"] / 1e12)
            print("%-20s %-22s peak %12d  %9.3f ms%s%s" % (record["model"], record["budget"],
                  record["measured_peak_bytes"], min(record["run_ms"]), error, notes))
    for record in report["torch"]:
        if "run_ms" in record:
            print("%-20s %-22s peak %12d  %9.3f ms" %
                  (record["model"], record["variant"], record["peak_bytes"], min(record["run_ms"])))
    sys.exit(1 if failures else 0)


main()
