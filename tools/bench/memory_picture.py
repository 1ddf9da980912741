#!/usr/bin/env python3
"""Draws the memory of one training step as SVG: every value saved above, planned for a budget below.

usage: memory_picture.py BIN MODEL.mlir MANIFEST.json [--budget=35%] [--threads=2] [--effort=X] [--title=TEXT]
                         [-o FILE.svg]

BIN is the folder with remat-compile and remat-opt. The model is compiled to a placed graph twice, without and with the
budget. From the addresses, the sizes and the order in these graphs the script counts how many bytes of the arena are
live while each task runs; the largest count must be the peak that the graph promises, else the script fails. The
horizontal axis is the cost of the tasks as the compiler estimates it. The same graphs give the same file.

docs/images/memory.svg:

    memory_picture.py build/bin test/Inputs/models/gpt2_8l.mlir test/Inputs/models/gpt2_8l.json \\
      --title="one training step of GPT-2 (8 layers)" -o docs/images/memory.svg
"""
import argparse, os, re, subprocess, sys, tempfile

MIB = 1 << 20


# Reading a placed graph


class Task:
    """What the picture needs of one operation of the graph."""

    def __init__(self, cost, backward, clone, workspace):
        self.cost, self.backward, self.clone = cost, backward, clone
        self.slots = [workspace] if workspace else []


def integer(text, name):
    found = re.search(rf"\b{name} = (\d+) : i64", text)
    return int(found.group(1)) if found else None


def read_graph(text):
    """The tasks of a graph in generic form, with the bytes that are live during each, and what the graph promises."""
    lines = iter(text.splitlines())
    header = next(line for line in lines if '"remat.graph"' in line)
    owner = {}  # a value or a view of it -> the value that has the buffer
    buffers = {}  # value -> [offset, bytes, first task, last task]
    tasks = []
    for line in lines:
        operation = re.match(r'    (?:(%\w+)(?::\d+)? = )?"([\w.]+)"\(([^)]*)\)(.*)', line)
        if not operation:
            if line.startswith("  })"):
                break
            continue
        result, name, operands, rest = operation.groups()
        read = [owner.get(value, value) for value in operands.split(", ")]
        if name.startswith("tensor."):
            owner[result] = read[0]
            continue
        if name == "remat.task":
            workspace, offset = integer(rest, "workspace"), integer(rest, "workspace_offset")
            scratch = (offset, offset + workspace) if workspace else None
            backward = re.search(r"<\{backward\b|, backward\b", rest) is not None
            tasks.append(Task(integer(rest, "cost"), backward, integer(rest, "copy"), scratch))
        elif name != "remat.return":
            tasks.append(Task(0, False, 0, None))
        for value in read:
            if value in buffers:
                buffers[value][3] = len(tasks) - 1
        # Views of a result with several values are named by their number.
        placement = re.search(r"placement = (\[.*?\]|#remat.slot<.*?>)", rest)
        listed = placement.group(1) if placement else ""
        places = re.findall(r"#remat.slot<(\w+), offset = (\d+), bytes = (\d+)[^>]*>|(\d+)|unit", listed)
        for number, (kind, offset, size, operand) in enumerate(places):
            value = f"{result}#{number}" if len(places) > 1 else result
            if operand:  # It is written in the place of an operand, whose buffer lives on.
                owner[value] = read[int(operand)]
            elif kind == "arena":
                buffers[value] = [int(offset), int(size), len(tasks) - 1, len(tasks) - 1]
    for offset, size, first, last in buffers.values():
        for task in tasks[first : last + 1]:
            task.slots.append((offset, offset + size))
    return tasks, {key: integer(header, key) for key in ("budget", "planned_peak", "save_all_peak")}


def covered(ranges):
    """The bytes in any of the ranges: a result may lie where an operand was."""
    total, end = 0, 0
    for first, last in sorted(ranges):
        total += max(last, end) - max(first, end)
        end = max(last, end)
    return total


def compile_graph(options, budget):
    with tempfile.TemporaryDirectory() as scratch:
        placed = os.path.join(scratch, "placed.mlir")
        command = [os.path.join(options.bin, "remat-compile"), options.model, f"--manifest={options.manifest}"]
        command += [f"--budget={budget}", f"--threads={options.threads}", "--emit=placed", "-o", placed]
        if options.effort:
            command.append(f"--effort={options.effort}")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        generic = [os.path.join(options.bin, "remat-opt"), "--mlir-print-op-generic", placed]
        tasks, graph = read_graph(subprocess.run(generic, check=True, capture_output=True, text=True).stdout)
    live = [covered(task.slots) for task in tasks]
    if max(live) != graph["planned_peak"]:
        promised = graph["planned_peak"]
        sys.exit(f"{options.model}: the live bytes add up to {max(live)}, but the graph promises {promised}")
    return tasks, live, graph


# Drawing

WIDTH, LEFT, RIGHT = 960, 76, 40
TOP, PANEL, GAP, BOTTOM = 92, 190, 62, 64
INK, FAINT, GRID = "#1f2937", "#6b7280", "#e5e7eb"
SAVED, OVER, PLANNED, AGAIN, BUDGET = "#94a3b8", "#f59e6b", "#2a9d8f", "#e76f51", "#b42318"


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(x, y, content, size=13, color=INK, anchor="start", weight="normal"):
    return (f'<text x="{number(x)}" y="{number(y)}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{content}</text>')


def line(x1, y1, x2, y2, color, width=1.0, dash=None):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{color}" '
            f'stroke-width="{number(width)}"{dashes}/>')


def step_size(largest, parts):
    """A round distance of grid lines that makes about so many parts."""
    size = 1
    while largest / size > parts:
        size = size * 2 if str(size)[0] in "15" else size * 5 // 2
    return size


class Panel:
    """One step: an area of live bytes over time, with the budget as a line."""

    def __init__(self, top, tasks, live, nanoseconds, most):
        self.top, self.tasks, self.live = top, tasks, live
        self.across = (WIDTH - LEFT - RIGHT) / nanoseconds
        self.up = PANEL / most

    def x(self, nanoseconds):
        return LEFT + nanoseconds * self.across

    def y(self, size):
        return self.top + PANEL - size * self.up

    def outline(self):
        """Corners of the area from left to right, without those that change nothing to the eye."""
        corners, now = [], 0
        for task, size in zip(self.tasks, self.live):
            left, right, height = self.x(now), self.x(now + task.cost), self.y(size)
            now += task.cost
            if corners and number(corners[-1][1]) == number(height):
                corners[-1] = (right, height)
            else:
                corners += [(left, height), (right, height)]
        return corners

    def area(self, color, clip=None):
        corners = self.outline()
        base = number(self.top + PANEL)
        points = " ".join(f"{number(x)},{number(y)}" for x, y in corners)
        clipped = f' clip-path="url(#{clip})"' if clip else ""
        return (f'<polygon points="{number(corners[0][0])},{base} {points} {number(corners[-1][0])},{base}" '
                f'fill="{color}"{clipped}/>')

    def end(self):
        return self.x(sum(task.cost for task in self.tasks))

    def grid(self, most):
        drawn, distance = [], step_size(most / MIB, 4)
        for mebibytes in range(0, int(most / MIB) + 1, distance):
            y = self.y(mebibytes * MIB)
            drawn += [line(LEFT, y, WIDTH - RIGHT, y, GRID), text(LEFT - 10, y + 4, mebibytes, 12, FAINT, "end")]
        return drawn

    def phases(self):
        """A mark where the backward computation begins."""
        forward = 0
        for task in self.tasks:
            if task.backward:
                break
            forward += task.cost
        x, y = self.x(forward), self.top + 4
        return [line(x, self.top - 6, x, self.top + PANEL, FAINT, 1, "2 4"),
                text(x - 8, y, "forward", 12, FAINT, "end"), text(x + 8, y, "backward", 12, FAINT)]

    def recomputations(self):
        """A bar under the axis for each task that runs again; neighbours join."""
        drawn, now, bars = [], 0, []
        for task in self.tasks:
            left, right = self.x(now), self.x(now + task.cost)
            now += task.cost
            if task.clone and bars and number(bars[-1][1]) == number(left):
                bars[-1] = (bars[-1][0], right)
            elif task.clone:
                bars.append((left, right))
        for left, right in bars:
            drawn.append(f'<rect x="{number(left)}" y="{number(self.top + PANEL + 3)}" '
                         f'width="{number(max(right - left, 1))}" height="5" fill="{AGAIN}"/>')
        return drawn

    def limit(self, budget, label):
        y = self.y(budget)
        return [line(LEFT, y, WIDTH - RIGHT, y, BUDGET, 1.5, "7 4"),
                *([text(WIDTH - RIGHT, y - 6, label, 12, BUDGET, "end", "bold")] if label else [])]


def mebibytes(size):
    return f"{size / MIB:.1f} MiB"


def draw(title, saved, planned):
    budget, most = planned[2]["budget"], saved[2]["planned_peak"] * 1.06
    nanoseconds = max(sum(task.cost for task in tasks) for tasks, _, _ in (saved, planned))
    below = TOP + PANEL + GAP
    height = below + PANEL + BOTTOM
    first = Panel(TOP, saved[0], saved[1], nanoseconds, most)
    second = Panel(below, planned[0], planned[1], nanoseconds, most)
    again = sum(1 for task in planned[0] if task.clone)
    more = 100 * (sum(task.cost for task in planned[0]) / sum(task.cost for task in saved[0]) - 1)
    price = f"{again} tasks run again (marked below): {more:.1f} % more work, the same bits"
    peak = planned[2]["planned_peak"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, -apple-system, \'Segoe UI\', \'DejaVu Sans\', sans-serif" role="img">',
        f"<title>{title}: bytes live over time, with everything saved and as planned for a budget</title>",
        f'<clipPath id="over"><rect x="0" y="0" width="{WIDTH}" height="{number(first.y(budget))}"/></clipPath>',
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="12" fill="#ffffff" stroke="{GRID}"/>',
        text(LEFT, 34, f"Memory over {title}", 19, INK, weight="bold"),
        text(LEFT, 68, f"Everything saved: {mebibytes(saved[2]['planned_peak'])}", 14, INK, weight="bold"),
        *first.grid(most), first.area(SAVED), first.area(OVER, "over"), *first.phases(),
        *first.limit(budget, ""),
        text(LEFT, below - 24, f"Planned by remat: {mebibytes(peak)}", 14, INK, weight="bold"),
        text(WIDTH - RIGHT, below - 24, price, 12, AGAIN, "end"),
        *second.grid(most), second.area(PLANNED), *second.phases(), *second.recomputations(),
        *second.limit(budget, f"budget {mebibytes(budget)}"),
    ]
    distance = step_size(nanoseconds / 1e6, 8)
    axis = below + PANEL
    for milliseconds in range(0, int(nanoseconds / 1e6) + 1, distance):
        x = second.x(milliseconds * 1e6)
        parts += [line(x, axis, x, axis + 4, FAINT), text(x, axis + 24, milliseconds, 12, FAINT, "middle")]
    parts += [
        text((LEFT + WIDTH - RIGHT) / 2, axis + 46, "estimated time since the step began, ms", 12, FAINT, "middle"),
        f'<g transform="translate(22 {number((TOP + axis) / 2)}) rotate(-90)">'
        + text(0, 0, "live bytes in the arena, MiB", 12, FAINT, "middle") + "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("model")
    parser.add_argument("manifest")
    parser.add_argument("--budget", default="35%")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--effort")
    parser.add_argument("--title")
    parser.add_argument("-o", dest="output")
    options = parser.parse_args()
    saved, planned = compile_graph(options, "100%"), compile_graph(options, options.budget)
    title = options.title or f"one training step of {os.path.splitext(os.path.basename(options.model))[0]}"
    picture = draw(title, saved, planned)
    if options.output:
        with open(options.output, "w") as file:
            file.write(picture)
    else:
        sys.stdout.write(picture)


if __name__ == "__main__":
    main()
