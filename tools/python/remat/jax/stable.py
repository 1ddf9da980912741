"""Rules by JAX's own lowering: the primitive becomes a function of StableHLO, which remat reads, and a call of it.

So arrive factorizations of matrices and Fourier transforms, which on the CPU are calls of LAPACK and operations of
StableHLO, and whatever computes with complex numbers.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re
import warnings

import jax

from ..mlir import quote
from .rules import rule
from .types import physical

LARGEST_FACTORIZED = 512  # as in the compiler

FACTORIZATIONS = ("lu", "geqrf", "householder_product", "qr", "eigh", "svd")
# What has rules of its own, also for complex numbers: it is refused then.
REAL_ONLY = FACTORIZATIONS + ("cholesky", "triangular_solve", "eig", "schur", "hessenberg", "tridiagonal")


def _stable_type(shape, dtype, element):
    """The type of StableHLO, which says of integers whether they are unsigned."""
    if dtype.kind == "u":
        element = "u" + element
    return "tensor<%s>" % "x".join([str(extent) for extent in shape] + [element])


# Where the line of a program belongs that an operation is part of: behind its type, which ends a line in generic form.
OPERATION_END = re.compile(r"^.* -> .*[^{\n]$", re.MULTILINE)


def _functions(l, params):
    """The functions that the primitive of the equation is lowered to; the first is called. Their names are new ones."""
    primitive = l.eqn.primitive
    specs = [jax.ShapeDtypeStruct(*physical(v.aval)) for v in l.eqn.invars]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arguments whose buffers nobody has
        lowered = jax.jit(lambda *args: primitive.bind(*args, **params), keep_unused=True).trace(*specs).lower(
            lowering_platforms=("cpu",))
    texts = {}
    for operation in lowered.compiler_ir("stablehlo").body.operations:
        texts[operation.attributes["sym_name"].value] = operation.operation.get_asm(print_generic_op_form=True)
    start = "%s_%s%d" % (l.function.name, primitive.name, len(l.function.private))
    names = {name: start if name == "main" else "%s_%s" % (start, name) for name in texts}
    renamed = {}
    for name, text in texts.items():
        text = re.sub(r'@("[^"]*"|[\w.$]+)', lambda m: "@" + quote(names[m[1].strip('"')]) if m[1].strip(
            '"') in names else m[0], text)
        text = text.replace('sym_name = "%s"' % name, "sym_name = %s" % quote(names[name]))
        text = OPERATION_END.sub(lambda m: "%s loc(%s)" % (m[0], l.function.location), text)
        renamed[names[name]] = text.replace('sym_visibility = "public"', 'sym_visibility = "private"')
    return start, renamed


def through_stablehlo(l, *operands, **params):
    """The results of any primitive, computed by what JAX lowers it to."""
    return _call(l, *_functions(l, params), operands)


def _call(l, name, texts, operands):
    l.function.private.extend(text + "\n" for text in texts.values())
    cast = lambda value, source, target: value if source == target else l.function.op(
        "builtin.unrealized_conversion_cast %s : %s to %s" % (value.name, source, target), value.shape, value.element)
    given = [(v, v.type, _stable_type(*l.aval(i))) for i, v in enumerate(operands)]
    operands = [cast(*g) for g in given]
    infos = [l.result(i) for i in range(len(l.eqn.outvars))]
    types = [_stable_type(*info) for info in infos]
    results = l.function.call(name, operands, [t for _, _, t in given],
                              [(shape, element) for shape, _, element in infos], types)
    results = [cast(v, t, v.type) for v, t in zip(results, types)]
    return results if l.eqn.primitive.multiple_results else results[0]


# What JAX lowers to it is no computation with tensors of one device.
OTHER_OPERATIONS = re.compile(r'"stablehlo\.(custom_call|infeed|outfeed|send|recv|partition_id|replica_id|'
                              r'collective_\w+|all_\w+|reduce_scatter|rng)"')


def by_own_lowering(l, *operands, **params):
    """The results of a primitive without a rule, if JAX lowers it to operations on tensors."""
    try:
        _, texts = lowered = _functions(l, params)
    except NotImplementedError:
        l.refuse("there is no rule for it")
    other = OTHER_OPERATIONS.search("".join(texts.values()))
    if other:
        l.refuse("there is no rule for it, and JAX lowers it to %s" % other[0].strip('"'))
    return _call(l, *lowered, operands)


@rule("fft", "lu_pivots_to_permutation", "tile", "unstack", "lgamma", "digamma", "nextafter",
      "lt_to", "le_to", "eq_to", "reduce", "reduce_window", "select_and_gather_add", "scatter-mul", "scatter-sub")
def _through_stablehlo(l, *operands, **params):
    return through_stablehlo(l, *operands, **params)


@rule("eig", "schur", "hessenberg", "tridiagonal")
def _not_symmetric(l, *operands, **_):
    l.refuse("matrices that are not symmetric have LU, QR and SVD only; use jnp.linalg.eigh where they are symmetric")


@rule(*FACTORIZATIONS)
def _factorization(l, *operands, **params):
    shape, dtype, _ = l.aval()
    if dtype.kind == "c":
        l.refuse("factorizations of complex matrices are not supported; write the problem in real and imaginary parts")
    if max(shape[-2:]) > LARGEST_FACTORIZED:
        l.refuse("matrices of %d by %d elements are not supported, expected at most %d rows and columns" % (
            *shape[-2:], LARGEST_FACTORIZED))
    return through_stablehlo(l, *operands, **params)
