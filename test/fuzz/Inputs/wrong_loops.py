"""loops.py with another program for what is unrolled, in which tanh is sin: to see that this is found."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import loops
from harness import write


class WrongTrial(loops.Trial):
    def run(self, what, flags, outputs, model="model.mlir", **others):
        if what == "unrolled":
            model = "other.mlir"
            write(f"{self.folder}/{model}", open(f"{self.folder}/fixed.mlir").read().replace("math.tanh", "math.sin"))
        return super().run(what, flags, outputs, model, **others)


loops.Trial = WrongTrial
loops.main()
