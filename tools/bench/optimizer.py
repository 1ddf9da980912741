#!/usr/bin/env python3
"""Compares a step with an optimizer in it with PyTorch's optimizer, and counts the bytes that the step takes.

usage: optimizer.py BIN MODEL.mlir MANIFEST.json [--optimizer=adamw:lr=1e-3] [--steps=3] [--budgets=none,60%,min]
                    [--tolerance=1e-6] [--threads=2] [--effort=X]

Needs torch. Weights and state after the steps are compared with what the optimizer of torch.optim makes of the
gradients that a step without an optimizer returns for the same weights. `relative` is the largest difference within a
tensor over the tensor's largest element. All budgets must give the same bits.

`bytes` is what a step takes beyond weights, inputs and state: its arena and the results that are in no argument's
buffer. The last lines have what that is compared with: the same step without the optimizer, whose caller holds all
gradients, and its arena without them (`--reuse-result-buffers=false`) with the gradient of the largest parameter. Exit
status 1 when something falls short.
"""
import argparse, json, math, os, subprocess, sys, tempfile

import numpy, torch


def parse_arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0].replace("%", "%%"))
    for name in ("bin", "model", "manifest"):
        parser.add_argument(name)
    parser.add_argument("--optimizer", default="adamw:lr=1e-3")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--budgets", default="none,60%,min")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--effort")
    return parser.parse_args()


options = parse_arguments()


def run(manifest, outputs, *flags):
    """The report of one run of the model, with what it returns in the folder `outputs`."""
    report = os.path.join(outputs, "report.json")
    command = [os.path.join(options.bin, "remat-run"), options.model, f"--manifest={manifest}",
               f"--threads={options.threads}", f"--outputs={outputs}", f"--json={report}", *flags]
    if options.effort:
        command.append(f"--effort={options.effort}")
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        sys.exit(f"{' '.join(command)}\n{process.stderr}")
    return json.load(open(report))


def train(folder, name, steps, *flags):
    """The report of so many steps with the optimizer, and the folder with what they leave."""
    outputs = os.path.join(folder, name)
    os.mkdir(outputs)
    return run(options.manifest, outputs, f"--optimizer={options.optimizer}", f"--steps={steps}", *flags), outputs


def read_updates(outputs):
    """All updates in the order of the results."""
    updates = []
    while os.path.exists(file := os.path.join(outputs, f"update{len(updates)}.npy")):
        updates.append(numpy.load(file))
    return updates


def split_updates(updates, weights):
    """Weights and their states; what comes before is the count of steps."""
    updates = updates[updates[0].dtype == numpy.int64:]
    parts = []
    for weight in weights:
        count = count_states(weight) + 1
        parts.append(updates[:count])
        updates = updates[count:]
    return parts


def count_states(weight):
    """How many tensors of state the optimizer has for a weight."""
    name, _, rest = options.optimizer.partition(":")
    if name == "sgd":
        return int("momentum=" in rest)
    return 1 if name == "adafactor" and len(weight.shape) < 2 else 2


def write_manifest(folder, manifest, weights):
    """The model's manifest with other weights."""
    changed = {key: value for key, value in manifest.items() if key != "golden"}
    changed["args"], remaining = [], iter(weights)
    for number, argument in enumerate(manifest["args"]):
        if argument["role"] == "param":
            argument = {key: value for key, value in argument.items() if key != "fill"}
            argument["file"] = f"weight{number}.npy"
            numpy.save(os.path.join(folder, argument["file"]), next(remaining))
        changed["args"].append(argument)
    path = os.path.join(folder, "manifest.json")
    json.dump(changed, open(path, "w"))
    return path


def make_torch_optimizer(weights):
    name, _, rest = options.optimizer.partition(":")
    given = dict(part.split("=") for part in rest.split(",") if part)
    betas = {key: float(given.pop(key, default)) for key, default in (("beta1", 0.9), ("beta2", 0.999))}
    numbers = {key: value == "true" if value in ("true", "false") else float(value) for key, value in given.items()}
    numbers.setdefault("lr", 1e-2 if name == "adafactor" else 1e-3)
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
             "adafactor": torch.optim.Adafactor}
    if name not in kinds:
        sys.exit(f"PyTorch has no optimizer to compare '{name}' with, expected one of {', '.join(kinds)}")
    if name.startswith("adam"):
        numbers["betas"] = tuple(betas.values())
    return kinds[name](weights, **numbers)


STATES = ["momentum_buffer", "exp_avg", "exp_avg_sq", "row_var", "col_var", "variance"]


def follow(folder, manifest, initial):
    """What PyTorch's optimizer makes of the gradients of remat, step after step: weights with their states."""
    weights = [torch.nn.Parameter(torch.from_numpy(weight.copy())) for weight in initial]
    optimizer = make_torch_optimizer(weights)
    current = options.manifest
    for step in range(options.steps):
        outputs = os.path.join(folder, f"gradients{step}")
        os.mkdir(outputs)
        if step:
            _, trained = train(folder, f"trained{step}", step)
            current = write_manifest(outputs, manifest,
                                     [parts[0] for parts in split_updates(read_updates(trained), initial)])
        run(current, outputs)
        for number, weight in enumerate(weights):
            weight.grad = torch.from_numpy(numpy.load(os.path.join(outputs, f"vjp{number}.npy")))
        optimizer.step()
    # Adafactor's means keep the dimension that was averaged.
    return [[weight.detach().numpy(), *(squeeze(optimizer.state[weight][name].numpy(), name) for name in STATES
                                        if optimizer.state[weight].get(name) is not None)] for weight in weights]


def squeeze(state, name):
    return state.squeeze({"row_var": -1, "col_var": -2}[name]) if name in ("row_var", "col_var") else state


def compare(found, expected):
    """The largest relative difference of weights, and of state by its place behind them."""
    worst = [0.0] * max(len(tensors) for tensors in expected)
    for tensors in zip(found, expected):
        for kind, (a, b) in enumerate(zip(*tensors, strict=True)):
            scale = max(float(abs(b).max()), 1e-30)
            worst[kind] = max(worst[kind], float(abs(a.astype(numpy.float64) - b).max()) / scale)
    return worst


def count_bytes(report):
    return report["arena_bytes"] + report["result_bytes"]


def main():
    manifest = json.load(open(options.manifest))
    parameters = [argument for argument in manifest["args"] if argument["role"] == "param"]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        # One step at the rate zero and without decay leaves the weights as the manifest makes them.
        outputs = os.path.join(folder, "initial")
        os.mkdir(outputs)
        run(options.manifest, outputs, "--optimizer=sgd:lr=0")
        initial = read_updates(outputs)
        expected = follow(folder, manifest, initial)
        first = None
        print(f"{'budget':>6} {'bytes':>12} {'arena':>12} {'recomputed':>10}  relative to torch.optim, bits")
        for number, budget in enumerate(options.budgets.split(",")):
            flags = [] if budget == "none" else [f"--budget={budget}"]
            report, outputs = train(folder, f"budget{number}", options.steps, *flags)
            worst = compare(split_updates(read_updates(outputs), initial), expected)
            first = first or report["result_hash"]
            same = report["result_hash"] == first
            failed |= not same or not max(worst) <= options.tolerance
            print(f"{budget:>6} {count_bytes(report):12} {report['arena_bytes']:12} {report['recomputed_tasks']:10}  "
                  f"{', '.join(f'{value:.1e}' for value in worst)} {'same' if same else 'OTHER'}", flush=True)
        plain = {}
        for reuse in ("true", "false"):
            outputs = os.path.join(folder, f"plain-{reuse}")
            os.mkdir(outputs)
            plain[reuse] = run(options.manifest, outputs, f"--reuse-result-buffers={reuse}")
        largest = max(4 * math.prod(parameter["shape"]) for parameter in parameters)
        print(f"without the optimizer, all gradients returned: {count_bytes(plain['true'])}")
        print(f"arena without gradients {plain['false']['arena_bytes']} and the largest gradient {largest}: "
              f"{plain['false']['arena_bytes'] + largest}")
    sys.exit(failed)


main()
