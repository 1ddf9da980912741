#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks README.md and the pages under docs/.

usage: check_docs.py links ROOT
       check_docs.py run ROOT BIN SCRATCH PAGE...

`links` checks that every relative link and every path of the repository that a page names exists, that the heading
behind a # exists, that every page can be reached from README.md by links, and that passes, pipelines, tools and their
options whose names begin with remat- exist.

`run` runs the commands that pages show and compares what they print. A page says by a comment, which readers of the
rendered page do not see, what the block of code after it is:

    <!-- run -->              Lines with "$ " in front are commands, the lines behind each are what it prints. A block
                              without such lines is one script, whose output is not compared.
    <!-- run status=3 -->     The same; the last command ends with this exit status. Otherwise it must be 0.
    <!-- file NAME -->        The contents of a file that later commands of the page use.
    <!-- figures: COMMAND --> Every whole number of seven or more digits in the block is printed by the command.

A comment may have several lines. Commands run in bash in a scratch directory that looks like the repository after a
build: build/bin, docs, test and tools are links to the real ones. What a command prints on standard error counts as
output, too. In expected output, three dots stand for any text within a line, and a line of three dots for any number of
lines; timings and other things that differ from run to run are written so. Runs of spaces are compared as one space.
"""
import glob, os, re, subprocess, sys

# Folders of the repository whose files pages name in `backticks`.
FOLDERS = ("cmake", "docs", "include", "lib", "test", "tools")
NAME = re.compile(r"\bremat-[a-z]+(?:-[a-z]+)*\b")


class Block:
    """A fenced or indented block of code and the comment right before it."""

    def __init__(self, mark, line, lines):
        self.mark, self.line, self.lines = mark, line, lines


def blocks(text):
    """The blocks that have a comment before them."""
    lines = text.split("\n")
    found, number = [], 0
    while number < len(lines):
        comment = lines[number]
        number += 1
        if not re.match(r"<!-- (run|file|figures)\b", comment):
            continue
        while not comment.endswith("-->") and number < len(lines):
            comment += "\n" + lines[number]
            number += 1
        mark = comment[len("<!--") : -len("-->")].strip()
        while number < len(lines) and not lines[number].strip():
            number += 1
        first = number
        if number < len(lines) and lines[number].startswith("```"):
            number += 1
            while number < len(lines) and not lines[number].startswith("```"):
                number += 1
            body = lines[first + 1 : number]
            first += 1
        else:
            while number < len(lines) and (lines[number].startswith("    ") or not lines[number].strip()):
                number += 1
            body = [line[4:] for line in lines[first:number]]
            while body and not body[-1]:
                body.pop()
        found.append(Block(mark, first + 1, body))
    return found


# Running


def split_commands(lines):
    """(offset of the first line, command, expected output or None) of a block."""
    if not any(line.startswith("$ ") for line in lines):
        return [(0, "set -e\n" + "\n".join(lines), None)]
    commands, number = [], 0
    while number < len(lines):
        first, line = number, lines[number]
        number += 1
        if not line.startswith("$ "):
            # Output in front of all commands is that of none, which prints nothing.
            if not commands:
                commands.append((0, "true", []))
            commands[-1][2].append(line)
            continue
        command = line[2:]
        while command.endswith("\\") and number < len(lines):
            command += "\n" + lines[number]
            number += 1
        commands.append((first, command, []))
    return commands


def matches(expected, actual):
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
            continue
        words = re.sub(r"\s+", " ", line.rstrip()).split("...")
        pattern += r"[^\n]*".join(re.escape(word) for word in words) + "\n"
    text = "".join(re.sub(r"\s+", " ", line.rstrip()) + "\n" for line in actual)
    return re.fullmatch(pattern, text) is not None


def execute(command, scratch, tools):
    environment = dict(os.environ, PATH=tools + os.pathsep + os.environ["PATH"])
    process = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return process.returncode, process.stdout


def quote(title, lines):
    return "".join(f"\n  {title}: {line}" for line in lines)


def run_block(page, block, scratch, tools):
    """The errors of one block."""
    option = re.fullmatch(r"run(?: status=(\d+))?", block.mark)
    if not option:
        return [f"{page}:{block.line - 1}: unknown comment '{block.mark}', expected run, run status=N, file NAME or "
                "figures: COMMAND"]
    commands = split_commands(block.lines)
    for number, (offset, command, expected) in enumerate(commands):
        wanted = int(option.group(1) or 0) if number + 1 == len(commands) else 0
        status, output = execute(command, scratch, tools)
        place = f"{page}:{block.line + offset}: '{command}'"
        actual = output.splitlines()
        if status != wanted:
            return [f"{place} ended with status {status}, expected {wanted}" + quote("printed", actual)]
        while expected and not expected[-1].strip():
            expected.pop()
        while actual and not actual[-1].strip():
            actual.pop()
        if expected is not None and not matches(expected, actual):
            return [f"{place} does not print what the page shows" + quote("page", expected) + quote("printed", actual)]
    return []


def compare_figures(page, block, scratch, tools):
    command = block.mark.split(":", 1)[1].strip()
    status, output = execute(command, scratch, tools)
    place = f"{page}:{block.line}: '{command}'"
    if status != 0:
        return [f"{place} ended with status {status}, expected 0" + quote("printed", output.splitlines())]
    figures = re.findall(r"\b\d{7,}\b", "\n".join(block.lines))
    if not figures:
        return [f"{place}: the block has no figures of seven or more digits"]
    return [f"{place} does not print {figure}" + quote("printed", output.splitlines())
            for figure in dict.fromkeys(figures) if not re.search(rf"\b{figure}\b", output)]


def run_page(root, page, tools, scratch):
    for folder in ("docs", "test", "tools"):
        os.symlink(os.path.join(root, folder), os.path.join(scratch, folder))
    os.mkdir(os.path.join(scratch, "build"))
    os.symlink(tools, os.path.join(scratch, "build", "bin"))
    errors = []
    with open(os.path.join(root, page)) as file:
        found = blocks(file.read())
    if not found:
        return [f"{page}: no block is marked by <!-- run -->"]
    for block in found:
        if block.mark.startswith("file "):
            with open(os.path.join(scratch, block.mark[5:].strip()), "w") as file:
                file.write("\n".join(block.lines) + "\n")
        elif block.mark.startswith("figures:"):
            errors += compare_figures(page, block, scratch, tools)
        else:
            errors += run_block(page, block, scratch, tools)
    return errors


# Links


def strip_code(text):
    """The text without blocks of code, line by line."""
    kept, fenced = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
            line = ""
        kept.append("" if fenced or line.startswith("    ") else line)
    return kept


def anchors(text):
    """What the headings of a page are called in links."""
    names = set()
    for line in strip_code(text):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            words = re.sub(r"[^\w\- ]", "", heading.group(1).lower())
            names.add(words.replace(" ", "-"))
    return names


def named_paths(line):
    """Paths of the repository in backticks; `lib/{A,B}` and `test/*.mlir` name several."""
    for code in re.findall(r"`([^`]+)`", line):
        for path in re.findall(r"(?<![\w./-])(?:%s)/[\w./*{},+-]*" % "|".join(FOLDERS), code):
            path = path.rstrip(".,")
            braces = re.fullmatch(r"(.*)\{([^}]*)\}(.*)", path)
            choices = braces.group(2).split(",") if braces else [""]
            yield path, [braces.group(1) + choice + braces.group(3) if braces else path for choice in choices]


def find_names(root):
    """Names of passes, pipelines, tools and options that begin with remat-."""
    names = set()
    places = (("docs/passes", "md"), ("lib/Pipelines", "cpp"), ("tools", "cpp"), ("tools", "txt"), ("test", "txt"))
    for folder, ending in places:
        for path in glob.glob(os.path.join(root, folder, "**", "*." + ending), recursive=True):
            with open(path) as file:
                text = file.read()
            # Only headings name passes; descriptions may mention others.
            text = "\n".join(re.findall("^### .*$", text, re.M)) if ending == "md" else text
            names |= set(NAME.findall(text))
    # Folders of headers are named in paths.
    return names | set(map(os.path.basename, glob.glob(os.path.join(root, "include", "*"))))


def check_links(root):
    pages = ["README.md"] + sorted(os.path.relpath(page, root)
                                   for page in glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True))
    texts = {page: open(os.path.join(root, page)).read() for page in pages}
    names, errors, leads_to = find_names(root), [], {page: set() for page in pages}
    for page, text in texts.items():
        generated = text.startswith("<!-- Autogenerated")
        for number, line in enumerate(text.split("\n"), 1):
            for name in NAME.findall(line):
                if name not in names:
                    errors.append(f"{page}:{number}: there is no pass, pipeline, tool or option '{name}'")
        for number, line in enumerate(strip_code(text), 1):
            for target in re.findall(r"\]\(([^)\s]+)\)|^\[\w+\]: (\S+)$", line):
                target = "".join(target)
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                if not os.path.exists(os.path.join(root, path)):
                    errors.append(f"{page}:{number}: the link to '{target}' leads nowhere")
                elif anchor and path in texts and anchor not in anchors(texts[path]):
                    errors.append(f"{page}:{number}: '{path}' has no heading '#{anchor}'")
                # A link to a folder shows the pages in it.
                leads_to[page] |= {other for other in pages if other == path or os.path.dirname(other) == path}
            if generated:
                continue
            for path, choices in named_paths(line):
                if not all(glob.glob(os.path.join(root, choice)) for choice in choices):
                    errors.append(f"{page}:{number}: there is no '{path}'")
    reached, open_pages = {"README.md"}, ["README.md"]
    while open_pages:
        for page in sorted(leads_to[open_pages.pop()] - reached):
            reached.add(page)
            open_pages.append(page)
    return errors + [f"{page}: no links lead here from README.md" for page in pages if page not in reached]


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "links":
        errors = check_links(sys.argv[2])
    elif len(sys.argv) > 5 and sys.argv[1] == "run":
        root, tools, scratch = map(os.path.abspath, sys.argv[2:5])
        errors = []
        for page in sys.argv[5:]:
            folder = os.path.join(scratch, page.replace(os.sep, "-"))
            os.makedirs(folder)
            errors += run_page(root, page, tools, folder)
    else:
        sys.exit(__doc__)
    print("\n".join(errors) if errors else "no errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
