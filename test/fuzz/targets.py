# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machines at random: facts so small that little programs are cut into rows, tiles and slices as large ones are."""


def make_facts(numbers, name):
    """The text of a #remat.target."""
    pick = numbers.choice
    block_rows = pick([1, 2, 3, 4, 8])
    block_bytes = pick([1, 16, 64, 256, 1024, 96 << 10])
    facts = {
        "alignment": pick([64, 128, 256]),
        "row_bytes": block_bytes * pick([1, 1, 4, 1000]),
        "block_bytes": block_bytes,
        "block_rows": block_rows,
        "min_block_rows": numbers.randint(1, block_rows),
        "sum_length": pick([1, 2, 4, 1 << 14]),
        "channel_bytes": pick([1, 32, 128, 1 << 20]),
        "slice_bytes": pick([1, 64, 256, 1 << 20]),
        "slice_rows": pick([1, 2, 3, 4]),
        "min_slice_rows": pick([1, 2]),
        "in_place": pick(["true", "true", "false"]),
        "epilogues": pick(["true", "false"]),
        "strides": pick(["true", "false"]),
    }
    return f'#remat.target<"{name}", ' + ", ".join(f"{fact} = {value}" for fact, value in facts.items()) + ">"


def add_target(text, facts):
    return f"module attributes {{remat.target = {facts}}} {{\n{text}}}\n"
