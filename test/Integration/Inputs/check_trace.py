"""Checks a trace (Chrome's trace event format).

usage: check_trace.py TRACE.json [measured]

Spans of one track nest and are in order, asynchronous spans and arrows have a
begin and an end with the same id, counters have numbers, an entry has the same
id and name in the planned and the measured step, and each process has what the
arguments say. What a loop does in an iteration is within its span.
"""

import collections
import json
import sys


def check_spans(events):
    """What begins in a span of a track ends in it."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            assert event["dur"] >= 0, event
            tracks[event["pid"], event["tid"]].append(event)
    for spans in tracks.values():
        open_ends = []
        for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
            while open_ends and open_ends[-1] <= span["ts"] + 1e-6:
                open_ends.pop()
            end = span["ts"] + span["dur"]
            assert not open_ends or end <= open_ends[-1] + 1e-6, f"does not nest: {span}"
            open_ends.append(end)
    return tracks


def check_pairs(events, begin, end):
    """Each id begins once and then ends once. The number of pairs."""
    begins = {}
    ends = {}
    for event in events:
        for phase, known in ((begin, begins), (end, ends)):
            if event["ph"] == phase:
                key = event["cat"], event["id"]
                assert key not in known, f"a second {phase} with the id {key}"
                known[key] = event
    assert begins.keys() == ends.keys(), begins.keys() ^ ends.keys()
    for key, event in begins.items():
        assert event["ts"] <= ends[key]["ts"], event
        assert event["pid"] == ends[key]["pid"], event
    return len(begins)


def check_counters(events, budget):
    """The sum of the roles keeps to the budget. The largest sum in bytes."""
    largest = collections.Counter()
    for event in events:
        if event["ph"] != "C":
            continue
        values = event["args"].values()
        assert values and all(isinstance(value, (int, float)) and value >= 0 for value in values), event
        if event["name"] == "arena, MiB":
            largest[event["pid"]] = max(largest[event["pid"]], round(sum(values) * 1048576))
    assert budget is None or all(most <= budget for most in largest.values()), (largest, budget)
    return largest


def check_loops(tracks):
    """Spans of iterations are within entries. How many entries have some, and the names of what is in them."""
    loops, names = set(), set()
    for (pid, _), spans in tracks.items():
        entries = [span for span in spans if span["cat"] == "op"]
        for span in spans:
            if span["cat"] == "op":
                continue
            end = span["ts"] + span["dur"]
            around = [e for e in entries if e["ts"] - 1e-6 <= span["ts"] and end <= e["ts"] + e["dur"] + 1e-6]
            assert any("loop" in entry["name"] for entry in around), span
            loops.update((pid, entry["args"]["id"]) for entry in around if "loop" in entry["name"])
            names.add(span["name"])
    return len(loops), names


def main():
    path, *rest = sys.argv[1:]
    with open(path) as file:
        trace = json.load(file)
    assert trace["schemaVersion"] == 1, trace["schemaVersion"]
    events = trace["traceEvents"]
    pids = {1, 2} if "measured" in rest else {1}
    assert {event["pid"] for event in events} == pids, pids
    for event in events:
        assert event["ph"] == "M" or event["ts"] >= 0, event
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    tracks = check_spans(events)
    assert tracks.keys() <= named, tracks.keys() - named
    buffers, arrows = check_pairs(events, "b", "e"), check_pairs(events, "s", "f")
    largest = check_counters(events, trace["remat"].get("budget_bytes"))
    promised = trace["remat"]["planned_peak_bytes"]
    assert all(most == promised for most in largest.values()), (largest, promised)
    entries = {
        pid: {
            event["args"]["id"]: (event["name"], event["tid"])
            for event in events
            if event["ph"] == "X" and event["cat"] == "op" and event["pid"] == pid
        }
        for pid in pids
    }
    assert all(found == entries[1] for found in entries.values()), "processes have other entries"
    # An arrow begins where the operation runs first, and ends where it does again.
    repeats = [event for event in events if event["ph"] == "X" and "recompute_of" in event["args"]]
    named = collections.Counter(event["name"] for event in events if event["ph"] == "s")
    assert named["recompute"] == len(repeats) and sum(named.values()) == arrows, (named, len(repeats), arrows)
    # Another one leads from a copy to the host to what brings the value back.
    reloads = sum(event["ph"] == "X" and event["args"].get("kernel") == "reload" for event in events)
    assert named["reload"] == reloads, (named, reloads)
    for event in repeats:
        assert event["args"]["kind"] == "recompute" and event["args"]["recompute_of"] < event["args"]["id"], event
    assert sum(event["ph"] == "i" and event["name"] == "peak" for event in events) == len(pids)
    loops, inside = check_loops(tracks)
    for name in sorted(inside):
        print(f"in a loop: {name}")
    if loops:
        print(f"{loops // len(pids)} loops")
    print(f"{len(entries[1])} entries, {buffers // len(pids)} buffers, {named['recompute'] // len(pids)} recomputations")


main()
