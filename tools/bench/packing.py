#!/usr/bin/env python3
"""Packs tables of buffers with remat-pack and, where it is given, with MiniMalloc, in turn.

    packing.py BIN FOLDER [--minimalloc=PROGRAM] [--timeout=SECONDS]

FOLDER has files NAME.CAPACITY.csv, as MiniMalloc's benchmarks are called. Each is packed into its capacity by both, one
after the other; the time is that of the whole process. Exit status 1 if remat-pack does not fit one, or takes longer
than MiniMalloc where that fits it, too. MiniMalloc is built from its repository, google/minimalloc on GitHub.
"""
import argparse, csv, os, subprocess, sys, tempfile, time


def run(command, timeout):
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        status = done.returncode
    except subprocess.TimeoutExpired:
        status = None
    return status, time.perf_counter() - begin


def check(path, capacity):
    """Whether what lives together is apart, and below the capacity."""
    with open(path) as file:
        rows = [(int(row["lower"]), int(row["upper"]), int(row["offset"]), int(row["offset"]) + int(row["size"]))
                for row in csv.DictReader(file)]
    rows.sort()
    for index, (lower, upper, low, high) in enumerate(rows):
        if low < 0 or high > capacity:
            return False
        for other in rows[index + 1:]:
            if other[0] >= upper:
                break
            if low < other[3] and other[2] < high:
                return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="the folder of remat-pack")
    parser.add_argument("folder")
    parser.add_argument("--minimalloc", metavar="PROGRAM")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS")
    options = parser.parse_args()
    files = sorted(name for name in os.listdir(options.folder) if name.endswith(".csv"))
    if not files:
        parser.error(f"no file NAME.CAPACITY.csv in {options.folder}")
    short = 0
    with tempfile.TemporaryDirectory() as scratch:
        output = os.path.join(scratch, "packed.csv")
        for name in files:
            path, capacity = os.path.join(options.folder, name), int(name.split(".")[-2])
            status, ours = run([os.path.join(options.bin, "remat-pack"), path, f"--capacity={capacity}",
                                "-o", output], options.timeout)
            fits = status == 0 and check(output, capacity)
            line, good = f"{name:24} remat {'fits in' if fits else 'does not fit in'} {ours:7.2f} s", fits
            if options.minimalloc:
                status, theirs = run([options.minimalloc, f"--capacity={capacity}", f"--input={path}",
                                      f"--output={output}"], options.timeout)
                peer_fits = status == 0 and os.path.getsize(output) > 0 and check(output, capacity)
                line += f", MiniMalloc {'fits in' if peer_fits else 'does not fit in'} {theirs:7.2f} s"
                good &= not peer_fits or ours <= theirs
            short += not good
            print(line, flush=True)
    print(f"{len(files) - short} of {len(files)} hold")
    sys.exit(1 if short else 0)


if __name__ == "__main__":
    main()
