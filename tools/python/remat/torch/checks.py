"""Rules of operations that state what must hold, and of those that are never supported.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

from ..mlir import identity
from .rules import rule
from .types import convert


@rule("_assert_async")
def _assert_async(l, node, condition, message="the condition of torch._assert_async does not hold"):
    dtype = l.dtype(condition)

    def body(b, a):
        holds = convert(b, a, dtype, torch.bool)
        b.check(holds, message)
        return holds

    l.function.generic([(l.function.reshape(l.value(condition), ()), [])], (), "i1", body)


@rule("_assert_tensor_metadata")
def _assert_tensor_metadata(l, node, *args, **kwargs):
    """PyTorch has checked it: shapes and types are known before the program runs."""


@rule("_linalg_check_errors")
def _linalg_check_errors(l, node, info, api_name, *, is_matrix):
    """Of all batches at once."""
    value = l.value(info)

    def body(b, x, *_):
        b.check(b.compare("eq", x, b.constant(0, value.element), value.element),
                "%s: the matrix is singular, or has no such factorization" % api_name)
        return x

    l.function.generic([(value, identity(value.rank))], value.shape, value.element, body)


@rule("_sparse_coo_tensor_with_dims_and_tensors")
def _sparse(l, node, *args, **kwargs):
    l.refuse("sparse tensors are not supported, as the gradients of torch.nn.Embedding(..., sparse=True) are; leave "
             "out 'sparse'")
