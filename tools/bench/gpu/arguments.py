"""The arguments of a model as its manifest describes them, where the program that runs steps reads them."""
import os

import numpy


def splitmix64(state):
    """The generator of Manifest.h, for an array of states."""
    z = state + numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


def round_to_bf16(values):
    """To the nearest, halves to even, as the upper halves of floats."""
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def make_argument(argument):
    fill, count = argument["fill"], int(numpy.prod(argument["shape"], dtype=numpy.int64))
    with numpy.errstate(over="ignore"):
        index = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(fill["seed"] << 32)
        bits = splitmix64(index)
    if fill["kind"] == "index":
        values = (bits >> numpy.uint64(33)) % numpy.uint64(fill["below"])
    else:
        values = fill["lo"] + (fill["hi"] - fill["lo"]) * ((bits >> numpy.uint64(40)).astype(numpy.float64) / 2.0**24)
    return round_to_bf16(values) if argument["dtype"] == "bfloat16" else values.astype(argument["dtype"])


def write_arguments(arguments, directory):
    for number, argument in enumerate(arguments):
        make_argument(argument).tofile(os.path.join(directory, "arg%d.bin" % number))
