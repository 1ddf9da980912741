#!/usr/bin/env python3
"""Compiles models for a GPU and counts what their kernels need. No GPU is needed, but ptxas of the CUDA toolkit.

usage: kernels.py BIN MODEL.mlir... [--budgets=none,60%,min] [--options="--effort=0"] [--cache=DIR]

BIN is the directory of remat-compile. A manifest is the file beside the model that ends in .json, if there is one. Each
model is compiled for each budget, for compute capabilities 8.0 and 9.0. A row of the table has the bytes of the planned
peak, the distinct kernels of the device (launches of generated code), the most registers of a thread on 8.0 and 9.0,
how many functions have a stack frame there, which is where spilled registers and local arrays are, and how many of the
kernels that read memory of the device do so by loads or copies of 16 bytes. A budget that is too small is no failure;
the row says what the smallest one is. Exit status 1 if a function has a stack frame, or a model does not compile.
"""
import argparse, collections, os, re, struct, subprocess, sys, tempfile

CUBIN, PTX = 0, 1
# Attributes of functions in cubins, which the toolkit's cuobjdump prints as REG and STACK.
FRAME_SIZE, REGISTERS, FOUR_BYTES = 0x11, 0x2F, 4


def read_images(path):
    """The images of the device code of an object: (kind, capability, bytes)."""
    data = open(path, "rb").read()
    start = data.find(b"rematgpu")
    if start < 0:
        return []
    _, count, _, _, offset = struct.unpack_from("<IIQQQ", data, start + 8)
    images = []
    for i in range(count):
        _, kind, capability, _, at, size = struct.unpack_from("<IiIIQQ", data, start + offset + 32 * i)
        images.append((kind, capability, data[start + at:start + at + size]))
    return images


def read_needs(cubin):
    """Registers and bytes of the stack frame of each function of a cubin, an ELF file of 64 bits."""
    (sections,), (size, count) = struct.unpack_from("<Q", cubin, 0x28), struct.unpack_from("<HH", cubin, 0x3A)
    needs = collections.defaultdict(lambda: [0, 0])
    for i in range(count):
        kind, at, length, link = (struct.unpack_from(form, cubin, sections + size * i + place)[0]
                                  for form, place in (("<I", 4), ("<Q", 24), ("<Q", 32), ("<I", 40)))
        # SHT_CUDA_INFO; that of the whole file belongs to no section.
        if kind != 0x70000000 or struct.unpack_from("<I", cubin, sections + size * i + 44)[0] != 0:
            continue
        end = at + length
        while at < end:
            form, attribute, value = struct.unpack_from("<BBH", cubin, at)
            at += 4
            if form != FOUR_BYTES:
                continue
            if attribute in (FRAME_SIZE, REGISTERS):
                function, number = struct.unpack_from("<II", cubin, at)
                needs[function][attribute == FRAME_SIZE] = number
            at += value
    return list(needs.values())


def count_loads(ptx):
    """Kernels, those that read memory of the device, and those of these that do so 16 bytes at a time."""
    kernels = ptx.decode().split(".entry")[1:]
    reading = wide = 0
    for body in kernels:
        if re.search(r"\bld\.global|cp\.async", body):
            reading += 1
            wide += bool(re.search(r"\bld\.global\S*\.(v4\.[bfus]32|v2\.[bfus]64)|cp\.async\S* \[[^]]*\], \[[^]]*\], "
                                   r"16", body))
    return len(kernels), reading, wide


def measure(options, model, budget, folder):
    """A row of the table, and whether it is as it should be."""
    manifest = os.path.splitext(model)[0] + ".json"
    path = os.path.join(folder, "step.o")
    command = [os.path.join(options.bin, "remat-compile"), model, "--target=cuda", "-o", path,
               "--kernel-cache=" + options.cache] + options.options.split()
    command += ["--manifest=" + manifest] if os.path.exists(manifest) else []
    command += ["--budget=" + budget] if budget != "none" else []
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode:
        errors = [line for line in run.stdout.splitlines() if "error:" in line] or run.stdout.splitlines()[-1:]
        message = errors[0].split("error: ")[-1] if errors else "status %d" % run.returncode
        return message, "the smallest feasible budget" in message
    peak = re.search(r"planned peak (\d+)", run.stdout)
    registers, frames, kernels, reading, wide = {80: 0, 90: 0}, {80: 0, 90: 0}, 0, 0, 0
    for kind, capability, image in read_images(path):
        if kind == PTX:
            more = count_loads(image.rstrip(b"\0"))
            kernels, reading, wide = kernels + more[0], reading + more[1], wide + more[2]
            continue
        needs = read_needs(image)
        registers[capability] = max([registers[capability]] + [need[0] for need in needs])
        frames[capability] += sum(need[1] > 0 for need in needs)
    row = "%16s %9d %7d %7d %8d %8d %11s" % (peak.group(1) if peak else "-", kernels, registers[80], registers[90],
                                            frames[80], frames[90], "%d of %d" % (wide, reading))
    return row, not any(frames.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("bin")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--budgets", default="none,60%,min")
    parser.add_argument("--options", default="--effort=0")
    parser.add_argument("--cache")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        options.cache = options.cache or os.path.join(folder, "cache")
        print("%-24s %-6s %16s %9s %7s %7s %8s %8s %11s" % ("model", "budget", "planned peak", "kernels", "reg 8.0",
                                                            "reg 9.0", "stack 8.0", "stack 9.0", "16 bytes"))
        for model in options.models:
            for budget in options.budgets.split(","):
                row, passed = measure(options, model, budget, folder)
                good &= passed
                name = os.path.splitext(os.path.basename(model))[0]
                print("%-24s %-6s %s%s" % (name, budget, row, "" if passed else "  FAILED"), flush=True)
    sys.exit(not good)


main()
