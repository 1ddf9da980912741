#!/usr/bin/env python3
"""Runs programs of JAX with loops and compares them with JAX: values, gradients, bytes, and what grows with the count.

usage: loops.py BIN [PROGRAM...]

Programs: rnn (2,000 steps), lstm, layers (a scan over 48), reverse, nested, diffusion, sampler (random numbers drawn in
the loop). Each is exported as StableHLO and differentiated by remat (and, where the name ends in .grad, by JAX), run as
a loop without a budget, with 60 %, 20 % and the smallest, and unrolled where that is not too long. The relative errors
against JAX are at most 1e-5, all budgets give the same bits, and the peaks that are planned, simulated and measured are
one number; exit status 1 if not. At the end, 20 and 2,000 steps of the rnn and of the lstm's gradient by JAX: bytes of
the object, and seconds of processor time to compile it (the median of seven runs of each, in turn). 2,000 steps take at
most 1.2 times those of 20. Planning 100,000 iterations takes less than a second. Needs JAX and NumPy.
"""
import json, os, resource, statistics, subprocess, sys, tempfile

import jax
import jax.numpy as jnp
import numpy as np

if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
binary, wanted = sys.argv[1], sys.argv[2:]
random = np.random.default_rng(0)


def normal(*shape, scale=1.0):
    return (random.normal(size=shape) * scale).astype(np.float32)


def rnn(steps, hidden=64, batch=8):
    def loss(w, u, h, xs):
        def step(h, x):
            h = jnp.tanh(h @ w + x @ u)
            return h, h.sum(1)

        h, sums = jax.lax.scan(step, h, xs)
        return (h * h).sum() + sums.sum() / steps

    return loss, (normal(hidden, hidden, scale=0.1), normal(16, hidden, scale=0.3), normal(batch, hidden),
                  normal(steps, batch, 16))


def lstm(steps=100, hidden=32):
    def loss(wx, wh, b, xs):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((4, hidden))
        return (jax.lax.scan(step, (zeros, zeros), xs)[1] ** 2).mean()

    return loss, (normal(hidden, 4 * hidden, scale=0.1), normal(hidden, 4 * hidden, scale=0.1), normal(4 * hidden),
                  normal(steps, 4, hidden))


def layers(count=48, hidden=32):
    def loss(ws, bs, x):
        def layer(h, parameters):
            w, b = parameters
            return h + jnp.tanh(h @ w + b), None

        return (jax.lax.scan(layer, x, (ws, bs))[0] ** 2).mean()

    return loss, (normal(count, hidden, hidden, scale=0.1), normal(count, hidden, scale=0.1), normal(4, hidden))


def reverse(steps=40, hidden=32):
    def loss(w, xs):
        def step(h, x):
            h = jnp.tanh(h @ w + x)
            return h, h * 2

        h, ys = jax.lax.scan(step, jnp.zeros((4, hidden)), xs, reverse=True)
        return (h ** 2).mean() + (ys * xs).sum()

    return loss, (normal(hidden, hidden, scale=0.2), normal(steps, 4, hidden, scale=0.1))


def nested(hidden=32):
    def loss(w, x):
        def outer(c, _):
            h = jax.lax.scan(lambda h, _: (jnp.tanh(h @ w) + 0.1 * h, None), c, None, length=7)[0]
            return h + 0.5 * c, h.sum()

        c, sums = jax.lax.scan(outer, x, None, length=9)
        return (c ** 2).mean() + sums.mean()

    return loss, (normal(hidden, hidden, scale=0.2), normal(4, hidden))


def diffusion(steps=50, hidden=32):
    def loss(w, x):
        def step(i, x):
            t = i.astype(jnp.float32) / steps
            return x - 0.02 * jnp.tanh(x @ w) * jnp.cos(t) + 0.01 * jnp.sin(t) * x

        return (jax.lax.fori_loop(0, steps, step, x) ** 2).mean()

    return loss, (normal(hidden, hidden, scale=0.2), normal(4, hidden))


def sampler(steps=50, hidden=32):
    def loss(w, x, key):
        def step(state, _):
            x, key = state
            key, drawn = jax.random.split(key)
            x = x - 0.1 * jnp.tanh(x @ w) + 0.05 * jax.random.normal(drawn, x.shape)
            return (x, key), x.mean()

        (x, _), means = jax.lax.scan(step, (x, key), None, length=steps)
        return (x ** 2).mean() + means.sum()

    return loss, (normal(hidden, hidden, scale=0.2), normal(4, hidden), np.asarray(jax.random.PRNGKey(0)))


def write(function, args, folder):
    """The program and its arguments, as remat-run reads them."""
    lowered = jax.jit(function).lower(*args).compiler_ir().operation.get_asm(print_generic_op_form=True)
    with open(os.path.join(folder, "model.mlir"), "w") as file:
        file.write(lowered)
    for number, arg in enumerate(args):
        np.save(os.path.join(folder, f"arg{number}.npy"), arg)
    np.save(os.path.join(folder, "cotangent0.npy"), np.ones((), np.float32))


def run(folder, emit, results, flags):
    """The report and the values of the files `results`, or the last line of the message."""
    report = os.path.join(folder, "report.json")
    done = subprocess.run([os.path.join(binary, "remat-run"), os.path.join(folder, "model.mlir"), "--inputs=" + folder,
                           "--outputs=" + folder, "--emit=" + emit, "--json=" + report, *flags],
                          capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[0]
    return json.load(open(report)), [np.load(os.path.join(folder, name + ".npy")) for name in results]


def error(value, expected):
    return float(abs(value - expected).max() / max(abs(expected).max(), 1e-30))


def check(name, loss, args, unrolls):
    """Prints a line for each run; whether all is as it should be."""
    numbers = [i for i, a in enumerate(args) if a.dtype == np.float32]
    both = jax.value_and_grad(loss, argnums=numbers)
    value, gradients = both(*args)
    expected = [np.asarray(value), *map(np.asarray, gradients)]
    good, as_jax = True, name.endswith(".grad")
    with tempfile.TemporaryDirectory() as folder:
        write(both if as_jax else loss, args, folder)
        emit = "forward" if as_jax else "forward,vjp"
        results = [f"result{i}" for i in range(len(expected))] if as_jax else \
            ["result0"] + [f"vjp{i}" for i in range(len(numbers))]
        hashes = set()
        for budget in ["", "60%", "20%", "min"]:
            flags = ["--unroll-limit=0"] + (["--budget=" + budget] if budget else [])
            report, values = run(folder, emit, results, flags)
            if report is None:
                # What is below the smallest is no fault.
                good &= "smallest feasible" in values
                print(f"{name:16} {budget or 'none':>8} {values}")
                continue
            worst = max(map(error, values, expected))
            peaks = {report[k + "_peak_bytes"] for k in ("planned", "simulated", "measured")}
            good &= worst <= 1e-5 and len(peaks) == 1
            hashes.add(report["result_hash"])
            print(f"{name:16} {budget or 'none':>8} {report['tasks']:6} tasks {report['arena_bytes']:10} bytes "
                  f"{report['compile_seconds']:6.2f} s to compile {min(report['step_seconds']) * 1e3:9.2f} ms "
                  f"error {worst:.1e}")
        good &= len(hashes) == 1
        if unrolls:
            report, values = run(folder, emit, results, ["--unroll-limit=1000000"])
            same = report and {report["result_hash"]} == hashes
            print(f"{name:16} {'unrolled':>8} {report['tasks']:6} tasks {report['arena_bytes']:10} bytes "
                  f"{report['compile_seconds']:6.2f} s to compile, " +
                  ("the same bits" if same else "other bits: error "
                   f"{max(map(error, values, expected)):.1e}"))
            good &= max(map(error, values, expected)) <= 1e-5
    return good


def compile_once(folder, flags):
    """Bytes of the object and seconds of processor time, which other programs hardly change."""
    before, target = resource.getrusage(resource.RUSAGE_CHILDREN), os.path.join(folder, "step.o")
    subprocess.run([os.path.join(binary, "remat-compile"), os.path.join(folder, "model.mlir"), "--unroll-limit=0",
                    "-o", target, *flags], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return os.path.getsize(target), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_growth(name, make, flags):
    """Prints what 20 and 2,000 steps take to compile; whether that is nearly the same."""
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        for steps, folder in (20, few), (2000, many):
            write(*make(steps), folder)
        runs = [(compile_once(few, flags), compile_once(many, flags)) for _ in range(7)]
    sizes = [size for size, _ in runs[0]]
    seconds = [statistics.median(run[i][1] for run in runs) for i in range(2)]
    ratios = sizes[1] / sizes[0], seconds[1] / seconds[0]
    print(f"{name}, 20 and 2000 steps: {sizes[0]} and {sizes[1]} bytes, {seconds[0]:.3f} and {seconds[1]:.3f} s of "
          f"processor time, ratios {ratios[0]:.3f} and {ratios[1]:.2f}")
    return max(ratios) <= 1.2


def lstm_gradient(steps):
    loss, args = lstm(steps)
    return jax.value_and_grad(loss, argnums=range(len(args))), args


programs = {"rnn": (lambda: rnn(2000), False), "lstm": (lstm, True), "layers": (layers, True),
            "reverse": (reverse, True), "nested": (nested, True), "diffusion": (diffusion, True),
            "sampler": (sampler, True)}
good = True
for name, (make, unrolls) in programs.items():
    for suffix in ["", ".grad"]:
        if not wanted or name + suffix in wanted:
            good &= check(name + suffix, *make(), unrolls and not suffix)
if not wanted:
    good &= check_growth("rnn", rnn, [])
    good &= check_growth("lstm.grad", lstm_gradient, ["--differentiate=false"])
    with tempfile.TemporaryDirectory() as folder:
        write(*rnn(100000, 8, 1), folder)
        for budget in ["60%", "30%"]:
            report, _ = run(folder, "forward,vjp", ["result0"], ["--unroll-limit=0", "--budget=" + budget])
            print(f"100000 steps, {budget}: {report['arena_bytes']} bytes, planned in {report['plan_seconds']:.3f} s")
            good &= report["plan_seconds"] < 1
sys.exit(0 if good else 1)
