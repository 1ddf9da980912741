"""Checks a report: that it is one page that loads nothing, and that its data is sound.

usage: check_report.py REPORT.html [SAME_BUT_NOT_MEASURED.html]
"""
import html.parser, json, re, sys


class Parser(html.parser.HTMLParser):
    """What is in the page, as a browser reads it."""

    def __init__(self):
        super().__init__()
        self.texts, self.kind, self.attributes = {}, None, []

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        self.kind = (tag, dict(attributes).get("type", ""))

    def handle_endtag(self, tag):
        self.kind = None

    def handle_data(self, data):
        self.texts.setdefault(self.kind, []).append(data)


def read(path):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    parser = Parser()
    parser.feed(page)
    assert len(parser.texts["script", ""]) == 1, "a script was ended early"
    loads = [(name, value) for name, value in parser.attributes if name in ("src", "href", "action", "data", "srcset")]
    assert not loads, loads
    assert "default-src 'none'" in dict(parser.attributes)["content"] or "default-src 'none'" in page
    assert not re.search(r"@import|url\(\s*[\"']?http", page)
    (data,) = parser.texts["script", "application/json"]
    assert "<" not in data and "\u2028" not in data
    return json.loads(data)


def check_plan(plan):
    entries, buffers = plan["entries"], plan["buffers"]
    count = len(entries["name"])
    live = [0] * (count + 1)
    for space, callers, size, birth, death in zip(*(buffers[name] for name in "space isCallers bytes birth death".split())):
        assert 0 <= birth <= death < count
        if space == plan["arena"] and not callers:
            live[birth] += size
            live[death + 1] -= size
    for entry in range(1, count):
        live[entry] += live[entry - 1]
    assert max(live) == plan["peakBytes"] <= plan["arenaBytes"], (max(live), plan["peakBytes"])
    assert entries["readsBegin"][-1] == len(entries["reads"])
    for entry, copied in enumerate(entries["copyOf"]):
        assert copied < entry
        reads = entries["reads"][entries["readsBegin"][entry] : entries["readsBegin"][entry + 1]]
        # What an entry reads is there.
        assert all(buffers["isCallers"][i] or buffers["birth"][i] <= entry <= buffers["death"][i] for i in reads), entry


def main():
    data, *others = map(read, sys.argv[1:])
    assert data["schema"] == "remat.report/1"
    texts = data["texts"]
    for plan in data["plans"]:
        plan["arena"] = texts.index("arena") if "arena" in texts else -1
        check_plan(plan)
        again = sum(copied >= 0 for copied in plan["entries"]["copyOf"])
        print(f"{plan['origin']}: {len(plan['entries']['name'])} entries, {again} recomputed, peak {plan['peakBytes']}, "
              f"budget {plan.get('budgetBytes', 'none')}" + (f", in {plan['parts']} parts" if plan["parts"] > 1 else "")
              + (f", {plan['layers']} layers as loops" if plan["layers"] > 0 else ""))
    chosen = data["plans"][1]
    if "measured" in chosen:
        spans = list(zip(chosen["measured"]["begin"], chosen["measured"]["end"]))
        assert all(begin <= end for begin, end in spans)
        print(f"measured: {len(spans)} entries")
    for decision, reason in sorted({(data["decisions"][decision], texts[reason]) for decision, reason in
                                    zip(chosen["buffers"]["decision"], chosen["buffers"]["reason"]) if texts[reason]},
                                   key=lambda pair: (pair[0] != "saved", pair)):
        print(f"{decision}: {reason}")
    for label in sorted({texts[label] for label in chosen["entries"]["label"]}):
        print(f"label: {label}")
    for other in others:
        del chosen["measured"]
        for plan in data["plans"]:
            del plan["arena"]
        assert data["plans"] == other["plans"] and texts == other["texts"]
        print("the other plans are the same")


main()
