# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a .npy file of truth values with any bytes: write-bools.py FILE BYTE..."""
import struct
import sys

values = bytes(map(int, sys.argv[2:]))
header = b"{'descr': '|b1', 'fortran_order': False, 'shape': (%d,), }" % len(values)
header += b" " * (-(len(header) + 11) % 64) + b"\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values)
