#!/usr/bin/env python3
"""Models that nobody here wrote, small and with random weights: remat's gradients against the framework's.

For each model, the gradients of remat are compared with those of the framework in f64, which the CPU computes. They may
be as wrong as twice those of the framework in the model's type, f32 or bf16, or under autocast to bf16. Where they are
worse in f32, since rounding can put an element on the other side of a kink, the same model in f64 decides, which must
agree to 1e-8. The measured peak must be the planned one. A line says the errors and both peaks. The exit status is 1 if
any model fails; -v prints where. A model whose library is not installed is skipped. With --device=cuda, the model is on
a GPU, and so is its step.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import functools
import sys
import time

import torch
from common import gradients, rt, widened, worst_error
from zoo_common import Zoo

ZOO = Zoo(__doc__, ("f32", "bf16", "autocast"))
model = ZOO.register  # A function that gives a network and its arguments by name.


def ids(batch, length, vocabulary=64):
    return torch.randint(1, vocabulary, (batch, length))


def language_model(name, class_name, config_class, **config):
    """A causal language model of transformers in its default form."""
    @model(name)
    def build():
        import transformers
        network = getattr(transformers, class_name)(getattr(transformers, config_class)(**config))
        tokens = ids(2, 12, config["vocab_size"])
        return network, {"input_ids": tokens, "labels": tokens, "use_cache": False}


SMALL = dict(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
GROUPED = dict(SMALL, num_key_value_heads=2, max_position_embeddings=64)
language_model("gpt2", "GPT2LMHeadModel", "GPT2Config", vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64,
               resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
language_model("llama", "LlamaForCausalLM", "LlamaConfig", **GROUPED)
language_model("mistral", "MistralForCausalLM", "MistralConfig", **GROUPED)
language_model("qwen2", "Qwen2ForCausalLM", "Qwen2Config", **GROUPED)
language_model("qwen3", "Qwen3ForCausalLM", "Qwen3Config", **dict(GROUPED, head_dim=8))
language_model("gemma", "GemmaForCausalLM", "GemmaConfig", **dict(GROUPED, head_dim=8))
language_model("gemma2", "Gemma2ForCausalLM", "Gemma2Config", **dict(GROUPED, head_dim=8))
language_model("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", **dict(GROUPED, head_dim=8, sliding_window=8))
language_model("mixtral", "MixtralForCausalLM", "MixtralConfig", **dict(GROUPED, num_local_experts=4))
language_model("gpt_oss", "GptOssForCausalLM", "GptOssConfig", **dict(
    GROUPED, head_dim=8, sliding_window=8, num_local_experts=4, num_experts_per_tok=2))
language_model("deepseek_v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", **dict(
    SMALL, num_key_value_heads=4, max_position_embeddings=64, n_routed_experts=4, num_experts_per_tok=2, n_group=2,
    topk_group=1, moe_intermediate_size=16, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=4, qk_nope_head_dim=8,
    v_head_dim=8, first_k_dense_replace=1))
language_model("phi", "PhiForCausalLM", "PhiConfig", **dict(SMALL, max_position_embeddings=64))
language_model("opt", "OPTForCausalLM", "OPTConfig", vocab_size=64, hidden_size=32, ffn_dim=64, num_hidden_layers=2,
               num_attention_heads=4, max_position_embeddings=64, word_embed_proj_dim=32, dropout=0.0)
language_model("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", **dict(SMALL, max_position_embeddings=64))
language_model("bloom", "BloomForCausalLM", "BloomConfig", vocab_size=64, hidden_size=32, n_layer=2, n_head=4,
               hidden_dropout=0.0, attention_dropout=0.0)
language_model("mamba", "MambaForCausalLM", "MambaConfig", vocab_size=64, hidden_size=32, num_hidden_layers=2,
               state_size=8)
language_model("mamba2", "Mamba2ForCausalLM", "Mamba2Config", vocab_size=64, hidden_size=32, num_hidden_layers=2,
               state_size=8, num_heads=8, head_dim=8, n_groups=2, chunk_size=4)
language_model("recurrent_gemma", "RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", vocab_size=64, hidden_size=32,
               intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, attention_window_size=8, lru_width=32)


@model("bert")
def bert():
    from transformers import BertConfig, BertForMaskedLM
    network = BertForMaskedLM(BertConfig(**SMALL, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    tokens = ids(2, 12)
    return network, {"input_ids": tokens, "labels": tokens, "attention_mask": torch.ones_like(tokens)}


@model("distilbert")
def distilbert():
    from transformers import DistilBertConfig, DistilBertForMaskedLM
    network = DistilBertForMaskedLM(DistilBertConfig(vocab_size=64, dim=32, hidden_dim=64, n_layers=2, n_heads=4,
                                                     dropout=0.0, attention_dropout=0.0))
    tokens = ids(2, 12)
    return network, {"input_ids": tokens, "labels": tokens}


@model("deberta_v2")
def deberta():
    from transformers import DebertaV2Config, DebertaV2ForMaskedLM
    network = DebertaV2ForMaskedLM(DebertaV2Config(
        **SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"], hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, max_position_embeddings=64))
    tokens = ids(2, 12)
    return network, {"input_ids": tokens, "labels": tokens}


@model("t5")
def t5():
    from transformers import T5Config, T5ForConditionalGeneration
    network = T5ForConditionalGeneration(T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2,
                                                  num_heads=4, dropout_rate=0.0, decoder_start_token_id=0))
    tokens = ids(2, 10)
    return network, {"input_ids": tokens, "labels": tokens, "use_cache": False}


@model("whisper")
def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    network = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=20,
        max_target_positions=20, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        dropout=0.0))
    return network, {"input_features": torch.randn(2, 16, 40), "labels": ids(2, 8), "use_cache": False}


@model("vit")
def vit():
    from transformers import ViTConfig, ViTForImageClassification
    network = ViTForImageClassification(ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                                  intermediate_size=64, image_size=32, patch_size=8, num_labels=5))
    return network, {"pixel_values": torch.randn(2, 3, 32, 32), "labels": torch.tensor([0, 4])}


@model("beit")
def beit():
    from transformers import BeitConfig, BeitForImageClassification
    network = BeitForImageClassification(BeitConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8,
        num_labels=5, use_relative_position_bias=True, drop_path_rate=0.0))
    return network, {"pixel_values": torch.randn(2, 3, 32, 32), "labels": torch.tensor([0, 4])}


@model("clip")
def clip():
    from transformers import CLIPConfig, CLIPModel, CLIPTextConfig, CLIPVisionConfig
    text = CLIPTextConfig(**SMALL, max_position_embeddings=16, eos_token_id=2)
    vision = CLIPVisionConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                              image_size=32, patch_size=8)
    network = CLIPModel(CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=16))
    return network, {"input_ids": ids(3, 8), "pixel_values": torch.randn(3, 3, 32, 32), "return_loss": True}


@model("wav2vec2")
def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2Model
    network = Wav2Vec2Model(Wav2Vec2Config(
        **SMALL, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4, mask_time_prob=0.0, layerdrop=0.0, hidden_dropout=0.0,
        attention_dropout=0.0, feat_proj_dropout=0.0, activation_dropout=0.0))
    return network, {"input_values": torch.randn(2, 400)}


def vision(name, size, factory=None, **options):
    @model(name)
    def build():
        import torchvision
        network = getattr(torchvision.models, factory or name)(weights=None, **options)
        for layer in network.modules():  # Masks of remat and PyTorch differ.
            if isinstance(layer, (torch.nn.Dropout, torchvision.ops.StochasticDepth)):
                layer.p = 0.0
        return network, {"x": torch.randn(2, 3, size, size)}


vision("resnet18", 64)
vision("resnet50", 64)
vision("mobilenet_v2", 64)
vision("mobilenet_v3_small", 64)
vision("efficientnet_b0", 64)
vision("densenet121", 64)
vision("convnext_tiny", 64)
vision("swin_t", 64)
vision("vit_b_16", 32, image_size=32)
vision("vgg11_bn", 64)
vision("squeezenet1_1", 64)
vision("shufflenet_v2_x1_0", 64)
vision("regnet_y_400mf", 64)
vision("googlenet", 64, init_weights=False, aux_logits=False)
vision("mnasnet1_0", 64)
vision("alexnet", 96)


@model("maxvit")
def maxvit():
    import torchvision
    return torchvision.models.MaxVit(
        input_size=(32, 32), stem_channels=8, partition_size=2, block_channels=[8, 16], block_layers=[1, 1], head_dim=4,
        stochastic_depth_prob=0.0, num_classes=5), {"x": torch.randn(2, 3, 32, 32)}


@model("fcn_resnet50")
def fcn():
    import torchvision
    network = torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=4)
    network.classifier[3].p = 0.0
    return network, {"x": torch.randn(1, 3, 48, 48)}


@model("r3d_18")
def video():
    import torchvision
    return torchvision.models.video.r3d_18(weights=None), {"x": torch.randn(1, 3, 4, 32, 32)}


class First(torch.nn.Module):
    """Drops the state of a recurrent layer."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


@model("lstm")
def lstm():
    return First(torch.nn.LSTM(8, 12, 2, batch_first=True)), {"x": torch.randn(3, 10, 8)}


@model("gru_bidirectional")
def gru():
    return First(torch.nn.GRU(8, 12, bidirectional=True, batch_first=True)), {"x": torch.randn(3, 10, 8)}


@model("transformer")
def transformer():
    network = torch.nn.Transformer(16, 4, 2, 2, 32, dropout=0.0, batch_first=True)
    return network, {"src": torch.randn(2, 6, 16), "tgt": torch.randn(2, 5, 16)}


class GraphConvolution(torch.nn.Module):
    """Messages along edges, summed where they arrive, as graph libraries write it."""

    def __init__(self):
        super().__init__()
        self.message, self.update = torch.nn.Linear(16, 8), torch.nn.Linear(16, 8)
        self.out = torch.nn.Linear(8, 3)

    def forward(self, x, edges):
        for _ in range(2):
            source, target = edges
            message = self.message(torch.cat([x[source], x[target]], 1)).relu()
            total = x.new_zeros(x.shape).index_add_(0, target, message)
            degree = x.new_zeros(x.shape[0]).scatter_add_(0, target, x.new_ones(target.shape[0]))
            x = self.update(torch.cat([x, total / degree.clamp(min=1)[:, None]], 1)).tanh()
        return self.out(x)


@model("gnn")
def gnn():
    return GraphConvolution(), {"x": torch.randn(12, 8), "edges": torch.randint(0, 12, (2, 40))}


@model("unet_diffusers")
def unet():
    from diffusers import UNet2DModel
    network = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, block_out_channels=(16, 32), norm_num_groups=8,
                          layers_per_block=1, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                          up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8)
    return network, {"sample": torch.randn(1, 3, 16, 16), "timestep": torch.tensor([3])}


@model("unet_1d")
def unet_1d():
    from diffusers import UNet1DModel
    network = UNet1DModel(
        block_out_channels=(16, 32), in_channels=4, out_channels=4, time_embedding_type="positional", act_fn="mish",
        freq_shift=1, use_timestep_embedding=True, flip_sin_to_cos=False, layers_per_block=1, norm_num_groups=8,
        down_block_types=("DownResnetBlock1D",) * 2, up_block_types=("UpResnetBlock1D",),
        mid_block_type="MidResTemporalBlock1D", out_block_type="OutConv1DBlock")
    return network, {"sample": torch.randn(1, 4, 16), "timestep": torch.tensor([3])}


@model("pixart")
def pixart():
    from diffusers import PixArtTransformer2DModel
    network = PixArtTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, num_layers=2, sample_size=8, patch_size=2,
        cross_attention_dim=16, caption_channels=12, norm_num_groups=8, use_additional_conditions=False)
    return network, {"hidden_states": torch.randn(2, 4, 8, 8), "encoder_hidden_states": torch.randn(2, 5, 12),
                     "timestep": torch.tensor([1, 5]),
                     "added_cond_kwargs": {"resolution": None, "aspect_ratio": None}}


class AutoEncoder(torch.nn.Module):
    """Encodes and decodes without drawing numbers."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        posterior = self.network.encode(x).latent_dist
        return self.network.decode(posterior.mean + posterior.std).sample


@model("vae_diffusers")
def vae():
    from diffusers import AutoencoderKL
    return AutoEncoder(AutoencoderKL(
        block_out_channels=(16, 32), norm_num_groups=8, latent_channels=2, sample_size=16,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)), {
            "x": torch.randn(1, 3, 16, 16)}


def image_model(name, class_name, size=32, **options):
    """A model of timm."""
    @model("timm_" + name)
    def build():
        import timm
        network = timm.create_model(class_name, pretrained=False, num_classes=5, **options)
        return network, {"x": torch.randn(2, 3, size, size)}


image_model("vit", "vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, embed_dim=32, num_heads=4)
image_model("resnet10t", "resnet10t", 64)
image_model("convnext", "convnext_atto", depths=(1, 1, 1, 1), dims=(8, 16, 24, 32))


def moved(inputs, device):
    return torch.utils._pytree.tree_map(lambda v: v.to(device) if isinstance(v, torch.Tensor) else v, inputs)


def on_host(found):
    return {name: gradient if gradient is None else gradient.cpu() for name, gradient in found.items()}


def wide_error(network, inputs, exact, budget):
    torch._dynamo.reset()
    compiled = torch.compile(network, backend="remat", dynamic=False, options={"budget": budget, "effort": 0.2})
    _, found = gradients(network, compiled, (), {k: widened(v) for k, v in inputs.items()})
    return worst_error(on_host(found), exact)[0]


def narrowed(value):
    return value.bfloat16() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def autocasting(function, device):
    """The function under autocast to bf16, as training loops call a model."""
    def called(**inputs):
        with torch.autocast(device, torch.bfloat16):
            return function(**inputs)
    return called


def run(name, make, options):
    torch.manual_seed(0)
    network, inputs = make()
    for parameter in network.parameters():
        if parameter.dim() > 1 and not parameter.any():  # Its gradients would be zeros, too.
            torch.nn.init.normal_(parameter, std=0.02)
    is_narrow = options.dtype != "f32"
    if options.dtype == "bf16":
        network, inputs = network.bfloat16(), {k: narrowed(v) for k, v in inputs.items()}
    wide = copy.deepcopy(network).double()
    if hasattr(getattr(wide, "config", None), "_experts_implementation"):
        wide.set_experts_implementation("eager")  # PyTorch has no grouped products of f64.
    exact_loss, exact = gradients(wide, wide, (), {k: widened(v) for k, v in inputs.items()})
    network, inputs = network.to(options.device), moved(inputs, options.device)
    torch.backends.cudnn.allow_tf32 = False
    own_model = copy.deepcopy(network)
    run_of = functools.partial(autocasting, device=options.device) if options.dtype == "autocast" else lambda f: f
    # In bf16, oneDNN's recurrent layers keep more digits between operations than PyTorch's own, which remat takes.
    with torch.backends.mkldnn.flags(enabled=not is_narrow):
        own_loss, own = gradients(own_model, run_of(own_model), (), inputs)
    own = on_host(own)
    torch._dynamo.reset()
    torch._dynamo.config.allow_rnn = True
    rt.compiled_steps.clear()
    start = time.time()
    compiled = torch.compile(network, backend="remat", dynamic=False, options={"budget": options.budget, "effort": 0.2})
    loss, found = gradients(network, run_of(compiled), (), inputs)
    found = on_host(found)
    seconds = time.time() - start
    # Smaller gradients than this share, such as those of the biases of attention's keys, are the noise of the type.
    share = 1e-2 if is_narrow else 1e-4
    error, where = worst_error(found, exact, share)
    allowed = max(2 * worst_error(own, exact, share)[0], 1e-3 if is_narrow else 1e-5)
    steps = list(rt.compiled_steps)
    note = ""
    if error > allowed and not is_narrow:
        error, allowed, note = wide_error(copy.deepcopy(wide).to(options.device), inputs, exact,
                                                options.budget), 1e-8, " in f64"
    peaks = [step.memory for step in steps]
    # One number may be right by luck, so it may be wrong by the last place of its type.
    difference = (2 ** -8 if is_narrow else 1e-4) * max(1.0, abs(exact_loss))
    if is_narrow:
        difference = max(difference, 2 * abs(own_loss - exact_loss))
    planned, measured, most = (sum(p[key] for p in peaks) for key in ("planned", "measured", "save_all"))
    good = error <= allowed and abs(loss - exact_loss) <= difference and measured == planned
    print("%s %-22s error %.1e of %.1e allowed%s (%s), loss %.6g, %d graphs, planned %d, measured %d of %d, %.0f s" % (
        "ok  " if good else "BAD ", name, error, allowed, note, where, loss, len(peaks), planned, measured, most,
        seconds), flush=True)
    return good


if __name__ == "__main__":
    sys.exit(ZOO.run(run))
