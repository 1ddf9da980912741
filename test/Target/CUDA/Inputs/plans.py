"""Lets cuDNN make plans of all convolutions of a model, without a GPU, and prints how long that takes and what they need.

usage: plans.py REMAT_OPT MODEL.mlir [OPTION=VALUE ...]

The options are those of remat-opt's pipeline. Fails if a convolution has no plan for one of the devices, or if a second
process makes others.
"""
import re, subprocess, sys, time

DEVICES = "sm_80", "sm_90"
PLAN = re.compile(r'{device = "(\w+)", plan = "(?:[^"\\]|\\.)*", version = (\d+) : i64, workspace = (\d+) : i64}')
MIB = 2**20


def compile_tasks(program, model, implementation, options):
    """The module with tasks, and the seconds that it took."""
    pipeline = " ".join(["emit=tasks", "target=cuda", "convolutions=" + implementation, *options])
    begin = time.monotonic()
    result = subprocess.run([program, model, "--remat-pipeline=" + pipeline], check=True, stdout=subprocess.PIPE, text=True)
    return result.stdout, time.monotonic() - begin


def main(program, model, *options):
    _, generated = compile_tasks(program, model, "generated", options)
    module, planned = compile_tasks(program, model, "cudnn", options)
    kernels = [line for line in module.splitlines() if "remat.kernel" in line]
    bodies = module.count("remat.conv ")
    plans = [PLAN.findall(line) for line in kernels if "remat.plans" in line]
    assert bodies > 0 and len(plans) == bodies, "%d of %d convolutions have plans" % (len(plans), bodies)
    assert all({plan[0] for plan in found} == set(DEVICES) for found in plans)
    assert compile_tasks(program, model, "cudnn", options)[0] == module, "a second process makes other plans"
    print("%d convolutions by cuDNN %s: %.1f s to compile to tasks, without plans %.1f s" % (
        bodies, plans[0][0][1], planned, generated))
    for device in DEVICES:
        bytes = [max(int(plan[2]) for plan in found if plan[0] == device) for found in plans]
        print("%s: workspace of at most %.1f MiB, none in %d" % (device, max(bytes) / MIB, bytes.count(0)))


main(*sys.argv[1:])
