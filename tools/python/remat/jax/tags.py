"""Names and policies of values.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

OFFLOADED = "policy = #remat.policy<must_cpu_offload>"


def in_host_memory(aval):
    return "Host" in str(getattr(aval, "memory_space", ""))


def tagged(l, value, attribute):
    """The value, with a name or a policy."""
    result = l.function.op("remat.tag %s {%s} : %s" % (value.name, attribute, value.type), value.shape, value.element)
    l.function.views[result.name] = value.name
    return result
