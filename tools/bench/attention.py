#!/usr/bin/env python3
"""Compares attention without a mask, forward and backward, with PyTorch's eager mode.

SHAPE is HEADS,QUERIES,KEYS,WIDTH. Queries, keys and values lie as models have them, with the heads next to each other.
The loss is the sum of squares of what comes out. Steps run in turn, and the time is the median of the processor time of
a step. Gradients are compared with those in f64, as the largest error relative to the largest element.

Exit status 1 if a gradient differs by more than 1e-5 (f32) or 2e-2 (bf16). Needs torch.
"""
import argparse, json, statistics, sys, time

import torch

import remat.torch

LARGEST_ERROR = {"f32": 1e-5, "bf16": 2e-2}


def find_loss(heads, queries, keys, values):
    split = lambda tensor: tensor.unflatten(-1, (heads, -1)).transpose(1, 2)
    result = torch.nn.functional.scaled_dot_product_attention(split(queries), split(keys), split(values))
    return result.square().sum()


def find_gradients(function, heads, tensors):
    tensors = [tensor.detach().requires_grad_() for tensor in tensors]
    function(heads, *tensors).backward()
    return [tensor.grad for tensor in tensors]


def find_error(found, expected):
    return max(float((a.double() - b).abs().max() / b.abs().max()) for a, b in zip(found, expected))


def compare(shape, options):
    heads, queries, keys, width = shape
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[options.dtype]
    tensors = [torch.randn(1, length, heads * width, dtype=dtype) for length in (queries, keys, keys)]
    torch._dynamo.reset()
    compiled = torch.compile(find_loss, dynamic=False, backend="remat", options={"threads": options.threads})
    functions = {"eager": find_loss, "remat": compiled}
    exact = find_gradients(find_loss, heads, [tensor.double() for tensor in tensors])
    row = {"shape": shape, "dtype": options.dtype, "threads": options.threads,
           "error": find_error(find_gradients(compiled, heads, tensors), exact)}
    times = {name: [] for name in functions}
    for _ in range(options.rounds):
        for name, function in functions.items():
            begin = time.process_time()
            find_gradients(function, heads, tensors)
            times[name].append(time.process_time() - begin)
    for name, taken in times.items():
        row[name] = statistics.median(taken)
    print(f"{','.join(map(str, shape)):>18}: eager {1e3 * row['eager']:8.2f} ms, remat {1e3 * row['remat']:8.2f} ms "
          f"({row['remat'] / row['eager']:.2f}), error {row['error']:.1e}", flush=True)
    return row


def read_shape(text):
    sizes = text.split(",")
    if len(sizes) != 4 or not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r}: expected HEADS,QUERIES,KEYS,WIDTH, four positive numbers")
    return tuple(map(int, sizes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="+", type=read_shape, metavar="SHAPE", help="HEADS,QUERIES,KEYS,WIDTH")
    parser.add_argument("--dtype", choices=list(LARGEST_ERROR), default="f32", help="type of all tensors")
    parser.add_argument("--threads", type=int, default=1, help="threads of each (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="steps of each, one after the other (default: 5)")
    parser.add_argument("--json", metavar="FILE", help="where to write the figures")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rows = [compare(shape, options) for shape in options.shapes]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
    sys.exit(any(not row["error"] <= LARGEST_ERROR[options.dtype] for row in rows))


if __name__ == "__main__":
    main()
