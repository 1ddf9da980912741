#!/usr/bin/env python3
"""damage.py TOOLS: damaged files through the tools.

Instances, manifests, NumPy files, measured costs and entries of the kernel cache get other bytes, or as JSON other
values, and lose or repeat parts. A tool may read what comes out, or refuse it with a message; a damaged kernel cache
must not be noticed in the results at all."""

import json
import os
import random
import re
import shutil

from harness import Session, npy, parse_options, run, write

VALUES = [None, True, False, 0, 1, -1, 2, 64, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -2**63, 1e308, -1e308, 0.5, "",
          "x", "100%", [], {}, [0], [[]], {"a": 1}]
MODEL = """func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %i: tensor<3xi64>) -> tensor<3x8xf32> {
  %z = arith.constant dense<0.0> : tensor<4x8xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = math.tanh %p : tensor<4x8xf32>
  %e = tensor.empty() : tensor<3x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} ins(%i : tensor<3xi64>) outs(%e : tensor<3x8xf32>) {
  ^bb0(%k: i64, %o: f32):
    %r = arith.index_cast %k : i64 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %t[%r, %c] : tensor<4x8xf32>
    linalg.yield %v : f32
  } -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
"""


def places(value, path=()):
    """The paths of all parts of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, path + (key,))


def damage_json(data, dice):
    """Changes values, or else bytes."""
    if dice.random() < 0.25:
        return damage_bytes(data, dice)
    value = json.loads(data)
    for _ in range(dice.choice([1, 1, 2, 4])):
        path = dice.choice(list(places(value)))
        if not path:
            continue
        parent = value
        for key in path[:-1]:
            parent = parent[key]
        key, action = path[-1], dice.randrange(6)
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, list):
            parent.insert(key, parent[key])
        elif action == 2 and isinstance(parent, dict):
            parent[str(key) + "x"] = parent.pop(key)
        elif action == 3 and isinstance(parent[key], int):
            parent[key] += dice.choice([-1, 1, 2, 100])
        else:
            parent[key] = dice.choice(VALUES)
    return json.dumps(value).encode()


def damage_bytes(data, dice):
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 5])):
        at = dice.randrange(len(data) + 1)
        action = dice.randrange(6)
        if action == 0:
            del data[at:]
        elif action == 1:
            del data[at:at + dice.randrange(1, 9)]
        elif action == 2:
            data[at:at] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 9)))
        elif action == 3:
            data[at:at + 4] = dice.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"9999"])
        elif at < len(data):
            data[at] ^= 1 << dice.randrange(8)
    return bytes(data)


class Files:
    """Whole files of all kinds, made by the tools."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs", "models")
        for name in ("mlp_tiny.mlir", "mlp_tiny.json"):
            shutil.copy(os.path.join(models, name), folder)
        write(folder + "/model.mlir", MODEL)
        os.mkdir(folder + "/in")
        for name, shape in (("arg0", [4, 8]), ("arg1", [8, 8]), ("cotangent0", [3, 8])):
            write(f"{folder}/in/{name}.npy", npy("f4", shape, [i / 32 for i in range(shape[0] * shape[1])]))
        write(folder + "/in/arg2.npy", npy("i8", [3], [0, 3, 1]))
        self.must("remat-plan", ["model.mlir", "--cotangents", "--instance=small.json"])
        self.must("remat-plan", ["mlp_tiny.mlir", "--manifest=mlp_tiny.json", "--instance=large.json", "--budget=min",
                                 "--link-bandwidth=1GB/s"])
        self.must("remat-run", ["mlp_tiny.mlir", "--manifest=mlp_tiny.json", "--profile-costs=costs.json"])
        self.hash = re.search(r" ([0-9a-f]{16}) ", self.must("remat-run", self.flags + ["--kernel-cache=cache"]).out)[1]

    flags = ["model.mlir", "--inputs=in", "--outputs=out", "--emit=forward,vjp", "--threads=1", "--steps=1"]
    manifest = ["mlp_tiny.mlir", "--manifest=mlp_tiny.json", "--threads=1", "--steps=1"]

    def run(self, tool, flags):
        command = [os.path.join(self.options.tools, tool)] + flags + ["--effort=0.02"]
        return run(command, self.options.timeout, self.folder)

    def must(self, tool, flags):
        outcome = self.run(tool, flags)
        if outcome.status:
            raise SystemExit(f"{tool} {' '.join(flags)}: {outcome.err}")
        return outcome

    def kinds(self):
        """Files, how they are damaged, and what reads them."""
        plan = ["--link-bandwidth=1MB/s", "--reorder", "--planner=greedy", "--frontier=3", "--explain"]
        return {
            "small.json": (damage_json, "remat-plan", lambda dice: ["small.json", "--budget=384", dice.choice(plan)]),
            "large.json": (damage_json, "remat-plan", lambda dice: ["large.json", "--budget=min"]),
            "mlp_tiny.json": (damage_json, "remat-run", lambda dice: self.manifest),
            "costs.json": (damage_json, "remat-run", lambda dice: self.manifest + [
                dice.choice(["--costs=costs.json", "--profile-costs=costs.json"])]),
            "in/arg0.npy": (damage_bytes, "remat-run", lambda dice: self.flags),
            "in/arg2.npy": (damage_bytes, "remat-run", lambda dice: self.flags),
            "in/cotangent0.npy": (damage_bytes, "remat-run", lambda dice: self.flags),
            "cache": (damage_bytes, "remat-run", lambda dice: self.flags + ["--kernel-cache=cache"]),
        }


def main():
    options = parse_options(__doc__)
    session = Session("damage", options)
    files = Files(options, session.work)
    for seed in session.seeds():
        dice = random.Random(seed)
        kind = dice.choice(list(files.kinds()))
        change, tool, make_flags = files.kinds()[kind]
        name = kind
        if kind == "cache":
            entries = sorted(os.listdir(session.work + "/cache"))
            name = "cache/" + dice.choice(entries)
        with open(f"{session.work}/{name}", "rb") as file:
            whole = file.read()
        damaged = change(whole, dice)
        write(f"{session.work}/{name}", damaged)
        flags = make_flags(dice)
        outcome = files.run(tool, flags)
        session.count("runs")
        if outcome.status == 0:
            session.count("accepted")
        symptom = outcome.problem
        if not symptom and outcome.status and "error" not in outcome.err:
            symptom = "refused without an error: " + outcome.err[:200]
        if kind == "cache" and not symptom and (outcome.status or files.hash not in outcome.out):
            symptom = "a damaged cache changes what happens: " + outcome.err[:200]
        if symptom:
            session.report(seed, f"{kind}: {symptom}", {os.path.basename(name): damaged, "stderr": outcome.err},
                           " ".join([tool] + flags))
        write(f"{session.work}/{name}", whole)
    session.finish()


if __name__ == "__main__":
    main()
