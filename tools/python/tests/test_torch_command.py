"""python -m remat export.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import io
import os
import tempfile
import unittest

from common import needs_torch
from remat.__main__ import main

SCRIPT = """
import torch
def make_model():
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Flatten(0)), (torch.ones(1, 3),)
def nothing():
    return 1
"""


@needs_torch
class CommandTest(unittest.TestCase):
    def run_command(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = main(list(arguments))
        return status, out.getvalue(), errors.getvalue()

    def test_export(self):
        with tempfile.TemporaryDirectory() as directory:
            script = os.path.join(directory, "script.py")
            with open(script, "w") as file:
                file.write(SCRIPT)
            status, out, errors = self.run_command("export", script + ":make_model", "-o", directory, "--name=tiny")
            self.assertEqual((status, errors), (0, ""))
            self.assertEqual(out.split(), [os.path.join(directory, "tiny" + e)
                                           for e in (".mlir", ".safetensors", ".json")])
            # What cannot be written is one line, and none of the files is replaced.
            os.unlink(os.path.join(directory, "tiny.json"))
            os.mkdir(os.path.join(directory, "tiny.json"))
            before = os.stat(os.path.join(directory, "tiny.mlir")).st_ino
            status, out, errors = self.run_command("export", script + ":make_model", "-o", directory, "--name=tiny")
            self.assertEqual((status, out), (1, ""))
            self.assertEqual(errors, "remat: error: '%s': Is a directory\n" % os.path.join(directory, "tiny.json"))
            self.assertEqual(os.stat(os.path.join(directory, "tiny.mlir")).st_ino, before)
            self.assertEqual(len(os.listdir(directory)), 4 + os.path.isdir(os.path.join(directory, "__pycache__")))
            for name, message in (("other", "has no function 'other'; there are make_model, nothing"),
                                  ("nothing", "must return (model, arguments)")):
                status, _, errors = self.run_command("export", "%s:%s" % (script, name))
                self.assertEqual(status, 1)
                self.assertIn(message, errors)
        self.assertIn("no such file", self.run_command("export", "missing.py:f")[2])


if __name__ == "__main__":
    unittest.main()
