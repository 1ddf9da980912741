#!/usr/bin/env python3
"""Compares remat with torch.compile's activation_memory_budget on models that neither was made for.

The models are gpt2_8l, llama and resnet18, with random weights. torch.compile compiles each for seven
values of `torch._functorch.config.activation_memory_budget`, and with `backend="remat"` for seven budgets from what
keeping everything takes down to the smallest. The variants run in turn; the time is the median of their steps (loss and
gradients). The peak is counted from the events of PyTorch's allocator during a step, gradients included, and of remat
also its arena, which does not come from this allocator.

Exit status 1 if a peak of remat is above what was asked, or larger under a smaller budget, or if its lowest is not
below PyTorch's. Needs torch, torchvision, transformers, and a C++ compiler for Inductor.
"""
import argparse, json, multiprocessing, statistics, sys, time

import torch

import remat
import remat.torch
from allocator_peak import allocator_peak

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
    """One way to compile a model, in a process of its own: Dynamo keeps what it compiled by the code of the model."""

    def __init__(self, name, budget, ours):
        """If `ours`, it is remat's budget, else the fraction that PyTorch takes."""
        self.name = f"{'remat' if ours else 'torch'} {budget}"
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(other, name, budget, ours), daemon=True)
        self.process.start()
        other.close()
        self.times = []
        self.__dict__.update(self.pipe.recv())

    def run(self):
        self.pipe.send(True)
        self.times.append(self.pipe.recv())

    def close(self):
        self.pipe.send(False)
        self.process.join()


def serve(pipe, name, budget, ours):
    """The process of a variant: sends what it takes, then the time of a step whenever it is asked for one."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model, loss = MODELS[name]()
    if ours:
        compiled = torch.compile(model, dynamic=False, backend="remat",
                                 options={"threads": THREADS, "budget": None if budget == "100%" else budget})
    else:
        torch._functorch.config.activation_memory_budget = budget
        compiled = torch.compile(model, dynamic=False)

    def step():
        model.zero_grad(set_to_none=True)
        begin = time.perf_counter()
        loss(compiled).backward()
        return time.perf_counter() - begin

    step()
    step()
    steps = remat.torch.compiled_steps
    model.zero_grad(set_to_none=True)
    total = lambda key: sum(step.memory[key] for step in steps)
    pipe.send({"planned": total("planned"), "arena": total("arena"),
               "asked": sum(step.memory["budget"] or step.memory["arena"] for step in steps),
               "state": sum(step.state_bytes for step in steps), "allocated": allocator_peak(step)})
    while pipe.recv():
        pipe.send(step())


def compare(name, rounds, only_remat=False):
    budgets = () if only_remat else (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0)
    variants = [Variant(name, budget, False) for budget in budgets]
    first, least = Variant(name, "100%", True), Variant(name, "min", True)
    span = first.arena - least.arena
    between = [Variant(name, least.arena + span * part // 6, True) for part in (5, 4, 3, 2, 1)]
    ours = [first] + between + [least]
    for _ in range(rounds):
        for variant in variants + ours:
            variant.run()
    rows, problems = [], []
    for variant in variants + ours:
        variant.peak = variant.allocated + variant.arena  # The arena is not of PyTorch's allocator.
        variant.close()
    for variant in variants + ours:
        seconds = statistics.median(variant.times)
        rows.append({"model": name, "variant": variant.name, "peak_bytes": variant.peak,
                     "allocated_bytes": variant.allocated,
                     "arena_bytes": variant.arena, "state_bytes": variant.state, "planned_bytes": variant.planned,
                     "asked_bytes": variant.asked, "seconds": seconds})
        print(f"{name:10} {variant.name:18} peak {variant.peak / 2**20:8.1f} MiB, arena {variant.arena / 2**20:8.1f} "
              f"of {variant.asked / 2**20:8.1f}, {seconds * 1000:8.1f} ms", flush=True)
    for one, next_one in zip(ours, ours[1:]):
        if next_one.peak > one.peak:
            problems.append(f"{name}: {next_one.name} takes {next_one.peak} bytes, {one.name} {one.peak}")
    problems += [f"{name}: {variant.name} takes {variant.arena} bytes of {variant.asked}"
                 for variant in ours if variant.arena > variant.asked]
    if variants and ours[-1].peak >= min(variant.peak for variant in variants):
        problems.append(f"{name}: the lowest peak of remat, {ours[-1].peak}, is not below PyTorch's")
    return rows, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"{', '.join(MODELS)}; all, if none is named")
    parser.add_argument("--rounds", type=int, default=5, help="steps of each variant, one after the other (default: 5)")
    parser.add_argument("--only", choices=["remat"], help="leave out PyTorch, which takes most of the time")
    parser.add_argument("--json", metavar="FILE", help="where to write the figures")
    options = parser.parse_args()
    unknown = set(options.models) - set(MODELS)
    if unknown:
        parser.error(f"unknown model {', '.join(sorted(unknown))}; expected some of {', '.join(MODELS)}")
    rows, problems = [], []
    for name in options.models or MODELS:
        more, wrong = compare(name, options.rounds, options.only == "remat")
        rows, problems = rows + more, problems + wrong
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
