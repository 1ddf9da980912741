"""programs.py with an interpreter that takes tanh for another function: to see that this is found."""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import generator
import operations
import programs

# No other choice: a program of products and of this.
generator.Generator.LEAVES = ["unary", "product"]
generator.Generator.BODIED = ["region"]
operations.BODIES = {"bell": operations.BODIES["bell"]}
operations.UNARY = {"tanh": ("math.tanh", math.atan)}
programs.main()
