#!/usr/bin/env python3
"""Compares training steps of well-known models by remat with those of PyTorch and torch.compile.

A step computes the loss and all gradients of a model of torchvision, transformers, timm or diffusers in its default
form, with random weights: in eager mode, by `torch.compile(model)`, and with `backend="remat"`. Each variant has a
process of its own, and they step in turn. Times are the medians of their CPU times, which a busy machine changes less.
Peaks are the bytes beyond parameters and inputs, gradients included. The last columns are those of remat as a share of
the better variant of PyTorch: time of the faster one, bytes of the smaller one.

Exit status 1 if a loss or the norm of the gradients is not PyTorch's, where the model draws no random numbers. Needs
torch, torchvision, transformers, timm, diffusers, and a C++ compiler for Inductor.
"""
import argparse, json, multiprocessing, statistics, sys, time

import torch

import remat
import remat.torch
from allocator_peak import allocator_peak

VARIANTS = ("eager", "compile", "remat")


def convolutions(width_in, width_out, norm):
    layers = []
    for width in (width_in, width_out):
        layers += [torch.nn.Conv2d(width, width_out, 3, padding=1, bias=False), norm(width_out), torch.nn.ReLU(True)]
    return torch.nn.Sequential(*layers)


class UNet(torch.nn.Module):
    """The U-Net of Ronneberger et al. (2015) with padding, and with a norm behind each convolution."""

    def __init__(self, norm, classes=8, widths=(32, 64, 128, 256)):
        super().__init__()
        nn = torch.nn
        self.down = nn.ModuleList(convolutions(*pair, norm) for pair in zip((3,) + widths, widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, 2) for narrow, wide in zip(widths, widths[1:]))
        self.join = nn.ModuleList(convolutions(2 * width, width, norm) for width in widths[:-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else torch.nn.functional.max_pool2d(x, 2))
            skips.append(x)
        for up, join, skip in reversed(list(zip(self.up, self.join, skips))):
            x = join(torch.cat([skip, up(x)], 1))
        return self.head(x)


def segmentation(norm):
    labels = torch.randint(8, (4, 96, 96))
    return UNet(norm), (torch.randn(4, 3, 96, 96),), {}, lambda logits: cross_entropy(logits, labels)


def cross_entropy(logits, labels):
    return torch.nn.functional.cross_entropy(logits.float(), labels)


def classifier(library, name, batch, **options):
    if library == "timm":
        import timm
        model = timm.create_model(name, **options)
    else:
        import torchvision
        model = getattr(torchvision.models, name)(**options)
    labels = torch.randint(1000, (batch,))
    return model, (torch.randn(batch, 3, 224, 224),), {}, lambda logits: cross_entropy(logits, labels)


def language_model(name, batch, length, **options):
    import transformers
    config = getattr(transformers, name[0])(**options)
    tokens = torch.randint(config.vocab_size, (batch, length))
    inputs = {"input_ids": tokens, "labels": tokens}
    if "Bert" not in name[0]:
        inputs["use_cache"] = False
    return getattr(transformers, name[1])(config), (), inputs, lambda outputs: outputs.loss


class Recurrent(torch.nn.Module):
    """A language model of two layers of LSTM, which is unrolled."""

    def __init__(self, tokens=2000, width=256, hidden=512):
        super().__init__()
        self.embedding = torch.nn.Embedding(tokens, width)
        self.layers = torch.nn.LSTM(width, hidden, 2, batch_first=True)
        self.head = torch.nn.Linear(hidden, tokens)

    def forward(self, x):
        return self.head(self.layers(self.embedding(x))[0])


def recurrent(batch, length):
    model = Recurrent()
    labels = torch.randint(model.head.out_features, (batch * length,))
    tokens = torch.randint(model.head.out_features, (batch, length))
    return model, (tokens,), {}, lambda out: cross_entropy(out.flatten(0, 1), labels)


def diffusion():
    from diffusers import UNet2DModel
    model = UNet2DModel(sample_size=32, block_out_channels=(64, 128, 256, 256))
    noise = torch.randn(4, 3, 32, 32)
    inputs = {"sample": torch.randn(4, 3, 32, 32), "timestep": torch.randint(1000, (4,))}
    return model, (), inputs, lambda outputs: torch.nn.functional.mse_loss(outputs.sample.float(), noise)


BERT, GPT2 = ("BertConfig", "BertForMaskedLM"), ("GPT2Config", "GPT2LMHeadModel")
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
# A function that gives a model, its arguments, its keywords, and the loss of its outputs.
MODELS = {
    "unet_gn": lambda: segmentation(lambda width: torch.nn.GroupNorm(8, width)),
    "unet_bn": lambda: segmentation(torch.nn.BatchNorm2d),
    "unet_diffusers": diffusion,
    "resnet18": lambda: classifier("torchvision", "resnet18", 8),
    "resnet50": lambda: classifier("torchvision", "resnet50", 4),
    "mobilenet_v2": lambda: classifier("torchvision", "mobilenet_v2", 8),
    "mobilenet_v3": lambda: classifier("torchvision", "mobilenet_v3_large", 8),
    "convnext": lambda: classifier("torchvision", "convnext_tiny", 4),
    "vit": lambda: classifier("timm", "vit_small_patch16_224", 4),
    "swin": lambda: classifier("torchvision", "swin_t", 4),
    "bert": lambda: language_model(BERT, 4, 128, num_hidden_layers=4),
    "bert_no_dropout": lambda: language_model(BERT, 4, 128, num_hidden_layers=4, **NO_DROPOUT),
    "gpt2": lambda: language_model(GPT2, 2, 256, n_layer=4),
    "gpt2_no_dropout": lambda: language_model(GPT2, 2, 256, n_layer=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
    "llama": lambda: language_model(("LlamaConfig", "LlamaForCausalLM"), 2, 256, hidden_size=512,
                                    intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8,
                                    num_key_value_heads=4),
    "lstm": lambda: recurrent(8, 32),
}


def make(name, dtype="f32"):
    """A model in the type, its arguments, its keywords, and the loss of its outputs."""
    torch.manual_seed(0)
    model, arguments, keywords, loss = MODELS[name]()
    if dtype == "bf16":
        narrow = lambda value: value.bfloat16() if torch.is_tensor(value) and value.is_floating_point() else value
        model, arguments = model.bfloat16(), tuple(map(narrow, arguments))
        keywords = {key: narrow(value) for key, value in keywords.items()}
    return model.train(), arguments, keywords, loss


class Variant:
    """One way to run a model, in a process of its own."""

    def __init__(self, *what):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(other, *what), daemon=True)
        self.process.start()
        other.close()
        self.seconds, self.wall = [], []
        self.facts = self.pipe.recv()

    def run(self):
        self.pipe.send(True)
        seconds, wall = self.pipe.recv()
        self.seconds.append(seconds)
        self.wall.append(wall)

    def close(self):
        self.pipe.send(False)
        self.process.join()


def serve(pipe, name, dtype, variant, threads):
    """The process of a variant: sends its facts, then the times of a step whenever it is asked for one."""
    torch.set_num_threads(threads)
    model, arguments, keywords, loss = make(name, dtype)
    compiled = model
    if variant == "compile":
        compiled = torch.compile(model, dynamic=False)
    elif variant == "remat":
        # Else recurrent layers are those of eager mode, as in the other variants.
        torch._dynamo.config.allow_rnn = True
        compiled = torch.compile(model, dynamic=False, backend="remat", options={"threads": threads})

    def step():
        value = loss(compiled(*arguments, **keywords))
        value.backward()
        return value

    def norm():
        squares = sum(p.grad.double().square().sum() for p in model.parameters() if p.grad is not None)
        return float(squares.sqrt())

    results = []
    for seed in range(2):
        torch.manual_seed(seed)
        model.zero_grad(set_to_none=True)
        results.append((float(step().detach()), norm()))
    model.zero_grad(set_to_none=True)
    # The arena is not of PyTorch's allocator.
    steps = remat.torch.compiled_steps
    arena = sum(step.memory["arena"] for step in steps)
    pipe.send({"results": results, "peak": allocator_peak(step) + arena, "graphs": len(steps)})
    while pipe.recv():
        model.zero_grad(set_to_none=True)
        wall, begin = time.perf_counter(), time.process_time()
        step()
        pipe.send((time.process_time() - begin, time.perf_counter() - wall))


def compare(name, options):
    """A row of the table, and whether the results agree."""
    variants = {variant: Variant(name, options.dtype, variant, options.threads) for variant in options.variants}
    for _ in range(options.rounds):
        for variant in variants.values():
            variant.run()
    row = {"model": name, "dtype": options.dtype, "threads": options.threads}
    for key, variant in variants.items():
        variant.close()
        row[key] = dict(variant.facts, cpu_seconds=statistics.median(variant.seconds),
                        least_cpu_seconds=min(variant.seconds), wall_seconds=statistics.median(variant.wall))
    agrees = True
    first = next(iter(variants.values())).facts["results"]
    if first[0][0] == first[1][0]:
        tolerance = 1e-3 if options.dtype == "f32" else 5e-2
        for variant in variants.values():
            for mine, expected in zip(variant.facts["results"][0], first[0]):
                agrees &= abs(mine - expected) <= tolerance * abs(expected)
    row["agrees"] = agrees
    text = f"{name:16}"
    for variant in options.variants:
        text += f" {1e3 * row[variant]['cpu_seconds']:9.1f} {row[variant]['peak'] / 1e6:8.1f}"
    peers = [row[variant] for variant in options.variants if variant != "remat"]
    if peers and "remat" in row:
        for key in ("cpu_seconds", "peak"):
            text += f" {row['remat'][key] / min(peer[key] for peer in peers):6.2f}"
    print(text + ("" if agrees else f"  the results differ: {[v.facts['results'][0] for v in variants.values()]}"),
          flush=True)
    return row, agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"{', '.join(MODELS)}; all, if none is named")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32", help="type of weights and inputs")
    parser.add_argument("--threads", type=int, default=1, help="threads of each variant (default: 1)")
    parser.add_argument("--rounds", type=int, default=7, help="steps of each variant, one after the other (default: 7)")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="some of " + ",".join(VARIANTS))
    parser.add_argument("--json", metavar="FILE", help="where to write the figures, the least times among them")
    options = parser.parse_args()
    options.variants = options.variants.split(",")
    for kind, given, known in (("model", options.models, MODELS), ("variant", options.variants, VARIANTS)):
        if unknown := set(given) - set(known):
            parser.error(f"unknown {kind} {', '.join(sorted(unknown))}; expected some of {', '.join(known)}")
    head = f"{'CPU ms | peak MB':16}"
    print(head + "".join(f" {variant:>18}" for variant in options.variants) + "   time   peak")
    rows, good = [], True
    for name in options.models or MODELS:
        row, agrees = compare(name, options)
        rows.append(row)
        good &= agrees
        if options.json:
            with open(options.json, "w") as file:
                json.dump(rows, file, indent=2)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
