#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that no folder includes one that stands on it.

    layers.py [ROOT]

LAYERS says for every folder of the library what its headers and sources may
include beside itself. A folder that is not listed is an error, so that whoever
adds one decides where it stands."""

import os
import re
import sys

# A folder may also include what the folders that it names may include.
LAYERS = {
    # Data and plain C++: no IR. Schedules are what the planner plans and the
    # run time does.
    "Schedules": [],
    "Planning": ["Schedules", "Support"],
    "Runtime": ["Schedules"],
    "Runtime/CPU": ["Runtime"],
    "Runtime/CUDA": ["Runtime"],
    "Support": [],
    # What operations implement.
    "Interfaces": [],
    # The dialect, and what passes share.
    "Dialect/Remat/IR": ["Interfaces"],
    "Utils": ["Dialect/Remat/IR", "Support"],
    "Dialect/Remat/Transforms": ["Utils", "Planning", "Interfaces"],
    "AutoDiff": ["Utils"],
    "Conversion/Import": ["Utils", "Interfaces"],
    # What any target needs, and what passes ask a target.
    "Codegen": ["Utils", "Interfaces", "Runtime", "Support"],
    "Target": ["Codegen"],
    "Transforms": ["Target"],
    "Cost": ["Target"],
    # One target knows its machine; only the list of all targets knows it. The
    # simulator of a GPU runs on the CPU.
    "Target/CPU": ["Target"],
    "Target/CUDA": ["Target/CPU"],
    "Pipelines": [
        "AutoDiff", "Conversion/Import", "Cost", "Dialect/Remat/Transforms", "Transforms",
    ],
    "tools": ["Pipelines"],
    # The doors.
    "CAPI": ["Pipelines"],
    "Plugin": ["Pipelines"],
}

# Single files that may include more than their folder.
EXCEPTIONS = {
    "lib/Target/AllTargets.cpp": ["Target/CPU", "Target/CUDA"],
}

# What folders may not include of other projects.
FOREIGN = {
    "Schedules": r"(mlir|llvm)/",
    "Planning": r"mlir/",
    "Runtime": r"(mlir|llvm)/|dnnl|oneapi/",
    "Runtime/CPU": r"(mlir|llvm)/",
    "Runtime/CUDA": r"(mlir|llvm)/|dnnl|oneapi/|cuda|cublas",
    "Support": r"mlir/",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def folder_of(path):
    """The folder of LAYERS that a path below include/remat, lib or . is in."""
    while path and path not in LAYERS:
        path = os.path.dirname(path)
    return path


def reachable(folder):
    result = {folder}
    for below in LAYERS[folder]:
        result |= reachable(below)
    return result


def sources(root):
    for top, strip in (("include/remat", "include/remat"), ("lib", "lib"), ("tools", "")):
        for directory, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith((".h", ".cpp", ".c")):
                    path = os.path.relpath(os.path.join(directory, name), root)
                    yield path, os.path.relpath(path, strip) if strip else path


def check(root):
    for path, inner in sources(root):
        folder = folder_of(os.path.dirname(inner))
        if not folder:
            yield f"{path}: its folder has no place in LAYERS of tools/checks/layers.py"
            continue
        allowed = reachable(folder).union(*map(reachable, EXCEPTIONS.get(path, [])))
        with open(os.path.join(root, path)) as file:
            text = file.read()
        for match in INCLUDE.finditer(text):
            header = match[1]
            place = f"{path}:{text.count(chr(10), 0, match.start(1)) + 1}"
            if header.startswith("remat/"):
                other = folder_of(os.path.dirname(header.removeprefix("remat/")))
                if other not in allowed:
                    names = ", ".join(sorted(allowed))
                    yield (f"{place}: {folder} includes '{header}' of {other or 'no known folder'}; it may include "
                           f"{names}")
            elif folder in FOREIGN and re.match(FOREIGN[folder], header):
                yield f"{place}: {folder} includes '{header}', which it has to do without"


if __name__ == "__main__":
    errors = list(check(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(errors), end="\n" if errors else "")
    sys.exit(bool(errors))
