"""Rules of shard_map and of collectives. A step runs on one device, so the mesh has one, and each collective is of one.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .control import run_closed
from .rules import rule, takes_complex, takes_stacks


@rule("shard_map")
@takes_stacks
def _shard_map(l, *arguments, jaxpr, mesh, **_):
    if mesh.size != 1:
        l.refuse("a step runs on one device, and the mesh %s has %d; call the step inside of shard_map" % (
            dict(mesh.shape), mesh.size))
    return run_closed(l, jaxpr, arguments)


@rule("psum_invariant", "all_gather", "all_gather_invariant", "all_gather_reduced", "reduce_scatter", "all_to_all",
      "pbroadcast", "pcast", "psum_scatter")
@takes_complex
def _of_one(l, *arrays, **_):
    """Of the device's own array, at most with another dimension of extent 1."""
    found = [l.function.reshape(a, l.result(number)[0]) for number, a in enumerate(arrays)]
    return found if l.eqn.primitive.multiple_results else found[0]


@rule("ppermute")
@takes_complex
def _ppermute(l, *arrays, perm, **_):
    """Who is sent nothing has zeros."""
    found = [a if perm else l.function.constant(0, a.shape, a.element) for a in arrays]
    return found if l.eqn.primitive.multiple_results else found[0]


@rule("axis_index")
def _axis_index(l, **_):
    return l.literal(0, l.eqn.outvars[0].aval)
