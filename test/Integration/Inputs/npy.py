"""Writes a NumPy file: npy.py FILE DTYPE SHAPE VALUE..., with DTYPE 'i4', 'i8',
'f2', 'f4', 'f8', 'c8' or 'c16' and SHAPE as in '2x3', '' for no dimensions. A single value fills the array, and '1+2j' is a complex
one."""

import struct
import sys

path, dtype, shape = sys.argv[1:4]
dims = [int(extent) for extent in shape.split("x") if extent]
count = 1
for extent in dims:
    count *= extent
convert, code = {"i4": (int, "i"), "i8": (int, "q"), "f2": (float, "e"), "f4": (float, "f"), "f8": (float, "d"), "c8": (complex, "f"),
                 "c16": (complex, "d")}[dtype]
values = [convert(value) for value in sys.argv[4:]]
if len(values) == 1:
    values *= count
if convert is complex:
    values = [part for value in values for part in (value.real, value.imag)]
dims = "".join(f"{extent}, " for extent in dims)
header = f"{{'descr': '<{dtype}', 'fortran_order': False, 'shape': ({dims}), }}"
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
    file.write(header.encode("latin1") + struct.pack(f"<{len(values)}{code}", *values))
