"""The lines that random functions of JAX are made of: see fuzz_jax.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

ELEMENTS = """
{a} + {b}
{a} - {b}
{a} * {b}
{a} / {b}
{a} // {b}
{a} % {b}
{a} // {n}
{a} % {n}
{n} - {a}
{a} ** 2
{a} ** {b}
{a} ** -1
jnp.fmod({a}, {b})
lax.rem({a}, {a} + 1)
lax.div({a}, {b})
jnp.maximum({a}, {b})
jnp.minimum({a}, {n})
jnp.fmax({a}, {b})
jnp.clip({a}, {n}, 2)
lax.clamp({a}, {b}, {c})
jnp.nan_to_num({a})
jnp.round({a})
jnp.round({a}, 1)
lax.round({a}, lax.RoundingMethod.AWAY_FROM_ZERO)
jnp.floor({a})
jnp.trunc({a})
jnp.sign({a})
jnp.signbit({a})
jnp.abs({a})
jnp.exp({a})
jnp.exp2({a})
jnp.log({a})
jnp.log1p({a})
jnp.sqrt({a})
jnp.cbrt({a})
lax.rsqrt({a})
jnp.sin({a})
jnp.tan({a})
jnp.arctan2({a}, {b})
jnp.arcsin({a})
jnp.arccosh({a})
jnp.sinh({a})
jnp.tanh({a})
jnp.hypot({a}, {b})
jnp.logaddexp({a}, {b})
jnp.copysign({a}, {b})
jnp.nextafter({a}, {b})
jnp.ldexp({a}, {b})
jnp.frexp({a})[0]
jnp.heaviside({a}, {b})
jnp.gcd({a}, {b})
jnp.sinc({a})
jnp.angle({a})
jnp.conj({a})
jnp.real({a})
jnp.imag({a})
lax.complex({a}, {b})
jnp.where({a} > 0, {a}, {b})
jnp.where({a}, {n}, {b})
{a} == {b}
{a} < {b}
{a} >= {n}
{a} & {b}
{a} | {b}
{a} ^ {b}
~{a}
{a} << {s}
{a} >> {s}
{a} << {b}
{a} >> {b}
lax.shift_right_logical({a}, {b})
lax.shift_right_arithmetic({a}, {b})
lax.population_count({a})
lax.clz({a})
jnp.logical_xor({a}, {b})
jnp.isnan({a})
jnp.isinf({a})
jnp.isclose({a}, {b})
{a}.astype({t})
lax.convert_element_type({a}, {t})
lax.bitcast_convert_type({a}, {t})
{a}.view({t})
lax.reduce_precision({a}, 5, 10)
lax.stop_gradient({a})
lax.integer_pow({a}, 3)
jax.nn.relu({a})
jax.nn.gelu({a})
jax.nn.silu({a})
jax.nn.elu({a})
jax.nn.softplus({a})
jax.nn.leaky_relu({a})
jax.nn.log_sigmoid({a})
jax.scipy.special.erf({a})
jax.scipy.special.gammaln({a})
jax.scipy.special.digamma({a})
jax.scipy.special.xlogy({a}, {b})
jax.scipy.special.entr({a})
jax.scipy.special.ndtr({a})
jax.scipy.special.i0e({a})
jax.scipy.special.logit({a})
lax.erf_inv({a})
lax.nextafter({a}, {a})
jnp.float_power({a}, {b})
jnp.divmod({a}, {b})[1]
jnp.modf({a})[0]
"""

REDUCTIONS = """
{a}.sum()
{a}.sum({i})
{a}.mean({i})
{a}.prod({i})
{a}.max({i})
{a}.min()
jnp.max({a}, {i}, initial=1)
jnp.sum({a}, {i}, where={a} > 0)
{a}.argmax({i})
{a}.argmin({i})
jnp.nanargmax({a}, {i})
{a}.any({i})
{a}.all()
{a}.std({i})
{a}.var({i}, ddof=1)
jnp.ptp({a}, {i})
jnp.linalg.norm({a})
jnp.linalg.norm({a}, 1, {i})
jax.nn.softmax({a}, {i})
jax.nn.log_softmax({a}, {i})
jax.scipy.special.logsumexp({a}, {i})
jnp.cumsum({a}, {i})
jnp.cumprod({a}, {i})
lax.cummax({a}, {p})
lax.cummin({a}, {p}, reverse=True)
lax.cumlogsumexp({a}, {p})
jnp.median({a}, {i})
jnp.nanmedian({a})
jnp.nansum({a}, {i})
jnp.nanmax({a}, {i})
jnp.quantile({a}, 0.3, {i})
jnp.percentile({a}, 60, method="nearest")
jnp.sort({a}, {i})
jnp.sort({a}, {i}, descending=True)
jnp.argsort({a}, {i})
jnp.argsort({a}, {i}, descending=True)
lax.sort(({a}, {a} * 2), dimension={p}, num_keys=2)[1]
lax.sort(({a} > 0, {a}), dimension={p}, num_keys=1)[1]
jnp.lexsort(({a}, {a} > 0), {i})
lax.top_k({a}, 2)[0]
lax.top_k({a}, 2)[1]
jnp.count_nonzero({a}, {i})
jnp.diff({a}, axis={i})
jnp.trapezoid({a}, axis={i})
jnp.cov({a})
jnp.histogram({a}, 3, (-2, 2))[0]
jnp.bincount(jnp.abs({a}).reshape(-1), length=4)
jnp.unique({a}, size=3)
jnp.average({a}, {i}, weights=jnp.ones({a}.shape))
lax.reduce({a}, jnp.zeros((), {a}.dtype), lax.add, (0,))
lax.reduce({a}, jnp.ones((), {a}.dtype), lax.mul, ({p},))
lax.reduce_window({a}, jnp.zeros((), {a}.dtype), lax.add, (2,) * {a}.ndim, (1,) * {a}.ndim, "SAME")
lax.reduce_window({a}, jnp.zeros((), {a}.dtype), lax.add, (2,) * {a}.ndim, (2,) * {a}.ndim, "VALID")
lax.reduce_window({a}, -jnp.inf, lax.max, (2,) * {a}.ndim, (1,) * {a}.ndim, [(1, 0)] * {a}.ndim)
lax.reduce_window({a}, jnp.ones((), {a}.dtype), lax.mul, (2,) * {a}.ndim, (1,) * {a}.ndim, "SAME", (2,) * {a}.ndim)
lax.reduce_window({a}, jnp.inf, lax.min, (2,) * {a}.ndim, (1,) * {a}.ndim, "SAME", None, (2,) * {a}.ndim)
lax.associative_scan(lax.mul, {a}, axis={p})
lax.scan(lambda c, x: (c + x, c * x), {a}[0] * 0, {a})[1]
jax.vmap(lambda x: x.sum() * x)({a})
lax.map(jnp.cumsum, {a})
lax.fori_loop(0, 3, lambda i, c: c * 2 - i, {a})
lax.cond({a}.sum() > 0, lambda x: x * 2, lambda x: x - 1, {a})
lax.switch(jnp.int32({a}.max()), [lambda x: x, lambda x: x * 2], {a})
"""

PLACES = """
{a}.T
{a}.reshape(-1)
jnp.expand_dims({a}, {i})
jnp.squeeze({a})
jnp.flip({a}, {i})
{a}[::-1]
{a}[..., ::2]
{a}[1:]
{a}[:, 0]
{a}[-1]
{a}[{k}]
{a}[{k}, {k}]
{a}[:, {k}]
{a}.at[{k}].get(mode={m})
{a}.at[{k}].get(mode="fill", fill_value=7)
{a}.at[{k}].get(mode="wrap")
{a}.at[{k}].set({n}, mode={m})
{a}.at[{k}].add({n})
{a}.at[{k}].mul(2)
{a}.at[{k}].max(1)
{a}.at[{k}].min({n}, mode={m})
{a}.at[0].set({b})
{a}.at[..., 0].add({b})
{a}.at[::2].set({n})
{a}.at[{k}].divide(2)
{a}.at[{k}].power(2)
jnp.take({a}, {k}, {i})
jnp.take({a}, {k}, mode="wrap")
jnp.take({a}, {k}, {i}, mode="fill")
jnp.take_along_axis({a}, jnp.argsort({a}, {i}), {i})
jnp.put_along_axis({a}, jnp.argmax({a}, {i}, keepdims=True), 9, {i}, inplace=False)
jnp.tril({a})
jnp.triu({a}, 1)
jnp.roll({a}, {s}, {i})
jnp.roll({a}, 1)
jnp.rot90({a})
jnp.tile({a}, 2)
jnp.repeat({a}, 2, {i})
jnp.concatenate([{a}, {a}], {i})
jnp.concatenate([{a}, {b}], {i})
jnp.stack([{a}, {b}])
jnp.hstack([{a}, {b}])
jnp.pad({a}, 1)
jnp.pad({a}, 1, constant_values={n})
jnp.pad({a}, (1, 2), mode="edge")
jnp.pad({a}, 1, mode="reflect")
jnp.pad({a}, 1, mode="wrap")
lax.pad({a}, jnp.ones((), {a}.dtype), [(1, -1, 1)] * {a}.ndim)
lax.pad({a}, jnp.ones((), {a}.dtype), [(-1, 2, 0)] * {a}.ndim)
lax.rev({a}, (0,))
lax.dynamic_slice({a}, ({s},) * {a}.ndim, (1,) * {a}.ndim)
lax.dynamic_slice_in_dim({a}, jnp.int32({s}), 1)
lax.dynamic_update_slice({a}, {a}[:1], (5,) + (0,) * ({a}.ndim - 1))
lax.dynamic_index_in_dim({a}, {s}, {p})
lax.slice_in_dim({a}, 0, None, 2, {p})
lax.expand_dims({a}, (0,))
jnp.broadcast_to({a}, (2,) + {a}.shape)
jnp.moveaxis({a}, 0, -1)
jnp.swapaxes({a}, 0, {i})
jnp.searchsorted(jnp.sort({a}.reshape(-1)), {b})
jnp.digitize({a}, jnp.array([-1.0, 0.0, 1.5]))
jax.nn.one_hot({a}, 3)
jnp.diag({a})
jnp.diagonal({a})
jnp.zeros_like({a})
jnp.full_like({a}, {n})
jnp.arange(3) + {a}
jnp.linspace({a}, {b}, 3)
jnp.select([{a} > 1, {a} < 0], [{a}, {a} * 2], {n})
jnp.choose(jnp.abs({a}), [{b}, {c}], mode="clip")
jnp.compress(jnp.array([True, False]), {a}, axis=0)
jax.ops.segment_sum({a}, {k}, 3)
jax.ops.segment_max({a}, {k}, 3)
jnp.meshgrid({a}.reshape(-1)[:3], {b}.reshape(-1)[:2])[0]
jnp.insert({a}, 1, {n})
jnp.delete({a}, 0, {i})
jnp.unpackbits({a}.reshape(-1))
"""

PRODUCTS = """
{a} @ {b}
{a} @ {a}.T
jnp.dot({a}, {b})
jnp.vdot({a}, {b})
jnp.outer({a}, {b})
jnp.inner({a}, {b})
jnp.kron({a}, {b})
jnp.cross({a}, {b})
jnp.tensordot({a}, {b}, 1)
jnp.einsum("...i,...i->...", {a}, {b})
jnp.einsum("i...,j...->ij", {a}, {b})
lax.dot_general({a}, {a}, ((({p},), ({p},)), ((), ())))
lax.dot_general({a}, {a}, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float64)
jnp.matmul({a}, {b}, preferred_element_type=jnp.float32)
jnp.convolve({a}.reshape(-1), {b}.reshape(-1)[:3])
lax.conv_general_dilated({a}[None, None], jnp.ones((2, 1) + (2,) * {a}.ndim, {a}.dtype), (1,) * {a}.ndim, "SAME")
lax.conv_general_dilated({a}[None, None], jnp.ones((2, 1) + (2,) * {a}.ndim, {a}.dtype), (2,) * {a}.ndim, [(1, 2)] * {a}.ndim, (2,) * {a}.ndim, (1,) * {a}.ndim)
lax.conv_general_dilated({a}[None, None], jnp.ones((2, 1) + (2,) * {a}.ndim, {a}.dtype), (1,) * {a}.ndim, [(-1, 2)] * {a}.ndim, None, (2,) * {a}.ndim)
lax.conv_transpose({a}[None, ..., None], jnp.ones((2,) * {a}.ndim + (1, 2), {a}.dtype), (2,) * {a}.ndim, "SAME")
jnp.fft.fft({a})
jnp.fft.rfft({a}, axis={i})
jnp.linalg.det({a})
jnp.linalg.inv({a} @ {a}.T + 3 * jnp.eye({a}.shape[0]))
jnp.linalg.matrix_power({a}, 3)
jnp.polyval({a}.reshape(-1)[:3], {b})
jnp.interp({a}, jnp.array([-1.0, 0.0, 2.0]), jnp.array([1.0, 3.0, 2.0]))
jnp.vander({a})
jnp.trace({a})
jax.grad(lambda x: (x * x * x).sum())({a})
jax.jvp(jnp.sin, ({a},), ({a},))[1]
jax.jacfwd(jnp.cumsum)({a})
jax.hessian(lambda x: (x ** 3).sum())({a})
jax.vjp(jnp.cumprod, {a}.reshape(-1))[1]({a}.reshape(-1))[0]
"""

LINES = {name: [line for line in text.splitlines() if line] for name, text in (
    ("elements", ELEMENTS), ("reductions", REDUCTIONS), ("places", PLACES), ("products", PRODUCTS))}
