#!/usr/bin/env python3
"""Plans the joint graphs of models of timm and transformers and compares their memory with PyTorch's.

usage: joint_graphs.py BIN [--models=NAME,...] [--overhead=12] [--steps=5] [--effort=2 | --time-limit=SECONDS]
                       [--directory=DIR] [--json=FILE]

BIN is the folder with remat-plan. Each model is made with random weights, and its training step (cross entropy of the
logits, gradients of all parameters) is exported and planned without a budget, for the smallest arena that a plan is
found for, and between the two in STEPS bisections for the smallest one that costs at most OVERHEAD percent more time.
Besides, the step does its batch in 2, 4, 8 ... parts (--split-batch), each with nothing recomputed, and the smallest
arena counts whose step takes at most OVERHEAD percent more time; where rows of the batch depend on each other, as those
of a batch norm do, there is none.

PyTorch's peak is that of its unfused ATen graph of the same step, in the order in which eager execution makes it: a
storage lives from the op that makes it to the last op that reads it or a view of it. Neither side counts parameters,
inputs and results (the loss and the gradients), nor workspaces that libraries take inside of one op. remat's arena is
of fused tasks, so that a part of what PyTorch saves needs no recomputation: the column `no budget` has it.

A cell has the arena, as what it adds to PyTorch's peak, and the planned time of the step, as what it adds to that of
remat's step that keeps everything and does the whole batch at once. The column behind them has the longest time until a
first plan was there. DIR keeps the exported models, and those that are there are not exported again; without it they
are thrown away.

Exit status 1 if the tool fails on a model. Needs torch, timm and transformers.
"""
import itertools, json, math, os, statistics, subprocess, sys, tempfile

INFEASIBLE_EXIT = 3


def image_model(name, size=224, batch=64):
    def make():
        import timm, torch
        images, targets = torch.randn(batch, 3, size, size), torch.randint(1000, (batch,))
        return timm.create_model(name, num_classes=1000), images, targets
    return make


def language_model(kind, batch=16, length=512, **config):
    def make():
        import torch, transformers
        settings = getattr(transformers, kind + "Config")(use_cache=False, bos_token_id=0, eos_token_id=0, **config)
        suffix = {"GPT2": "LMHeadModel", "Llama": "ForCausalLM", "OPT": "ForCausalLM"}.get(kind, "ForMaskedLM")
        model = getattr(transformers, kind + suffix)(settings)
        return model, *(torch.randint(settings.vocab_size, (batch, length)) for _ in range(2))
    return make


SMALL = {"vocab_size": 8192}
MODELS = {name: image_model(name) for name in (
    "resnet18", "resnet50", "mobilenetv3_large_100", "efficientnet_b0", "densenet121", "regnety_008", "convnext_tiny",
    "vit_tiny_patch16_224", "vit_small_patch16_224", "deit_tiny_patch16_224", "swin_tiny_patch4_window7_224",
    "mixer_s32_224", "vgg11")}
MODELS |= {
    "bert": language_model("Bert", **SMALL),
    "distilbert": language_model("DistilBert", **SMALL),
    "roberta": language_model("Roberta", **SMALL),
    "electra": language_model("Electra", **SMALL),
    "gpt2": language_model("GPT2", **SMALL),
    "opt": language_model("OPT", hidden_size=512, ffn_dim=2048, num_hidden_layers=8, num_attention_heads=8,
                          word_embed_proj_dim=512, **SMALL),
    "llama": language_model("Llama", hidden_size=512, intermediate_size=1408, num_hidden_layers=8,
                            num_attention_heads=8, **SMALL)}


def with_loss(model):
    """The model as a function of its input and the targets, whose output is the loss."""
    import torch

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, inputs, targets):
            outputs = self.model(inputs)
            logits = outputs if isinstance(outputs, torch.Tensor) else outputs.logits
            return torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())

    return Step().train()


def eager_peak(model, args):
    """Bytes of PyTorch's joint graph in its own order, without arguments and results."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())

    def step(parameters, buffers, args):
        value = torch.func.functional_call(model, (parameters, buffers), args)
        return value, torch.autograd.grad(value, list(parameters.values()), allow_unused=True)

    graph = make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)(parameters, buffers, args).graph
    graph.eliminate_dead_code()

    def storages(node):
        tensors = torch.utils._pytree.tree_leaves(node.meta.get("val"))
        buffers = [tensor.untyped_storage() for tensor in tensors if isinstance(tensor, torch.Tensor)]
        return {buffer._cdata: buffer.nbytes() for buffer in buffers}

    lives, elsewhere = {}, set()
    for at, node in enumerate(graph.nodes):
        if node.op == "output":
            for result in node.all_input_nodes:
                elsewhere.update(storages(result))
        elif node.op != "call_function":
            elsewhere.update(storages(node))
        else:
            for storage, size in storages(node).items():
                lives.setdefault(storage, [at, at, size])
            for read in (node, *node.all_input_nodes):
                for storage in storages(read):
                    if storage in lives:
                        lives[storage][1] = at
    change = [0] * (len(graph.nodes) + 1)
    for storage, (begin, end, size) in lives.items():
        if storage not in elsewhere:
            change[begin] += size
            change[end + 1] -= size
    return max(itertools.accumulate(change))


def export(name, directory):
    """Writes NAME.mlir and NAME.json, in a process of its own: weights take memory until it ends."""
    if os.path.exists(os.path.join(directory, name + ".json")):
        return
    pid = os.fork()
    if pid:
        if os.waitpid(pid, 0)[1]:
            raise RuntimeError("could not be exported")
        return
    status = 1
    try:
        import torch, remat.torch
        torch.manual_seed(0)
        model, *args = MODELS[name]()
        model = with_loss(model)
        peak = eager_peak(model, tuple(args))
        exported = remat.torch.export(model, tuple(args))
        with open(os.path.join(directory, name + ".mlir"), "w") as file:
            file.write(exported.text)
        with open(os.path.join(directory, name + ".json"), "w") as file:
            json.dump(exported.manifest(name + ".mlir", name + ".safetensors") | {"eager_peak_bytes": peak}, file)
        status = 0
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(status)


class NoParts(Exception):
    """Rows of the batch depend on each other."""


def plan(tool, name, directory, *options):
    """The report, also where there is no plan."""
    path = os.path.join(directory, name)
    report = path + ".report"
    process = subprocess.run([tool, path + ".mlir", "--manifest=" + path + ".json", "--json=" + report, *options],
                             capture_output=True, text=True)
    if "expected rows that do not depend on each other" in process.stderr:
        raise NoParts
    if process.returncode not in (0, INFEASIBLE_EXIT):
        raise RuntimeError((process.stderr.strip().splitlines() or ["no message"])[-1])
    return json.load(open(report))


def measure_parts(cell, overhead, batch):
    """The smallest arena of a batch in parts, or nothing."""
    best = None
    for parts in (1 << n for n in range(1, batch.bit_length())):
        try:
            found = cell(f"--split-batch={parts}") | {"parts": parts}
        except NoParts:
            return None
        if found["tdi_percent"] <= overhead and (not best or found["arena_bytes"] < best["arena_bytes"]):
            best = found
    return best


def measure(tool, name, directory, overhead, steps, limit):
    manifest = json.load(open(os.path.join(directory, name + ".json")))
    peak = manifest["eager_peak_bytes"]
    batch = next(argument["shape"][0] for argument in manifest["args"] if argument["role"] == "data")
    row = {"model": name, "eager_peak_bytes": peak, "first_plan_seconds": 0.0}

    def cell(*options):
        report = plan(tool, name, directory, *options)
        if not report["valid"]:
            return None
        row.setdefault("ops", report["ops"])
        whole = row.setdefault("whole_time", report["time"])
        row["first_plan_seconds"] = max(row["first_plan_seconds"], report["first_plan_seconds"])
        keys = ("lower_bound_tdi_percent", "seconds", "arena_bytes")
        return {key: report[key] for key in keys} | {"tdi_percent": 100 * report["time"] / whole - 100,
                                                     "memory_percent": 100 * report["arena_bytes"] / peak - 100}

    row["no_budget"], row["smallest"] = cell(), cell("--budget=min", limit)
    row["parts"] = measure_parts(cell, overhead, batch)
    row["best"] = row["no_budget"]
    if row["smallest"]["tdi_percent"] <= overhead:
        row["best"] = row["smallest"]
        return row
    low = row["smallest"]["arena_bytes"]
    for _ in range(steps):
        middle = math.isqrt(low * row["best"]["arena_bytes"])
        found = cell(f"--budget={middle}", limit)
        if found and found["tdi_percent"] <= overhead:
            row["best"] = found
        else:
            low = middle
    return row


def describe(cell):
    if not cell:
        return "-"
    parts = f" in {cell['parts']}" if "parts" in cell else ""
    return f"{cell['memory_percent']:.1f} % {cell['tdi_percent']:+.2f} %{parts}"


def mean(cells):
    return {key: statistics.mean(cell[key] for cell in cells) for key in ("memory_percent", "tdi_percent")}


def main():
    options = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:] if a.startswith("--"))
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(paths) != 1 or set(options) - {"models", "overhead", "steps", "time-limit", "effort", "directory",
                                            "json"}:
        sys.exit(__doc__)
    names = options.get("models", ",".join(MODELS)).split(",")
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        sys.exit(f"joint_graphs.py: no model '{unknown[0]}'; there are {', '.join(MODELS)}")
    overhead, steps = float(options.get("overhead", "12")), int(options.get("steps", "5"))
    limit = "--effort=" + options.get("effort", "2")
    if "time-limit" in options:
        limit = "--time-limit=" + options["time-limit"]
    tool = os.path.join(paths[0], "remat-plan")
    rows, failed = [], 0
    columns = {"no_budget": "no budget", "best": f"at most +{overhead:g} %", "parts": "the same in parts",
               "smallest": "smallest"}
    print(f"{'model':30} {'tasks':>6} {'PyTorch MB':>10} " + " ".join(f"{title:>22}" for title in columns.values()) +
          " first plan")
    with tempfile.TemporaryDirectory() as scratch:
        directory = options.get("directory", scratch)
        os.makedirs(directory, exist_ok=True)
        for name in names:
            try:
                export(name, directory)
                row = measure(tool, name, directory, overhead, steps, limit)
            except RuntimeError as error:
                print(f"{name:30} {error}", flush=True)
                failed += 1
                continue
            print(f"{name:30} {row['ops']:6} {row['eager_peak_bytes'] / 1e6:10.1f} " +
                  " ".join(f"{describe(row[key]):>22}" for key in columns) +
                  f" {row['first_plan_seconds']:8.2f} s", flush=True)
            rows.append(row)
    if rows:
        print(f"mean of {len(rows)} models: " + "; ".join(
            f"{title} {describe(mean([row[key] for row in rows]))}" for title, key in (
                ("no budget", "no_budget"), (columns["best"], "best"))) + "; the better with parts "
            + describe(mean([min(row["best"], row["parts"] or row["best"], key=lambda cell: cell["arena_bytes"])
                             for row in rows])) +
            f"; slowest first plan {max(row['first_plan_seconds'] for row in rows):.2f} s")
    if "json" in options:
        with open(options["json"], "w") as file:
            json.dump(rows, file, indent=1)
    sys.exit(bool(failed) or not rows)


main()
