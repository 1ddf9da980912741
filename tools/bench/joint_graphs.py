#!/usr/bin/env python3
"""Plans the joint graphs of models of timm and transformers under several budgets.

usage: joint_graphs.py BIN [--models=NAME,...] [--budgets=60,40,27] [--time-limit=10 | --effort=X]
                       [--directory=DIR] [--json=FILE]

BIN is the folder with remat-plan. Each model is made with random weights, its training step (cross entropy of the
logits, gradients of all parameters) is exported and planned: budgets are percentages of the arena that keeping all
values takes. That has fused tasks and reused buffers already, so it is below what the unfused graph takes, of which
others report percentages; where one task needs most of it, as in the stem of a ResNet, small percentages have no plan.
For each budget the table has the increase of the step's time that is planned, the bound, and when the first plan was
there. The last column is the largest saving of memory that costs at most 12 % more time. DIR keeps the exported models,
and those that are there are not exported again; without it they are thrown away.

Exit status 1 if the tool fails on a model. Needs torch, timm and transformers.
"""
import json, os, subprocess, sys, tempfile

OVERHEAD_PERCENT = 12
INFEASIBLE_EXIT = 3


def image_model(name, size=224, batch=64):
    def make():
        import timm, torch
        return timm.create_model(name, num_classes=1000), (torch.randn(batch, 3, size, size),), (batch, 1000)
    return make


def language_model(kind, batch=16, length=512, **config):
    def make():
        import torch, transformers
        settings = getattr(transformers, kind + "Config")(use_cache=False, bos_token_id=0, eos_token_id=0, **config)
        suffix = {"GPT2": "LMHeadModel", "Llama": "ForCausalLM", "OPT": "ForCausalLM"}.get(kind, "ForMaskedLM")
        model = getattr(transformers, kind + suffix)(settings)
        return model, (torch.randint(settings.vocab_size, (batch, length)),), (batch * length, settings.vocab_size)
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
        model, args, (rows, classes) = MODELS[name]()
        targets = torch.randint(classes, (rows,))

        def loss(outputs):
            logits = outputs if isinstance(outputs, torch.Tensor) else outputs.logits
            return torch.nn.functional.cross_entropy(logits.reshape(rows, classes), targets)

        exported = remat.torch.export(model.train(), args, loss=loss)
        with open(os.path.join(directory, name + ".mlir"), "w") as file:
            file.write(exported.text)
        with open(os.path.join(directory, name + ".json"), "w") as file:
            json.dump(exported.manifest(name + ".mlir", name + ".safetensors"), file)
        status = 0
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(status)


def plan(tool, name, directory, budget, limit):
    """The report, also where there is no plan."""
    path = os.path.join(directory, name)
    report = path + ".report"
    process = subprocess.run([tool, path + ".mlir", "--manifest=" + path + ".json", f"--budget={budget}%",
                              limit, "--json=" + report], capture_output=True, text=True)
    if process.returncode not in (0, INFEASIBLE_EXIT):
        raise RuntimeError((process.stderr.strip().splitlines() or ["no message"])[-1])
    return json.load(open(report))


def measure(tool, name, directory, budgets, limit):
    row = {"model": name, "plans": {}}
    saving = 0.0
    for budget in budgets:
        report = plan(tool, name, directory, budget, limit)
        row["ops"] = report["ops"]
        if not report["valid"]:
            row["plans"][budget] = None
            continue
        keys = ("tdi_percent", "lower_bound_tdi_percent", "first_plan_seconds", "seconds", "arena_bytes")
        row["plans"][budget] = {key: report[key] for key in keys}
        if report["tdi_percent"] <= OVERHEAD_PERCENT:
            saving = max(saving, 100 - 100 * report["arena_bytes"] / report["save_all_peak_bytes"])
    row["saving_percent"] = saving
    return row


def main():
    options = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:] if a.startswith("--"))
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(paths) != 1 or set(options) - {"models", "budgets", "time-limit", "effort", "directory", "json"}:
        sys.exit(__doc__)
    names = options.get("models", ",".join(MODELS)).split(",")
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        sys.exit(f"joint_graphs.py: no model '{unknown[0]}'; there are {', '.join(MODELS)}")
    budgets = options.get("budgets", "60,40,27").split(",")
    limit = "--time-limit=" + options.get("time-limit", "10")
    if "effort" in options:
        limit = "--effort=" + options["effort"]
    tool = os.path.join(paths[0], "remat-plan")
    rows, failed = [], 0
    print(f"{'model':30} {'tasks':>6} " + " ".join(f"{b + ' %: time, bound, first s':>30}" for b in budgets) +
          f" {'saved at ' + str(OVERHEAD_PERCENT) + ' %':>12}")
    with tempfile.TemporaryDirectory() as scratch:
        directory = options.get("directory", scratch)
        os.makedirs(directory, exist_ok=True)
        for name in names:
            try:
                export(name, directory)
                row = measure(tool, name, directory, budgets, limit)
            except RuntimeError as error:
                print(f"{name:30} {error}", flush=True)
                failed += 1
                continue
            cells = [f"+{p['tdi_percent']:.2f} % (+{p['lower_bound_tdi_percent']:.2f} %) {p['first_plan_seconds']:.2f}"
                     if p else "no plan" for p in row["plans"].values()]
            print(f"{name:30} {row.get('ops', 0):6} " + " ".join(f"{cell:>30}" for cell in cells) +
                  f" {row['saving_percent']:10.1f} %", flush=True)
            rows.append(row)
    if rows:
        print(f"mean saving at {OVERHEAD_PERCENT} % more time: "
              f"{sum(row['saving_percent'] for row in rows) / len(rows):.1f} % of {len(rows)} models")
    if "json" in options:
        with open(options["json"], "w") as file:
            json.dump(rows, file, indent=1)
    sys.exit(bool(failed) or not rows)


main()
