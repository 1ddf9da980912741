"""Models of flax, as its users write them, for zoo_jax.py. Those who lack flax do without them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest.mock

import jax
import jax.numpy as jnp
import numpy as np


def plain(tree):
    """Parameters as zoo_jax.py widens them."""
    return jax.tree_util.tree_map(np.asarray, tree)


def tokens(*shape):
    return np.random.default_rng(1).integers(0, 40, shape).astype("i4")


def noise(*shape):
    return np.random.default_rng(2).standard_normal(shape).astype("f4")


def bernoulli(key, p, shape):
    """The same masks in all types of the model."""
    return jax.random.uniform(key, shape, "float32") < np.float32(p)


def cross_entropy(logits, labels):
    import optax
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def linen_block(wrap=lambda f: f):
    import flax.linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, mask):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=4, dropout_rate=0.1, deterministic=False)(y, mask=mask)
            y = nn.gelu(nn.Dense(64)(nn.LayerNorm()(x)))
            y = jax.ad_checkpoint.checkpoint_name(y, "hidden")
            return x + nn.Dropout(0.1, deterministic=False)(nn.Dense(32)(y))

    return wrap(Block)


def linen_transformer(wrap=lambda f: f, scan=False):
    """A language model; with `scan`, its layers are one of nn.scan."""
    import flax.linen as nn
    Block = linen_block(wrap)

    class Body(nn.Module):
        @nn.compact
        def __call__(self, x, mask):
            return Block()(x, mask), None

    class Model(nn.Module):
        @nn.compact
        def __call__(self, ids):
            mask = nn.make_causal_mask(ids)
            embed = nn.Embed(40, 32)
            x = embed(ids) + self.param("places", nn.initializers.normal(0.1), (16, 32))[:ids.shape[1]]
            if scan:
                layers = nn.scan(Body, variable_axes={"params": 0}, split_rngs={"params": True, "dropout": True},
                                 in_axes=nn.broadcast, length=3)
                x, _ = layers()(x, mask)
            else:
                for _ in range(2):
                    x = Block()(x, mask)
            return embed.attend(nn.RMSNorm()(x))

    model, ids = Model(), tokens(2, 9)
    params = plain(model.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, ids[:, :-1]))

    def loss(params, ids, key):
        with unittest.mock.patch.object(jax.random, "bernoulli", bernoulli):
            return cross_entropy(model.apply(params, ids[:, :-1], rngs={"dropout": key}), ids[:, 1:])

    return loss, (params, ids, jax.random.key(3))


def linen_remat(**options):
    def wrap(block):
        import flax.linen as nn
        return nn.remat(block, **options)
    return wrap


def linen_cnn():
    """Its loss gives the new statistics of the batch norms, too."""
    import flax.linen as nn

    class Residual(nn.Module):
        features: int
        stride: int

        @nn.compact
        def __call__(self, x):
            y = nn.Conv(self.features, (3, 3), self.stride, use_bias=False)(x)
            y = nn.relu(nn.BatchNorm(use_running_average=False)(y))
            y = nn.BatchNorm(use_running_average=False, scale_init=nn.initializers.ones)(
                nn.Conv(self.features, (3, 3), feature_group_count=4, use_bias=False)(y))
            return nn.relu(y + nn.Conv(self.features, (1, 1), self.stride)(x))

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.max_pool(nn.relu(nn.Conv(8, (5, 5), padding="VALID")(x)), (2, 2), (2, 2))
            x = Residual(16, 2)(Residual(8, 1)(x))
            x = nn.avg_pool(x, (2, 2), (1, 1), "SAME")
            return nn.Dense(5)(nn.GroupNorm(num_groups=4)(x).mean((1, 2)))

    model, x = Model(), noise(4, 16, 16, 3)
    variables = plain(model.init(jax.random.key(0), x))

    def loss(params, statistics, x, labels):
        y, updates = model.apply({"params": params, "batch_stats": statistics}, x, mutable=["batch_stats"])
        return cross_entropy(y, labels), updates["batch_stats"]

    return loss, (variables["params"], variables["batch_stats"], x, np.array([0, 1, 4, 2], "i4")), True


def linen_lstm(bidirectional=False):
    import flax.linen as nn

    class Model(nn.Module):
        dtype: str  # Of the states that the cells begin with.

        @nn.compact
        def __call__(self, x, lengths):
            cells = [kind(12, param_dtype=self.dtype) for kind in (nn.LSTMCell, nn.GRUCell, nn.OptimizedLSTMCell)]
            rnn = nn.Bidirectional(*map(nn.RNN, cells[1:])) if bidirectional else nn.RNN(cells[0])
            return nn.Dense(3)(rnn(x, seq_lengths=lengths))

    x, lengths = noise(3, 7, 6), np.array([7, 4, 5], "i4")
    params = plain(Model("float32").init(jax.random.key(0), x, lengths))

    def loss(params, x, lengths):
        y = Model(x.dtype.name).apply(params, x, lengths)
        seen = (jnp.arange(7) < lengths[:, None]).astype(y.dtype)
        return jnp.mean(jnp.sum(y ** 2, -1) * seen)

    return loss, (params, x, lengths)


def linen_cell_by_scan():
    """A cell of somebody's own under nn.scan, with a carry of several parts."""
    import flax.linen as nn

    class Cell(nn.Module):
        @nn.compact
        def __call__(self, carry, x):
            h, total = carry
            gate = nn.sigmoid(nn.Dense(8)(jnp.concatenate([h, x], -1)))
            h = gate * h + (1 - gate) * jnp.tanh(nn.Dense(8)(x))
            return (h, total + jnp.sum(h)), h

    model = nn.scan(Cell, variable_broadcast="params", split_rngs={"params": False}, in_axes=1, out_axes=1)()
    x = noise(2, 6, 5)

    def start(x):
        return jnp.zeros((2, 8), x.dtype), jnp.zeros((), x.dtype)

    params = plain(model.init(jax.random.key(0), start(x), x))

    def loss(params, x):
        (h, total), hs = model.apply(params, start(x), x)
        return jnp.mean(hs ** 2) + 0.01 * total + jnp.sum(h)

    return loss, (params, x)


def linen_autoencoder():
    """Weights that are normalized, transposed convolutions, and norms of instances."""
    import flax.linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = nn.elu(nn.WeightNorm(nn.Conv(8, (4, 4), 2))(x))
            y = nn.tanh(nn.InstanceNorm()(nn.Conv(12, (3, 3), 2)(y)))
            code = nn.DenseGeneral((2, 3), axis=(-3, -2, -1))(y)
            y = nn.Dense(48)(code.reshape(x.shape[0], 6)).reshape(x.shape[0], 4, 4, 3)
            y = nn.hard_swish(nn.ConvTranspose(8, (3, 3), (2, 2))(y))
            y = nn.PReLU()(nn.ConvTranspose(8, (4, 4), (2, 2), padding="SAME")(y))
            return nn.Conv(3, (3, 3))(y), code

    model, x = Model(), noise(2, 16, 16, 3)
    params = plain(model.init(jax.random.key(0), x))

    def loss(params, x):
        y, code = model.apply(params, x)
        return jnp.mean(jnp.abs(y - x)) + 0.1 * jax.nn.logsumexp(code)

    return loss, (params, x)


def nnx_transformer(wrap=lambda f: f):
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.attention = nnx.MultiHeadAttention(4, 32, decode=False, rngs=rngs)
            self.first, self.second = nnx.LayerNorm(32, rngs=rngs), nnx.RMSNorm(32, rngs=rngs)
            self.up, self.down = nnx.Linear(32, 64, rngs=rngs), nnx.Linear(64, 32, rngs=rngs)

        def __call__(self, x, mask):
            x = x + self.attention(self.first(x), mask=mask)
            return x + self.down(nnx.silu(self.up(self.second(x))))

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(40, 32, rngs=rngs)
            self.blocks = nnx.List([Block(rngs) for _ in range(2)])

        def __call__(self, ids):
            x, mask = self.embed(ids), nnx.make_causal_mask(ids)
            for block in self.blocks:
                x = wrap(lambda block, x, mask: block(x, mask))(block, x, mask)
            return self.embed.attend(x)

    graph, params, rest = nnx.split(Model(nnx.Rngs(0)), nnx.Param, ...)

    def loss(params, ids):
        return cross_entropy(nnx.merge(graph, params, rest)(ids[:, :-1]), ids[:, 1:])

    return loss, (plain(params), tokens(2, 9))


def nnx_remat():
    def wrap(function):
        from flax import nnx
        return nnx.remat(function, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    return nnx_transformer(wrap)


def nnx_scan():
    """Layers whose parameters lie in one tensor each, with grouped queries."""
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.q, self.kv = nnx.LinearGeneral(16, (4, 4), rngs=rngs), nnx.LinearGeneral(16, (2, 2, 4), rngs=rngs)
            self.out, self.norm = nnx.LinearGeneral((4, 4), 16, axis=(-2, -1), rngs=rngs), nnx.LayerNorm(16, rngs=rngs)

        def __call__(self, x):
            y = self.norm(x)
            kv = self.kv(y)
            return x + self.out(jax.nn.dot_product_attention(self.q(y), kv[:, :, 0], kv[:, :, 1], is_causal=True))

    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=0, out_axes=0)
    def make(rngs):
        return Block(rngs)

    graph, params, rest = nnx.split(make(nnx.Rngs(0)), nnx.Param, ...)

    def loss(params, x):
        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        @nnx.remat
        def run(x, block):
            return block(x)

        return jnp.mean((run(x, nnx.merge(graph, params, rest)) - 1) ** 2)

    return loss, (plain(params), noise(2, 7, 16))


def nnx_cnn():
    """Its state, the statistics of batch norms, goes in and comes out."""
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Conv(3, 8, (3, 3), padding="CIRCULAR", rngs=rngs)
            self.second = nnx.Conv(8, 8, (3, 3), kernel_dilation=(2, 2), use_bias=False, rngs=rngs)
            self.third = nnx.ConvTranspose(8, 6, (3, 3), (2, 2), rngs=rngs)
            self.norm, self.group = nnx.BatchNorm(8, rngs=rngs), nnx.GroupNorm(6, 3, rngs=rngs)
            self.head = nnx.Linear(6, 5, rngs=rngs)

        def __call__(self, x):
            x = nnx.avg_pool(nnx.leaky_relu(self.norm(self.second(nnx.relu(self.first(x))))), (2, 2), (2, 2))
            return self.head(nnx.swish(self.group(self.third(x))).max((1, 2)))

    graph, params, statistics = nnx.split(Model(nnx.Rngs(0)), nnx.Param, nnx.BatchStat)

    def loss(params, statistics, x, labels):
        model = nnx.merge(graph, params, statistics, copy=True)  # It changes them.
        value = cross_entropy(model(x), labels)
        return value, nnx.state(model, nnx.BatchStat)

    return loss, (plain(params), plain(statistics), noise(3, 8, 8, 3), np.array([0, 4, 2], "i4")), True


def nnx_scanned_rnn():
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.rnn, self.head = nnx.RNN(nnx.LSTMCell(6, 12, rngs=rngs)), nnx.Linear(12, 3, rngs=rngs)

        def __call__(self, x):
            start = (jnp.zeros((x.shape[0], 12), x.dtype),) * 2
            return self.head(self.rnn(x, initial_carry=start)[:, -1])

    graph, params, rest = nnx.split(Model(nnx.Rngs(0)), nnx.Param, ...)

    def loss(params, x):
        return jnp.mean(nnx.merge(graph, params, rest)(x) ** 2)

    return loss, (plain(params), noise(3, 7, 6))


def optax_inner_step():
    """The loss behind a step of an optimizer, differentiated through that step."""
    import optax
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(0.1, 10)))
    params = {"w": noise(6, 4) * 0.3, "b": noise(4)}

    def inner(params, x, y):
        return jnp.mean(optax.huber_loss(jnp.tanh(x @ params["w"] + params["b"]), y))

    def loss(params, x, y):
        # Zeros of the first moments have the type of the parameters.
        state = optimizer.init(params)
        updates, _ = optimizer.update(jax.grad(inner)(params, x, y), state, params)
        return inner(optax.apply_updates(params, updates), x, y)

    return loss, (params, noise(5, 6), noise(5, 4))


def narrow(make):
    """The model with weights and data in bf16."""
    def made():
        loss, args, *rest = make()
        return (loss, jax.tree_util.tree_map(
            lambda x: x.astype(jnp.bfloat16) if getattr(x, "dtype", None) == np.float32 else x, args), *rest)
    return made


def entries():
    """What makes each model, by name."""
    policies = jax.checkpoint_policies
    found = {
        "linen_transformer": linen_transformer,
        "linen_transformer_remat": lambda: linen_transformer(linen_remat()),
        "linen_transformer_dots": lambda: linen_transformer(linen_remat(policy=policies.checkpoint_dots)),
        "linen_transformer_scan": lambda: linen_transformer(scan=True),
        "linen_transformer_scan_names": lambda: linen_transformer(linen_remat(
            policy=policies.save_only_these_names("hidden"), prevent_cse=False), scan=True),
        "linen_cnn": linen_cnn,
        "linen_lstm": linen_lstm,
        "linen_bidirectional": lambda: linen_lstm(bidirectional=True),
        "linen_autoencoder": linen_autoencoder,
        "linen_cell_by_scan": linen_cell_by_scan,
        "nnx_transformer": nnx_transformer,
        "nnx_transformer_remat": nnx_remat,
        "nnx_scan": nnx_scan,
        "nnx_cnn": nnx_cnn,
        "nnx_lstm": nnx_scanned_rnn,
        "optax_inner_step": optax_inner_step,
    }
    for name in ("linen_transformer", "linen_cnn", "linen_lstm"):
        found[name + "_bf16"] = narrow(found[name])
    return found
