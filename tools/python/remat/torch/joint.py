"""Joint graphs of AOTAutograd as programs of remat.

AOTAutograd traces the forward and the backward computation that PyTorch's autograd makes of a model. So whatever the
model says about derivatives (detach, no_grad, autograd.Function, hooks, padding_idx) has happened when remat sees it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import warnings

import torch

from ..errors import ExportError
from .attention import attention
from .bits import bits
from .choices import choices
from .custom import custom_operations, located
from .decompositions import more_decompositions
from .draws import draws
from .fast_paths import fast_paths
from .foreach import foreach
from .groups import grouped_products
from .higher_order import inline_branches
from .linear_systems import linear_algebra
from .loss_scaling import loss_scaling
from .lower import Lowering, describe_place
from .pointwise import FORMULAS
from .quantized import quantized
from .random import SEED
from .recurrent import recurrent_cells
from .rules import RULES
from .segments import segments
from .special_functions import special_functions
from .strides import dense_order, in_order
from .types import element_of

_table = None


def decompositions():
    """PyTorch's own decompositions of the operations that have no rule here."""
    global _table
    if _table is None:
        from torch._decomp import core_aten_decompositions, decomposition_table
        _table = {}
        for table in (decomposition_table, core_aten_decompositions()):
            for op, function in table.items():
                name = getattr(getattr(op, "overloadpacket", op), "__name__", "")
                if name not in RULES and name not in FORMULAS:
                    _table[op] = in_order(op, function)
        for table in (linear_algebra(), attention(), more_decompositions(), choices(), special_functions(),
                      recurrent_cells(), quantized(), fast_paths(), draws(), segments(), bits(), foreach(),
                      loss_scaling(), own_decompositions()):
            _table.update((op, located(op, in_order(op, function))) for op, function in table.items())
    # Libraries may have been imported since.
    return {**custom_operations(), **_table, **grouped_products()}


def own_decompositions():
    """Of operations for which PyTorch has none, or one that is not functional."""
    aten = torch.ops.aten

    def trilinear(a, b, c, expand1, expand2, expand3, sumdim, unroll_dim=1):
        def expanded(x, dims):
            for dim in dims:
                x = x.unsqueeze(dim)
            return x

        product = expanded(a, expand1) * expanded(b, expand2) * expanded(c, expand3)
        return product.sum(sumdim, dtype=product.dtype) if sumdim else product

    def diag_embed(x, offset=0, dim1=-2, dim2=-1):
        rank = x.dim() + 1
        dim1, dim2 = dim1 % rank, dim2 % rank
        if dim1 > dim2:
            offset, dim1, dim2 = -offset, dim2, dim1
        extent = x.shape[-1] + abs(offset)
        row = torch.arange(extent, device=x.device)
        hit = row[None, :] - row[:, None] == offset
        padded = torch.nn.functional.pad(x, (max(offset, 0), max(-offset, 0)))
        result = torch.where(hit, padded.unsqueeze(-2), torch.zeros((), dtype=x.dtype, device=x.device))
        return result.movedim(-2, dim1).movedim(-1, dim2) if (dim1, dim2) != (rank - 2, rank - 1) else result

    def weight_norm(v, g, dim=0):
        norm = v.norm(2, [d for d in range(v.dim()) if d != dim % v.dim()], keepdim=True)
        return v * (g / norm), norm

    def weight_norm_backward(grad, v, g, norm, dim):
        dims = [d for d in range(v.dim()) if d != dim % v.dim()]
        along = (grad * v).sum(dims, keepdim=True)
        return g / norm * (grad - v * along / (norm * norm)), along / norm

    def addbmm(start, a, b, *, beta=1, alpha=1):
        if not (a.is_floating_point() or a.is_complex()):
            beta, alpha = int(beta), int(alpha)
        product = alpha * (a @ b).sum(0, dtype=a.dtype)
        return product.expand(torch.broadcast_shapes(start.shape, product.shape)) if beta == 0 else \
            beta * start + product

    def complex_variance(x, dim=None, *, correction=None, keepdim=False):
        if not x.is_complex():
            return NotImplemented
        parts = torch.view_as_real(x).unbind(-1)
        return sum(torch.var(part, dim, correction=correction, keepdim=keepdim) for part in parts)

    def complex_variance_and_mean(x, dim=None, *, correction=None, keepdim=False):
        if not x.is_complex():
            return NotImplemented
        dims = tuple(range(x.dim())) if dim is None else dim
        return complex_variance(x, dim, correction=correction, keepdim=keepdim), x.mean(dims, keepdim)

    def smooth_l1_loss_backward(grad, x, target, reduction, beta):
        """PyTorch's decomposition has 0 for nan."""
        difference = x - target
        if reduction == 1:
            grad = grad / difference.numel()
        inner = torch.where(difference >= beta, grad, grad * difference / beta if beta else grad * difference)
        return torch.where(difference <= -beta, -grad, inner)

    return {aten.smooth_l1_loss_backward.default: smooth_l1_loss_backward, aten.var.correction: complex_variance,
            aten.var_mean.correction: complex_variance_and_mean,
            aten._trilinear.default: trilinear, aten.diag_embed.default: diag_embed, aten.addbmm.default: addbmm,
            aten._weight_norm_interface.default: weight_norm,
            aten._weight_norm_interface_backward.default: weight_norm_backward}


@contextlib.contextmanager
def traceable_kernels():
    """Attention and recurrent layers as products, in place of operations that nothing can see into."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    enabled = torch.backends.mkldnn.enabled
    torch._C._set_mkldnn_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), checks_without_tokens(), whole_resampling():
            yield
    finally:
        torch._C._set_mkldnn_enabled(enabled)


@contextlib.contextmanager
def whole_resampling():
    """Linear and cubic resampling stays one operation, and its derivative another. PyTorch would make them of indices
    before it differentiates, which scatters each element of the gradient."""
    aten, keys = torch.ops.aten, (torch._C.DispatchKey.Autograd, torch._C.DispatchKey.CompositeImplicitAutograd)
    taken = []
    for packet in (aten.upsample_linear1d, aten.upsample_bilinear2d, aten.upsample_trilinear3d,
                   aten.upsample_bicubic2d):
        for op in packet.default, packet.vec:
            taken.append((op, {key: op.py_kernels.pop(key) for key in keys if key in op.py_kernels}))
            op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, kernels in taken:
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()


@contextlib.contextmanager
def checks_without_tokens():
    """What checks that a matrix has a factorization stays in the graph as an operation like others. PyTorch would put
    it in order with other effects by tokens, which are arguments of the graph then."""
    from torch._library.simple_registry import singleton
    check = torch.ops.aten._linalg_check_errors.default
    holder = singleton.find("aten::_linalg_check_errors").effect
    effect, impure = getattr(holder, "_effect", None), torch.fx.node._side_effectful_functions
    was_there = check in impure
    holder._effect = None
    impure.add(check)
    try:
        yield
    finally:
        holder._effect = effect
        if not was_there:
            impure.discard(check)


def backward_nodes(graph):
    """The nodes of the backward computation. What an autograd.Function computes there, and what passes of PyTorch have
    rewritten, has no mark of its own: it belongs to where it stands, and to what it reads. What the model returns
    belongs to the forward computation, wherever it stands: AOTAutograd makes views of results behind everything."""
    backward, begun, returned = set(), False, _returned_nodes(graph)
    for node in graph.nodes:
        tag = node.meta.get("partitioner_tag")
        if node.op == "placeholder":
            if node.name.startswith("tangents"):
                backward.add(node)
        elif (tag == "is_backward" or tag is None and begun and node not in returned or
              any(n in backward for n in node.all_input_nodes)):
            backward.add(node)
            begun = begun or node.op == "call_function"
    return backward


def _returned_nodes(graph):
    """The nodes that results of the forward computation need, where AOTAutograd says which these are."""
    from torch._functorch._aot_autograd.descriptors import GradAOTOutput
    output = graph.output_node()
    flat = torch.utils._pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None)
    pending = [value for value, desc in zip(flat, output.meta.get("desc") or ())
               if isinstance(value, torch.fx.Node) and desc is not None and not isinstance(desc, GradAOTOutput)]
    found = set()
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += node.all_input_nodes
    return found


def mutated_inputs(graph):
    """The placeholders whose tensors have other elements after the forward call: AOTAutograd gives their new values as
    outputs, or lets the graph write them."""
    from torch._functorch._aot_autograd.descriptors import InputMutationAOTOutput
    output = next(n for n in graph.nodes if n.op == "output")
    mutated = [desc.mutated_input for desc in output.meta.get("desc") or ()
               if isinstance(desc, InputMutationAOTOutput)]
    written = {n.args[0] for n in graph.nodes if n.op == "call_function" and n.target is torch.ops.aten.copy_.default}
    return [n for n in graph.nodes if n.op == "placeholder" and (n in written or n.meta.get("desc") in mutated)]


def checkpoint_tags(graph, backward):
    """Policies of torch.utils.checkpoint. Inside of a region nothing is kept but what its policy says, and what others
    read of it; a region with policies of its own asks for what each of them says."""
    regions = {}
    for node in graph.nodes:
        region = node.meta.get("ac_graph_id")
        if region is not None and node not in backward:
            regions.setdefault(region, []).append(node)
    tags = {}
    for region, nodes in regions.items():
        # Without a policy function, PyTorch marks all nodes alike.
        plain = {str(getattr(n.meta.get("recompute"), "name", None)) for n in nodes} <= {"PREFER_RECOMPUTE", "None"}
        for node in nodes:
            policy = getattr(node.meta.get("recompute"), "name", None)
            if policy is None or is_view(node):
                continue
            recomputes = policy.endswith("RECOMPUTE")
            if plain:
                policy = "MUST_RECOMPUTE"
            tags[node] = {"inside": policy.lower()} if recomputes else {}
            is_tensor = isinstance(node.meta.get("val"), torch.Tensor)
            if is_tensor and not (recomputes and escapes(node, region, backward)):
                tags[node]["policy"] = policy.lower()
    return tags


def warn_of_reentrant_checkpoints(graph_module):
    """PyTorch traces reentrant checkpoints as others. Where it runs them itself, parameters inside get no gradient
    unless an argument requires one."""
    modules = [m for m in graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    for node in (n for m in modules for n in m.graph.nodes):
        if node.target is not torch.ops.higher_order.tag_activation_checkpoint or \
                node.kwargs.get("use_reentrant", True) is False:
            continue
        differentiated = [v for v in (n.meta["example_value"] for n in node.all_input_nodes if n.op != "get_attr")
                          if isinstance(v, torch.Tensor) and v.requires_grad]
        if differentiated and all(isinstance(v, torch.nn.Parameter) for v in differentiated):
            place = describe_place(node)
            warnings.warn("%sno argument of a checkpoint with use_reentrant=True requires a gradient. What it computes "
                          "is differentiated, as by torch.compile, but not by PyTorch without it; use_reentrant=False "
                          "is the same in both" % ("%s:%s: " % place[:2] if place else ""), stacklevel=2)


def escapes(node, region, backward):
    """Whether a forward node outside of the region reads the value, directly or through views."""
    for user in node.users:
        if user.op == "output":
            return True
        if user in backward:
            continue
        if user.meta.get("ac_graph_id") != region or is_view(user) and escapes(user, region, backward):
            return True
    return False


VIEWS = {"view", "reshape", "_unsafe_view", "t", "transpose", "permute", "expand", "squeeze", "unsqueeze", "slice",
         "select", "split", "split_with_sizes", "unbind", "alias", "detach", "_reshape_alias", "diagonal"}


def is_view(node):
    if node.op != "call_function":
        return True
    packet = getattr(node.target, "overloadpacket", None)
    return packet is not None and packet.__name__ in VIEWS


def named_tags(graph, backward, tags):
    """Names that torch.fx.traceback.annotate({"name": ...}) gives to the values of a block."""
    for node in graph.nodes:
        custom = node.meta.get("custom") or {}
        if node in backward or is_view(node) or not isinstance(node.meta.get("val"), torch.Tensor):
            continue
        if isinstance(custom.get("name"), str):
            tags.setdefault(node, {})["name"] = custom["name"]
        if isinstance(custom.get("policy"), str):
            tags.setdefault(node, {})["policy"] = custom["policy"].lower()


SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def as_number(value):
    """The number that a symbolic one stands for. PyTorch takes a note of it: for another one it compiles again."""
    kind = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}.get(type(value))
    return kind(value) if kind else value


def specialize(values):
    """Makes shapes static that PyTorch would leave open, those of fake tensors and numbers."""
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    _release_marks()
    for value in values:
        numbers = [value]
        if isinstance(value, torch.Tensor):
            numbers = [*value.shape, *value.stride(), value.storage_offset()]
        try:
            for number in numbers:
                as_number(number)
        except GuardOnDataDependentSymNode:
            raise ExportError("an extent of an argument is marked as unbacked (%s), but shapes of a step are static; "
                              "without torch._dynamo.decorators.mark_unbacked, another step is compiled for each "
                              "shape" % ", ".join(map(str, numbers))) from None


def _release_marks():
    """A step is compiled for each shape, also of what torch._dynamo.mark_dynamic was called of. PyTorch would take it
    for an error of the model."""
    from torch._dynamo.symbolic_convert import InstructionTranslator
    try:
        fakes = InstructionTranslator.current_tx().output.tracked_fakes
    except AttributeError:  # Nothing is traced by Dynamo.
        return
    for fake in fakes or ():
        context = fake.symbolic_context
        if getattr(context, "constraint_sizes", None):
            object.__setattr__(context, "constraint_sizes", [None] * len(context.constraint_sizes))


@contextlib.contextmanager
def shapes_that_are_known(graph_module):
    """Names the operation of the model where PyTorch finds that a shape depends on the data of a tensor."""
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, free_unbacked_symbols
    try:
        yield
    except GuardOnDataDependentSymNode:
        for node in graph_module.graph.nodes:
            value = node.meta.get("example_value")
            if isinstance(value, torch.Tensor) and free_unbacked_symbols(value.shape):
                place = describe_place(node)
                error = ExportError("%s%s: the shape of what it gives depends on the data of a tensor; without "
                                    "'fullgraph', torch.compile leaves it to PyTorch" % (
                                        "%s:%s: " % place[:2] if place else "", node.name))
                error.node = node
                raise error from None
        raise


def _known_number(node):
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    try:
        return as_number(node.meta["val"])
    except GuardOnDataDependentSymNode:
        place = describe_place(node)
        error = ExportError("%s%s: it gives a number that depends on the data of a tensor, such as a shape" % (
            "%s:%s: " % place[:2] if place else "", node.target))
        error.node = node
        raise error from None


def substitute_numbers(graph):
    """Puts numbers in the place of nodes that compute them."""
    numbers = {n: _known_number(n) for n in graph.nodes if isinstance(n.meta.get("val"), SYMBOLIC)}
    put = lambda n: numbers.get(n, n)
    for node in graph.nodes:
        if numbers and any(n in numbers for n in node.all_input_nodes):
            node.args, node.kwargs = torch.fx.map_arg(node.args, put), torch.fx.map_arg(node.kwargs, put)
    for node in reversed(list(numbers)):
        if node.op != "placeholder":
            graph.erase_node(node)
    return [n.name for n in numbers if n.op == "placeholder"]


def _find_orders(graph, ordered, left_out):
    """The orders of dimensions that are not as usual, of the first `ordered` outputs of a graph."""
    output = next(node for node in graph.nodes if node.op == "output")
    flat = torch.utils._pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None)
    given = [node for number, node in enumerate(flat[:ordered])
             if isinstance(node, torch.fx.Node) and number not in left_out]
    orders = {node: dense_order(node.meta["val"]) for node in given}
    return {node: order for node, order in orders.items() if order}


class Program:
    """A lowered graph. `arguments` are the placeholders in order; behind them are `constants` that the graph brings
    along and, if `has_seed`, the seed of its random numbers. `outputs` says for each output of the graph which result
    of the program it is, or None if it is none; `numbers` are outputs that are no tensors. Placeholders whose elements
    all are one number, by `known_tangents`, are no arguments. `gradients`, `data_gradients` and `updates` are names of
    arguments by the numbers of outputs, as `Lowering.finish` takes them. Of the first `ordered` outputs, results have
    their elements in the order of the graph's, so their dimensions in that of `orders`, by numbers of results, if it is
    not as usual. Outputs whose numbers are in `left_out` are no results."""

    def __init__(self, graph_module, names=None, result_names=None, known_tangents=None, gradients=None,
                 data_gradients=None, updates=None, ordered=0, left_out=()):
        inline_branches(graph_module)
        graph = graph_module.graph
        numbers = set(substitute_numbers(graph))
        graph.eliminate_dead_code()
        backward = backward_nodes(graph)
        tags = checkpoint_tags(graph, backward)
        named_tags(graph, backward, tags)
        lowering = Lowering(backward, tags)
        names = names or {}
        lowering.taken.update([SEED], names.values(), (n.name for n in graph.nodes if n.op == "placeholder"))
        self.arguments, self.outputs, self.numbers, self.orders = [], [], {}, {}
        results, given_names = [], []
        orders = _find_orders(graph, ordered, left_out)
        in_order = {}
        for node in graph.nodes:
            if node.op == "placeholder":
                lowering.node = node
                if node.name in numbers:
                    self.arguments.append(node.name)
                    continue
                is_tangent = node.name.startswith("tangents")
                if node.name in (known_tangents or {}):
                    val = node.meta["val"]
                    lowering.values[node] = lowering.function.constant(known_tangents[node.name], val.shape,
                                                                       element_of(val.dtype))
                    continue
                lowering.argument(node, names.get(node.name, node.name), call=int(is_tangent))
                self.arguments.append(node.name)
            elif node.op == "output":
                flat = torch.utils._pytree.tree_leaves(node.args[0], is_leaf=lambda x: x is None)
                for number, output in enumerate(flat):
                    if output is None or isinstance(output, (int, float)) or number in left_out:
                        self.outputs.append(None)
                        if isinstance(output, (int, float)):
                            self.numbers[number] = output
                        continue
                    if not isinstance(output, torch.fx.Node):
                        raise ExportError("output %d of the graph is %r, which is no tensor" % (number, output))
                    self.outputs.append(len(results))
                    if number < ordered and output in orders:
                        self.orders[self.outputs[number]] = orders[output]
                        results.append(in_order[output])
                    else:
                        results.append(lowering.value(output))
                    given_names.append((result_names or {}).get(number))
            else:
                lowering.lower(graph_module, node)
            # Before what comes behind the forward call: else one like it there would be taken for both.
            if node in orders:
                lowering.locate(node)
                in_order[node] = lowering.function.transpose(lowering.value(node), orders[node])
        self.constants = lowering.constants
        self.has_seed = lowering.seed is not None
        # Arguments were numbered as they came: constants and the seed behind the placeholders, in the order of use.
        order = [name for _, name in lowering.function.arguments]
        self.argument_names = order
        # A gradient may be a tangent as it is.
        self.has_backward = bool(backward or lowering.function.calls)
        by_result = lambda of: {self.outputs[number]: name for number, name in (of or {}).items()
                                if self.outputs[number] is not None}
        self.text = lowering.finish(results, given_names, by_result(gradients), by_result(data_gradients),
                                    by_result(updates))
