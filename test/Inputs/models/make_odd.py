#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes three small models whose sizes nothing divides, by JAX: StableHLO in generic form, and manifests with JAX's
loss and gradients.

usage: make_odd.py OUTPUT_DIR      (needs jax)
"""
import json, sys

import jax, jax.numpy as jnp, numpy as np


def splitmix64(z):
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def make(fill, shape):
    """The argument that remat-run makes of a manifest's recipe."""
    count = np.arange(int(np.prod(shape)), dtype=np.uint64)
    bits = splitmix64(np.uint64(fill["seed"]) * np.uint64(2**32) + count)
    if fill["kind"] == "index":
        return ((bits >> np.uint64(33)) % np.uint64(fill["below"])).astype(np.int32).reshape(shape)
    unit = (bits >> np.uint64(40)).astype(np.float64) / 2.0**24
    return (fill["lo"] + (fill["hi"] - fill["lo"]) * unit).astype(np.float32).reshape(shape)


def cross_entropy(logits, labels):
    likelihoods = jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, logits.shape[-1])
    return -jnp.mean(jnp.sum(likelihoods, -1))


def layer_norm(x, scale, shift):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5) * scale + shift


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def mlp(p, x, y):
    """Three activations, a skip and a normalization."""
    h = jnp.tanh(x @ p["w0"] + p["b0"])
    h = h + jax.nn.softplus(h @ p["w1"] + p["b1"])
    h = jax.nn.silu(layer_norm(h, p["g"], p["c"]) @ p["w2"] + p["b2"])
    return cross_entropy(h @ p["w3"], y)


def transformer(p, ids, y):
    """Two layers of three heads of 12 that share keys and values, and a gated MLP."""
    batch, length = ids.shape
    heads, width = 3, 12
    x = jax.nn.one_hot(ids, p["wte"].shape[0]) @ p["wte"] + p["wpe"]
    mask = jnp.tril(jnp.ones((length, length), bool))
    for i in range(2):
        w = {name[:-1]: value for name, value in p.items() if name[-1] == str(i)}
        n = rms_norm(x, w["g"])
        q, k, v = (n @ w["wq"]).reshape(batch, length, heads, width), n @ w["wk"], n @ w["wv"]
        scores = jnp.einsum("bthe,bse->bhts", q, k) / np.sqrt(width).astype(np.float32)
        scores = jax.nn.softmax(jnp.where(mask, scores, -1e9))
        x = x + jnp.einsum("bhts,bse->bthe", scores, v).reshape(batch, length, heads * width) @ w["wo"]
        n = rms_norm(x, w["f"])
        x = x + (jax.nn.silu(n @ w["win"]) * (n @ w["wgate"])) @ w["wout"]
    return cross_entropy(rms_norm(x, p["gl"]) @ p["wte"].T, y)


def conv(p, x, y):
    """Filters of 3 x 5 and 5 x 3, strides, a group for each channel, overlapping pools."""

    def convolve(x, w, stride=1, groups=1):
        return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", feature_group_count=groups,
                                            dimension_numbers=("NCHW", "OIHW", "NCHW"))

    h = jax.nn.relu(convolve(x, p["w0"]) + p["b0"][:, None, None])
    h = jax.nn.relu(convolve(h, p["w1"], stride=2) + p["b1"][:, None, None])
    h = h + jnp.tanh(convolve(h, p["wd"], groups=14))
    h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME")
    h = jax.nn.gelu(convolve(h, p["w2"]))
    return cross_entropy(jnp.mean(h, (2, 3)) @ p["w3"] + p["b3"], y)


D, F = 36, 50
LAYER = {"g": (D,), "wq": (D, D), "wk": (D, 12), "wv": (D, 12), "wo": (D, D), "f": (D,), "win": (D, F),
         "wgate": (D, F), "wout": (F, D)}
# Of each model: its parameters, and its data with the number of classes of indices.
MODELS = {
    "mlp_odd": (mlp, {"w0": (29, 45), "b0": (45,), "w1": (45, 45), "b1": (45,), "g": (45,), "c": (45,),
                      "w2": (45, 77), "b2": (77,), "w3": (77, 7)},
                [("x", (19, 29), None), ("y", (19,), 7)]),
    "transformer_odd": (transformer, {"wte": (53, D), "wpe": (21, D), "gl": (D,),
                                      **{f"{name}{i}": shape for i in range(2) for name, shape in LAYER.items()}},
                        [("ids", (3, 21), 53), ("y", (3, 21), 53)]),
    "conv_odd": (conv, {"w0": (9, 3, 3, 5), "b0": (9,), "w1": (14, 9, 5, 3), "b1": (14,), "wd": (14, 1, 3, 3),
                        "w2": (17, 14, 1, 1), "w3": (17, 5), "b3": (5,)},
                 [("x", (2, 3, 13, 11), None), ("y", (2,), 5)]),
}


def describe(parameters, data):
    """The arguments as in a manifest."""
    arguments = []

    def add(name, shape, role, dtype, **fill):
        fill["seed"] = len(arguments) + 1
        arguments.append({"name": name, "dtype": dtype, "shape": list(shape), "role": role, "fill": fill})

    for name, shape in parameters.items():
        terms = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
        bound = 0.1 if len(shape) == 1 else (3 / terms) ** 0.5
        lo, hi = (0.9, 1.1) if name[0] in "gf" else (-bound, bound)
        add(name, shape, "param", "float32", kind="uniform", lo=lo, hi=hi)
    for name, shape, below in data:
        if below:
            add(name, shape, "data", "int32", kind="index", below=below)
        else:
            add(name, shape, "data", "float32", kind="uniform", lo=-1.0, hi=1.0)
    return arguments


def summarize(gradient):
    flat = np.asarray(gradient).reshape(-1)
    wide = flat.astype(np.float64)
    places = [int(i) for i in splitmix64(np.arange(4, dtype=np.uint64)) % np.uint64(flat.size)]
    return {"l2": float(np.sqrt((wide**2).sum())), "sum": float(wide.sum()),
            "samples": [[i, float(flat[i])] for i in places]}


def export(name, directory):
    function, parameters, data = MODELS[name]
    arguments = describe(parameters, data)
    values = [make(argument["fill"], argument["shape"]) for argument in arguments]
    count = len(parameters)

    def loss(*values):
        return function(dict(zip(parameters, values)), *values[count:])

    lowered = jax.jit(loss, keep_unused=True).lower(*values)
    with open(f"{directory}/{name}.mlir", "w") as file:
        file.write(lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True) + "\n")
    result, gradients = jax.value_and_grad(loss, argnums=tuple(range(count)))(*values)
    golden = {parameter: summarize(gradient) for parameter, gradient in zip(parameters, gradients)}
    manifest = {"model": name, "file": f"{name}.mlir", "function": "main", "args": arguments,
                "result_types": "tensor<f32>", "loss_result": "last",
                "golden": {"dtype": "float32", "loss": float(result), "gradients": golden}}
    with open(f"{directory}/{name}.json", "w") as file:
        json.dump(manifest, file, separators=(",", ":"))


if __name__ == "__main__":
    np.seterr(over="ignore")
    for model in MODELS:
        export(model, sys.argv[1])
