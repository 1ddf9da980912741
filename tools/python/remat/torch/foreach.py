"""Operations on lists of tensors, which optimizers, `clip_grad_norm_` and averages of weights use: each is the
operation on one tensor, for each of the list.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch
from torch._decomp.decompositions import pw_cast_for_opmath

PREFIX = "aten::_foreach_"


def _copy(x, source, non_blocking=False):
    return source.to(x.dtype).expand(x.shape).clone()


def _sum_of_powers(x, ord=2, dtype=None):
    return x.abs().pow(ord).sum(dtype=dtype)


def _norm(x, ord=2, dtype=None):
    return torch.linalg.vector_norm(x, ord, dtype=dtype)


# A factor that is a tensor is one element of a list's tensor of factors, which torch.addcdiv takes as a number only.
@pw_cast_for_opmath
def _addcdiv(x, dividend, divisor, factor):
    return x + factor * (dividend / divisor)


@pw_cast_for_opmath
def _addcmul(x, one, other, factor):
    return x + factor * (one * other)


def _with_factor(operation, of_tensor):
    def combined(x, one, other, value=1):
        if isinstance(value, torch.Tensor):
            return of_tensor(x, one, other, value.to(x.dtype))
        return operation(x, one, other, value=value)

    return combined


OPERATIONS = {"copy": _copy, "maximum": torch.clamp_min, "minimum": torch.clamp_max, "zero": torch.zeros_like,
              "max": torch.amax, "norm": _norm, "powsum": _sum_of_powers,
              "addcdiv": _with_factor(torch.addcdiv, _addcdiv), "addcmul": _with_factor(torch.addcmul, _addcmul)}


def _of_lists(schema, operation):
    """Arguments that are lists have an element for each tensor, and so has a tensor of factors, `scalars`. They are
    passed on by place, as their names differ from those of the operation on one tensor."""
    is_list = [isinstance(a.type, torch.ListType) or a.name == "scalars" for a in schema.arguments]
    names = [a.name for a in schema.arguments]

    def each(*args, **kwargs):
        count = len(args[is_list.index(True)])
        return [operation(*(a[i] if of_each else a for a, of_each in zip(args, is_list)),
                          **{k: v[i] if is_list[names.index(k)] else v for k, v in kwargs.items()})
                for i in range(count)]

    return each


def foreach():
    """Decompositions, by operation. Those that change their arguments arrive as these and copies."""
    found = {}
    for full_name in torch._C._dispatch_get_registrations_for_dispatch_key("CompositeExplicitAutograd"):
        name, _, overload = full_name.removeprefix(PREFIX).partition(".")
        if not full_name.startswith(PREFIX) or name.endswith("_") or overload.endswith("out"):
            continue
        op = getattr(getattr(torch.ops.aten, "_foreach_" + name), overload or "default")
        operation = OPERATIONS.get(name) or getattr(torch, name)
        found[op] = _of_lists(op._schema, operation)
    return found
