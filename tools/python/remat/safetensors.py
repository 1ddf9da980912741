"""Files of named tensors: eight bytes with the length of a JSON header, the header, the data.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import json
import os

from . import _library as lib
from .arrays import Array, view
from .device import to_host
from .files import write_file

NAMES = {"f32": "F32", "f64": "F64", "f16": "F16", "bf16": "BF16", "i1": "BOOL", "i8": "I8", "i16": "I16",
         "i32": "I32", "i64": "I64", "c64": "C64"}


def save(path, tensors):
    """Writes the tensors of a dictionary, in its order. The file is written whole or not at all."""
    write_file(path, make_writer(tensors))


def make_writer(tensors):
    """A function that writes the tensors of a dictionary, in its order, to a binary file."""
    header, offset, views = {}, 0, []
    for name, tensor in tensors.items():
        found = view(tensor)
        if not found.contiguous:
            raise ValueError("tensor '%s' is not dense in row-major order" % name)
        if found.dtype not in NAMES:
            raise ValueError("tensor '%s' has a type that the format does not have" % name)
        found = view(to_host(tensor))
        size = lib.DTYPE_BYTES[lib.DTYPES.index(found.dtype)]
        for extent in found.shape:
            size *= extent
        header[name] = {"dtype": NAMES[found.dtype], "shape": list(found.shape),
                        "data_offsets": [offset, offset + size]}
        views.append((found, size))
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    def write(file):
        file.write(len(text).to_bytes(8, "little") + text)
        for found, size in views:
            if size:
                file.write((ctypes.c_char * size).from_address(found.address))

    return write


def load(path):
    """The tensors of a file as remat.Array, by their names."""
    dtypes = {name: dtype for dtype, name in NAMES.items()}
    dtypes["U8"] = "i8"
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > os.fstat(file.fileno()).st_size:
            raise ValueError("%s: is no file of safetensors" % path)
        header = json.loads(file.read(length))
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            if entry["dtype"] not in dtypes:
                raise ValueError("%s: tensor '%s' has the unknown type %s" % (path, name, entry["dtype"]))
            array = Array(dtypes[entry["dtype"]], entry["shape"])
            start, end = entry["data_offsets"]
            if end - start != array.nbytes:
                raise ValueError("%s: tensor '%s' has %d bytes, expected %d" % (path, name, end - start, array.nbytes))
            file.seek(8 + length + start)
            if array.nbytes and file.readinto((ctypes.c_char * array.nbytes).from_address(
                    array.address)) != array.nbytes:
                raise ValueError("%s: ends within tensor '%s'" % (path, name))
            tensors[name] = array
    return tensors
