#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the first line of C++ files: 80 columns with the file's own name, and
the language in headers where there is room for it.

    banners.py [--fix] FILE...

--fix pads or shortens the line of dashes; a description that is too long is
reported all the same."""

import os
import re
import sys

LINE = re.compile(r"//===- (?P<name>\S+) - (?P<text>.*?)[ -]*(?P<mode>-\*- C(\+\+)? -\*-)?===//")
WIDTH = 80


def expected(path, line):
    """The line as it should be, or what is wrong with it."""
    match = LINE.fullmatch(line)
    name = os.path.basename(path)
    if not match:
        return None, f"expected '//===- {name} - what it is for ---===//', got '{line}'"
    if match["name"] != name:
        return None, f"names '{match['name']}', expected '{name}'"
    mode = match["mode"] or ("-*- C++ -*-" if path.endswith(".h") else "")
    start = f"//===- {name} - {match['text']} "
    for end in (mode + "===//", "===//"):
        room = WIDTH - len(start) - len(end)
        if room >= 0:
            return start + "-" * room + end, None
    return None, f"the description is {-room} characters too long for {WIDTH} columns"


def main(arguments):
    fix = "--fix" in arguments
    failed = False
    for path in arguments:
        if path == "--fix":
            continue
        with open(path) as file:
            line, _, rest = file.read().partition("\n")
        right, error = expected(path, line)
        if error is None and line != right:
            if fix:
                with open(path, "w") as file:
                    file.write(right + "\n" + rest)
            else:
                error = f"the first line is '{line}', expected '{right}'"
        if error:
            print(f"{path}:1: {error}")
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
