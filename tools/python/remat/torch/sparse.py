"""Gradients that are sparse tensors.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

SPARSE = torch.ops.aten._sparse_coo_tensor_with_dims_and_tensors.default


def _sparse_terms(node):
    """The tensors that a gradient is the sum of, if all of them are sparse: one for each use of an embedding."""
    if not isinstance(node, torch.fx.Node):
        return []
    if node.target == SPARSE:
        return [node]
    if node.target != torch.ops.aten.add.Tensor or node.kwargs:
        return []
    terms = [_sparse_terms(a) for a in node.args]
    return sum(terms, []) if all(terms) else []


class SparseGradients:
    """Gradients that are sparse tensors, as those of torch.nn.Embedding(..., sparse=True): the step makes their indices
    and values in place of them, which stand behind all other results."""

    def __init__(self, joint, forward_count):
        output = next(n for n in joint.graph.nodes if n.op == "output")
        flat = torch.utils._pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None)
        self.count, self.places = len(flat) - forward_count, {}
        dense, parts = list(flat), []
        for number, node in enumerate(flat[forward_count:]):
            terms = _sparse_terms(node)
            if terms:
                self.places[number] = self.count + len(parts), len(terms), node.meta["val"]
                dense[forward_count + number] = None
                parts += [part for term in terms for part in term.args[3:5]]
        if not parts:
            return
        output.args = (tuple(dense + parts),)
        if output.meta.get("desc"):
            output.meta["desc"] = list(output.meta["desc"]) + [None] * len(parts)
        joint.graph.eliminate_dead_code()
        joint.recompile()

    def assemble(self, gradients):
        """What the backward call gives, as PyTorch expects it."""
        if not self.places:
            return gradients
        result = gradients[:self.count]
        for number, (place, count, val) in self.places.items():
            parts = gradients[place:place + 2 * count]
            indices, values = (part[0] if count == 1 else torch.cat(part, dim)
                               for part, dim in ((parts[::2], 1), (parts[1::2], 0)))
            result[number] = torch.sparse_coo_tensor(indices, values, val.shape, check_invariants=False)
        return result
