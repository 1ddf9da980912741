"""The planner alone, for torch.compile's own Inductor: remat decides what is saved, Inductor makes the code.

    torch._inductor.config.custom_partitioner_fn = remat.torch.Partitioner(budget="500MiB")

The budget bounds the bytes that the tensors of one step take in the order of both graphs, beside parameters and inputs:
what is saved, what is computed in between, and the gradients. It is counted on the two graphs that PyTorch splits the
joint graph into, not estimated. Kernels that Inductor fuses can only make it less.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import hashlib
import warnings

import torch
from torch._functorch import partitioners
from torch._inductor.custom_graph_pass import CustomPartitionerFn

from ..errors import Error, InfeasibleBudget
from ..module import plan_instance
from .joint import (backward_nodes, checkpoint_tags, is_view, mutated_inputs, specialize,
                    substitute_numbers)

# Of a machine, for the ratio of arithmetic to memory: a roofline that favours no one.
FLOPS_PER_NANOSECOND, BYTES_PER_NANOSECOND, LAUNCH_NANOSECONDS = 200.0, 20.0, 1000.0
# Random numbers of PyTorch's generators cannot be drawn a second time.
RANDOM = {"rand", "randn", "rand_like", "randn_like", "bernoulli", "uniform", "normal_functional", "randint",
          "randint_like", "randperm", "native_dropout", "exponential", "inductor_seeds", "inductor_seed",
          "inductor_random", "inductor_randint", "multinomial"}
# Marks copies of inputs that the forward graph overwrites.
OLD_VALUE = "remat_old_value"
# How many sets of saved values are compared.
CANDIDATES = 12


def node_bytes(node):
    val = node.meta.get("val")
    if isinstance(val, (list, tuple)):
        return 0  # Its parts are counted.
    return int(val.numel() * val.element_size()) if isinstance(val, torch.Tensor) else 0


def node_cost(node):
    """Nanoseconds: the larger of traffic and arithmetic."""
    if is_view(node) or node.op != "call_function":
        return 0
    traffic = node_bytes(node) + sum(node_bytes(n) for n in node.all_input_nodes)
    try:
        flops = _flops(node)
    except Exception:
        flops = 0
    return int(LAUNCH_NANOSECONDS + max(traffic / BYTES_PER_NANOSECOND, flops / FLOPS_PER_NANOSECOND))


def _flops(node):
    from torch.utils.flop_counter import flop_registry
    packet = getattr(node.target, "overloadpacket", None)
    count = flop_registry.get(packet)
    if count is None:
        return 0
    fakes = torch.fx.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
    return count(*fakes[0], **fakes[1], out_val=node.meta["val"])


def storage_root(node):
    """The node whose memory a view is of."""
    while node.op == "call_function" and is_view(node) and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


class Instance:
    """A joint graph as an instance of docs/planning.md."""

    def __init__(self, graph):
        self.nodes = [n for n in graph.nodes if n.op != "output"]
        self.ids = {n: i for i, n in enumerate(self.nodes)}
        backward = backward_nodes(graph)
        self.backward = backward
        tags = checkpoint_tags(graph, backward)
        output = next(n for n in graph.nodes if n.op == "output")
        self.outputs = [n for n in torch.utils._pytree.tree_leaves(output.args[0]) if isinstance(n, torch.fx.Node)]
        nodes, edges = [], []
        for node, number in self.ids.items():
            entry = {"id": number, "name": node.name, "cost": node_cost(node), "size": node_bytes(node)}
            if node in backward:
                entry["backward"] = True
            policy = tags.get(node, {}).get("policy")
            if policy:
                entry["policy"] = policy.upper()
            packet = getattr(node.target, "overloadpacket", None)
            if node.op == "placeholder" or getattr(packet, "__name__", "") in RANDOM or node.meta.get(OLD_VALUE):
                entry["recomputable"] = False
            if node.op in ("placeholder", "get_attr"):
                entry["size"] = 0  # The caller's.
            elif is_view(node) and node.all_input_nodes and not self._is_item(node):
                entry["view_of"] = self.ids[storage_root(node)]
                entry["size"] = 0
                entry.pop("policy", None)
            elif self._is_item(node):
                entry["result_of"] = self.ids[node.all_input_nodes[0]]
            nodes.append(entry)
            if "result_of" not in entry and "view_of" not in entry:
                edges += [[self.ids[n], number] for n in node.all_input_nodes]
        self.instance = {"name": "joint", "nodes": nodes, "edges": edges,
                         "outputs": sorted({self.ids[n] for n in self.outputs}),
                         "inputs": [self.ids[n] for n in self.nodes if n.op == "placeholder"]}

    @staticmethod
    def _is_item(node):
        return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"

    def saved_of(self, schedule):
        """The forward values that the backward part of a schedule reads without computing them."""
        sequence = [self.nodes[i] for i in schedule["sequence"] if isinstance(i, int)]
        begin = next((i for i, n in enumerate(sequence) if n in self.backward and n.op == "call_function"),
                     len(sequence))
        again, saved = set(), {}
        # Gradients that are views of forward values are read by the caller.
        for node in self.outputs:
            if node in self.backward and is_view(node):
                self._need(node, set(), saved)
        for node in sequence[begin:]:
            for operand in node.all_input_nodes:
                self._need(operand, again, saved)
            if node not in self.backward:
                again.add(node)
        return list(saved)

    def _need(self, node, again, saved):
        if node.op != "call_function":
            return
        if is_view(node) and not self._is_item(node):
            # A view is made where it is read; both parts of the graph have views of forward values.
            self._need(node.all_input_nodes[0], again, saved)
        elif node in self.backward:
            return
        elif self._is_item(node):
            if node.all_input_nodes[0] not in again:
                saved.setdefault(node)
        elif node not in again:
            saved.setdefault(node)


def keep_old_values(gm):
    """Lets all that reads an input that the forward graph overwrites read a copy of it, which is made at the beginning.
    So the backward graph, which runs later, is given what the input was, and computes nothing from what it has
    become."""
    first = next(n for n in gm.graph.nodes if n.op != "placeholder")
    for node in mutated_inputs(gm.graph):
        readers = [n for n in node.users
                   if n.target is not torch.ops.aten.copy_.default or n.args[1] is node]
        if not readers:
            continue
        with gm.graph.inserting_before(first):
            copy = gm.graph.call_function(torch.ops.aten.clone.default, (node,))
        copy.meta.update({key: node.meta[key] for key in ("val", "tensor_meta") if key in node.meta})
        copy.meta.update({"partitioner_tag": "is_forward", OLD_VALUE: True})
        for reader in readers:
            reader.replace_input_with(node, copy)
    gm.recompile()


def live_peak(graph, kept, base):
    """The greatest total of live bytes of a graph in its order. `kept` are nodes that live to the end; `base` are bytes
    of placeholders that live until their last use, by their names."""
    last, live, peak = {}, sum(base.values()), 0
    order = list(graph.nodes)
    for index, node in enumerate(order):
        for operand in node.all_input_nodes:
            last[storage_root(operand)] = index
    kept = {storage_root(n) for n in kept}
    sizes, ending = dict(base), {}
    for node, index in last.items():
        ending.setdefault(index, []).append(node)
    for index, node in enumerate(order):
        if node.op == "call_function" and storage_root(node) is node:
            sizes[node.name] = node_bytes(node)
            live += sizes[node.name]
        peak = max(peak, live)
        unused = [node] if node not in last and node.op == "call_function" else []
        for dead in ending.get(index, []) + unused:
            if dead not in kept and node.op != "output":
                live -= sizes.pop(dead.name, 0)
    return peak


def split_peak(forward, backward, forward_count):
    """The greatest total of bytes of a step in two graphs, parameters and inputs left out."""
    outputs = lambda graph: [n for n in torch.utils._pytree.tree_leaves(
        next(m for m in graph.nodes if m.op == "output").args[0]) if isinstance(n, torch.fx.Node)]
    first = outputs(forward.graph)
    primals = {n.name for n in forward.graph.nodes if n.op == "placeholder"}
    base = {n.name: node_bytes(n) for n in backward.graph.nodes
            if n.op == "placeholder" and n.name not in primals and not n.name.startswith("tangents")}
    return max(live_peak(forward.graph, first, {}), live_peak(backward.graph, outputs(backward.graph), base))


def writes_backward(node):
    return node.target is torch.ops.aten.copy_.default and node.meta.get("partitioner_tag") in (
        "is_backward", "must_be_in_backward")


class Partitioner(CustomPartitionerFn):
    """Splits a joint graph so that a step fits into `budget`: bytes as a number or "500MiB", "60%" of the peak without
    recomputation, or "min". Smaller budgets never take more bytes. `peaks` has, of each graph that was split, the bytes
    that the step takes and those without recomputation."""

    def __init__(self, budget, effort=0.2):
        self.budget, self.effort, self.peaks = budget, effort, []

    def uuid(self):
        with open(__file__, "rb") as file:
            return hashlib.sha256(file.read() + repr((self.budget, self.effort)).encode()).hexdigest()

    def __call__(self, gm, joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None, **_):
        # Bytes are those of the extents that the step has now.
        specialize(n.meta.get("val") for n in gm.graph.nodes if n.op == "placeholder")
        substitute_numbers(gm.graph)
        gm.graph.eliminate_dead_code()
        gm.recompile()
        static = static_lifetime_input_indices or []
        info = partitioners.classify_nodes(gm, static, num_fwd_outputs)
        if not info.required_bw_nodes:
            return partitioners.default_partition(gm, joint_inputs, num_fwd_outputs=num_fwd_outputs,
                                                  static_lifetime_input_indices=static)
        keep_old_values(gm)
        candidates = self._candidates(gm, num_fwd_outputs, info)
        whole = candidates[0][0]
        limit = self._limit(whole, candidates)
        fitting = [c for c in candidates if c[0] <= limit]
        if not fitting:
            smallest = min(candidates, key=lambda c: c[0])
            raise InfeasibleBudget("no plan found within the budget of %d bytes; the smallest feasible budget found is "
                                   "%d bytes" % (limit, smallest[0]), [], smallest[0])
        peak, _, forward, backward = min(fitting, key=lambda c: (c[1], c[0]))
        self.peaks.append((peak, whole))
        return forward, backward

    def _limit(self, whole, candidates):
        if self.budget is None:
            return whole
        if self.budget == "min":
            return min(candidate[0] for candidate in candidates)
        if isinstance(self.budget, int):
            return self.budget
        text = self.budget.strip()
        if text.endswith("%"):
            return int(whole * float(text[:-1]) / 100)
        for suffix, factor in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)):
            if text.endswith(suffix):
                return int(float(text[:-3]) * factor)
        return int(text)

    def _candidates(self, gm, forward_count, info):
        """Pairs of graphs with their peak and the cost of what is computed again. They do not depend on the budget, so
        a smaller one chooses among fewer of them."""
        instance = Instance(gm.graph)
        everything = plan_instance(instance.instance, planner="save-all", effort=self.effort)
        schedules = [everything]
        top = everything["save_all_peak_bytes"]
        try:
            smallest = plan_instance(instance.instance, budget="min", effort=self.effort)
            bottom = smallest["peak_bytes"]
            for i in range(CANDIDATES - 1, 0, -1):
                budget = int(bottom + (top - bottom) * i / CANDIDATES)
                try:
                    schedules.append(plan_instance(instance.instance, budget=budget, effort=self.effort))
                except InfeasibleBudget:
                    break
            schedules.append(smallest)
        except InfeasibleBudget:
            warnings.warn("no plan with fewer bytes was found")
        candidates, seen = [], set()
        for schedule in schedules:
            saved = instance.saved_of(schedule)
            key = frozenset(n.name for n in saved)
            if key not in seen:
                seen.add(key)
                candidates.append(self._split(gm, saved, forward_count, info))
        return candidates

    @staticmethod
    def _split(gm, saved, forward_count, info):
        overwritten = set(mutated_inputs(gm.graph)) - {n.args[0] for n in gm.graph.nodes if writes_backward(n)}
        primals = [n for n in gm.graph.nodes if n.op == "placeholder" and not n.name.startswith("tangents")
                   and n not in overwritten and isinstance(n.meta["val"], torch.Tensor)]
        saved = primals + saved
        forward, backward = partitioners._extract_fwd_bwd_modules(
            gm, saved, saved_sym_nodes=[], num_fwd_outputs=forward_count,
            static_lifetime_input_nodes=info.static_lifetime_input_nodes)
        names = {n.name for n in forward.graph.nodes}
        again = [n for n in backward.graph.nodes if n.op == "call_function" and n.name in names]
        if any(n.meta.get(OLD_VALUE) or getattr(getattr(n.target, "overloadpacket", None), "__name__", "") in RANDOM
               for n in again):
            raise Error("a draw of random numbers, or a copy of an old value, would run again; this is a defect of the "
                        "partitioner")
        if again:
            backward = partitioners.reordering_to_mimic_autograd_engine(backward)
        return (split_peak(forward, backward, forward_count), sum(node_cost(n) for n in again), forward, backward)
