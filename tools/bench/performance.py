#!/usr/bin/env python3
"""Prints a table of remat beside other frameworks: step time, CPU time, memory, compile time.

usage: performance.py BIN MODEL_DIR [MODEL...] [--rounds=3] [--steps=5] [--threads=2] [--json=FILE]
                      [--peers=DIR [--python=PYTHON] [--variants=NAME,...]]

Models default to the four that peers were measured on. In each of the rounds every framework runs in a process of its
own, one at a time; times are medians over the rounds of each process's median step, the first one apart, of wall time
and of CPU time. A matmul of 2048x2048 matrices is timed in every round, and `floor` is the CPU time that the model's
contractions would take at its rate: CPU times on different machines compare as multiples of their floors, on a busy
machine too. Of stored peers only the time on an idle machine is known, times threads.

`peak` is the bytes beyond arguments, returned gradients included. remat runs without a budget and at the peaks of the
peers that recompute; `compile` is of the first round, when peers have cached nothing. With --peers, DIR holds
bench_torch.py and bench_jax.py, which PYTHON runs (this one if not given): they are measured in the same rounds, and
ratios to them end the table. --variants keeps these of their variants. Without, peers' numbers are those stored beside
this file, of another machine.
"""
import array, json, os, statistics, struct, subprocess, sys, tempfile

paths = [a for a in sys.argv[1:] if not a.startswith("--")]
options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--") and "=" in a)
if len(paths) < 2:
    sys.exit(__doc__)
binary, directory = os.path.join(paths[0], "remat-run"), paths[1]
stored = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers.json")))
models = paths[2:] or list(stored["models"])
rounds, steps, threads = (int(options.get(*o)) for o in (("rounds", 3), ("steps", 5), ("threads", 2)))
PEER_NAMES = {"mlp_16x1024": "M1", "gpt2_8l": "M2", "resnet18_64": "M3", "chain_256": "M4"}
TORCH = {"mlp_16x1024": "eager,ckpt_block,ckpt_sqrt,compile,compile_b0.5",
         "chain_256": "eager,ckpt_block,ckpt_sqrt,compile",
         "gpt2_8l": "eager,eager_sdpa,ckpt_block,ckpt_sqrt,compile,compile_sdpa,compile_b0.5",
         "resnet18_64": "eager,ckpt_block,ckpt_sqrt,compile"}
JAX = {"mlp_16x1024": "plain,block,scan_block", "chain_256": "plain,block,scan_block", "gpt2_8l": "plain,scan_block",
       "resnet18_64": "plain,block"}
# Multiplications and additions of a step's contractions, forward and backward.
GFLOP = {"mlp_16x1024": 100.9, "chain_256": 25.7, "gpt2_8l": 193.3, "resnet18_64": 27.8}
MB = 1e6
SIZE = 2048


def remat(*arguments):
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        process = subprocess.run([binary, *arguments, f"--threads={threads}", "--json=" + report], capture_output=True,
                                 text=True)
        return json.load(open(report)) if process.returncode == 0 else None


def measure_matmul():
    """GFLOP per second of CPU time of a large matmul on this machine, now."""
    with tempfile.TemporaryDirectory() as scratch:
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({SIZE}, {SIZE}), }}"
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
        data += array.array("f", [0.5] * SIZE).tobytes() * SIZE
        for number in range(2):
            with open(os.path.join(scratch, f"arg{number}.npy"), "wb") as file:
                file.write(data)
        tensor, model = f"tensor<{SIZE}x{SIZE}xf32>", os.path.join(scratch, "matmul.mlir")
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
    arguments = [base + ".mlir", "--manifest=" + base + ".json", f"--steps={steps + 1}"]
    report = remat(*arguments, *(["--budget=%d" % budget] if budget else []))
    if not report:
        return None
    return {"ms": 1e3 * statistics.median(report["step_seconds"][1:]),
            "cpu": 1e3 * statistics.median(report["step_cpu_seconds"][1:]),
            "peak": (report["arena_bytes"] + report["result_bytes"]) / MB,
            "compile": report["compile_seconds"], "plan": report["plan_seconds"]}


def run_peer(framework, model, variants, cache):
    """Rows of a framework's script, by variant. A variant's first step compiles; that step itself is counted too."""
    if "variants" in options:
        variants = ",".join(v for v in variants.split(",") if v in options["variants"].split(","))
    if not variants:
        return {}
    folder = os.path.abspath(options["peers"])
    script = os.path.join(folder, f"bench_{framework}.py")
    environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=cache)
    process = subprocess.run([options.get("python", sys.executable), script, PEER_NAMES[model], variants,
                              f"--threads={threads}", f"--steps={steps}"], capture_output=True, text=True,
                             cwd=folder, env=environment)
    rows = {}
    for line in process.stdout.splitlines():
        line = json.loads(line) if line.startswith("{") else {}
        if "variant" not in line:
            continue
        row = rows.setdefault(f"{framework} {line['variant']}", {})
        if line["kind"] == "build":
            peak = line.get("alloc_peak", line.get("peak_excl_args"))
            compiled = line.get("first_step_s", line.get("lower_s", 0) + line.get("xla_compile_s", 0))
            row.update({"peak": peak / MB, "compile": compiled})
        elif line["kind"] == "time":
            row.update({"ms": line["med_ms"], "cpu": line["cpu_med_ms"]})
        else:
            print(f"  {framework} {line['variant']}: {line.get('error', '')[:200]}", file=sys.stderr)
    if not rows:
        print(f"  {framework}: {process.stderr[-500:]}", file=sys.stderr)
    return {name: row for name, row in rows.items() if "ms" in row}


def recomputes(name):
    """Whether this is a peer's variant that trades time for memory."""
    return not name.startswith("remat") and any(part in name for part in ("ckpt", "block", "sqrt", "_b0"))


def measure(model, cache):
    """Rows of the table, name -> list of measurements, and the rates of a large matmul."""
    peers = {name: peak for name, kind, _, peak in stored["models"].get(model, []) if kind != "plain"}
    rows, matmul = {}, []
    for _ in range(rounds):
        matmul.append(measure_matmul())
        if "peers" in options:
            for framework, variants in (("torch", TORCH), ("jax", JAX)):
                for name, row in run_peer(framework, model, variants[model], cache).items():
                    rows.setdefault(name, []).append(row)
            peers = {name: measured[0]["peak"] for name, measured in rows.items() if recomputes(name)}
        unbound = run_remat(model, None)
        rows.setdefault("remat", []).append(unbound)
        for name, peak in peers.items():
            # What the arena may take beside the returned gradients.
            arena = int(peak * MB) - result_bytes(model)
            row = unbound
            if unbound and peak < unbound["peak"]:
                row = run_remat(model, arena) if arena > 0 else None
            rows.setdefault(f"remat at the peak of {name}", []).append(row)
    return rows, statistics.median(matmul)


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


def summarize(measured):
    """Medians over the rounds; null if some round has no result. Of compile times the first."""
    if not measured or not all(measured):
        return None
    median = lambda key: (statistics.median([row[key] for row in measured])
                          if all(row.get(key) is not None for row in measured) else None)
    return {"ms": median("ms"), "cpu": median("cpu"), "peak": median("peak"), "compile": measured[0].get("compile"),
            "plan": median("plan")}


def show(name, row, floor):
    row = row or {}
    text = lambda value, width, digits: (f"{value:.{digits}f}" if value is not None else "-").rjust(width)
    cpu = row.get("cpu")
    print(f"  {name:48} {text(row.get('ms'), 9, 1)} {text(cpu, 9, 1)} {text(cpu and cpu / floor, 7, 2)} "
          f"{text(row.get('peak'), 8, 1)} {text(row.get('compile'), 9, 2)} {text(row.get('plan'), 7, 2)}", flush=True)


def show_ratio(what, mine, other):
    print(f"  {what:88} {mine['ms'] / other['ms']:8.2f} wall {mine['cpu'] / other['cpu']:8.2f} cpu")


def show_ratios(rows):
    """remat as a share of the peers of the same run."""
    peers = {name: row for name, row in rows.items() if row and not name.startswith("remat")}
    plain = {name: row for name, row in peers.items() if not recomputes(name)}
    if plain and rows["remat"]:
        fastest = min(plain, key=lambda name: plain[name]["ms"])
        smallest = min(plain, key=lambda name: plain[name]["peak"])
        show_ratio(f"time / that of the fastest without checkpoints, {fastest}", rows["remat"], plain[fastest])
        print(f"  {'peak / the smallest without checkpoints, ' + smallest:88} "
              f"{rows['remat']['peak'] / plain[smallest]['peak']:8.2f}")
    for name, row in peers.items():
        mine = rows.get(f"remat at the peak of {name}")
        if mine:
            show_ratio(f"time at the peak of {name}, {row['peak']:.0f} MB, / its time", mine, row)
    compiled = [row["compile"] for name, row in peers.items() if name.startswith("jax")]
    if compiled and rows["remat"]:
        print(f"  {'compile time / the shortest of XLA':88} {rows['remat']['compile'] / min(compiled):8.2f}")


def main():
    table = {}
    for model in models:
        with tempfile.TemporaryDirectory() as cache:
            measured, gflops = measure(model, cache)
        floor = 1e3 * GFLOP[model] / gflops if model in GFLOP else None
        rows = {name: summarize(values) for name, values in measured.items()}
        print(f"{model}: contractions at {gflops:.0f} GFLOP per CPU second would take {floor:.1f} ms of CPU time")
        print(f"  {'':48} {'step ms':>9} {'cpu ms':>9} {'x floor':>7} {'peak MB':>8} {'compile s':>9} {'plan s':>7}")
        for name, row in rows.items():
            show(name, row, floor)
        if "peers" in options:
            show_ratios(rows)
        else:
            both = stored["threads"]
            peer_floor = 1e3 * GFLOP[model] / stored["sgemm_gflops"] * both
            print(f"  stored, {stored['machine']}:")
            for name, _, ms, peak in stored["models"].get(model, []):
                show(name, {"ms": ms, "cpu": both * ms, "peak": peak}, peer_floor)
        table[model] = {"gflops": gflops, "floor_ms": floor, "rows": measured}
        if "json" in options:
            json.dump(table, open(options["json"], "w"), indent=2)


main()
