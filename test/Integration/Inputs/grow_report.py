"""Puts a step of many values in the place of the data of a report, for tests of the page.

usage: grow_report.py REPORT.html VALUES OUTPUT.html

The step is a chain: each value is read by the next one and by its derivative, and every other one is recomputed in the
second plan. Values lie one upon the other.
"""
import json, re, sys


def make_plan(origin, count, recomputes, text):
    """Forward, backward, and where that recomputes, the value again before its derivative."""
    entries = {name: [] for name in ("name kind kernel layer label location phase task copyOf stream start cost bytesRead "
                                     "bytesWritten flops readsBegin reads").split()}
    buffers = {name: [] for name in "name type task result role decision why reason space isCallers offset bytes within "
                                    "birth death".split()}

    def run(name, phase, task, copy, reads):
        entries["name"].append(text(name))
        for column in ("kind", "kernel", "label"):
            entries[column].append(text("tanh"))
        entries["layer"].append(text(f"h.{task % 96}"))
        entries["location"].append(text(f"model.py:{task % 5000}"))
        entries["phase"].append(phase)
        entries["task"].append(task)
        entries["copyOf"].append(copy)
        entries["start"].append(1000 * len(entries["start"]))
        entries["cost"].append(1000)
        for column in ("stream", "bytesRead", "bytesWritten", "flops"):
            entries[column].append(0)
        entries["readsBegin"].append(len(entries["reads"]))
        entries["reads"] += reads
        return len(entries["name"]) - 1

    def hold(task, role, decision, offset, size, birth, death):
        row = dict(name=-1, type=text("f32[64]"), task=task, result=0, role=role, decision=decision, why=text(""),
                   reason=text("recomputing it would take 1.0 us" if decision == 1 else ""), space=text("arena"),
                   isCallers=0, offset=offset, bytes=size, within=-1, birth=birth, death=death)
        for column, value in row.items():
            buffers[column].append(value)
        return len(buffers["name"]) - 1

    size, slot, held = 256, 0, {}
    for task in range(count):
        entry = run(f"h.{task % 96} tanh", 0, task, -1, [held[task - 1]] if task else [])
        drops = recomputes and task % 2 == 1
        held[task] = hold(task, 2, 2 if drops else 1, 0 if drops else (slot + 2) * size, size, entry, entry)
        if task:
            before = held[task - 1]
            buffers["death"][before] = entry
        slot += not drops
    # A value that is dropped lies beside the one that the next is made of.
    for task in reversed(range(count)):
        read = held[task]
        if recomputes and task % 2 == 1:
            entry = run(f"h.{task % 96} tanh, recomputed", 2, task, task, [held[task - 1]])
            read = hold(task, 5, 0, 0, size, entry, entry + 1)
        entry = run(f"h.{task % 96} tanh, backward", 1, count + task, -1, [read])
        buffers["death"][read] = entry
        if recomputes and task % 2 == 1:
            buffers["death"][held[task - 1]] = entry
        hold(count + task, 3, 0, size, size, entry, entry)
    entries["readsBegin"].append(len(entries["reads"]))
    total = [0] * (len(entries["name"]) + 1)
    for birth, death, held_bytes in zip(buffers["birth"], buffers["death"], buffers["bytes"]):
        total[birth] += held_bytes
        total[death + 1] -= held_bytes
    for entry in range(1, len(total)):
        total[entry] += total[entry - 1]
    again = sum(copy >= 0 for copy in entries["copyOf"])
    return dict(origin=origin, hash=f"{again:016x}", planner="auto", optimal=False, order="", peakBytes=max(total),
                arenaBytes=max(total), budgetBytes=max(total), baseTime=2000 * count, time=2000 * count + 1000 * again,
                lowerBound=2000 * count, entries=entries, buffers=buffers, bodies=[])


def main():
    page, values, output = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(page) as file:
        html = file.read()
    begin = html.index('<script type="application/json" id="data">') + len('<script type="application/json" id="data">')
    end = html.index("</script>", begin)
    data = json.loads(html[begin:end])
    numbers = {}
    text = lambda content: numbers.setdefault(content, len(numbers))
    data["title"] = f"chain of {values} values"
    # Each task makes a value, its derivative another.
    data["plans"] = [make_plan(origin, values // 2, recomputes, text)
                     for origin, recomputes in (("save-all", False), ("chosen", True))]
    data["texts"] = list(numbers)
    with open(output, "w") as file:
        file.write(html[:begin] + json.dumps(data, separators=(",", ":")) + html[end:])


main()
