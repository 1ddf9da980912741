# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What optimizers do in their first step, from the definitions, on lists of numbers."""

import math
from typing import Callable, NamedTuple

RATE = 0.0625
EPSILON = 1e-8


def sgd(w, g, decay):
    return w - RATE * (g + decay * w)


def adam(w, g, decay):
    g += decay * w
    return w - RATE * g / (abs(g) + EPSILON)


def adamw(w, g, decay):
    return w - RATE * decay * w - RATE * g / (abs(g) + EPSILON)


def lion(w, g, decay):
    return w - RATE * decay * w - RATE * math.copysign(1.0 if g else 0.0, g)


class Optimizer(NamedTuple):
    """What an optimizer makes of a weight and its gradient in the first step, how many buffers of state each weight
    has, whether the number of steps is returned before the weights, and whether a tiny gradient moves a weight as far
    as a large one."""

    update: Callable
    buffers: int
    counts_steps: bool
    is_normalized: bool


OPTIMIZERS = {"sgd": Optimizer(sgd, 0, False, False), "adam": Optimizer(adam, 2, True, True),
              "adamw": Optimizer(adamw, 2, True, True), "lion": Optimizer(lion, 1, False, True), "adafactor": None}


def wrong_element(spec, decay, weights, gradients, found, digit):
    """(index, found, expected) of an element that is not what the definition says; None if all are."""
    scale = max([abs(g) for g in gradients] + [1.0])
    for index, (w, g, new) in enumerate(zip(weights, gradients, found)):
        # The direction of what is all but zero is that of its rounding error.
        if spec.is_normalized and abs(g + decay * w) <= 1e3 * digit * scale:
            continue
        known = spec.update(w, g, decay)
        if not abs(new - known) <= 100 * digit * max(scale, abs(w), 1.0):
            return index, new, known
    return None
