"""Decompositions of operations that a program has defined by torch.library.custom_op, and where decompositions are.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import warnings

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode, dispatch_functionalize

from ..errors import ExportError
from .lower import place_in


def _refuse(operation, why):
    place = place_in("".join(torch.fx.traceback.format_stack()))
    raise ExportError("%s%s: %s" % ("%s:%s: " % place[:2] if place else "", operation, why)) from None


def located(operation, function):
    """A decomposition whose refusals have the line of the model, which PyTorch knows while it traces."""
    def decomposition(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except NotImplementedError as error:
            _refuse(operation, error)

    return decomposition


def _traced(operation, definition):
    """What the operation is implemented by, for the device of its tensors, as operations of PyTorch."""
    def decomposition(*args, **kwargs):
        tensors = [x for x in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        functions, device = definition._backend_fns, tensors[0].device.type if tensors else None
        function = functions.get(device, functions.get(None))
        if function is None:
            _refuse(operation, "it has no implementation for tensors on %s" % device)
        if not definition._init_fn.__module__.startswith("torch."):
            warnings.warn("'%s' is compiled as what its implementation does with tensors. What else it does, such as "
                          "counting its calls, is done once, while the model is traced" % definition._qualname,
                          stacklevel=2)
        try:
            # It may write to tensors that it has made.
            return dispatch_functionalize(function, FunctionalTensorMode())(*args, **kwargs)
        except Exception as error:
            _refuse(operation, "PyTorch cannot trace what it is implemented by (%s); implement it by operations of "
                               "PyTorch" % (str(error).splitlines() or [type(error).__name__])[0])

    return decomposition


def custom_operations():
    """Those of a program that change none of their arguments. Their derivatives are those that it has registered. What
    PyTorch defines so of its own, `prims`, has rules and decompositions."""
    from torch._library.custom_ops import OPDEFS
    return {definition._opoverload: _traced(definition._opoverload, definition) for definition in OPDEFS.values()
            if definition._namespace != "prims" and not definition._opoverload._schema.is_mutable}
