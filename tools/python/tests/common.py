"""What the tests of PyTorch share: a gradient in f64 as reference, and PyTorch's own error in f32.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import math
import unittest

try:
    import torch
    import remat.torch as rt
except ImportError:
    torch = rt = None

needs_torch = unittest.skipIf(torch is None, "PyTorch is not installed")


def loss_of(outputs):
    """The loss that a model gives, or the mean square of all that has a gradient."""
    if getattr(outputs, "loss", None) is not None:
        return outputs.loss
    leaves = [x for x in torch.utils._pytree.tree_leaves(outputs)
              if isinstance(x, torch.Tensor) and x.is_floating_point() and x.requires_grad]
    return sum((x if x.dtype == torch.float64 else x.float()).pow(2).mean() for x in leaves)


def widened(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def gradients(model, run, args, kwargs):
    model.zero_grad()
    loss = loss_of(run(*args, **kwargs))
    loss.backward()
    return loss.item(), {name: p.grad for name, p in model.named_parameters()}


def worst_error(found, exact, share=1e-4):
    """The largest error of a gradient, relative to its largest element and not less than a share of that of all."""
    scale = max([float(g.abs().max()) for g in exact.values() if g is not None and g.numel()] + [1e-30])
    worst = (0.0, None)
    for name, reference in exact.items():
        if reference is None or not reference.numel():
            continue
        difference = (found[name].double() - reference.double()).abs().max().item()
        difference = math.inf if math.isnan(difference) else difference  # No comparison with NaN holds.
        worst = max(worst, (difference / max(reference.abs().max().item(), share * scale), name), key=lambda w: w[0])
    return worst


def compare(test, model, args, kwargs=None, factor=2.0, floor=3e-6, exact=None, **options):
    """Checks loss and gradients of a model that remat compiled against PyTorch's. `exact` is the f64 model, if it is
    not the model widened."""
    kwargs = kwargs or {}
    wide = exact if exact is not None else copy.deepcopy(model).double()
    wide_loss, reference = gradients(wide, wide, [widened(a) for a in args], {k: widened(v) for k, v in kwargs.items()})
    own_model = copy.deepcopy(model)
    own_loss, own = gradients(own_model, own_model, args, kwargs)
    torch._dynamo.reset()
    rt.compiled_steps.clear()
    compiled = torch.compile(model, backend="remat" if "remat" in torch.compiler.list_backends() else rt.backend,
                             dynamic=False, options=dict({"threads": 1}, **options))
    loss, found = gradients(model, compiled, args, kwargs)
    for name, gradient in reference.items():
        test.assertEqual(gradient is None, found[name] is None, name)
    error, name = worst_error(found, reference)
    allowed = max(factor * worst_error(own, reference)[0], floor)
    test.assertLessEqual(error, allowed, "gradient of %s" % name)
    test.assertAlmostEqual(loss, own_loss, delta=1e-5 * max(1.0, abs(own_loss)))
    return list(rt.compiled_steps)
