#!/usr/bin/env python3
"""Writes a model with more layers: the last layer of an exported one again and again, each time with weights of its
own.

usage: stretch.py MODEL_DIR MODEL LAYERS OUT_DIR

MODEL's parameters are named after their layer, as in `h.7.fc.weight`. The operations between the first uses of the last
two layers' first parameters are one period; as many copies as are missing are put behind the last. OUT_DIR gets
MODEL_LAYERS.mlir and MODEL_LAYERS.json. A model of N layers and one of 6 N show what grows faster than the model:

    stretch.py MODELS gpt2_8l 48 /tmp && remat-compile /tmp/gpt2_8l_48.mlir --manifest=/tmp/gpt2_8l_48.json -o /dev/null
"""
import json, os, re, sys

# One of several results, as in %3#1, is the operation's name and more.
NAME = re.compile(r"%[\w-]+")


def read_operations(lines):
    """Top-level operations of the function: lists of lines."""
    operations = []
    for line in lines:
        if re.match(r"    [%\w]", line) or not operations:
            operations.append([])
        operations[-1].append(line)
    return operations


def find_last_layer(arguments):
    """The numbers of the last two layers' arguments, in the same order."""
    layers = {}
    for number, argument in enumerate(arguments):
        if match := re.search(r"\.(\d+)(?:\.|$)", argument["name"]):
            layers.setdefault(int(match[1]), []).append(number)
    last = max(layers)
    return last, layers[last - 1], layers[last]


def first_use(operations, argument):
    used = re.compile(rf"%arg{argument}\b")
    return next(i for i, lines in enumerate(operations) if any(used.search(line) for line in lines))


def defined(lines):
    match = re.match(r"    (%[\w-]+)", lines[0])
    return match[1] if match and " = " in lines[0] else None


def rename(lines, names):
    pattern = lambda match: names.get(match[0], match[0])
    return [NAME.sub(pattern, line) for line in lines]


def stretch(text, manifest, layers):
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if "func.func" in line)
    end = next(i for i, line in enumerate(lines) if line.startswith("    return"))
    operations = read_operations(lines[start + 1:end])
    last, before, arguments = find_last_layer(manifest["args"])
    first = min(first_use(operations, argument) for argument in arguments)
    period = first - min(first_use(operations, argument) for argument in before)
    window = operations[first:first + period]
    earlier = [defined(op) for op in operations[first - period:first]]
    bare = lambda ops: [NAME.sub("%", line) for op in ops for line in op]
    if bare(window) != bare(operations[first - period:first]):
        sys.exit("the last two layers differ")
    # Values of the layer before become those of the copy before.
    previous = {old: defined(op) for old, op in zip(earlier, window) if old}
    added, copies, signature, renamed = [], [], [], {defined(op): defined(op) for op in window if defined(op)}
    for layer in range(last + 1, layers):
        names = {}
        for old in arguments:
            number = len(manifest["args"]) + len(added)
            names[f"%arg{old}"] = f"%arg{number}"
            argument = json.loads(json.dumps(manifest["args"][old]))
            argument["name"] = argument["name"].replace(f".{last}", f".{layer}", 1)
            argument["fill"]["seed"] += 1000 * (layer - last)
            kind = re.search(rf"%arg{old}: (tensor<[^>]*>)", lines[start])[1]
            added.append(argument)
            signature.append(f"%arg{number}: {kind}")
        for old, current in previous.items():
            names[old] = renamed[current]
        new = {name: f"%layer{layer}_{name[1:]}" for name in renamed}
        names.update(new)
        copies += [rename(op, names) for op in window]
        renamed = new
    tail = [rename(op, renamed) for op in operations[first + period:]]
    lines[start] = re.sub(r"\) -> ", "".join(f", {part}" for part in signature) + ") -> ", lines[start], count=1)
    body = operations[:first + period] + copies + tail
    result = (lines[:start + 1] + [line for op in body for line in op] + rename(lines[end:end + 1], renamed) +
              lines[end + 1:])
    manifest = {**manifest, "args": manifest["args"] + added}
    manifest.pop("golden", None)
    return "\n".join(result), manifest


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    directory, model, layers, out = sys.argv[1:]
    base = os.path.join(directory, model)
    text, manifest = stretch(open(base + ".mlir").read(), json.load(open(base + ".json")), int(layers))
    name = f"{model}_{layers}"
    manifest.update(model=name, file=name + ".mlir")
    with open(os.path.join(out, name + ".mlir"), "w") as file:
        file.write(text)
    with open(os.path.join(out, name + ".json"), "w") as file:
        json.dump(manifest, file)


main()
