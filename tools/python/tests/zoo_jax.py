#!/usr/bin/env python3
"""Programs of JAX as people write them, in plain JAX and with flax: remat's gradients against JAX's own.

Gradients are compared with those of JAX in f64, which the CPU computes. They may be as wrong as twice those of JAX in
the program's own types, which are f32 or bf16. The measured peak must be the planned one. A line says the errors and
both. The exit status is 1 if any program fails; -v prints where. With --device=cuda, JAX and the step are on a GPU.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import os
import sys
import time

# remat's step has its memory beside that of JAX.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy as np
import remat.jax as rj
import zoo_flax
from jax.ad_checkpoint import checkpoint_name
from zoo_common import Zoo

ZOO = Zoo(__doc__)
# A function that gives a loss and its arguments, of which the first are the parameters; and behind them whether the
# loss is the first of two results.
program = ZOO.register


class Maker:
    """Draws parameters and data."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self, *shape, scale=None):
        scale = (shape[-2] if len(shape) > 1 else 16) ** -0.5 if scale is None else scale
        return (self.rng.standard_normal(shape) * scale).astype("f4")

    def ids(self, bound, *shape):
        return self.rng.integers(0, bound, shape).astype("i4")


def normalize(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * gain


def attention(p, x, heads):
    batch, length, width = x.shape
    q, k, v = jnp.split((x @ p["qkv"]).reshape(batch, length, 3 * heads, width // heads), 3, axis=2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // heads)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return checkpoint_name(mixed.reshape(batch, length, width), "mixed") @ p["out"]


def block(p, x):
    x = x + attention(p, normalize(x, p["first"]), 4)
    return x + jax.nn.gelu(normalize(x, p["second"]) @ p["up"]) @ p["down"]


def block_parameters(make, layers, width):
    return {"qkv": make(layers, width, 3 * width), "out": make(layers, width, width),
            "up": make(layers, width, 2 * width), "down": make(layers, 2 * width, width),
            "first": np.ones((layers, width), "f4"), "second": np.ones((layers, width), "f4")}


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def transformer(name, wrap):
    """A scan over the layers of a language model."""
    @program(name)
    def build():
        make = Maker()
        params = {"embed": make(64, 32), "blocks": block_parameters(make, 3, 32), "norm": np.ones(32, "f4")}

        def loss(params, tokens):
            x = params["embed"][tokens[:, :-1]]
            x, _ = jax.lax.scan(lambda x, p: (wrap(block)(p, x), None), x, params["blocks"])
            return cross_entropy(normalize(x, params["norm"]) @ params["embed"].T, tokens[:, 1:])

        return loss, (params, make.ids(64, 2, 9))


policies = jax.checkpoint_policies
transformer("transformer", lambda f: f)
transformer("transformer_checkpoint", jax.checkpoint)
transformer("transformer_dots", functools.partial(jax.checkpoint, policy=policies.dots_with_no_batch_dims_saveable))
transformer("transformer_names", functools.partial(jax.checkpoint, policy=policies.save_only_these_names("mixed")))


@program("rnn")
def rnn():
    """A GRU by a scan over time."""
    make = Maker()
    params = {"input": make(8, 36), "state": make(12, 36), "out": make(12, 3)}

    def loss(params, xs, labels):
        def cell(h, x):
            a, b = x @ params["input"], h @ params["state"]
            reset, update = (jax.nn.sigmoid(a[:, s] + b[:, s]) for s in (slice(0, 12), slice(12, 24)))
            h = (1 - update) * jnp.tanh(a[:, 24:] + reset * b[:, 24:]) + update * h
            return h, h

        _, hs = jax.lax.scan(cell, jnp.zeros((xs.shape[1], 12), xs.dtype), xs)
        return cross_entropy(hs.mean(0) @ params["out"], labels)

    return loss, (params, make(10, 4, 8), make.ids(3, 4))


@program("vae")
def vae():
    make = Maker()
    params = {"encode": make(20, 16), "mean": make(16, 4), "log": make(16, 4), "decode": make(4, 16),
              "out": make(16, 20)}

    def loss(params, x, key):
        h = jax.nn.relu(x @ params["encode"])
        mean, log = h @ params["mean"], h @ params["log"]
        # The same numbers in f32 and f64.
        noise = jax.random.normal(key, mean.shape, "float32").astype(x.dtype)
        z = mean + jnp.exp(0.5 * log) * noise
        y = jax.nn.relu(z @ params["decode"]) @ params["out"]
        divergence = -0.5 * jnp.sum(1 + log - mean ** 2 - jnp.exp(log), -1)
        return jnp.mean(jnp.sum(jnp.square(y - x), -1) + divergence)

    return loss, (params, make(6, 20), jax.random.key(1))


@program("moe")
def moe():
    """Each token is sent to the best two of four experts."""
    make = Maker()
    params = {"route": make(16, 4), "up": make(4, 16, 32), "down": make(4, 32, 16)}

    def loss(params, x):
        gates = jax.nn.softmax(x @ params["route"])
        best, which = jax.lax.top_k(gates, 2)
        weights = jnp.sum(jax.nn.one_hot(which, 4, dtype=x.dtype) * (best / best.sum(-1, keepdims=True))[..., None], 1)
        h = jax.nn.silu(jnp.einsum("td,edf->etf", x, params["up"]))
        y = jnp.einsum("etd,te->td", jnp.einsum("etf,efd->etd", h, params["down"]), weights)
        load = 4 * jnp.sum(gates.mean(0) * jax.lax.stop_gradient((weights > 0).astype(x.dtype).mean(0)))
        return jnp.mean((y - x) ** 2) + 0.01 * load

    return loss, (params, make(12, 16, scale=1.0))


@program("gnn")
def gnn():
    make = Maker()
    params = [{"message": make(16, 8), "update": make(16, 8)} for _ in range(2)]

    def loss(params, x, source, target, graph):
        for p in params:
            message = jax.nn.relu(jnp.concatenate([x[source], x[target]], 1) @ p["message"])
            scores = jnp.sum(message, -1)
            highest = jax.ops.segment_max(scores, target, num_segments=12)
            weights = jnp.exp(scores - jnp.where(jnp.isfinite(highest), highest, 0.0)[target])
            weights = weights / jax.ops.segment_sum(weights, target, num_segments=12)[target]
            total = jax.ops.segment_sum(message * weights[:, None], target, num_segments=12)
            x = jnp.tanh(jnp.concatenate([x, total], 1) @ p["update"])
        return jnp.sum(jax.ops.segment_sum(x, graph, num_segments=3, indices_are_sorted=True) ** 2)

    return loss, (params, make(12, 8, scale=1.0), make.ids(12, 40), make.ids(12, 40), np.repeat(np.arange(3), 4))


@program("ssm")
def ssm():
    """A diagonal state space model by an associative scan."""
    make = Maker()
    params = {"in": make(8, 8), "decay": make(8, 4), "b": make(8, 4), "c": make(8, 4), "step": make(8, 8)}

    def loss(params, x):
        u, step = x @ params["in"], jax.nn.softplus(x @ params["step"])
        decay = jnp.exp(-jnp.exp(params["decay"]) * step[..., None])
        inflow = (step * u)[..., None] * (x @ params["b"])[..., None, :]

        def combine(first, second):
            return first[0] * second[0], first[1] * second[0] + second[1]

        _, h = jax.lax.associative_scan(combine, (decay, inflow), axis=1)
        y = jnp.sum(h * (x @ params["c"])[..., None, :], -1)
        return jnp.mean((y * jax.nn.silu(u) - x) ** 2)

    return loss, (params, make(2, 11, 8, scale=1.0))


def group_norm(x, gain):
    shape = x.shape
    x = x.reshape(shape[:-1] + (4, shape[-1] // 4))
    mean = x.mean((1, 2, 4), keepdims=True)
    x = (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean((1, 2, 4), keepdims=True) + 1e-5)
    return x.reshape(shape) * gain


def conv(x, w, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program("diffusion")
def diffusion():
    """One step of the training of a small convolutional network that takes noise away."""
    make = Maker()
    params = {"in": make(3, 3, 3, 16, scale=0.2), "down": make(3, 3, 16, 16, scale=0.1), "time": make(16, 16),
              "mid": make(3, 3, 16, 16, scale=0.1), "out": make(3, 3, 32, 3, scale=0.1), "gain": np.ones(16, "f4")}

    def loss(params, images, key):
        time_key, noise_key = jax.random.split(key)
        t = jax.random.randint(time_key, images.shape[:1], 0, 100, "int32")
        noise = jax.random.normal(noise_key, images.shape, "float32").astype(images.dtype)
        keep = jnp.cos(t / 100 * np.pi / 2).astype(images.dtype)[:, None, None, None]
        x = keep * images + jnp.sqrt(1 - keep ** 2) * noise
        angles = t[:, None] * 10.0 ** -jnp.linspace(0, 3, 8)
        embedded = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], 1).astype(images.dtype) @ params["time"]
        first = jax.nn.silu(conv(x, params["in"]))
        h = jax.nn.silu(group_norm(conv(first, params["down"], 2), params["gain"]) + embedded[:, None, None])
        h = jax.checkpoint(lambda h: h + jax.nn.silu(conv(h, params["mid"])))(h)
        h = jax.image.resize(h, first.shape, "nearest")
        return jnp.mean((conv(jnp.concatenate([first, h], -1), params["out"]) - noise) ** 2)

    return loss, (params, make(2, 8, 8, 3, scale=1.0), jax.random.key(2))


for name, make in zoo_flax.entries().items():
    program(name)(make)


def widened(tree):
    return jax.tree_util.tree_map(
        lambda x: np.asarray(x, "f8") if getattr(x, "dtype", None) in (np.float32, jnp.bfloat16) else x, tree)


def worst_error(found, exact, share):
    """The largest error of a gradient, relative to its largest element and not less than a share of that of all."""
    trees = map(jax.tree_util.tree_leaves, (found, exact))
    pairs = [(np.asarray(f, "f8"), np.asarray(e, "f8")) for f, e in zip(*trees)]
    scale = max(np.abs(e).max() for _, e in pairs)
    errors = [np.abs(f - e).max() / max(np.abs(e).max(), share * scale) for f, e in pairs]
    return max(np.nan_to_num(errors, nan=np.inf, posinf=np.inf))  # No comparison with NaN holds.


def run(name, make, options):
    jax.config.update("jax_default_device", jax.devices(options.device)[0])
    loss, args, *rest = make()
    has_aux = bool(rest and rest[0])
    whole = jax.value_and_grad(loss, has_aux=has_aux)
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        exact_value, *exact = jax.jit(whole)(*widened(args))
    with jax.default_matmul_precision("highest"):
        own_value, *own = jax.jit(whole)(*args)
    start = time.time()
    compiled = rj.compile(loss, budget=options.budget, effort=0.2, has_aux=has_aux)
    value, *found = compiled(*args)
    seconds = time.time() - start
    values = [jax.tree_util.tree_leaves(v) for v in (value, own_value, exact_value)]
    if has_aux:
        found, own, exact = ([tree, v[1:]] for tree, v in zip((found, own, exact), values))
    is_narrow = any(leaf.dtype == jnp.bfloat16 for leaf in jax.tree_util.tree_leaves(args[0]))
    # Smaller gradients than this share, such as those of the biases of attention's keys, are the noise of the type.
    share = 1e-2 if is_narrow else 1e-4
    error = worst_error(found, exact, share)
    allowed = max(2 * worst_error(own, exact, share), 1e-3 if is_narrow else 1e-5)
    value, own_value, exact_value = (float(v[0]) for v in values)
    difference = max(2 * abs(own_value - exact_value), 1e-4 * max(1.0, abs(exact_value)))
    memory, plan = compiled.memory, list(compiled.steps.values())[-1].plan
    planned, measured = memory["planned"], memory["measured"]
    good = error <= allowed and abs(value - exact_value) <= difference and measured == planned
    print("%s %-28s error %.1e of %.1e allowed, loss %.6g, planned %d, measured %d of %d, %d tasks, %d of them again, "
          "%.0f s" % ("ok  " if good else "BAD ", name, error, allowed, value, planned, measured, memory["save_all"],
                      plan.tasks, plan.recomputed_tasks, seconds), flush=True)
    return good


if __name__ == "__main__":
    sys.exit(ZOO.run(run))
