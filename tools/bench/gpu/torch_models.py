#!/usr/bin/env python3
"""The models that steps are compared with PyTorch on, as PyTorch modules.

usage: torch_models.py export DIR [MODEL...]       writes DIR/MODEL.mlir and its manifest
       torch_models.py measure MODEL [VARIANT...]  runs steps on the GPU, one line of JSON for each variant

Both need torch, and `export` the package remat. The model `kernels` is all that are bound by memory, one kernel in
each.

The module's parameters are arguments of the exported function, and the manifest says how their elements are made, so
that no weights are stored. Variants are eager, compiled, compiled with a budget for activations, and with a checkpoint
around each block. Each runs in a process of its own, as peak bytes count what a process has allocated. They are
compiled at the same time and measured one after the other.
"""
import json, os, subprocess, sys, time, warnings

BUDGETS = {"compiled": None, "compiled-0.6": 0.6, "compiled-0.3": 0.3}
VARIANTS = ["eager", "checkpointed", *BUDGETS, "compiled-checkpointed"]
KERNEL_VARIANTS = ["eager", "compiled"]
# What a kernel that is bound by memory reads and writes.
KERNEL_BYTES = 1 << 30
WARMUP, RUNS = 3, 20


def define_models():
    """By name: a function that makes the module, the types of its data, and the largest index in each."""
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Attention(nn.Module):

        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                       for part in self.qkv(x).split(width, dim=2))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    class Block(nn.Module):

        def __init__(self, width, heads):
            super().__init__()
            self.before_attention, self.attention = nn.LayerNorm(width), Attention(width, heads)
            self.before_mlp, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(
                4 * width, width)

        def forward(self, x):
            x = x + self.attention(self.before_attention(x))
            return x + self.down(F.gelu(self.up(self.before_mlp(x)), approximate="tanh"))

    class Gpt2(nn.Module):

        def __init__(self, vocabulary, length, width, heads, layers):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
            self.last, self.checkpoints = nn.LayerNorm(width), False

        def forward(self, ids, targets):
            x = self.tokens(ids) + self.positions.weight
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
            logits = self.last(x) @ self.tokens.weight.t()
            return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))

    class Norm(nn.BatchNorm2d):
        """Statistics of the batch alone."""

        def __init__(self, channels):
            super().__init__(channels, track_running_stats=False)

    class Bottleneck(nn.Module):

        def __init__(self, inner, width, stride):
            super().__init__()
            outer = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(inner, width, 1, bias=False), Norm(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, padding=1, bias=False), Norm(width), nn.ReLU(),
                nn.Conv2d(width, outer, 1, bias=False), Norm(outer))
            self.side = nn.Sequential() if inner == outer and stride == 1 else nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), Norm(outer))

        def forward(self, x):
            return F.relu(self.body(x) + self.side(x))

    class ResNet(nn.Module):

        def __init__(self, depths=(3, 4, 6, 3), classes=1000):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), Norm(64), nn.ReLU(),
                                      nn.MaxPool2d(3, 2, padding=1))
            blocks, inner = [], 64
            for stage, depth in enumerate(depths):
                for number in range(depth):
                    stride = 2 if stage > 0 and number == 0 else 1
                    blocks.append(Bottleneck(inner, 64 << stage, stride))
                    inner = 256 << stage
            self.blocks, self.classes, self.checkpoints = nn.ModuleList(blocks), nn.Linear(inner, classes), False

        def forward(self, images, targets):
            x = self.stem(images)
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
            return F.cross_entropy(self.classes(x.mean((2, 3))).float(), targets)

    class Kernel(nn.Module):
        """A function of tensors, of which nothing is differentiated."""

        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, *tensors):
            return self.function(*tensors)

    def kernels(dtype):
        """By name: a function, how many tensors it reads and writes, and the elements of a row of them."""
        found = {"1": (lambda x: x * 2, 1, 1, 4096), "2": (lambda x, y: x + y, 2, 1, 4096),
                 "3": (lambda x, y, z: x * y + z, 3, 1, 4096)}
        for size in 768, 4096:
            found["row_sums_%d" % size] = (lambda x: x.sum(1), 1, 0, size)
            found["column_sums_%d" % size] = (lambda x: x.sum(0), 1, 0, size)
        for size in 768, 1024, 4096:
            found["layernorm_%d" % size] = (lambda x, size=size: F.layer_norm(x, (size,)), 1, 1, size)
        for size in 1024, 4096, 50257:
            found["softmax_%d" % size] = (lambda x: F.softmax(x, -1), 1, 1, size)
        for name, (function, reads, writes, size) in found.items():
            rows = KERNEL_BYTES // ((reads + writes) * size * dtype.itemsize)
            yield "kernel_" + name, (lambda function=function: Kernel(function), dtype,
                                     [(dtype, [rows, size], None)] * reads)

    def ids(batch, length, vocabulary):
        return [(torch.int64, [batch, length], vocabulary)] * 2

    def images(batch, size, classes, dtype):
        return [(dtype, [batch, 3, size, size], None), (torch.int64, [batch], classes)]

    models = {}
    for suffix, dtype in ("", torch.float32), ("_bf16", torch.bfloat16):
        models["gpt2_124m_16" + suffix] = (lambda: Gpt2(50257, 1024, 768, 12, 12), dtype, ids(16, 1024, 50257))
        models["gpt2_small" + suffix] = (lambda: Gpt2(256, 64, 64, 4, 2), dtype, ids(2, 64, 256))
        models["resnet50_256" + suffix] = (lambda: ResNet(), dtype, images(256, 224, 1000, dtype))
        models["resnet_small" + suffix] = (lambda: ResNet((1, 1), 10), dtype, images(2, 32, 10, dtype))
        models.update((name + (suffix or "_f32"), kernel) for name, kernel in kernels(dtype))
    return models


def find_model(name):
    models = define_models()
    if name not in models:
        sys.exit("unknown model '%s', expected one of: %s" % (name, ", ".join(models)))
    return models[name]


def make_fill(name, shape, seed):
    """Scales of norms are near one, biases small, and matrices leave the size of what they multiply."""
    if len(shape) == 1:
        middle = 0.0 if name.endswith("bias") else 1.0
        return {"kind": "uniform", "seed": seed, "lo": middle - 0.1, "hi": middle + 0.1}
    terms = 1
    for size in shape[1:]:
        terms *= size
    bound = (3.0 / terms)**0.5
    return {"kind": "uniform", "seed": seed, "lo": -bound, "hi": bound}


def export(name, directory):
    """Writes the model as `remat.torch.export` gives it, with its gradients and without its weights."""
    import torch
    import remat.torch
    from remat.files import write_files
    make, dtype, data = find_model(name)
    module = make().to(dtype)
    given = [torch.zeros(1, dtype=kind).expand(shape) for kind, shape, _ in data]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the model has no parameters")
        exported = remat.torch.export(module, given)
    manifest = exported.manifest(name, None)
    kinds = iter(data)
    for seed, argument in enumerate(manifest["args"], 1):
        argument.pop("file", None)
        if argument["role"] == "data":
            kind, _, below = next(kinds)
            argument["fill"] = {"kind": "index", "seed": seed, "below": below} if below else \
                {"kind": "uniform", "seed": seed, "lo": -1.0, "hi": 1.0}
        else:
            argument["fill"] = make_fill(argument["name"], argument["shape"], seed)
    if name.startswith("kernel_"):
        with torch.device("meta"):
            tensors = [torch.empty(shape, dtype=kind) for kind, shape, _ in data]
        manifest["moved_bytes"] = sum(tensor.nbytes for tensor in [*tensors, module(*tensors)])
    paths = [os.path.join(directory, name + ending) for ending in (".mlir", ".json")]
    write_files(zip(paths, (exported.text, json.dumps(manifest) + "\n")))
    print("%s: %d arguments" % (name, len(manifest["args"])))


def measure(name, variant):
    """Milliseconds of steps and peak bytes, the parameters and their gradients included."""
    import torch
    make, dtype, data = find_model(name)
    torch.manual_seed(0)
    module = make().to("cuda", dtype)
    if name.startswith("resnet"):
        module = module.to(memory_format=torch.channels_last)
    given = [torch.randint(below, shape, device="cuda") if below else torch.rand(shape, device="cuda", dtype=kind)
             for kind, shape, below in data]
    module.checkpoints = variant.endswith("checkpointed")
    call = module
    if variant.startswith("compiled"):
        budget = BUDGETS.get(variant)
        if budget is not None:
            import torch._functorch.config
            torch._functorch.config.activation_memory_budget = budget
        call = torch.compile(module)

    def step():
        for parameter in module.parameters():
            parameter.grad = None
        result = call(*given)
        if result.requires_grad:
            result.backward()

    for _ in range(WARMUP):
        step()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    print("ready", flush=True)
    sys.stdin.readline()
    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    milliseconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        milliseconds.append((time.perf_counter() - begin) * 1e3)
    return {"model": name, "variant": variant, "torch": torch.__version__, "run_ms": milliseconds,
            "peak_bytes": torch.cuda.max_memory_allocated()}


def measure_all(name, variants):
    """A record for each variant, or the last line of what went wrong."""
    processes = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "measure-one", name, variant],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for variant in variants]
    ready = [process.stdout.readline() for process in processes]
    for variant, process, is_ready in zip(variants, processes, ready):
        out, errors = process.communicate("go\n" if is_ready else None)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        error = (errors.strip().splitlines() or ["status %d" % process.returncode])[-1]
        yield json.loads(lines[-1]) if lines else {"model": name, "variant": variant, "error": error}


def main():
    command, rest = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if command == "export" and rest:
        os.makedirs(rest[0], exist_ok=True)
        for name in rest[1:] or ["gpt2_124m_16_bf16", "resnet50_256_bf16"]:
            for model in [m for m in define_models() if m.startswith("kernel_")] if name == "kernels" else [name]:
                export(model, rest[0])
    elif command == "measure" and rest:
        unknown = [variant for variant in rest[1:] if variant not in VARIANTS]
        if unknown:
            sys.exit("unknown variant '%s', expected one of: %s" % (unknown[0], ", ".join(VARIANTS)))
        variants = KERNEL_VARIANTS if rest[0].startswith("kernel_") else VARIANTS
        for record in measure_all(rest[0], rest[1:] or variants):
            print(json.dumps(record), flush=True)
    elif command == "measure-one" and len(rest) == 2:
        print(json.dumps(measure(*rest)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
