"""The rules of primitives of JAX. Modules beside this one register them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

# Name of a primitive -> function of the lowering, the operands and the parameters.
RULES = {}


def rule(*names):
    def register(function):
        for name in names:
            RULES[name] = function
        return function
    return register


def takes_stacks(function):
    """Marks a rule that takes stacked values as they are."""
    function.takes_stacks = True
    return function


def takes_complex(function):
    """Marks a rule that takes complex numbers as others."""
    function.takes_complex = True
    return function
