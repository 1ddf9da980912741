#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""packing.py TOOLS: random and damaged tables of buffers through remat-pack.

Buffers that live at a time must not overlap, offsets are multiples of alignments, and those that are fixed stay. The
arena holds all of them and is no less than what is said to be needed; with a capacity, it is no more than that. The
same table gives the same offsets again, and they are read again as fixed ones. Of a damaged table, a field is
anything: it is refused with the number of its line, or packed as rightly."""

import json
import os
import random

from harness import Session, parse_options, run, shrink, write

FIELDS = ["", "x", "-1", "0", "1", "1.5", "0x10", "9223372036854775807", "9223372036854775808", "4611686018427387904",
          "99999999999999999999", " 3", "3 ", "\"3\"", "1e3", "\0", "é"]
# Of tables that are none other than what a table may be.
LEGAL_REFUSALS = ("overlap", "multiple", "2^52 bytes", "2^53 bytes")


class Table:
    """Columns, and of each buffer its fields by these."""

    def __init__(self, seed):
        dice = random.Random(seed)
        self.columns = ["id", "lower", dice.choice(["upper", "end"]), "size"]
        self.columns += [name for name in ("alignment", "offset", "hint") if dice.random() < 0.3]
        dice.shuffle(self.columns)
        unit = dice.choice([1, 1, 3, 64, 1 << 20, 1 << 50])
        times = dice.choice([3, 10, 50, 1000])
        self.rows = []
        for number in range(dice.choice([0, 1, 2, 5, 20, 60])):
            lower = dice.randrange(times)
            row = {"id": f"b{number}", "lower": lower, "end": lower + dice.randrange(times),
                   "size": unit * dice.randrange(dice.choice([2, 20])),
                   "alignment": dice.choice(["", 1, 2, 4, 64]), "hint": dice.choice(["", dice.randrange(9) * unit]),
                   "offset": dice.randrange(20) * 64 * unit if dice.random() < 0.05 else ""}
            row["upper"] = row["end"] + 1
            self.rows.append([str(row[name]) for name in self.columns])
        self.is_damaged = dice.random() < 0.4
        for _ in range(dice.choice([1, 1, 2, 4]) if self.is_damaged and self.rows else 0):
            row = dice.choice(self.rows)
            change = dice.randrange(8)
            if change == 0:
                del row[dice.randrange(len(row))]
            elif change == 1:
                row.append(dice.choice(FIELDS))
            elif change == 2:
                self.rows.append(list(row))
            elif row:
                row[dice.randrange(len(row))] = dice.choice(FIELDS)
            if not row:
                row.append("")
        if self.is_damaged and dice.random() < 0.15:
            self.columns[dice.randrange(len(self.columns))] = dice.choice(["", "size", "gaps", "upper", "x"])
        self.flags = [f"--effort={dice.choice([0, 0.01, 0.1])}"]
        if dice.random() < 0.3:
            self.flags.append(f"--capacity={dice.choice([1, unit * 7, unit * 40, 2**63 - 1])}")

    def text(self, rows=None):
        lines = [self.columns, *(self.rows if rows is None else rows)]
        return "".join(",".join(line) + "\n" for line in lines)


def read(path):
    """The buffers of a file that the tool wrote, as dictionaries of numbers."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        lines = file.read().split("\n")
    columns = lines[0].split(",")
    buffers = []
    for line in lines[1:]:
        if line:
            fields = dict(zip(columns, line.split(",")))
            buffer = {name: int(fields[name]) for name in ("lower", "size", "offset")}
            buffer["upper"] = int(fields["upper"]) if "upper" in fields else int(fields["end"]) + 1
            buffer["alignment"] = int(fields.get("alignment") or 1)
            buffers.append(buffer)
    return buffers


def find_fault(buffers, fixed, report, capacity):
    """What is wrong with a packing, in words; None if it is right."""
    top = max((buffer["offset"] + buffer["size"] for buffer in buffers if buffer["size"]), default=0)
    if top > report["arena_bytes"] or report["arena_bytes"] < report["lower_bound_bytes"]:
        return f"arena {report['arena_bytes']}, buffers end at {top}, at least {report['lower_bound_bytes']}"
    if capacity is not None and top > capacity:
        return f"buffers end at {top}, capacity {capacity}"
    for number, buffer in enumerate(buffers):
        # What has no bytes is nowhere.
        if buffer["size"] and (buffer["offset"] < 0 or buffer["offset"] % buffer["alignment"]):
            return f"buffer {number} has offset {buffer['offset']}, alignment {buffer['alignment']}"
        if fixed[number] is not None and fixed[number] != buffer["offset"]:
            return f"buffer {number} has offset {buffer['offset']}, fixed at {fixed[number]}"
        for other in range(number):
            that = buffers[other]
            if buffer["size"] and that["size"] and \
                    buffer["lower"] < that["upper"] and that["lower"] < buffer["upper"] and \
                    buffer["offset"] < that["offset"] + that["size"] and \
                    that["offset"] < buffer["offset"] + buffer["size"]:
                return f"buffers {other} and {number} overlap"
    return None


class Trial:
    def __init__(self, table, options, folder):
        self.table, self.options, self.folder = table, options, folder

    def pack(self, name, flags):
        command = [self.options.tools + "/remat-pack", name] + flags
        for file in ("out.csv", "report.json"):
            if os.path.exists(f"{self.folder}/{file}"):
                os.remove(f"{self.folder}/{file}")
        outcome = run(command + ["-o", "out.csv", "--json=report.json"], self.options.timeout, self.folder)
        written = None
        if os.path.exists(self.folder + "/out.csv"):
            with open(self.folder + "/out.csv", "rb") as file:
                written = file.read()
        return outcome, written

    def find_symptom(self, rows):
        """(kind, words) of what is wrong, or None; and whether the table was packed."""
        write(self.folder + "/in.csv", self.table.text(rows))
        outcome, written = self.pack("in.csv", self.table.flags)
        if outcome.problem:
            return ("crash", outcome.problem), False
        if outcome.status:
            if "error" not in outcome.err:
                return ("silent", "refused without an error: " + outcome.err[:200]), False
            if outcome.status != 3 and not self.table.is_damaged and \
                    not any(words in outcome.err for words in LEGAL_REFUSALS):
                return ("refused", outcome.err[:200]), False
            if written is not None and outcome.status != 3:
                return ("written", "refused, but wrote a table"), False
            return None, False
        with open(self.folder + "/report.json", encoding="utf-8") as file:
            report = json.load(file)
        buffers = read(self.folder + "/out.csv")
        if len(buffers) != len(rows):
            return ("lost", f"{len(buffers)} buffers of {len(rows)}"), False
        place = self.table.columns.index("offset") if "offset" in self.table.columns else None
        fixed = [int(row[place]) if place is not None and row[place].strip() else None for row in rows]
        capacity = next((int(flag.split("=")[1]) for flag in self.table.flags if "capacity" in flag), None)
        fault = find_fault(buffers, fixed, report, capacity)
        if fault:
            return ("wrong", fault), True
        if self.pack("in.csv", self.table.flags)[1] != written:
            return ("again", "other offsets at the second time"), True
        write(self.folder + "/fixed.csv", written)
        outcome, again = self.pack("fixed.csv", self.table.flags)
        if outcome.problem or again != written:
            return ("fixed", f"what is written is not read: {outcome.problem or outcome.err[:200]}"), True
        return None, True


def main():
    options = parse_options(__doc__)
    session = Session("packing", options)
    for seed in session.seeds():
        table = Table(seed)
        trial = Trial(table, options, session.work)
        session.count("tables")
        symptom, is_packed = trial.find_symptom(table.rows)
        session.count("packed" if is_packed else "refused")
        if symptom:
            rows = table.rows
            if options.keep and not options.no_shrink:
                rows = shrink(rows, lambda kept: (trial.find_symptom(kept)[0] or [None])[0] == symptom[0])
            session.report(seed, symptom[1], {"in.csv": table.text(rows), "whole.csv": table.text()},
                           "remat-pack in.csv -o out.csv --json=report.json " + " ".join(table.flags))
    session.finish()


if __name__ == "__main__":
    main()
