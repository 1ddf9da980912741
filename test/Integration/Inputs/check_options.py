"""Checks that the help text of a tool has every option of a step.

usage: check_options.py OPTIONS.json [--of=NAME] [--only=STAGE | --without=STAGE] TOOL ARGUMENT...

With --of, only options of the pass or pipeline remat-NAME count. With --only, only options that the stage reads are
looked for; with --without, only those that another stage reads.
"""
import json, re, subprocess, sys

options, arguments = json.load(open(sys.argv[1])), sys.argv[2:]
name = None
while arguments[0].startswith("--"):
    key, value = arguments.pop(0).split("=")
    if key == "--of":
        name = value
    elif key == "--only":
        options = [option for option in options if value in option["stages"]]
    elif key == "--without":
        options = [option for option in options if option["stages"] != [value]]
    else:
        sys.exit(__doc__)
lines = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()
if name:
    # The options of a pass follow it and are indented more.
    first = next(number for number, line in enumerate(lines) if line.split()[:1] == ["--remat-" + name])
    indent = len(lines[first]) - len(lines[first].lstrip())
    last = next(number for number in range(first + 1, len(lines) + 1)
                if number == len(lines) or len(lines[number]) - len(lines[number].lstrip()) <= indent)
    lines = lines[first + 1 : last]
offered = {found[1] for line in lines if (found := re.match(r"\s+--([a-z-]+)", line))}
missing = [option["name"] for option in options if option["name"] not in offered]
if missing or not options:
    sys.exit(f"not offered: {missing}")
