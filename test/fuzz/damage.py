#!/usr/bin/env python3
"""damage.py TOOLS: damaged files through the tools.

Instances, schedules, manifests, NumPy files, measured costs and errors, and entries of the kernel cache get other
bytes, or as JSON other values, and lose or repeat parts. A tool may read what comes out, or refuse it with a message; a
damaged kernel cache must not be noticed in the results at all, nor a damaged schedule that a step takes."""

import copy
import json
import os
import random
import re
import shutil

from harness import Session, npy, parse_options, run, shrink, write

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


def at_path(value, path):
    for key in path:
        value = value[key]
    return value


class JsonDamage:
    """Changes of the values in a file. An edit is a path, a word, and what the word needs."""

    def __init__(self, data, dice):
        self.data, self.edits = data, []
        value = json.loads(data)
        for _ in range(dice.choice([1, 1, 2, 4])):
            path = dice.choice(list(places(value)))
            if not path:
                continue
            parent, key, action = at_path(value, path[:-1]), path[-1], dice.randrange(6)
            if action == 0:
                edit = (path, "delete", None)
            elif action == 1 and isinstance(parent, list):
                edit = (path, "repeat", None)
            elif action == 2 and isinstance(parent, dict):
                edit = (path, "rename", None)
            elif action == 3 and isinstance(parent[key], int):
                edit = (path, "add", dice.choice([-1, 1, 2, 100]))
            else:
                edit = (path, "set", dice.choice(VALUES))
            self.change(value, edit)
            self.edits.append(edit)

    @staticmethod
    def change(value, edit):
        path, action, new = edit
        parent, key = at_path(value, path[:-1]), path[-1]
        if action == "delete":
            del parent[key]
        elif action == "repeat":
            parent.insert(key, parent[key])
        elif action == "rename":
            parent[str(key) + "x"] = parent.pop(key)
        elif action == "add":
            parent[key] += new
        else:
            # Edits to come may change what is put here.
            parent[key] = copy.deepcopy(new)

    def make(self, edits):
        value = json.loads(self.data)
        for edit in edits:
            try:
                self.change(value, edit)
            except (AttributeError, IndexError, KeyError, TypeError):
                pass  # Without the edits before, there is no such place.
        return json.dumps(value).encode()


class ByteDamage:
    """Changes of bytes. An edit is a place, how many bytes go, and what comes there."""

    def __init__(self, data, dice):
        self.data, self.edits = data, []
        data = bytearray(data)
        for _ in range(dice.choice([1, 1, 2, 5])):
            at = dice.randrange(len(data) + 1)
            action = dice.randrange(6)
            if action == 0:
                edit = (at, len(data) - at, b"")
            elif action == 1:
                edit = (at, dice.randrange(1, 9), b"")
            elif action == 2:
                edit = (at, 0, bytes(dice.randrange(256) for _ in range(dice.randrange(1, 9))))
            elif action == 3:
                edit = (at, 4, dice.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"9999"]))
            elif at < len(data):
                edit = (at, 1, bytes([data[at] ^ 1 << dice.randrange(8)]))
            else:
                continue
            self.change(data, edit)
            self.edits.append(edit)

    @staticmethod
    def change(data, edit):
        at, length, new = edit
        data[at:at + length] = new

    def make(self, edits):
        data = bytearray(self.data)
        for edit in edits:
            self.change(data, edit)
        return bytes(data)


def damage_json(data, dice):
    """Changes values, or else bytes."""
    return ByteDamage(data, dice) if dice.random() < 0.25 else JsonDamage(data, dice)


def shrink_json(value, fails):
    """The value without the members and items that it can do without, from the outermost inwards."""
    waiting = [()]
    while waiting:
        path = waiting.pop(0)
        part = at_path(value, path)
        if not isinstance(part, (dict, list)) or not part:
            continue

        def with_keys(keys):
            less = {key: part[key] for key in keys} if isinstance(part, dict) else [part[key] for key in keys]
            if not path:
                return less
            other = copy.deepcopy(value)
            at_path(other, path[:-1])[path[-1]] = less
            return other

        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        keys = [] if fails(with_keys([])) else shrink(keys, lambda kept: fails(with_keys(kept)))
        value = with_keys(keys)
        part = at_path(value, path)
        waiting += [path + (key,) for key in (part if isinstance(part, dict) else range(len(part)))]
    return value


def minimize(damage, fails, budget=200):
    """The least of the damage, and then of the file, that still `fails`, within a number of attempts."""
    left = [budget]

    def tries(data):
        left[0] -= 1
        return left[0] >= 0 and fails(data)

    edits = shrink(damage.edits, lambda kept: tries(damage.make(kept)))
    data = damage.make(edits)
    if tries(b""):
        return b""
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    # Written again, a damaged file may be another one.
    if value is not None and tries(json.dumps(value).encode()):
        return json.dumps(shrink_json(value, lambda value: tries(json.dumps(value).encode()))).encode()
    return bytes(shrink(list(data), lambda kept: tries(bytes(kept))))


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
        self.must("remat-run",
                  ["mlp_tiny.mlir", "--manifest=mlp_tiny.json", "--threads=1", "--profile-costs=costs.json"])
        self.must("remat-plan", ["model.mlir", *self.planning, "-o", "schedule.json"])
        self.must("remat-run", self.manifest + self.packing)
        self.hash = re.search(r" ([0-9a-f]{16}) ", self.must("remat-run", self.flags + ["--kernel-cache=cache"]).out)[1]

    flags = ["model.mlir", "--inputs=in", "--outputs=out", "--emit=forward,vjp", "--threads=1", "--steps=1"]
    planning = ["--cotangents", "--budget=min", "--reorder", "--link-bandwidth=1GB/s"]
    packing = ["--compress=int8,bf16", "--max-gradient-error=0.01", "--gradient-errors=errors.json", "--budget=min"]
    manifest = ["mlp_tiny.mlir", "--manifest=mlp_tiny.json", "--threads=1", "--steps=1"]

    @staticmethod
    def command(tool, flags):
        return [tool] + flags + ["--effort=0.02"]

    def run(self, tool, flags):
        command = self.command(os.path.join(self.options.tools, tool), flags)
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
            "in/arg0.npy": (ByteDamage, "remat-run", lambda dice: self.flags),
            "in/arg2.npy": (ByteDamage, "remat-run", lambda dice: self.flags),
            "in/cotangent0.npy": (ByteDamage, "remat-run", lambda dice: self.flags),
            "schedule.json": (damage_json, "remat-run", lambda dice: self.flags + ["--plan=schedule.json"]),
            "errors.json": (damage_json, "remat-run", lambda dice: self.manifest + self.packing),
            "cache": (ByteDamage, "remat-run", lambda dice: self.flags + ["--kernel-cache=cache"]),
        }


class Trial:
    """One damaged file and the tool that reads it."""

    def __init__(self, seed, files):
        self.seed, self.files = seed, files
        dice = random.Random(seed)
        kinds = files.kinds()
        self.kind = dice.choice(list(kinds))
        change, self.tool, make_flags = kinds[self.kind]
        self.name = self.kind
        if self.kind == "cache":
            self.name = "cache/" + dice.choice(sorted(os.listdir(files.folder + "/cache")))
        with open(f"{files.folder}/{self.name}", "rb") as file:
            self.whole = file.read()
        self.damage = change(self.whole, dice)
        self.damaged = self.damage.make(self.damage.edits)
        self.flags = make_flags(dice)

    def run(self, data):
        """How the tool ends with these bytes in the file, and what is wrong with that: a kind and more words."""
        write(f"{self.files.folder}/{self.name}", data)
        outcome = self.files.run(self.tool, self.flags)
        write(f"{self.files.folder}/{self.name}", self.whole)
        if outcome.problem:
            # The same crash with other numbers and names.
            return outcome, (re.sub(r"\d+|'[^']*'", "#", outcome.problem), outcome.problem)
        first = outcome.err[:200]
        if outcome.status and "error" not in outcome.err:
            return outcome, ("silent", "refused without an error: " + first)
        may_end = self.kind == "schedule.json" and outcome.status
        if self.kind in ("cache", "schedule.json") and not may_end and (
                outcome.status or self.files.hash not in outcome.out):
            return outcome, ("results", f"a damaged {self.kind} changes what happens: " + first)
        return outcome, None

    def report(self, session, outcome, symptom):
        data = self.damaged
        if session.options.keep and not session.options.no_shrink:
            data = minimize(self.damage, lambda data: (self.run(data)[1] or [None])[0] == symptom[0])
            outcome = self.run(data)[0]
        kept = {"unshrunk/" + self.name: self.damaged, "stderr": outcome.err}
        # What the command reads beside it.
        for root, folders, names in os.walk(self.files.folder):
            folders[:] = [folder for folder in folders if folder != "out"]
            for name in names:
                path = os.path.relpath(os.path.join(root, name), self.files.folder)
                with open(os.path.join(root, name), "rb") as file:
                    kept[path] = file.read()
        kept[self.name] = data
        session.report(self.seed, f"{self.kind}: {symptom[1]}", kept, " ".join(Files.command(self.tool, self.flags)))


def main():
    options = parse_options(__doc__)
    session = Session("damage", options)
    files = Files(options, session.work)
    for seed in session.seeds():
        trial = Trial(seed, files)
        outcome, symptom = trial.run(trial.damaged)
        session.count("runs")
        if outcome.status == 0:
            session.count("accepted")
        if symptom:
            trial.report(session, outcome, symptom)
    session.finish()


if __name__ == "__main__":
    main()
