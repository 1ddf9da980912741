"""Checks that a page shows the example of a source file: example.py SOURCE PAGE."""
import sys

source, page = (open(path).read() for path in sys.argv[1:])
example = source.split("// [begin example]\n")[1].split("// [end example]")[0]
shown = "".join("    " + line if line.strip() else line for line in example.splitlines(keepends=True))
sys.exit(None if shown.rstrip() in page else "the example differs: copy it to the page, indented by four blanks")
