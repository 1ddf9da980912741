"""Checks a memory snapshot as PyTorch's viewer reads it, and prints its peak.

usage: check_snapshot.py FILE
"""

import pickle
import pickletools
import sys

# What the viewer's page knows of pickles.
KNOWN = {"PROTO", "MARK", "STOP", "EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE", "APPENDS", "SETITEMS", "BININT", "BININT1",
         "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "TUPLE2", "NEWTRUE", "NEWFALSE", "NONE"}


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    used = {operation.name for operation, _, _ in pickletools.genops(data)}
    assert used <= KNOWN, used - KNOWN
    snapshot = pickle.loads(data)
    (segment,), (trace,) = snapshot["segments"], snapshot["device_traces"]
    (block,) = segment["blocks"]
    assert block["state"] == "inactive" and block["size"] == segment["total_size"], segment
    assert trace[0]["action"] == "segment_alloc" and trace[0]["size"] == segment["total_size"], trace[0]
    live, requested, peak, names = {}, set(), 0, []
    for event in trace[1:]:
        address, size = event["addr"], event["size"]
        if event["action"] == "alloc":
            assert address + size <= segment["total_size"], event
            for other, bytes in live.items():
                assert address + size <= other or other + bytes <= address, (event, other, bytes)
            live[address] = size
            names.append([frame["name"] for frame in event["frames"]])
        elif event["action"] == "free_requested":
            assert live[address] == size, event
            requested.add(address)
        else:
            assert event["action"] == "free_completed", event
            requested.remove(address)
            assert live.pop(address) == size, event
        peak = max(peak, sum(live.values()))
        for frame in event["frames"]:
            assert isinstance(frame["filename"], str) and isinstance(frame["line"], int), frame
    assert not live, live
    assert all(a["time_us"] <= b["time_us"] for a, b in zip(trace, trace[1:]))
    print("peak", peak)
    for name in names:
        print(" in ".join(name))


main()
