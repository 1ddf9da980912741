"""Runs a graph and compares with the values that its comments store:

    check.py REMAT_RUN FILE [HESSIAN FUNCTION]

A comment `// NAME: DTYPE SHAPE = VALUE ...` (SHAPE as in 2x3, empty for a
number) gives an argument (arg0), a cotangent (cotangent0), a tangent
(tangent0), or what is expected: result0, vjp0, jvp0, hvp0, of which the prefix
says the mode. `// tolerance: T` bounds |got - want| / (1 + |want|), 1e-6 if it
is missing; nan and inf must stand in the same places. Derivatives are by the
arguments that `// wrt: 0,2` names. Made by make.py.

With HESSIAN, the FUNCTION in that file takes the arguments and the tangents,
and its results are compared with hvp0 ..."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import math
import os
import re
import struct
import subprocess
import sys
import tempfile

CODES = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "f16": ("<f2", "e"),
         "bf16": ("<u2", "H"), "i64": ("<i8", "q"), "i32": ("<i4", "i"),
         "i1": ("|b1", "?")}
MODES = {"result": "forward", "vjp": "vjp", "jvp": "jvp", "hvp": "hvp"}


def write(path, dtype, shape, values):
    descr, code = CODES[dtype]
    dims = "".join(f"{extent}, " for extent in shape)
    header = f"{{'descr': '{descr}', 'fortran_order': False, "
    header += f"'shape': ({dims}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    if dtype[0] == "i":
        values = [int(value) for value in values]
    elif dtype == "bf16":
        values = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16
                  for value in values]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode("latin1"))
        file.write(struct.pack(f"<{len(values)}{code}", *values))


def read(path, dtype):
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    code = CODES[dtype][1]
    count = (len(data) - start) // struct.calcsize("<" + code)
    values = struct.unpack_from(f"<{count}{code}", data, start)
    if dtype == "bf16":
        values = [struct.unpack("<f", struct.pack("<I", value << 16))[0]
                  for value in values]
    return values


def differs(got, want, tolerance):
    if math.isfinite(want):
        return not abs(got - want) <= tolerance * (1 + abs(want))
    return got != want and not (math.isnan(got) and math.isnan(want))


def main():
    tool, graph = sys.argv[1:3]
    product = len(sys.argv) > 3
    with open(graph) as file:
        text = file.read()
    found = dict(re.findall(r"^// (\w+): (.*)$", text, re.MULTILINE))
    tolerance = float(found.get("tolerance", "1e-6"))
    expected = {}
    with tempfile.TemporaryDirectory() as directory:
        inputs, outputs = (os.path.join(directory, name) for name in
                           ("in", "out"))
        os.mkdir(inputs)
        for name, entry in found.items():
            match = re.match(r"(\w+) ([\dx]*) ?= ?(.*)$", entry)
            if not match:
                continue
            dtype, shape = match[1], [int(n) for n in match[2].split("x") if n]
            values = [float(value) for value in match[3].split()]
            prefix = name.rstrip("0123456789")
            if product and prefix == "tangent":
                count = len(re.findall(r"^// arg\d", text, re.MULTILINE))
                name = f"arg{count + int(name[len(prefix):])}"
            elif product and prefix == "hvp":
                name = name.replace(prefix, "result")
            elif product and prefix in MODES:
                continue
            if name.rstrip("0123456789") in MODES:
                expected[name] = dtype, values
            else:
                write(os.path.join(inputs, name + ".npy"), dtype, shape, values)
        modes = sorted({MODES[name.rstrip("0123456789")] for name in expected})
        command = [tool, sys.argv[3] if product else graph,
                   f"--inputs={inputs}", f"--outputs={outputs}",
                   "--emit=" + ",".join(modes)]
        if product:
            command.append("--function=" + sys.argv[4])
        elif "wrt" in found:
            command.append("--wrt=" + found["wrt"])
        if subprocess.run(command).returncode != 0:
            return 1
        wrong = 0
        for name, (dtype, want) in expected.items():
            got = read(os.path.join(outputs, name + ".npy"), dtype)
            bad = [i for i in range(max(len(got), len(want)))
                   if i >= min(len(got), len(want)) or
                   differs(got[i], want[i], tolerance)]
            for i in bad[:3]:
                pair = [list(part[i:i + 1]) for part in (got, want)]
                print(f"{name}: element {i} is {pair[0]}, want {pair[1]}")
            wrong += bool(bad)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
