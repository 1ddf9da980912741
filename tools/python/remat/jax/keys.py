"""Operations that move random keys, as those that move their words: a key is a row of an array with one more dimension.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""


def _gather(params, avals, words):
    numbers = params["dimension_numbers"]
    rank = len(avals["out"].shape)
    return dict(params, slice_sizes=tuple(params["slice_sizes"]) + words, dimension_numbers=numbers._replace(
        offset_dims=tuple(numbers.offset_dims) + tuple(range(rank, rank + len(words)))))


def _scatter(params, avals, words):
    numbers = params["dimension_numbers"]
    rank = len(avals["in"][2].shape)
    return dict(params, dimension_numbers=numbers._replace(
        update_window_dims=tuple(numbers.update_window_dims) + tuple(range(rank, rank + len(words)))))


def _dynamic_slice(params, _, words):
    return dict(params, slice_sizes=tuple(params["slice_sizes"]) + words)


def _tile(params, _, words):
    return dict(params, reps=tuple(params["reps"]) + (1,) * len(words))


PARAMETERS = {"gather": _gather, "scatter": _scatter, "dynamic_slice": _dynamic_slice, "tile": _tile,
              "dynamic_update_slice": lambda params, *_: params}


def on_words(l, eqn, operands):
    """Operands and parameters of an operation on words in the place of one on keys."""
    change = PARAMETERS.get(eqn.primitive.name)
    if change is None:
        return operands, eqn.params
    words = operands[0].shape[len(eqn.invars[0].aval.shape):]
    params = change(eqn.params, {"in": [v.aval for v in eqn.invars], "out": eqn.outvars[0].aval}, words)
    if eqn.primitive.name.startswith("dynamic"):  # They begin at the first word.
        zero = l.function.constant(0, (), operands[-1].element)
        l.known[zero.name] = 0
        operands = list(operands) + [zero] * len(words)
    return operands, params
