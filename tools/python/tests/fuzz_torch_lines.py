"""The lines that random functions of PyTorch are made of: see fuzz_torch.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from fuzz_torch_layers import LAYERS

VIEWS = """
{a}.transpose({i}, {j})
{a}.t()
{a}.reshape(-1)
{a}.view(-1)
{a}.unsqueeze({i})
{a}.squeeze()
{a}.expand(2, *{a}.shape)
{a}.flip({i})
{a}.flip(list(range({a}.dim())))
{a}.narrow({i}, 1, 1)
{a}.select({i}, -1)
{a}[..., ::2]
{a}[1:]
{a}[:, 0]
{a}[None]
{a}.diagonal()
{a}.diagonal(1, 0, -1)
{a}.as_strided((2, 2), (1, 1))
{a}.as_strided((2,), (2,), 1)
{a}.unfold({i}, 2, 1)
{a}.movedim({i}, {j})
{a}.split(2, {i})[-1]
{a}.chunk(2, {i})[0]
{a}.unbind({i})[0]
{a}.tensor_split(2, {i})[1]
{a}.real
{a}.imag
{a}.conj()
torch.view_as_real({a})
torch.view_as_complex({a})
{a}.detach()
{a}.expand_as({b})
{a}.view_as({b})
{a}.swapaxes({i}, {j})
{a}.permute(*reversed(range({a}.dim())))
{a}.view(torch.int64)
{a}.view(torch.float64)
{a}.view(torch.uint8)
{a}.contiguous()
{a}.clone()
{a}.clone(memory_format=torch.contiguous_format)
{a}.mT
{a}.unflatten({i}, (-1, 1))
{a}.flatten({i}, -1)
"""

WRITES = """
{a}.add_({n})
{a}.add_({b})
{a}.mul_({b})
{a}.sub_({b}, alpha=2)
{a}.copy_({b})
{a}.zero_()
{a}.fill_({n})
{a}.clamp_(min={n})
{a}.clamp_(-1, 2)
{a}.relu_()
{a}.neg_()
{a}.abs_()
{a}.floor_()
{a}.round_()
{a}.sqrt_()
{a}.exp_()
{a}.remainder_(3)
{a}.fmod_({n})
{a}.floor_divide_({n})
{a}.bitwise_and_({b})
{a}.bitwise_not_()
{a}.logical_not_()
{a}.masked_fill_({a} > 0, {n})
{a}.masked_fill_({b}, {n})
{a}.index_fill_({i}, {k}, {n})
{a}.index_add_({i}, {k}, {b})
{a}.index_copy_({i}, torch.tensor([1, 0]), {b})
{a}.scatter_({i}, ({b} > 0).long(), {n})
{a}.scatter_add_({i}, ({b} > 0).long(), {b})
{a}.scatter_reduce_({i}, ({b} > 0).long(), {b}, "amax")
{a}.put_({k}, {b}.reshape(-1)[:1].expand(len({k})))
{a}[0] = {n}
{a}[..., 0] += {n}
{a}[::2] = {b}
{a}[:, 1:] *= {n}
{a}[{k}] = {n}
{a}[{a} > 0.5] = {n}
{a}[{k}] += 1
{a}.flip({i}).add_(1)
{a}.transpose({i}, {j}).mul_({b})
{a}.diagonal().fill_({n})
{a}.diagonal().add_({b})
{a}.view(-1)[1:].add_({n})
{a}.narrow({i}, 1, 1).copy_({b})
{a}.unsqueeze(0).mul_({n})
{a}.t_()
{a}.unsqueeze_({i})
{a}.squeeze_()
{a}.real.add_(1)
{a}.imag.mul_(2)
{a}.tril_()
{a}.swapaxes_({i}, {j})
{a}.cumsum_({i})
{a}.lerp_({b}, 0.5)
{a}.addcmul_({b}, {c})
{a}.where({a} > 0, {b}).add_(1)
torch.add({a}, {b}, out={c})
torch.maximum({a}, {b}, out={c})
torch.sum({a}, {i}, out={c})
{a}.unfold({i}, 2, 2).add_(1)
{a}.as_strided((2,), (1,)).mul_(3)
{a}.split(1, {i})[0].sub_({n})
{a}.renorm_(2, {i}, 1.0)
{a}.erfinv_()
{a}.pow_({p})
{a}.sign_()
{a}.div_({b}, rounding_mode="floor")
"""

ELEMENTS = """
{a} + {b}
{a} - {b}
{a} * {b}
{a} / {b}
{a} + {n}
{n} - {a}
{a} * {n}
{n} / {a}
{a} // {n}
{a} // {b}
{a} % {n}
{a} % {b}
torch.fmod({a}, {b})
torch.fmod({a}, {n})
torch.remainder({n}, {a})
torch.div({a}, {b}, rounding_mode="trunc")
torch.div({a}, {b}, rounding_mode="floor")
torch.div({a}, {n}, rounding_mode="floor")
{a} ** {p}
{a} ** {b}
2 ** {a}
torch.float_power({a}, {b})
torch.maximum({a}, {b})
torch.minimum({a}, {b})
torch.fmax({a}, {b})
torch.fmin({a}, {b})
torch.clamp({a}, {b}, {c})
torch.clamp({a}, {n})
torch.clamp({a}, max={n})
torch.clamp({a}, 1, -1)
torch.nan_to_num({a})
torch.nan_to_num({a}, 1.0, 2.0, -3.0)
torch.round({a})
torch.round({a}, decimals=1)
torch.floor({a})
torch.ceil({a})
torch.trunc({a})
torch.frac({a})
torch.sign({a})
torch.sgn({a})
torch.signbit({a})
torch.abs({a})
torch.angle({a})
torch.neg({a})
torch.exp({a})
torch.log({a})
torch.log1p({a})
torch.expm1({a})
torch.sqrt({a})
torch.rsqrt({a})
torch.reciprocal({a})
torch.square({a})
torch.sin({a})
torch.tan({a})
torch.atan({a})
torch.atan2({a}, {b})
torch.tanh({a})
torch.sigmoid({a})
torch.asin({a})
torch.acosh({a})
torch.erf({a})
torch.erfc({a})
torch.lgamma({a})
torch.digamma({a})
torch.hypot({a}, {b})
torch.copysign({a}, {b})
torch.nextafter({a}, {b})
torch.ldexp({a}, {b})
torch.frexp({a}).mantissa
torch.frexp({a}).exponent
torch.logaddexp({a}, {b})
torch.logaddexp2({a}, {b})
torch.xlogy({a}, {b})
torch.xlogy({n}, {a})
torch.special.xlog1py({a}, {b})
torch.special.entr({a})
torch.special.ndtr({a})
torch.special.i0({a})
torch.sinc({a})
torch.logit({a}, 1e-3)
torch.heaviside({a}, {b})
torch.gcd({a}, {b})
torch.lcm({a}, {b})
torch.lerp({a}, {b}, 0.25)
torch.lerp({a}, {b}, {c})
torch.addcdiv({a}, {b}, {c}, value=2)
torch.addcmul({a}, {b}, {c}, value=2)
torch.where({a} > {b}, {a}, {b})
torch.where({a} > 0, {n}, {b})
torch.where({a}.bool(), {b}, {c})
{a} == {b}
{a} < {b}
{a} >= {n}
{a} != {n}
{a} & {b}
{a} | {b}
{a} ^ {b}
~{a}
{a} << {b}
{a} >> {b}
{a} << {p}
{a} >> {p}
torch.logical_xor({a}, {b})
torch.logical_and({a}, {b})
torch.isnan({a})
torch.isinf({a})
torch.isfinite({a})
torch.isposinf({a})
torch.isreal({a})
torch.isclose({a}, {b})
torch.isin({a}, {b})
torch.complex({a}, {b})
torch.polar({a}, {b})
{a}.to({t})
{a}.double()
{a}.long()
{a}.bool()
{a}.to(torch.complex128)
{a}.type_as({b})
F.relu({a})
F.gelu({a})
F.gelu({a}, approximate="tanh")
F.silu({a})
F.elu({a})
F.selu({a})
F.celu({a})
F.leaky_relu({a}, 0.1)
F.softplus({a})
F.softsign({a})
F.hardtanh({a})
F.hardswish({a})
F.hardsigmoid({a})
F.mish({a})
F.relu6({a})
F.threshold({a}, 0.5, 2.0)
F.softshrink({a})
F.hardshrink({a})
F.logsigmoid({a})
torch.bitwise_left_shift({a}, {s})
torch.rad2deg({a})
torch.fake_quantize_per_tensor_affine({a}, 0.1, 0, -8, 7)
"""

REDUCTIONS = """
{a}.sum()
{a}.sum({i})
{a}.sum({i}, keepdim=True)
{a}.sum(dtype=torch.float64)
{a}.mean({i})
{a}.prod({i})
{a}.prod()
{a}.amax({i})
{a}.amin({i}, keepdim=True)
{a}.max({i})[0]
{a}.max({i})[1]
{a}.min({i})[0]
{a}.min({i})[1]
{a}.max()
{a}.min()
{a}.argmax({i})
{a}.argmin({i})
{a}.argmax()
{a}.aminmax(dim={i})[1]
{a}.any({i})
{a}.all({i})
{a}.all()
{a}.std({i})
{a}.var({i}, unbiased=False)
{a}.norm()
torch.linalg.vector_norm({a}, 1, {i})
torch.linalg.vector_norm({a}, float("inf"))
torch.linalg.vector_norm({a}, 0)
torch.linalg.vector_norm({a}, 3, {i})
torch.logsumexp({a}, {i})
torch.softmax({a}, {i})
torch.log_softmax({a}, {i})
torch.cumsum({a}, {i})
torch.cumprod({a}, {i})
torch.cummax({a}, {i})[0]
torch.cummin({a}, {i})[1]
torch.logcumsumexp({a}, {i})
torch.median({a}, {i})[0]
torch.median({a})
torch.nanmedian({a}, {i})[0]
torch.nansum({a}, {i})
torch.nanmean({a}, {i})
torch.quantile({a}, 0.3, {i})
torch.nanquantile({a}, 0.5, {i})
torch.mode({a}, {i})[0]
torch.sort({a}, {i})[0]
torch.sort({a}, {i}, stable=True)[1]
torch.sort({a}, {i}, descending=True, stable=True)[1]
torch.sort({a}, {i}, descending=True)[0]
torch.argsort({a}, {i}, stable=True)
torch.topk({a}, 2, {i})[0]
torch.topk({a}, 1, {i}, largest=False)[0]
torch.kthvalue({a}, 2, {i})[0]
torch.count_nonzero({a}, {i})
torch.diff({a}, dim={i})
torch.trapezoid({a}, dim={i})
torch.cov({a})
torch.histc({a}, 4, -2, 2)
torch.bincount({a}.reshape(-1).abs(), minlength=8)[:8]
torch.dist({a}, {b})
torch.renorm({a}, 2, {i}, 1.0)
torch.var_mean({a}, {i})[1]
torch.std_mean({a})[0]
torch.trace({a})
torch.unique_consecutive({a}).sum()
"""

PLACES = """
torch.gather({a}, {i}, ({b} > 0).long())
torch.index_select({a}, {i}, {k})
torch.take({a}, {k})
torch.take_along_dim({a}, {a}.argsort({i}, stable=True), {i})
{a}[{k}]
{a}[:, {k}]
{a}[..., {k}, None]
{a}[{k}, {k}]
{a}[-1]
{a}[{b}.long().clamp(0, 1)]
torch.masked_fill({a}, {b} > 0, {n})
torch.index_fill({a}, {i}, {k}, {n})
torch.index_add({a}, {i}, {k}, {b})
torch.scatter({a}, {i}, ({b} > 0).long(), {b})
torch.scatter_add({a}, {i}, ({b} > 0).long(), {b})
torch.scatter_reduce({a}, {i}, ({b} > 0).long(), {b}, "amin", include_self={o})
torch.scatter_reduce({a}, {i}, ({b} > 0).long(), {b}, "mean", include_self={o})
torch.scatter_reduce({a}, {i}, ({b} > 0).long(), {b}, "prod", include_self={o})
torch.index_reduce({a}, {i}, {k}, {b}, "amax")
torch.select_scatter({a}, {b}, {i}, 0)
torch.slice_scatter({a}, {b}, {i}, 0, 2)
torch.diagonal_scatter({a}, {b})
torch.as_strided_scatter({a}, {b}, (2,), (1,))
torch.index_put({a}, ({k},), {b}, accumulate={o})
torch.masked_scatter({a}, {a} > 0, {b})
torch.tril({a})
torch.triu({a}, {s})
torch.roll({a}, {s}, {i})
torch.roll({a}, 1)
torch.rot90({a}, {p})
torch.fliplr({a})
{a}.repeat(2, *[1] * {a}.dim())
{a}.repeat_interleave(2, {i})
torch.cat([{a}, {b}], {i})
torch.cat([{a}, {a}, {b}], {i})
torch.stack([{a}, {b}], {i})
torch.hstack([{a}, {b}])
torch.broadcast_tensors({a}, {b})[0]
torch.meshgrid({a}.reshape(-1)[:3], {b}.reshape(-1)[:2], indexing="ij")[0]
torch.block_diag({a}, {b})
F.pad({a}, (1, 2))
F.pad({a}, (-1, 1), value=2.0)
F.pad({a}, (1, 1), mode="reflect")
F.pad({a}, (1, 1), mode="circular")
F.pad({a}, (1, 1), mode="replicate")
torch.searchsorted({a}.reshape(-1).sort()[0], {b}.contiguous())
torch.bucketize({a}, torch.tensor([-1.0, 0.0, 1.5]), right={o})
F.one_hot({a}.long().clamp(0, 3), 4)
torch.diag({a})
torch.diag_embed({a})
torch.combinations({a}.reshape(-1)[:3])
torch.tensor_split({a}, 2)[0]
torch.zeros_like({a})
torch.full_like({a}, {n})
{a}.new_ones(2, 3)
torch.arange({a}.numel()) + {a}.reshape(-1)
torch.ones(2, 3, dtype={t})
torch.empty_like({a}).copy_({b})
torch.vander({a})
torch.tril_indices(3, 3)[0] * {a}
"""

PRODUCTS = """
{a} @ {b}
{a} @ {a}.mT
torch.outer({a}, {b})
torch.dot({a}, {b})
torch.vdot({a}, {b})
torch.inner({a}, {b})
torch.kron({a}, {b})
torch.cross({a}, {b}, dim={i})
torch.einsum("...i,...i->...", {a}, {b})
torch.einsum("i...,j...->ij", {a}, {b})
torch.tensordot({a}, {b}, 1)
torch.addmm({a}, {b}, {c}, beta=0.5, alpha=2)
torch.addmm({a}, {b}, {b}.t(), beta=0)
torch.baddbmm({a}, {b}, {b}.mT)
torch.addmv({a}, {b}, {c})
torch.addr({a}, {b}, {c})
torch.cdist({a}, {b})
torch.linalg.multi_dot([{a}, {b}])
torch.matrix_power({a}, {p})
F.linear({a}, {b})
F.layer_norm({a}, {a}.shape[-1:])
F.normalize({a}, dim={i})
F.cosine_similarity({a}, {b}, dim={i})
F.conv1d({a}, torch.ones(2, {a}.shape[1], 2, dtype={a}.dtype), padding=1)
F.avg_pool1d({a}, 2, 1, 1)
F.max_pool1d({a}, 2, 1)
F.max_pool2d({a}, 2, 1, 1)
F.avg_pool2d({a}, 2, 1, 1, count_include_pad=False)
F.adaptive_avg_pool1d({a}, 2)
F.interpolate({a}, scale_factor=2)
F.interpolate({a}, size=5, mode="linear")
F.mse_loss({a}, {b})
F.huber_loss({a}, {b})
F.smooth_l1_loss({a}, {b}, reduction="none")
F.binary_cross_entropy_with_logits({a}, {b}.sigmoid())
F.cross_entropy({a}, {k}[:1].expand({a}.shape[0]))
F.kl_div({a}, {b}, reduction="sum")
F.glu({a}, {i})
F.group_norm({a}, 1)
F.embedding({a}.long().clamp(0, 1), {b})
torch.fft.fft({a})
torch.fft.rfft({a}, dim={i})
torch.fft.ifft({a}, norm="ortho")
torch.linalg.det({a})
torch.clone({a}).fill_diagonal_({n})
"""

LINES = {name: [line for line in text.splitlines() if line] for name, text in (
    ("views", VIEWS), ("writes", WRITES), ("elements", ELEMENTS), ("reductions", REDUCTIONS), ("places", PLACES),
    ("products", PRODUCTS), ("layers", LAYERS))}
