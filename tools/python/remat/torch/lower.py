"""A graph of ATen operations as a function of remat.

Each operation has a rule in one of the modules beside this one. What has none is an error that names the operation and
the line of the model: nothing is left out.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import operator
import os
import re

import torch

from ..errors import ExportError
from ..exported import unique_name
from ..mlir import Function, Value, broadcast_map, identity, quote
from . import bits, checks, groups, indexing, integers, linalg, products  # noqa: F401, rules
from . import random, reductions, resampling, shapes, special, windows  # noqa: F401, rules
from .complex import COMPLEX_RULES
from .pointwise import FORMULAS, lower_pointwise
from .rules import RULES
from .storage import as_bytes, moves_only
from .types import convert, element_of

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# Constants with more elements are arguments of the step.
LARGEST_CONSTANT = 256
NO_RULE = "there is no rule for it"


def is_foreign(path):
    """Whether a file is none of this package, which calls the model."""
    return not os.path.abspath(path).startswith(PACKAGE)


def describe_place(node):
    """Where in the model a node comes from: file, line, function; None if it is not known."""
    return place_in(node.meta.get("stack_trace"))


def place_in(stack_trace):
    """The innermost place of a stack that is none of this package."""
    places = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', stack_trace or "")
    places = [place for place in places if is_foreign(place[0])]
    return places[-1] if places else None


def module_path(node):
    """The path of the innermost module that a node belongs to, such as `layer.0.attention`."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return None
    path = list(stack.values())[-1][0]
    path = re.sub(r"\[['\"]?([^\]'\"]+)['\"]?\]", r".\1", re.sub(r"^L\[['\"][^\]]+['\"]\]\.?", "", path))
    return path.replace("_modules.", "").strip(".") or None


def form_of(node):
    """The arguments of an operation, as in `float32[2, 3], 1, alpha=2`."""
    def text(argument):
        val = argument.meta.get("val") if isinstance(argument, torch.fx.Node) else None
        if isinstance(val, torch.Tensor):
            return "%s%s" % (str(val.dtype)[6:], list(val.shape))
        return "[%s]" % ", ".join(map(text, argument)) if isinstance(argument, (list, tuple)) else str(argument)

    return ", ".join([text(a) for a in node.args] + ["%s=%s" % (key, text(a)) for key, a in node.kwargs.items()])


# Arguments of elementwise operations that are no operands, also where they are not given as keywords.
OPTIONS = {"alpha", "decimals"}

# The types of numbers that stand for tensors.
NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def operands_and_options(node):
    options, operands = dict(node.kwargs), []
    for argument, given in zip(node.target._schema.arguments, node.args):
        if argument.name in OPTIONS:
            options[argument.name] = given
        else:
            operands.append(given)
    return operands, options


class Lowering:
    """Builds the function. `backward` are the nodes of the backward computation; `tags` says for a node which policy
    and name its results have."""

    def __init__(self, backward=frozenset(), tags=None):
        self.function = Function()
        self.backward, self.tags = backward, tags or {}
        self.values = {}
        self.places = {}  # where poolings found their elements, for their gradients
        self.constants = []  # names and tensors of arguments that the graph brings along
        self.taken = set()  # names of arguments
        self.seed = None
        self.draws = 0
        self.node = None

    # Operands

    def is_tensor(self, operand):
        return isinstance(operand, torch.fx.Node)

    def value(self, operand):
        """The value of an operand, also where a tensor is expected and the graph has a number, as PyTorch traces
        `x * 0.5` under vmap. Such a number is a tensor without dimensions, of the widest type of its kind."""
        if type(operand) in NUMBERS:
            return self.function.constant(operand, (), element_of(self.dtype(operand)))
        return self.values[operand]

    def fake(self, operand):
        return operand.meta["val"]

    def dtype(self, operand):
        return NUMBERS[type(operand)] if type(operand) in NUMBERS else operand.meta["val"].dtype

    def result(self):
        """Shape and dtype of the result of the node."""
        val = self.node.meta["val"]
        return tuple(val.shape), val.dtype

    def converted(self, operand, dtype, discard=False):
        """The value of an operand as `dtype`."""
        return self.convert(self.value(operand), self.dtype(operand), dtype, discard)

    def convert(self, value, source, target, discard=False):
        """As types.convert."""
        if source == target:
            return value
        return self.function.generic([(value, identity(value.rank))], value.shape, element_of(target),
                                     lambda b, a: convert(b, a, source, target, discard))

    def broadcast(self, value, shape):
        if tuple(shape) == value.shape:
            return value
        return self.function.generic([(value, broadcast_map(value.shape, shape))], shape, value.element,
                                     lambda b, a: a)

    def refuse(self, why):
        place, path = describe_place(self.node), module_path(self.node)
        where = "%s:%s: " % place[:2] if place else "module %s: " % path if path else ""
        error = ExportError("%s%s: %s" % (where, self.node.target, why))
        error.names_operation, error.node, error.has_no_rule = True, self.node, why == NO_RULE
        raise error

    # The graph

    def locate(self, node):
        place = describe_place(node)
        text = "unknown" if place is None else "%s:%s:0" % (quote(place[0]), place[1])
        path = module_path(node)
        if path:
            text = "%s(%s)" % (quote(path), text) if place else quote(path)
        if node in self.backward:
            text = "%s(%s)" % (quote("remat:phase=backward"), text if text != "unknown" else '"backward"')
        self.function.location = text

    def argument(self, node, name, call=0):
        val = node.meta["val"]
        if not isinstance(val, torch.Tensor):
            what = "shapes must be static" if isinstance(val, torch.SymInt) else \
                "meshes of devices and groups of processes, as those of DTensor, are not supported in a step; " \
                "compile what each process does by itself, and put DDP or FSDP around it"
            raise ExportError("argument '%s' is no tensor but %s; %s" % (name, type(val).__name__, what))
        self.values[node] = self.function.argument(val.shape, element_of(val.dtype), name, call=call)

    def tensor(self, tensor, name):
        """A tensor that the graph holds: a constant, or an argument if it is large."""
        # Its elements are wanted, also while PyTorch traces.
        with torch.utils._python_dispatch._disable_current_modes():
            tensor = as_bytes(tensor.detach())
            elements = tensor.tolist() if tensor.numel() <= LARGEST_CONSTANT else None
        if elements is not None:
            return self.function.dense(elements, element_of(tensor.dtype)) if tensor.numel() else \
                self.function.empty(tensor.shape, element_of(tensor.dtype))
        name = unique_name(name, self.taken)
        self.constants.append((name, tensor))
        return self.function.argument(tensor.shape, element_of(tensor.dtype), name)

    def lower(self, graph_module, node):
        self.node = node
        self.locate(node)
        if node.op == "get_attr":
            holder = graph_module
            for part in node.target.split("."):
                holder = getattr(holder, part)
            if not isinstance(holder, torch.Tensor):
                self.node = next(iter(node.users), node)
                self.refuse("operations on functions are not supported, and '%s' is one; write loops and branches of "
                            "Python, or torch.where" % node.target)
            self.values[node] = self.tensor(holder, node.target)
            return
        if node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]
            self.tag(node)
            return
        first = len(self.function.computed)
        result = self.lower_call(node)
        self.set_policies(node, result, self.function.computed[first:])
        self.values[node] = result
        if result is not None:
            self.check(node, result)
        if isinstance(result, Value):
            self.tag(node)

    def lower_call(self, node):
        if getattr(node.target, "namespace", None) in ("_c10d_functional", "c10d"):
            self.refuse("collectives are not supported in a step; compile what each process does by itself, and put "
                        "DDP or FSDP around it")
        if getattr(node.target, "namespace", None) not in ("aten", "prims", "remat"):
            self.refuse("operations other than PyTorch's own are not supported, unless they are defined by "
                        "torch.library.custom_op and change no argument; write this one with operations of PyTorch")
        try:
            return self.apply_rule(node)
        except ExportError as error:
            if getattr(error, "names_operation", False):
                raise
            self.refuse(str(error))
        except (TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
            # Rules take the forms of an operation that they know.
            self.refuse("this form of it is not supported (%s): %s" % (form_of(node), error))

    def apply_rule(self, node):
        why = moves_only(node)
        if why:
            self.refuse(why)
        name = node.target.overloadpacket.__name__
        overload = "%s.%s" % (name, node.target._overloadname)
        if name in COMPLEX_RULES and any(self.is_tensor(a) and self.dtype(a).is_complex for a in node.args):
            return COMPLEX_RULES[name](self, node, *node.args, **node.kwargs)
        if overload in RULES or name in RULES:
            return RULES.get(overload, RULES.get(name))(self, node, *node.args, **node.kwargs)
        if name in FORMULAS:
            shape, dtype = self.result()
            operands, options = operands_and_options(node)
            return lower_pointwise(self, name, node.target, operands, options, shape, dtype)
        self.refuse(NO_RULE)

    def check(self, node, result):
        """What a rule gave has the shape and the type that PyTorch says."""
        val = node.meta.get("val")
        results = [(result, val)] if isinstance(result, Value) else list(zip(result, val))
        for value, fake in results:
            if isinstance(fake, torch.Tensor) and value is not None and (
                    tuple(fake.shape) != value.shape or element_of(fake.dtype) != value.element):
                self.refuse("its rule gives %s, expected %s of %s" % (value.type, fake.dtype, tuple(fake.shape)))

    def set_policies(self, node, result, computed):
        """What an operation computes on its way to the result is not kept where the operation is recomputed."""
        inside = self.tags.get(node, {}).get("inside")
        if inside:
            results = {self.function.root(v) for v in ([result] if isinstance(result, Value) else result) if v}
            self.function.policies.update((name, inside) for name in computed if name not in results)

    def tag(self, node):
        tag = self.tags.get(node)
        value = self.values[node]
        attributes = []
        if not tag or not isinstance(value, Value):
            return
        if tag.get("name"):
            attributes.append("name = %s" % quote(tag["name"]))
        if tag.get("policy"):
            attributes.append("policy = #remat.policy<%s>" % tag["policy"])
        if not attributes:
            return
        self.values[node] = self.function.op(
            "remat.tag %s {%s} : %s" % (value.name, ", ".join(attributes), value.type), value.shape, value.element)

    def finish(self, results, names=None, gradients=None, data_gradients=None, updates=None):
        """`gradients`, `data_gradients` and `updates` say by numbers of results whose gradient, for an optimizer or for
        none, and the new value of which argument, they are: by the argument's name. What is updated gives its buffer to
        the new value."""
        numbers = {name: number for number, (_, name) in enumerate(self.function.arguments)}
        for result, name in (updates or {}).items():
            self.function.donated[self.function.arguments[numbers[name]][0].name] = result
        by_number = lambda of: {result: numbers[name] for result, name in (of or {}).items()}
        return self.function.text(results, names, gradients=by_number(gradients),
                                  data_gradients=by_number(data_gradients))
