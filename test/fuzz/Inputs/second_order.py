"""programs.py with programs that are little else than derivatives and regions: derivatives of derivatives, regions
around derivatives, and derivatives of regions."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import generator
import programs


class SecondOrder(generator.Generator):
    LEAVES = ["unary"] * 4 + ["binary"] * 3 + ["product"] * 4 + ["reduction", "softmax", "view", "tag"]
    BODIED = ["derivative"] * 4 + ["region"] * 3 + ["call"]
    MOST_BODIED = 0.5


programs.Generator = SecondOrder
programs.main()
