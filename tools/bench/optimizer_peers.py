#!/usr/bin/env python3
"""Measures what training steps of other frameworks take with AdamW in them, for the model gpt2_8l.

usage: optimizer_peers.py [VARIANT...] [--layers=8] [--threads=2] [--attention=math|sdpa]

Needs torch and jax. A variant is measured in a process of its own, behind two steps that leave weights and state in
place:

eager  PyTorch eager, then torch.optim.AdamW
hooks  the same with an optimizer for each weight, which its `register_post_accumulate_grad_hook` calls
xla    JAX, the whole step compiled at once, with weights and state donated
xla-scan  the same with the layers as a scan

`bytes` is what a step takes beyond weights, inputs and state: of PyTorch the largest sum of its allocator's events, of
XLA the temporaries and results that are in no argument's buffer, as the compiled step says. `resident` is by how much
the resident set grows during a step. tools/bench/optimizer.py has the same figures of remat.
"""
import argparse, ctypes, os, subprocess, sys

WIDTH, HEADS, TOKENS, BATCH, WORDS = 512, 8, 256, 4, 8192


def parse_arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0].replace("%", "%%"))
    parser.add_argument("variants", nargs="*", default=["eager", "hooks", "xla", "xla-scan"])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--attention", choices=("math", "sdpa"), default="sdpa")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


options = parse_arguments()


def resident_growth(step):
    """The largest resident set during a step less that before it."""
    def read(key):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))

    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = read("VmRSS:")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    step()
    return read("VmHWM:") - before


# PyTorch


def make_torch_model():
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def attend(self, x):
            heads = self.qkv(x).view(BATCH, TOKENS, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            q, k, v = heads
            if options.attention == "sdpa":
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = (q @ k.transpose(-1, -2)) * (WIDTH // HEADS) ** -0.5
                mask = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
                y = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
            return self.proj(y.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))

        def forward(self, x):
            x = x + self.attend(self.ln1(x))
            return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
            self.blocks, self.lnf = nn.ModuleList(Block() for _ in range(options.layers)), nn.LayerNorm(WIDTH)

        def forward(self, ids, targets):
            x = self.wte(ids) + self.wpe.weight
            for block in self.blocks:
                x = block(x)
            logits = self.lnf(x) @ self.wte.weight.T
            return F.cross_entropy(logits.view(-1, WORDS), targets.view(-1))

    return Model()


def count_allocations(step):
    """The largest sum of PyTorch's allocations and releases since the step began."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        step()
    events = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most


def measure_torch(in_hooks):
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    model = make_torch_model()
    ids, targets = (torch.randint(WORDS, (BATCH, TOKENS)) for _ in range(2))
    if in_hooks:
        optimizers = {weight: torch.optim.AdamW([weight], foreach=False) for weight in model.parameters()}

        def update(weight):
            optimizers[weight].step()
            weight.grad = None

        for weight in model.parameters():
            weight.register_post_accumulate_grad_hook(update)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)

    def step():
        model(ids, targets).backward()
        if not in_hooks:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    for _ in range(2):
        step()
    return count_allocations(step), resident_growth(step)


# JAX


def make_jax_step(scans):
    """The step, its weights, and its inputs."""
    import jax, numpy
    from jax import lax, numpy as jnp
    random = numpy.random.default_rng(0)

    def normal(*shape):
        return (0.02 * random.standard_normal(shape)).astype(numpy.float32)

    def zeros(*shape):
        return numpy.zeros(shape, numpy.float32)

    def ones(*shape):
        return numpy.ones(shape, numpy.float32)

    def make_block():
        return {"g1": ones(WIDTH), "b1": zeros(WIDTH), "g2": ones(WIDTH), "b2": zeros(WIDTH),
                "qkv": normal(WIDTH, 3 * WIDTH), "qkv_bias": zeros(3 * WIDTH), "proj": normal(WIDTH, WIDTH),
                "proj_bias": zeros(WIDTH), "fc": normal(WIDTH, 4 * WIDTH), "fc_bias": zeros(4 * WIDTH),
                "out": normal(4 * WIDTH, WIDTH), "out_bias": zeros(WIDTH)}

    def normalize(x, scale, shift):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift

    def apply_block(x, p):
        h = normalize(x, p["g1"], p["b1"]) @ p["qkv"] + p["qkv_bias"]
        q, k, v = h.reshape(BATCH, TOKENS, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((TOKENS, TOKENS), bool)), scores, -1e9)
        y = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)
        x = x + y.transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, WIDTH) @ p["proj"] + p["proj_bias"]
        h = jax.nn.gelu(normalize(x, p["g2"], p["b2"]) @ p["fc"] + p["fc_bias"], approximate=True)
        return x + h @ p["out"] + p["out_bias"]

    def compute_loss(p, ids, targets):
        x = p["wte"][ids] + p["wpe"]
        if scans:
            x, _ = lax.scan(lambda x, block: (apply_block(x, block), None), x, p["blocks"])
        else:
            for block in p["blocks"]:
                x = apply_block(x, block)
        logits = normalize(x, p["g"], p["b"]) @ p["wte"].T
        chosen = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - chosen).mean()

    def step(weights, means, squares, count, ids, targets):
        loss, gradients = jax.value_and_grad(compute_loss)(weights, ids, targets)
        count += 1
        means = jax.tree.map(lambda m, g: m + 0.1 * (g - m), means, gradients)
        squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, gradients)
        rate, root = 1e-3 / (1 - 0.9 ** count), jnp.sqrt(1 - 0.999 ** count)
        weights = jax.tree.map(lambda w, m, s: w * (1 - 1e-5) - rate * m / (jnp.sqrt(s) / root + 1e-8), weights, means,
                               squares)
        return weights, means, squares, count, loss

    blocks = [make_block() for _ in range(options.layers)]
    if scans:
        blocks = jax.tree.map(lambda *parts: numpy.stack(parts), *blocks)
    weights = {"wte": normal(WORDS, WIDTH), "wpe": normal(TOKENS, WIDTH), "g": ones(WIDTH), "b": zeros(WIDTH),
               "blocks": blocks}
    inputs = [random.integers(0, WORDS, (BATCH, TOKENS)).astype(numpy.int32) for _ in range(2)]
    return jax.jit(step, donate_argnums=(0, 1, 2, 3)), weights, inputs


def measure_jax(scans):
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    from jax import numpy as jnp
    step, weights, inputs = make_jax_step(scans)
    weights, inputs = jax.tree.map(jnp.array, weights), [jnp.array(array) for array in inputs]
    state = [weights, jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights), jnp.float32(0)]
    compiled = step.lower(*state, *inputs).compile()
    memory = compiled.memory_analysis()

    def advance():
        *state[:], loss = compiled(*state, *inputs)
        loss.block_until_ready()

    for _ in range(2):
        advance()
    taken = memory.temp_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    return taken, resident_growth(advance)


MEASURES = {"eager": lambda: measure_torch(False), "hooks": lambda: measure_torch(True),
            "xla": lambda: measure_jax(False), "xla-scan": lambda: measure_jax(True)}


def main():
    for variant in options.variants:
        if variant not in MEASURES:
            sys.exit(f"unknown variant '{variant}', expected one of {', '.join(MEASURES)}")
        if options.measure:
            taken, growth = MEASURES[variant]()
            print(f"{variant:>8} {taken:12} {growth:12}", flush=True)
    if options.measure:
        return
    print(f"{'variant':>8} {'bytes':>12} {'resident':>12}", flush=True)
    for variant in options.variants:
        subprocess.run([sys.executable, os.path.abspath(__file__), variant, "--measure", f"--layers={options.layers}",
                        f"--threads={options.threads}", f"--attention={options.attention}"], check=True)


main()
