"""remat for Python: training steps that use exactly the memory that they are given.

    step = remat.compile("model.mlir", budget="60%")
    loss, *gradients = step(*arrays)

`remat.torch` and `remat.jax` take models from PyTorch and JAX. This package itself needs neither, nor NumPy.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from . import module, safetensors
from .arrays import Array
from .device import DeviceArray, device_put
from .errors import (ArgumentError, CompileError, Error, ExportError, InfeasibleBudget, NoDeviceError, OptionError,
                     RunError)
from .module import Context, Module, Options, describe_options
from .progress import set_progress
from .step import Plan, State, Step, compile_module, synchronize, what_if_model

__version__ = "0.1.0"
__all__ = ["Array", "ArgumentError", "CompileError", "Context", "DeviceArray", "Error", "ExportError",
           "InfeasibleBudget", "Module", "NoDeviceError", "OptionError", "Options", "Plan", "RunError", "State", "Step",
           "compile", "describe_options", "device_put", "safetensors", "set_progress", "synchronize", "what_if"]


def compile(model, budget=None, policy=None, **options):
    """Compiles a model to a step.

    `model` is MLIR as text, bytecode or the path of a file, or what `remat.torch.export` and `remat.jax.export` give.
    `budget` bounds the bytes of the step beside its arguments and results: a number, "2GiB", "60%" of the peak without
    recomputation, "min", or None for no bound. `policy` is one of JAX's by its name. Other options are those of
    docs/options.md, with `_` for `-`: `wrt=[0, 2]`, `cotangents=True`, `threads=2`. With `target="cuda"`, the step is
    for the GPU of the thread's current context, or else the first one; `device="cuda:1"` names another.
    """
    if hasattr(model, "compile_step"):
        return model.compile_step(budget=budget, policy=policy, **options)
    return compile_module(model, budget=budget, policy=policy, **options)


def what_if(model, batch=None, dtype=None, link=None, budget=None, **options):
    """How much memory a model would take under other conditions: a list with a dictionary for each combination of the
    values of `batch`, `dtype`, `link` and `budget`, which are lists, as docs/seeing.md has it. `model` and `options`
    are those of `compile`; a `budget` that is no list is the same for all rows. Nothing is compiled to code.

        for row in remat.what_if("model.mlir", batch=[8, 16, 32], budget="60%"):
            print(row["batch"], row["peak_bytes"], row["smallest_feasible_bytes"], row["tdi_percent"])
    """
    conditions = {"batch": batch, "dtype": dtype, "link": link, "budget": budget}
    if hasattr(model, "compile_step"):
        return model.what_if(conditions, **options)
    return what_if_model(model, conditions=conditions, **options)
