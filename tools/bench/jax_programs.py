#!/usr/bin/env python3
"""Compares losses and gradients of small JAX programs by remat with those of jax.jit.

The programs are of the kinds that users write: layers, attention, mixtures of experts, convolutions, recurrences,
graphs, solvers and derivatives of derivatives, in jax.numpy and jax.lax alone. Both ways run in one process, in turn.
Times are the medians of CPU times with one thread, which a busy machine changes less. Bytes are those that a call takes
beyond arguments and results: XLA's temporary memory and remat's arena. The last columns are remat's as a share of
XLA's.

Exit status 1 if values differ. Needs jax.
"""
import argparse, json, os, statistics, sys, time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import jax
import jax.numpy as jnp
from jax import lax, nn

import remat.jax

KEY = jax.random.key(0)


def draw(seed, *shape):
    return jax.random.normal(jax.random.fold_in(KEY, seed), shape)


def weight(seed, *shape):
    return draw(seed, *shape) * shape[-2] ** -0.5


def filters(seed, *shape):
    return draw(seed, *shape) * (shape[0] * shape[1] * shape[2]) ** -0.5


def square(y):
    return (y ** 2).mean()


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)


def mlp():
    weights = [(weight(i, 256, 1024), weight(9 + i, 1024, 256)) for i in range(4)]

    def loss(weights, x):
        for first, second in weights:
            x = x + nn.gelu(layer_norm(x) @ first) @ second
        return square(x)

    return loss, weights, draw(1, 4, 128, 256)


def scanned_layers():
    weights = (weight(1, 6, 256, 1024), weight(2, 6, 1024, 256))

    def loss(weights, x):
        return square(lax.scan(lambda x, w: (x + jnp.tanh(x @ w[0]) @ w[1], None), x, weights)[0])

    return loss, weights, draw(3, 4, 128, 256)


def attend(q, k, v, mask=None):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)


def attention():
    weights = {name: draw(i, 256, 4, 64) / 16 for i, name in enumerate("qkvo")}

    def loss(weights, x):
        q, k, v = (jnp.einsum("bnd,dhk->bnhk", x, weights[name]) for name in "qkv")
        return square(jnp.einsum("bnhk,dhk->bnd", attend(q, k, v), weights["o"]))

    return loss, weights, draw(5, 2, 512, 256)


def rotate(x):
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 1e4 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def llama():
    width, heads = 256, 4
    layers = [{"qkv": weight(i, width, 3 * width), "o": weight(9 + i, width, width), "up": weight(20 + i, width, 768),
               "gate": weight(30 + i, width, 768), "down": weight(40 + i, 768, width), "norms": jnp.ones((2, width))}
              for i in range(3)]

    def rms_norm(x, scale):
        return x * lax.rsqrt((x ** 2).mean(-1, keepdims=True) + 1e-6) * scale

    def loss(layers, x):
        batch, length, _ = x.shape
        mask = jnp.tril(jnp.ones((length, length), bool))
        for layer in layers:
            qkv = rms_norm(x, layer["norms"][0]) @ layer["qkv"]
            q, k, v = jnp.split(qkv.reshape(batch, length, 3 * heads, -1), 3, 2)
            x = x + attend(rotate(q), rotate(k), v, mask).reshape(x.shape) @ layer["o"]
            y = rms_norm(x, layer["norms"][1])
            x = x + (nn.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]
        return square(x)

    return loss, layers, draw(3, 4, 256, width)


def retention():
    weights = {name: weight(i, 256, 256) for i, name in enumerate("qkvo")}

    def loss(weights, x):
        batch, length, _ = x.shape
        q, k, v = ((x @ weights[name]).reshape(batch, length, 4, 64) for name in "qkv")
        distance = jnp.arange(length)[:, None] - jnp.arange(length)
        decay = jnp.where(distance >= 0, jnp.array([0.9, 0.95, 0.97, 0.99])[:, None, None] ** distance, 0)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8 * decay
        return square(jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape) @ weights["o"])

    return loss, weights, draw(5, 4, 256, 256)


def dense_experts():
    """All experts see all tokens; the best two of each count."""
    weights = {"gate": weight(1, 256, 8), "first": weight(2, 8, 256, 512), "second": weight(3, 8, 512, 256)}

    def loss(weights, x):
        best, experts = lax.top_k(nn.softmax(x @ weights["gate"]), 2)
        gates = jnp.zeros((x.shape[0], 8)).at[jnp.arange(x.shape[0])[:, None], experts].set(best)
        hidden = nn.relu(jnp.einsum("td,edf->etf", x, weights["first"]))
        return square(jnp.einsum("etf,efd,te->td", hidden, weights["second"], gates))

    return loss, weights, draw(4, 512, 256)


def dispatched_experts():
    """The tokens are dispatched by products, as in GShard."""
    weights = {"gate": weight(1, 256, 8), "first": weight(2, 8, 256, 1024), "second": weight(3, 8, 1024, 256)}

    def loss(weights, x):
        gates = nn.softmax(x @ weights["gate"])
        expert = nn.one_hot(jnp.argmax(gates, -1), 8)
        place = ((jnp.cumsum(expert, 0) - 1) * expert).sum(-1).astype(int)
        dispatch = expert[:, :, None] * nn.one_hot(place, 128)[:, None]
        rows = jnp.einsum("tec,td->ecd", dispatch, x)
        hidden = nn.gelu(jnp.einsum("ecd,edf->ecf", rows, weights["first"]))
        rows = jnp.einsum("ecf,efd->ecd", hidden, weights["second"])
        return square(jnp.einsum("tec,ecd->td", dispatch * gates[:, :, None], rows))

    return loss, weights, draw(4, 512, 256)


def convolve(x, filters, stride=1, groups=1, padding="SAME"):
    return lax.conv_general_dilated(x, filters, (stride, stride), padding, feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def group_norm(x, groups=8):
    parts = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    mean, variance = parts.mean((1, 3), keepdims=True), parts.var((1, 3), keepdims=True)
    return ((parts - mean) * lax.rsqrt(variance + 1e-6)).reshape(x.shape)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def unet():
    widths = (3, 32, 64, 128)
    weights = {"down": [[filters(i, 3, 3, a, b), filters(9 + i, 3, 3, b, b)]
                        for i, (a, b) in enumerate(zip(widths, widths[1:]))],
               "up": [filters(20 + i, 2, 2, b, a) for i, (a, b) in enumerate(zip(widths[1:], widths[2:]))],
               "join": [[filters(30 + i, 3, 3, 2 * a, a), filters(40 + i, 3, 3, a, a)]
                        for i, a in enumerate(widths[1:3])],
               "head": filters(50, 1, 1, 32, 3)}

    def block(x, weights):
        for one in weights:
            x = nn.silu(group_norm(convolve(x, one)))
        return x

    def loss(weights, x):
        skips = []
        for level, one in enumerate(weights["down"]):
            x = block(max_pool(x) if level else x, one)
            skips.append(x)
        for up, join, skip in reversed(list(zip(weights["up"], weights["join"], skips))):
            wide = lax.conv_transpose(x, up, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = block(jnp.concatenate([skip, wide], -1), join)
        return square(convolve(x, weights["head"]))

    return loss, weights, draw(2, 4, 64, 64, 3)


def convnext():
    weights = {"stem": filters(1, 4, 4, 3, 64), "blocks": [
        (filters(10 + i, 7, 7, 1, 64), weight(20 + i, 64, 256), weight(30 + i, 256, 64)) for i in range(3)]}

    def loss(weights, x):
        x = layer_norm(convolve(x, weights["stem"], 4, padding="VALID"))
        for depthwise, first, second in weights["blocks"]:
            x = x + nn.gelu(layer_norm(convolve(x, depthwise, groups=64)) @ first) @ second
        return square(x)

    return loss, weights, draw(2, 4, 96, 96, 3)


def wavenet():
    dims = ("NWC", "WIO", "NWC")
    weights = [(draw(i, 3, 64, 128) / 14, weight(9 + i, 64, 64), weight(20 + i, 64, 64)) for i in range(5)]

    def loss(weights, x):
        total = 0
        for i, (dilated, skip, residual) in enumerate(weights):
            y = lax.conv_general_dilated(x, dilated, (1,), [(2 << i, 0)], rhs_dilation=(1 << i,),
                                         dimension_numbers=dims)
            a, b = jnp.split(y, 2, -1)
            y = jnp.tanh(a) * nn.sigmoid(b)
            total, x = total + y @ skip, x + y @ residual
        return square(nn.relu(total))

    return loss, weights, draw(1, 4, 1024, 64)


def gru():
    weights = (weight(1, 128, 768), weight(2, 256, 768))

    def loss(weights, x):
        def step(h, x):
            a, b = x @ weights[0], h @ weights[1]
            r, z = nn.sigmoid(a[:, :256] + b[:, :256]), nn.sigmoid(a[:, 256:512] + b[:, 256:512])
            h = (1 - z) * jnp.tanh(a[:, 512:] + r * b[:, 512:]) + z * h
            return h, h

        return square(lax.scan(step, jnp.zeros((16, 256)), x)[1])

    return loss, weights, draw(3, 32, 16, 128)


def state_space():
    """Diagonal recurrences by an associative scan, as in S5."""
    weights = {"in": weight(1, 128, 256), "out": weight(2, 256, 128), "decay": -jnp.abs(draw(3, 256)) - 0.1}

    def join(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    def loss(weights, x):
        for _ in range(2):
            u = x @ weights["in"]
            decay = jnp.broadcast_to(jnp.exp(weights["decay"]), u.shape)
            x = x + nn.gelu(lax.associative_scan(join, (decay, u), axis=1)[1] @ weights["out"])
        return square(x)

    return loss, weights, draw(4, 4, 256, 128)


def graph_attention():
    edges = jax.random.randint(KEY, (2, 16000), 0, 2000)
    weights = {"in": weight(1, 64, 128), "from": draw(2, 4, 32) / 8, "to": draw(3, 4, 32) / 8,
               "out": weight(4, 128, 64)}

    def loss(weights, x):
        h = (x @ weights["in"]).reshape(-1, 4, 32)
        source, target = edges
        scores = nn.leaky_relu((h * weights["from"]).sum(-1)[source] + (h * weights["to"]).sum(-1)[target])
        scores = jnp.exp(scores - jax.ops.segment_max(scores, target, 2000)[target])
        shares = scores / (jax.ops.segment_sum(scores, target, 2000)[target] + 1e-9)
        h = jax.ops.segment_sum(h[source] * shares[..., None], target, 2000)
        return square(nn.elu(h).reshape(-1, 128) @ weights["out"])

    return loss, weights, draw(5, 2000, 64)


def solver():
    """20 steps of Runge and Kutta through a network."""
    weights = (weight(1, 64, 256), weight(2, 256, 64))

    def loss(weights, x):
        def field(x):
            return jnp.tanh(x @ weights[0]) @ weights[1]

        def step(x, _):
            a = field(x)
            b = field(x + 0.025 * a)
            c = field(x + 0.025 * b)
            return x + 0.05 / 6 * (a + 2 * b + 2 * c + field(x + 0.05 * c)), None

        return square(lax.scan(step, x, None, length=20)[0])

    return loss, weights, draw(3, 256, 64)


def laplacian():
    """The residual of Poisson's equation: derivatives of second derivatives."""
    sizes = (2, 64, 64, 64, 1)
    weights = [(weight(i, a, b), jnp.zeros(b)) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))]

    def network(weights, x):
        for matrix, bias in weights[:-1]:
            x = jnp.tanh(x @ matrix + bias)
        return (x @ weights[-1][0] + weights[-1][1])[0]

    def loss(weights, points):
        def residual(x):
            return jnp.trace(jax.hessian(network, 1)(weights, x)) + jnp.sin(x[0])

        return square(jax.vmap(residual)(points))

    return loss, weights, draw(5, 1024, 2)


def contrastive():
    weights = {"image": weight(1, 512, 256), "text": weight(2, 768, 256), "scale": jnp.float32(2)}

    def loss(weights, inputs):
        a, b = (x / jnp.linalg.norm(x, axis=-1, keepdims=True)
                for x in (inputs[0] @ weights["image"], inputs[1] @ weights["text"]))
        logits = a @ b.T * jnp.exp(weights["scale"])
        return -sum(jnp.diag(nn.log_softmax(logits, axis)).mean() for axis in (0, 1))

    return loss, weights, (draw(3, 1024, 512), draw(4, 1024, 768))


PROGRAMS = {function.__name__: function for function in (
    mlp, scanned_layers, attention, llama, retention, dense_experts, dispatched_experts, unet, convnext, wavenet, gru,
    state_space, graph_attention, solver, laplacian, contrastive)}


def differ(mine, expected):
    """Whether values differ by more than roundings, which the largest gradient of all has the size of."""
    largest = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(expected[1]))
    return any(float(jnp.abs(a - b).max()) > 1e-3 * float(jnp.abs(b).max()) + 1e-5 * largest
               for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(expected)))


def compare(name, rounds):
    """A row of the table, and whether the values agree."""
    loss, weights, inputs = PROGRAMS[name]()
    jitted = jax.jit(jax.value_and_grad(loss)).lower(weights, inputs).compile()
    compiled = remat.jax.compile(loss, threads=1)
    agrees = not differ(compiled(weights, inputs), jitted(weights, inputs))
    seconds = {"jit": [], "remat": []}
    for _ in range(rounds):
        for key, function in (("jit", jitted), ("remat", compiled)):
            begin = time.process_time()
            jax.block_until_ready(function(weights, inputs))
            seconds[key].append(time.process_time() - begin)
    row = {"program": name, "agrees": agrees,
           "jit": {"cpu_seconds": statistics.median(seconds["jit"]),
                   "bytes": jitted.memory_analysis().temp_size_in_bytes},
           "remat": {"cpu_seconds": statistics.median(seconds["remat"]), "bytes": compiled.memory["arena"]}}
    text = f"{name:18}"
    for key in ("jit", "remat"):
        text += f" {1e3 * row[key]['cpu_seconds']:9.1f} {row[key]['bytes'] / 1e6:8.1f}"
    for key in ("cpu_seconds", "bytes"):
        text += f" {row['remat'][key] / row['jit'][key]:6.2f}"
    print(text + ("" if agrees else "  the values differ"), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM",
                        help=f"{', '.join(PROGRAMS)}; all, if none is named")
    parser.add_argument("--rounds", type=int, default=7, help="calls of both, one after the other (default: 7)")
    parser.add_argument("--json", metavar="FILE", help="where to write the figures")
    options = parser.parse_args()
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"unknown program {', '.join(sorted(unknown))}; expected some of {', '.join(PROGRAMS)}")
    print(f"{'CPU ms | MB':18} {'jax.jit':>18} {'remat':>18}   time  bytes")
    rows = [compare(name, options.rounds) for name in options.programs or PROGRAMS]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
    sys.exit(0 if all(row["agrees"] for row in rows) else 1)


if __name__ == "__main__":
    main()
