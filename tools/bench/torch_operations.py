#!/usr/bin/env python3
"""Compares single operations of PyTorch, compiled by remat, with PyTorch's own: results, gradients and times.

Runs all operations, or those whose expression has one of the texts in it, on one thread. Times are CPU milliseconds,
the least of several runs: of the results alone, and of results and gradients together. A call of a compiled function
takes about 0.1 ms more than one of PyTorch, and 0.4 with gradients, whatever it computes. With `--slow`, only
operations are shown of which one of the two takes at least as many times as long as PyTorch's.

Exit status 1 if an operation is refused, or if a result or gradient has an error against f64 that is above 1e-5 of its
largest element and eight times that of PyTorch in f32. Needs torch.
"""
import argparse, re, sys, time, warnings

import torch
import torch.nn.functional as F  # noqa: F401, expressions use it

import remat.torch  # noqa: F401, the backend

OPERATIONS = """
torch.sin(a)
torch.tan(a)
torch.atan2(a, b)
torch.asin(p)
torch.acos(p)
torch.sinh(a)
torch.asinh(a)
torch.atanh(p)
torch.exp2(a)
torch.expm1(a)
torch.log10(p)
torch.log1p(p)
torch.pow(p, b)
torch.hypot(a, b)
torch.logaddexp(a, b)
torch.fmod(a, p)
torch.remainder(a, p)
torch.lgamma(p)
torch.digamma(p)
torch.erfinv(p)
torch.erfc(a)
torch.logit(p)
torch.special.ndtri(p)
torch.special.i0e(a)
torch.clamp(a, -1, 0.5)
torch.lerp(a, b, p)
torch.where(a > 0, a, b)
F.gelu(a)
F.silu(a)
F.mish(a)
F.softplus(a)
F.elu(a)
F.hardswish(a)
F.glu(a)
a.sum(1)
a.sum(0)
a.mean()
a.var(1)
a.norm()
a.amax(1)
a.prod(1)
a.logsumexp(1)
a.cumsum(1)
a.cumprod(1)
a.cummax(1).values
torch.logcumsumexp(a, 1)
torch.sort(a, stable=True, dim=1).values
torch.argsort(a, stable=True, dim=1)
a.topk(5, 1).values
a.median(1).values
torch.quantile(a, 0.3, 1)
torch.searchsorted(torch.arange(-50, 50) / 25, a)
torch.bucketize(a, torch.arange(-4, 5) / 2)
a.softmax(1)
a.log_softmax(0)
F.layer_norm(a, (1024,))
F.rms_norm(a, (1024,))
F.normalize(a)
F.cosine_similarity(a, b)
F.cross_entropy(a, index)
F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean")
F.smooth_l1_loss(a, b)
F.binary_cross_entropy_with_logits(a, p)
a.index_select(0, index)
a.gather(1, indices)
a.take_along_dim(indices, 1)
a.scatter(1, torch.arange(64).expand(1024, 64), b[:, :64])
a.scatter_add(1, indices, b[:, :256])
a.scatter_reduce(1, indices, b[:, :256], "amax")
a.scatter_reduce(1, indices[:, :64], p[:, :64], "prod")
a.index_add(0, index, b)
a.index_put((index,), b, accumulate=True)
a.masked_fill(b > 0, 0.0)
a.masked_scatter(b > 0, b)
a.roll((3, -5), (0, 1))
a.flip(1)
a.mT + b
torch.cat([a, b], 1)
torch.stack([a, b], -1)
a.repeat_interleave(3, 1)
a.tile(1, 3)
a.unfold(1, 8, 4)
F.pad(a, (3, 5))
a.tril()
F.embedding(indices, a)
F.embedding_bag(indices[:, :8], a, mode="mean")
a @ b
torch.einsum("ij,kj,k->ik", a, b, vector)
a @ vector
torch.cdist(a[:, :64], b[:, :64])
torch.linalg.solve(square, a[:64, :64])
torch.linalg.inv(square)
torch.linalg.cholesky(square @ square.mT + torch.eye(64))
torch.linalg.qr(square).R.abs()
torch.linalg.eigvalsh(square + square.mT)
torch.linalg.svdvals(square)
torch.linalg.matrix_exp(square / 64)
torch.fft.rfft(a).abs()
torch.fft.fft2(a).real
torch.stft(a[:8], 64, 16, window=torch.hann_window(64), return_complex=True).abs()
F.conv2d(image, filter, padding=1)
F.conv2d(image, filter, padding=1, stride=2)
F.conv2d(image, filter[:, :1], padding=1, groups=32)
F.conv_transpose2d(image, filter, stride=2)
F.conv1d(image[:, :, 0], filter[:, :, 0], dilation=2)
F.max_pool2d(image, 3, 2, 1)
F.avg_pool2d(image, 3, 2, 1)
F.adaptive_avg_pool2d(image, (5, 7))
F.group_norm(image, 4)
F.batch_norm(image, None, None, training=True)
F.interpolate(image, scale_factor=2)
F.interpolate(image, size=(90, 100), mode="bilinear")
F.interpolate(image, size=(30, 31), mode="bicubic", antialias=True)
F.grid_sample(image, grid, align_corners=False)
F.grid_sample(image, grid, mode="bicubic", align_corners=False)
F.pixel_shuffle(image, 4)
F.unfold(image, 3, padding=1)
F.scaled_dot_product_attention(heads, heads, heads)
F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
"""


def make_inputs():
    """What expressions may read."""
    torch.manual_seed(0)
    randn, rand, draw = torch.randn, torch.rand, torch.randint
    return {"a": randn(1024, 1024), "b": randn(1024, 1024), "p": rand(1024, 1024) * 0.9 + 0.05, "vector": randn(1024),
            "index": draw(1024, (1024,)), "indices": draw(1024, (1024, 256)),
            "square": randn(64, 64) + 16 * torch.eye(64), "image": randn(8, 32, 64, 64),
            "filter": randn(32, 32, 3, 3) / 17, "grid": rand(8, 64, 64, 2) * 2.2 - 1.1, "heads": randn(2, 8, 256, 64)}


def measure(run):
    """The least milliseconds of the process that a run takes."""
    run()
    least, runs, start = float("inf"), 0, time.process_time()
    while runs < 3 or (runs < 20 and time.process_time() - start < 0.5):
        begin = time.process_time()
        run()
        least, runs = min(least, time.process_time() - begin), runs + 1
    return 1e3 * least


def describe_error(found, exact, eager):
    """Empty if a tensor is as exact as PyTorch's own, or nearly so."""
    if found.dtype != eager.dtype or found.shape != eager.shape:
        return f"{found.dtype} {tuple(found.shape)}, expected {eager.dtype} {tuple(eager.shape)}"
    if not found.is_floating_point():
        return "" if torch.equal(found, eager) else "other elements"
    scale = exact.abs().max().clamp(min=1e-30)
    error, own = (float((value.double() - exact).abs().max() / scale) for value in (found, eager))
    return "" if error <= max(1e-5, 8 * own) else f"error {error:.2g}, that of PyTorch {own:.2g}"


def compare(expression):
    """The four times, and what is wrong."""
    inputs = {name: value for name, value in make_inputs().items() if re.search(rf"\b{name}\b", expression)}
    function = eval(f"lambda {', '.join(inputs)}: {expression}")
    wide = [value.double() if value.is_floating_point() else value for value in inputs.values()]
    arguments = list(inputs.values())
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="remat", fullgraph=True)
    with torch.no_grad():
        eager, found = function(*arguments), compiled(*arguments)
        error = describe_error(found, function(*wide).double(), eager)
        times = [measure(lambda: f(*arguments)) for f in (compiled, function)]
    if not eager.is_floating_point():
        return times, error
    cotangent = torch.randn_like(eager)

    def differentiate(f, values):
        leaves = [value for value in values if value.is_floating_point()]
        for leaf in leaves:
            leaf.requires_grad_()
        result = f(*values)
        return torch.autograd.grad(result, leaves, cotangent.to(result.dtype), materialize_grads=True)

    torch._dynamo.reset()
    gradients = (differentiate(f, v) for f, v in ((compiled, arguments), (function, wide), (function, arguments)))
    for found, exact, eager in zip(*gradients):
        error = error or describe_error(found, exact, eager)
    return times + [measure(lambda: differentiate(f, arguments)) for f in (compiled, function)], error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    parser.add_argument("--slow", type=float, default=0, metavar="RATIO")
    options = parser.parse_args()
    chosen = [expression for expression in OPERATIONS.split("\n")[1:-1]
              if not options.texts or any(text in expression for text in options.texts)]
    if not chosen:
        parser.error("no operation has one of the texts in it: " + ", ".join(options.texts))
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    failures = 0
    print(f"{'':70} remat  torch  ratio   with gradients")
    for expression in chosen:
        try:
            times, error = compare(expression)
        except Exception as refused:  # noqa: BLE001, whatever it is belongs into the table
            times, error = [], " ".join(str(refused).split())[:300]
        failures += bool(error)
        pairs = list(zip(times[::2], times[1::2]))
        if error or any(ours >= options.slow * other for ours, other in pairs):
            columns = "  ".join(f"{ours:7.2f}{other:7.2f}{ours / other:7.2f}" for ours, other in pairs)
            print(f"{expression[:68]:69}{columns}  {error}".rstrip(), flush=True)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
