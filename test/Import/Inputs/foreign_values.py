"""Runs a program that says in comments what it is given and what it returns:
foreign_values.py RUN MODEL FOLDER [OPTION ...].

A comment `// arg 0 f8 2x3: 1.0 ...` has the elements of argument 0, and so do `cotangent`, `result` and `gradient`.
RUN is the command of remat-run, which gets the options. Results and gradients may differ by `// tolerance X` of the
largest element."""

import math
import os
import re
import struct
import subprocess
import sys

FORMATS = {"f8": "d", "f4": "f", "f2": "e", "u2": "H", "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "c8": "ff",
           "c16": "dd"}


def write(path, dtype, shape, values):
    order = "|" if dtype[1] == "1" and len(dtype) == 2 else "<"
    header = f"{{'descr': '{order}{dtype}', 'fortran_order': False, 'shape': ({''.join(f'{n}, ' for n in shape)}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    kind = FORMATS[dtype][0]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1"))
        file.write(struct.pack(f"<{len(values)}{kind}", *values))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0]
    dtype = re.search(r"'descr': '[<|]([a-z0-9]+)'", data[10:10 + length].decode("latin1")).group(1)
    kind = FORMATS[dtype][0]
    elements = data[10 + length:]
    return list(struct.unpack(f"<{len(elements) // struct.calcsize('<' + kind)}{kind}", elements))


def parse(text, dtype):
    return [float(t) if dtype[0] in "fc" else int(t) for t in text.split()]


def is_close(got, wanted, tolerance, exact):
    if len(got) != len(wanted):
        return False
    scale = max([abs(w) for w in wanted if math.isfinite(w)] + [1e-3])
    return all(g == w or (not exact and (math.isnan(g) and math.isnan(w) or abs(g - w) <= tolerance * scale))
               for g, w in zip(got, wanted))


def main():
    run, model, folder, *options = sys.argv[1:]
    os.makedirs(folder + "/in", exist_ok=True)
    text = open(model).read()
    tolerance = float(re.search(r"^// tolerance (.*)$", text, re.MULTILINE).group(1))
    wanted = []
    for kind, number, dtype, shape, values in re.findall(
            r"^// (arg|cotangent|result|gradient) (\d+) (\w+) ([\dx]*):(.*)$", text, re.MULTILINE):
        values = parse(values, dtype)
        if kind in ("arg", "cotangent"):
            write(f"{folder}/in/{kind}{number}.npy", dtype, [int(n) for n in shape.split("x") if n], values)
        else:
            wanted.append((kind, number, dtype, values))
    gradients = any(kind == "gradient" for kind, *_ in wanted)
    subprocess.run([run, model, "--inputs=" + folder + "/in", "--outputs=" + folder + "/out", "--threads=1",
                    "--effort=0.01", "--emit=forward" + (",vjp" if gradients else ""), *options], check=True,
                   stdout=subprocess.DEVNULL)
    for kind, number, dtype, values in wanted:
        got = read(f"{folder}/out/{'vjp' if kind == 'gradient' else kind}{number}.npy")
        if not is_close(got, values, tolerance, dtype[0] not in "fcu"):
            sys.exit(f"{kind} {number} is\n{got}\nexpected\n{values}")


main()
