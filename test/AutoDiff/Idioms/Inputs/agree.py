"""Compares the derivatives of an idiom with those of its parts:

    agree.py REMAT_OPT REMAT_RUN FILE

The function @main of the file maps tensors of 32 numbers to one, element by
element. A comment `// arg0: [LOW, HIGH] ...` gives the intervals of the values
of an argument, which are drawn so that all magnitudes are equally likely;
`// singular: VALUE ...` gives one value for each argument.

Gradient, tangent and the tangent of the gradient are computed with idioms and
with idioms=false. At the drawn points they must agree, |a - b| <= 1e-12 (1 +
|b|). At the singular point some of them must differ: where the parts would do,
there must be no idiom."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

COUNT = 32
TOLERANCE = 1e-12


def draw(generator, intervals):
    """A value of one of the intervals, none of which contains 0."""
    low, high = generator.choice(intervals)
    logarithm = generator.uniform(math.log(abs(low)), math.log(abs(high)))
    return math.copysign(math.exp(logarithm), low)


def write(path, values):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({COUNT},)}}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode("latin1"))
        file.write(struct.pack(f"<{COUNT}d", *values))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack_from(f"<{COUNT}d", data, start)


def derive(tools, graph, arguments, idioms, directory):
    """The value, the gradients, the tangent of the value, and those of the
    gradients, by name."""
    optimizer, runner = tools
    numbers = range(len(arguments))
    wrt = "wrt=" + ",".join(map(str, numbers))
    derived = os.path.join(directory, f"{idioms}.mlir")
    subprocess.run(
        [optimizer, graph, "-o", derived,
         f"--remat-differentiate=mode=reverse idioms={idioms}",
         f"--remat-differentiate=mode=forward {wrt} idioms={idioms}"],
        check=True)
    inputs, outputs = (os.path.join(directory, idioms + name)
                       for name in ("-in", "-out"))
    os.mkdir(inputs)
    # The arguments, the cotangent of the result and the tangents.
    generator = random.Random(1)
    values = list(arguments)
    for _ in range(1 + len(arguments)):
        values.append([draw(generator, [(-2, -0.5), (0.5, 2)])
                       for _ in range(COUNT)])
    for number, row in enumerate(values):
        write(os.path.join(inputs, f"arg{number}.npy"), row)
    subprocess.run([runner, derived, f"--inputs={inputs}",
                    f"--outputs={outputs}", "--emit=forward"], check=True)
    names = ["value"] + [f"gradient {i}" for i in numbers] + ["tangent"] + [
        f"tangent of gradient {i}" for i in numbers]
    return {name: read(os.path.join(outputs, f"result{number}.npy"))
            for number, name in enumerate(names)}


def main():
    *tools, graph = sys.argv[1:]
    with open(graph) as file:
        found = dict(re.findall(r"^// (\w+): (.*)$", file.read(), re.MULTILINE))
    singular = [float(value) for value in found["singular"].split()]
    generator = random.Random(os.path.basename(graph))
    arguments = []
    for number, value in enumerate(singular):
        intervals = [tuple(map(float, pair)) for pair in re.findall(
            r"\[(\S+), (\S+)\]", found[f"arg{number}"])]
        arguments.append([draw(generator, intervals)
                          for _ in range(COUNT - 1)] + [value])
    with tempfile.TemporaryDirectory() as directory:
        whole, parts = (derive(tools, graph, arguments, idioms, directory)
                        for idioms in ("true", "false"))
    wrong = 0
    for name, got in whole.items():
        for point in range(COUNT - 1):
            want = parts[name][point]
            if not abs(got[point] - want) <= TOLERANCE * (1 + abs(want)):
                wrong += 1
                print(f"{name} at {[row[point] for row in arguments]}: "
                      f"{got[point]} as an idiom, {want} of its parts")
    if all(repr(whole[name][-1]) == repr(parts[name][-1]) for name in whole):
        wrong += 1
        print(f"at {singular} all derivatives are those of the parts: the "
              "idiom is not needed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
