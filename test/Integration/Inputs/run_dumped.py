#!/usr/bin/env python3
"""run_dumped.py FILE COMMAND...: runs COMMAND with --pass-pipeline, whose text is the dump of a pass manager in FILE."""

import subprocess
import sys

text = open(sys.argv[1]).read()
text = text[text.index("builtin.module("):]
pipeline = "".join(line.strip() for line in text.splitlines())
sys.exit(subprocess.run(sys.argv[2:] + ["--pass-pipeline=" + pipeline], check=False).returncode)
