#!/usr/bin/env python3
"""Compares remat with torch.compile's activation_memory_budget on models that neither was made for.

usage: activation_budget.py [MODEL...] [--rounds=N] [--json=FILE]

MODEL is one of gpt2_8l, llama and resnet18 (default: all), with random weights. torch.compile compiles each for seven
values of `torch._functorch.config.activation_memory_budget`, and with `backend="remat"` for seven budgets from what
keeping everything takes down to the smallest. The variants run in turn; the time is the median of their steps (loss and
gradients). The peak is counted from the events of PyTorch's allocator during a step, gradients included, and of remat
also what its arena has beside the state that is kept between the calls, since it does not come from this allocator.

Exit status 1 if a peak of remat is above what was asked, or larger under a smaller budget, or if its lowest is not
below PyTorch's. Needs torch, torchvision, transformers, and a C++ compiler for Inductor.
"""
import json, statistics, sys, time

import torch
from torch.profiler import ProfilerActivity, profile

import remat
import remat.torch

THREADS = 2


def language_model(make, config, length):
    model = make(config)
    tokens = torch.randint(config.vocab_size, (4, length))

    def loss(compiled):
        logits = compiled(input_ids=tokens, use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

    return model, loss


def gpt2_8l():
    import transformers
    config = transformers.GPT2Config(vocab_size=8192, n_positions=256, n_embd=512, n_layer=8, n_head=8, resid_pdrop=0,
                                     embd_pdrop=0, attn_pdrop=0)
    return language_model(transformers.GPT2LMHeadModel, config, 256)


def llama():
    import transformers
    config = transformers.LlamaConfig(vocab_size=8192, hidden_size=512, intermediate_size=1408, num_hidden_layers=8,
                                      num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=256)
    return language_model(transformers.LlamaForCausalLM, config, 256)


def resnet18():
    import torchvision
    images, labels = torch.randn(32, 3, 64, 64), torch.randint(1000, (32,))
    return torchvision.models.resnet18(), lambda step: torch.nn.functional.cross_entropy(step(images), labels)


MODELS = {"gpt2_8l": gpt2_8l, "llama": llama, "resnet18": resnet18}


class Variant:
    def __init__(self, model, loss, budget, options):
        """With `options` it is remat's, else `budget` is the fraction that PyTorch takes."""
        torch._dynamo.reset()
        torch._functorch.config.activation_memory_budget = 1.0 if options else budget
        before = len(remat.torch.compiled_steps)
        self.name = ("remat " if options else "torch ") + str(budget)
        self.model, self.loss, self.times = model, loss, []
        self.compiled = torch.compile(model, dynamic=False, **options)
        self.run()
        self.run()
        steps = remat.torch.compiled_steps[before:]
        self.asked = sum(step.memory["budget"] or step.memory["save_all"] for step in steps)
        self.planned = sum(step.memory["planned"] for step in steps)
        self.save_all = sum(step.memory["save_all"] for step in steps)
        self.peak = self.count_peak(steps)

    def run(self):
        self.model.zero_grad(set_to_none=True)
        begin = time.perf_counter()
        self.loss(self.compiled).backward()
        self.times.append(time.perf_counter() - begin)

    def count_peak(self, steps):
        self.model.zero_grad(set_to_none=True)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            self.loss(self.compiled).backward()
        events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
        live = peak = 0
        for event in sorted(events, key=lambda event: event.start_ns()):
            live += event.nbytes()
            peak = max(peak, live)
        return peak + sum(step.memory["arena"] - step.state_bytes for step in steps)


def compare(name, rounds):
    torch.manual_seed(0)
    model, loss = MODELS[name]()
    variants = []
    for budget in (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0):
        variants.append(Variant(model, loss, budget, {}))
    first = Variant(model, loss, "100%", {"backend": "remat"})
    least = Variant(model, loss, "min", {"backend": "remat", "options": {"budget": "min"}})
    span = first.planned - least.asked
    between = [Variant(model, loss, f"{least.asked + span * part // 6}",
                       {"backend": "remat", "options": {"budget": least.asked + span * part // 6}})
               for part in (5, 4, 3, 2, 1)]
    ours = [first] + between + [least]
    for _ in range(rounds):
        for variant in variants + ours:
            variant.run()
    rows, problems = [], []
    for variant in variants + ours:
        seconds = statistics.median(variant.times[2:])
        rows.append({"model": name, "variant": variant.name, "peak_bytes": variant.peak, "planned_bytes": variant.planned,
                     "asked_bytes": variant.asked, "seconds": seconds})
        print(f"{name:10} {variant.name:18} peak {variant.peak / 2**20:8.1f} MiB, planned {variant.planned / 2**20:8.1f} "
              f"of {variant.asked / 2**20:8.1f}, {seconds * 1000:8.1f} ms", flush=True)
    for one, next_one in zip(ours, ours[1:]):
        if next_one.peak > one.peak:
            problems.append(f"{name}: {next_one.name} takes {next_one.peak} bytes, {one.name} {one.peak}")
    problems += [f"{name}: {variant.name} plans {variant.planned} bytes of {variant.asked}"
                 for variant in ours if variant.planned > variant.asked]
    if ours[-1].peak >= min(variant.peak for variant in variants):
        problems.append(f"{name}: the lowest peak of remat, {ours[-1].peak}, is not below PyTorch's")
    return rows, problems


def main():
    options = dict(argument[2:].split("=") for argument in sys.argv[1:] if argument.startswith("--"))
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")] or list(MODELS)
    unknown = set(names) - set(MODELS) | set(options) - {"rounds", "json"}
    if unknown:
        sys.exit(f"unknown {', '.join(unknown)}\n{__doc__}")
    torch.set_num_threads(THREADS)
    rows, problems = [], []
    for name in names:
        more, wrong = compare(name, int(options.get("rounds", 5)))
        rows, problems = rows + more, problems + wrong
    if "json" in options:
        with open(options["json"], "w") as file:
            json.dump(rows, file, indent=2)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
