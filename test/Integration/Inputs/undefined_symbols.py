"""Prints the symbols that object files need and nobody defines: neither another file on the command line nor libc or
libm. Exit status 1 if there are any.

usage: undefined_symbols.py NM CC FILE...
"""
import subprocess
import sys

nm, compiler, files = sys.argv[1], sys.argv[2], sys.argv[3:]


def list_symbols(file, *options):
    text = subprocess.run([nm, "--format=just-symbols", *options, file], check=True, capture_output=True, text=True).stdout
    # Symbols of shared libraries have versions.
    return {line.split("@")[0] for line in text.splitlines()}


def find_library(name):
    return subprocess.run([compiler, "-print-file-name=" + name], check=True, capture_output=True, text=True).stdout.strip()


defined = set()
for name in ("libc.so.6", "libm.so.6"):
    defined |= list_symbols(find_library(name), "--dynamic", "--defined-only")
for file in files:
    defined |= list_symbols(file, "--defined-only", "--extern-only")
failed = False
for file in files:
    if not file.endswith(".o"):
        continue
    missing = list_symbols(file, "--undefined-only") - defined
    if missing:
        failed = True
        print(file, "needs", ", ".join(sorted(missing)))
sys.exit(failed)
