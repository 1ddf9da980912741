"""The rules of operations of ATen. Modules beside this one register them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

# Name of an operation of ATen -> function of the lowering, the node and its arguments.
RULES = {}


def rule(*names):
    def register(function):
        for name in names:
            RULES[name] = function
        return function
    return register
