#!/usr/bin/env python3
"""Prints a table of remat beside other frameworks: step time, CPU time, memory, compile time.

usage: performance.py BIN MODEL_DIR [MODEL...] [--rounds=3] [--steps=3] [--threads=2] [--peers=DIR] [--json=FILE]

Models default to the four that peers were measured on. In each of the rounds every variant runs in a process of its own,
one at a time; times are medians over the rounds of each process's fastest step, `cpu` of its least CPU time. A product of
2048x2048 matrices is timed in every round, and `floor` is the CPU time that the model's products would take at its rate:
CPU times on different machines compare as multiples of their floors, on a busy machine too. Of stored peers only the
time on an idle machine is known, times threads.

`peak` is the bytes beyond arguments, returned gradients included. remat runs without a budget and at the peaks of the
peers that recompute. With --peers, DIR holds bench_torch.py and bench_jax.py and what they need is installed: they are
measured in the same rounds. Without, peers' numbers are those stored beside this file, of another machine.
"""
import array, json, os, statistics, struct, subprocess, sys, tempfile

paths = [a for a in sys.argv[1:] if not a.startswith("--")]
options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
if len(paths) < 2:
    sys.exit(__doc__)
binary, directory = os.path.join(paths[0], "remat-run"), paths[1]
stored = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers.json")))
models = paths[2:] or list(stored["models"])
rounds, steps, threads = (int(options.get(*o)) for o in (("rounds", 3), ("steps", 3), ("threads", 2)))
PEER_NAMES = {"mlp_16x1024": "M1", "gpt2_8l": "M2", "resnet18_64": "M3", "chain_256": "M4"}
TORCH = {"mlp_16x1024": "eager,ckpt_block,ckpt_sqrt,compile,compile_b0.5", "chain_256": "eager,ckpt_block,ckpt_sqrt,compile",
         "gpt2_8l": "eager,eager_sdpa,ckpt_block,ckpt_sqrt,compile,compile_sdpa,compile_b0.5",
         "resnet18_64": "eager,ckpt_block,ckpt_sqrt,compile"}
JAX = {"mlp_16x1024": "plain,block", "chain_256": "plain,block", "gpt2_8l": "plain,scan_block", "resnet18_64": "plain,block"}
# Multiplications and additions of a step's products, forward and backward.
GFLOP = {"mlp_16x1024": 100.9, "chain_256": 25.7, "gpt2_8l": 193.3, "resnet18_64": 27.8}
MB = 1e6
SIZE = 2048


def remat(*arguments):
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        process = subprocess.run([binary, *arguments, f"--threads={threads}", "--json=" + report], capture_output=True,
                                 text=True)
        return json.load(open(report)) if process.returncode == 0 else None


def measure_product():
    """GFLOP per second of CPU time of a large product on this machine, now."""
    with tempfile.TemporaryDirectory() as scratch:
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({SIZE}, {SIZE}), }}"
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
        data += array.array("f", [0.5] * SIZE).tobytes() * SIZE
        for number in range(2):
            with open(os.path.join(scratch, f"arg{number}.npy"), "wb") as file:
                file.write(data)
        tensor, model = f"tensor<{SIZE}x{SIZE}xf32>", os.path.join(scratch, "product.mlir")
        with open(model, "w") as file:
            file.write(f"""func.func @main(%a: {tensor}, %b: {tensor}) -> {tensor} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {tensor}
  %fill = linalg.fill ins(%zero : f32) outs(%empty : {tensor}) -> {tensor}
  %c = linalg.matmul ins(%a, %b : {tensor}, {tensor}) outs(%fill : {tensor}) -> {tensor}
  return %c : {tensor}
}}""")
        report = remat(model, "--inputs=" + scratch, "--outputs=" + os.path.join(scratch, "out"), "--emit=forward",
                       "--steps=4")
        return 2e-9 * SIZE**3 / min(report["step_cpu_seconds"])


def run_remat(model, budget):
    base = os.path.join(directory, model)
    arguments = [base + ".mlir", "--manifest=" + base + ".json", f"--steps={steps}"]
    report = remat(*arguments, *(["--budget=%d" % budget] if budget else []))
    if not report:
        return None
    return {"ms": 1e3 * min(report["step_seconds"]), "cpu": 1e3 * min(report["step_cpu_seconds"]),
            "peak": (report["arena_bytes"] + report["result_bytes"]) / MB,
            "compile": report["compile_seconds"], "plan": report["plan_seconds"]}


def run_peer(script, model, variants):
    """Rows of a peer's script, by variant."""
    process = subprocess.run([sys.executable, script, PEER_NAMES[model], variants, f"--threads={threads}",
                              f"--steps={steps}"], capture_output=True, text=True, cwd=options["peers"])
    rows = {}
    for line in process.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            peak = row.get("peak_mb") or row.get("peak") or 0
            time = row.get("median_ms") or row.get("ms") or 0
            rows[os.path.basename(script)[6:-3] + " " + row["variant"]] = {"ms": time, "peak": peak,
                                                                           "compile": row.get("compile_s")}
    return rows


def measure(model):
    """Rows of the table: name -> list of measurements."""
    peers = stored["models"].get(model, [])
    budgets = {name: int(peak * MB) for name, kind, _, peak in peers if kind != "plain"}
    rows, product = {}, []
    for _ in range(rounds):
        product.append(measure_product())
        rows.setdefault("remat", []).append(run_remat(model, None))
        for name, peak in budgets.items():
            # What the arena may take beside the returned gradients.
            arena = peak - result_bytes(model)
            row = rows["remat"][-1]
            if row and peak < row["peak"] * MB:
                row = run_remat(model, arena) if arena > 0 else None
            rows.setdefault(f"remat at the peak of {name}", []).append(row)
        if "peers" in options:
            for script, variants in (("bench_torch.py", TORCH), ("bench_jax.py", JAX)):
                found = run_peer(os.path.join(options["peers"], script), model, variants[model])
                for name, row in found.items():
                    rows.setdefault(name, []).append(row)
    return rows, statistics.median(product)


def result_bytes(model):
    """Bytes of the gradients, which the caller holds."""
    manifest = json.load(open(os.path.join(directory, model + ".json")))
    total = 0
    for argument in manifest["args"]:
        if argument["role"] == "param":
            elements = 1
            for size in argument["shape"]:
                elements *= size
            total += 4 * elements
    return total


def show(name, ms, cpu, floor, peak, compiled, plan):
    text = lambda value, width, digits: (f"{value:.{digits}f}" if value is not None else "-").rjust(width)
    print(f"  {name:48} {text(ms, 9, 1)} {text(cpu, 9, 1)} {text(cpu and cpu / floor, 7, 2)} {text(peak, 8, 1)} "
          f"{text(compiled, 9, 2)} {text(plan, 7, 2)}", flush=True)


table = {}
for model in models:
    rows, gflops = measure(model)
    floor = 1e3 * GFLOP[model] / gflops if model in GFLOP else None
    print(f"{model}: products at {gflops:.0f} GFLOP per CPU second would take {floor:.1f} ms of CPU time")
    print(f"  {'':48} {'step ms':>9} {'cpu ms':>9} {'x floor':>7} {'peak MB':>8} {'compile s':>9} {'plan s':>7}")
    table[model] = {"gflops": gflops, "floor_ms": floor, "rows": rows}
    for name, measured in rows.items():
        measured = [row for row in measured if row]
        if not measured:
            show(name, None, None, floor, None, None, None)
            continue
        median = lambda key: (statistics.median([row[key] for row in measured])
                              if all(row.get(key) is not None for row in measured) else None)
        show(name, median("ms"), median("cpu"), floor, median("peak"), median("compile"), median("plan"))
    if "peers" not in options:
        both = stored["threads"]
        peer_floor = 1e3 * GFLOP[model] / stored["sgemm_gflops"] * both
        print(f"  stored, {stored['machine']}:")
        for name, _, ms, peak in stored["models"].get(model, []):
            show(name, ms, both * ms, peer_floor, peak, None, None)
if "json" in options:
    json.dump(table, open(options["json"], "w"), indent=2)
