#!/usr/bin/env python3
"""Compares a linear layer and a cross entropy over many classes with PyTorch's eager mode.

The step is the loss and the gradients of what comes in, of the weight and of the bias. remat makes the logits so many
rows at a time (`--slice-rows`). Steps run in turn, and the time is the median of the processor time of a step. Bytes
are those beside arguments and gradients: of PyTorch what its allocator gives, of remat the arena. Losses and gradients
must agree to 1e-5, relative to the largest element.

Exit status 1 if they do not, or if with some number of rows remat does not take at most a twelfth of the bytes and 1.2
times the time. Needs torch.
"""
import argparse, json, statistics, sys, time

import torch

import remat.torch
from allocator_peak import allocator_peak


class Classifier(torch.nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.layer = torch.nn.Linear(width, classes)

    def forward(self, hidden, labels):
        return torch.nn.functional.cross_entropy(self.layer(hidden), labels)


def run_eager(model, hidden, labels):
    hidden = hidden.detach().requires_grad_()
    model.zero_grad(set_to_none=True)
    loss = model(hidden, labels)
    loss.backward()
    return loss.detach(), [hidden.grad, *(parameter.grad for parameter in model.parameters())]


def find_error(ours, theirs):
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(ours, theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2048, help="tokens of the batch (default: 2048)")
    parser.add_argument("--width", type=int, default=512, help="of what comes in (default: 512)")
    parser.add_argument("--classes", type=int, default=131072, help="words of the vocabulary (default: 131072)")
    parser.add_argument("--slice-rows", default="256,128,64", help="rows at a time (default: 256,128,64)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each (default: 1)")
    parser.add_argument("--rounds", type=int, default=3, help="steps of each, one after the other (default: 3)")
    parser.add_argument("--json", metavar="FILE", help="where to write the figures")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = Classifier(options.width, options.classes)
    hidden = torch.randn(options.rows, options.width, requires_grad=True)
    labels = torch.randint(options.classes, (options.rows,))
    exported = remat.torch.export(model, (hidden, labels))
    slices = [int(rows) for rows in options.slice_rows.split(",")]
    steps = [exported.compile_step(slice_rows=rows, threads=options.threads) for rows in slices]

    loss, gradients = run_eager(model, hidden, labels)
    gradient_bytes = sum(gradient.nbytes for gradient in gradients)
    rows = [{"variant": "eager", "bytes": allocator_peak(lambda: run_eager(model, hidden, labels)) - gradient_bytes}]
    problems = []
    for size, step in zip(slices, steps):
        our_loss, found = step(None, hidden, labels)
        ours = [torch.as_tensor(found[name]) for name in found]
        by_shape = {tuple(gradient.shape): gradient for gradient in gradients}
        error = find_error([torch.as_tensor(our_loss), *ours], [loss, *(by_shape[tuple(g.shape)] for g in ours)])
        if len(ours) != len(gradients) or not error < 1e-5:
            problems.append(f"{size} rows: {len(ours)} gradients of {len(gradients)}, with an error of {error:.1e}")
        rows.append({"variant": f"{size} rows", "bytes": step.memory["arena"], "error": error})
    calls = [lambda: run_eager(model, hidden, labels)]
    calls += [lambda step=step: step(None, hidden, labels) for step in steps]
    times = [[] for _ in calls]
    for _ in range(options.rounds):
        for call, taken in zip(calls, times):
            begin = time.process_time()
            call()
            taken.append(time.process_time() - begin)
    for row, taken in zip(rows, times):
        row["seconds"] = statistics.median(taken)
        row["relative_bytes"] = row["bytes"] / rows[0]["bytes"]
        row["relative_time"] = row["seconds"] / rows[0]["seconds"]
        print(f"{row['variant']:10} {row['bytes'] / 1e6:9.1f} MB (1/{1 / row['relative_bytes']:.1f}) "
              f"{row['seconds']:7.2f} s of processor time ({row['relative_time']:.2f})", flush=True)
    if not any(row["relative_bytes"] <= 1 / 12 and row["relative_time"] <= 1.2 for row in rows[1:]):
        problems.append("no number of rows takes a twelfth of the bytes and 1.2 times the time")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
