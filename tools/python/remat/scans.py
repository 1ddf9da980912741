"""Scans: each element combined with all before it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .mlir import identity

# So many elements one after the other are combined by one kernel.
BLOCK = 8


def scan(f, value, dim, initial, combine, reverse=False):
    """Each element along `dim` combined with all before it, or behind it with `reverse`: within blocks, then what is
    before each block, and then both (G. Blelloch, "Prefix Sums and Their Applications", 1990). So there are about two
    combinations for each element, and as many levels as the length has digits in base BLOCK. `combine` takes a body and
    two scalars of it, of which the first comes first; `initial` combined with a number is that number."""
    length = value.shape[dim]
    if length <= 1:
        return value
    width = min(BLOCK, length)
    count = -(-length // width)

    def along(size):
        return [size if d == dim else 0 for d in range(value.rank)]

    def pad(part, size, before):
        """With so many elements more where a scan begins, or where it ends."""
        ends = [along(size), along(0)]
        return f.pad(part, *(ends if before != reverse else reversed(ends)), initial)

    added = count * width - length
    padded = pad(value, added, before=False)
    blocks = f.reshape(padded, [*value.shape[:dim], count, width, *value.shape[dim + 1:]])
    total_shape = [*value.shape[:dim], count, *value.shape[dim + 1:]]

    def merge(first, second):
        maps = [(part, identity(value.rank)) for part in (first, second)]
        return f.generic(maps, total_shape, value.element, combine)

    def column(place):
        offsets, sizes = [0] * blocks.rank, list(blocks.shape)
        offsets[dim + 1], sizes[dim + 1] = place, 1
        return f.reshape(f.slice(blocks, offsets, sizes, [1] * blocks.rank), total_shape)

    places = list(reversed(range(width)) if reverse else range(width))
    parts = {places[0]: column(places[0])}
    for before, place in zip(places, places[1:]):
        parts[place] = merge(parts[before], column(place))
    if count > 1:
        totals = scan(f, parts[places[-1]], dim, initial, combine, reverse)
        kept = [*value.shape[:dim], count - 1, *value.shape[dim + 1:]]
        carried = pad(f.slice(totals, along(int(reverse)), kept, [1] * value.rank), 1, before=True)
        parts = {place: merge(carried, part) for place, part in parts.items()}
    column_shape = [*value.shape[:dim], count, 1, *value.shape[dim + 1:]]
    whole = f.concat([f.reshape(parts[place], column_shape) for place in range(width)], dim + 1)
    whole = f.reshape(whole, padded.shape)
    return f.slice(whole, along(added if reverse else 0), list(value.shape), [1] * value.rank)
