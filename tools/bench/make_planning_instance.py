#!/usr/bin/env python3
"""Makes planning instances: training graphs of a chosen size, the same for the same arguments.

usage: make_planning_instance.py transformer|chain|layered OPS OUT.json [--seed=1] [--width=768] [--sequence=1024]
                                 [--batch=8] [--heads=12] [--attention=plain|flash] [--uniform] [--degree=4]

transformer   a joint graph of about OPS ops (the largest number of layers that stays within, at least one): forward and
              backward at the granularity of kernels, 2-byte elements, costs in nanoseconds from a roofline; gradients
              of weights are outputs of size 0, as they live in the caller's buffers
chain         f_1 ... f_k, b_k ... b_1 with b_i reading b_(i+1), f_i and f_(i-1); sizes and costs random, or all 1
              with --uniform; OPS is made odd by adding one
layered       a random layered graph without phases: OPS ops in layers, edges mostly to the next ones, DEGREE per op on
              average; random sizes and costs

The file follows the schema of docs/planning.md, with "stats" {n, m, no_remat_peak, base_cost, structural_min}.
"""
import json, random, sys

BYTES = 2
FLOPS_PER_NANOSECOND, BYTES_PER_NANOSECOND, LAUNCH_NANOSECONDS = 150_000, 1_500, 2_000


class Graph:
    def __init__(self):
        self.nodes, self.edges, self.outputs = [], [], []

    def add(self, name, size, operands, cost, backward=False, output=False):
        node = len(self.nodes)
        self.nodes.append({"id": node, "name": name, "cost": int(cost), "size": int(size), "backward": backward})
        self.edges += [[o, node] for o in dict.fromkeys(operands)]
        if output:
            self.outputs.append(node)
        return node

    def size(self, node):
        return self.nodes[node]["size"]

    def kernel(self, name, elements, operands, flops=0, backward=False, output=False, stored=True):
        """An op whose cost is the larger of arithmetic and traffic."""
        size = elements * BYTES if stored else 0
        traffic = elements * BYTES + sum(self.size(o) for o in operands)
        cost = LAUNCH_NANOSECONDS + max(flops // FLOPS_PER_NANOSECOND, traffic // BYTES_PER_NANOSECOND)
        return self.add(name, size, operands, cost, backward, output)


class Transformer:
    """One forward op makes one list of backward ops; the tape is played back to front."""

    def __init__(self, width, sequence, batch, heads, flash):
        self.width, self.tokens, self.flash = width, batch * sequence, flash
        self.scores = batch * heads * sequence * sequence
        self.graph, self.tape, self.gradients = Graph(), [], {}

    def forward(self, name, elements, operands, flops, backward):
        """`backward` lists (operand or None for a weight, what it reads besides the gradient, elements, flops)."""
        node = self.graph.kernel(name, elements, operands, flops)
        self.tape.append((node, name, [(o, [node if r == "self" else r for r in reads], e, f)
                                       for o, reads, e, f in backward]))
        return node

    def linear(self, name, x, columns, rows):
        flops = 2 * self.tokens * columns * rows
        return self.forward(name, self.tokens * rows, [x], flops,
                            [(x, [], self.tokens * columns, flops), (None, [x], columns * rows, flops)])

    def pointwise(self, name, operands, elements, saved):
        return self.forward(name, elements, operands, 0, [(o, saved, elements, 0) for o in operands])

    def norm(self, name, x):
        n = self.tokens * self.width
        return self.forward(name, n, [x], 0, [(x, [x], n, 0), (None, [x], self.width, 0)])

    def attention(self, name, q, k, v):
        n, flops = self.tokens * self.width, 2 * self.scores * self.width
        if self.flash:
            return self.forward(name + ".flash", n, [q, k, v], 2 * flops,
                                [(o, [q, k, v, "self"], n, 2 * flops) for o in (q, k, v)])
        scores = self.forward(name + ".scores", self.scores, [q, k], flops,
                              [(q, [k], n, flops), (k, [q], n, flops)])
        weights = self.pointwise(name + ".softmax", [scores], self.scores, ["self"])
        return self.forward(name + ".mix", n, [weights, v], flops,
                            [(weights, [v], self.scores, flops), (v, [weights], n, flops)])

    def layer(self, x, number):
        name, d, n = f"layer{number}", self.width, self.tokens * self.width
        h = self.norm(name + ".norm1", x)
        q, k, v = (self.linear(f"{name}.{part}", h, d, d) for part in "qkv")
        h = self.linear(name + ".project", self.attention(name, q, k, v), d, d)
        x = self.pointwise(name + ".add1", [x, h], n, [])
        h = self.linear(name + ".up", self.norm(name + ".norm2", x), d, 4 * d)
        h = self.forward(name + ".gelu", 4 * n, [h], 0, [(h, [h], 4 * n, 0)])
        return self.pointwise(name + ".add2", [x, self.linear(name + ".down", h, 4 * d, d)], n, [])

    def contribute(self, operand, gradient):
        if operand in self.gradients:
            total = self.graph.kernel("accumulate", self.graph.size(operand) // BYTES,
                                      [self.gradients[operand], gradient], 0, True)
            gradient = total
        self.gradients[operand] = gradient

    def build(self, layers):
        x = self.graph.kernel("embed", self.tokens * self.width, [])
        self.tape.append((x, "embed", [(None, [], self.tokens * self.width, 0)]))
        for number in range(layers):
            x = self.layer(x, number)
        loss = self.forward("loss", 1, [self.norm("norm", x)], 0, [])
        self.graph.outputs.append(loss)
        last = self.tape[-2][0]
        self.gradients[last] = self.graph.kernel("loss.grad", self.tokens * self.width, [last], 0, True)
        for node, name, backward in reversed(self.tape):
            for operand, reads, elements, flops in backward:
                weight = operand is None
                gradient = self.graph.kernel(name + (".dw" if weight else ".dx"), elements,
                                             [self.gradients[node]] + reads, flops, True, weight, not weight)
                if not weight:
                    self.contribute(operand, gradient)
        return self.graph


def make_transformer(ops, options):
    def build(layers):
        sizes = [int(options.get(k, d)) for k, d in
                 (("width", 768), ("sequence", 1024), ("batch", 8), ("heads", 12))]
        return Transformer(*sizes, options.get("attention") == "flash").build(layers)
    one, two = len(build(1).nodes), len(build(2).nodes)
    return build(max(1, 1 + (ops - one) // (two - one)))


def make_chain(ops, options):
    generator, graph, uniform = random.Random(int(options.get("seed", 1))), Graph(), "uniform" in options
    draw = lambda low, high: 1 if uniform else generator.randint(low, high)
    length = max(1, ops // 2)
    forward = []
    for i in range(length):
        forward.append(graph.add(f"f{i + 1}", draw(10, 100), forward[-1:], draw(10, 100)))
    gradient = graph.add("loss", draw(1, 10), forward[-1:], draw(1, 10), True)
    for i in reversed(range(length)):
        reads = [gradient, forward[i]] + ([forward[i - 1]] if i else [])
        gradient = graph.add(f"b{i + 1}", graph.size(forward[max(i - 1, 0)]), reads,
                             1 if uniform else 2 * graph.nodes[forward[i]]["cost"], True, i == 0)
    return graph


def make_layered(ops, options):
    generator, graph = random.Random(int(options.get("seed", 1))), Graph()
    degree, layers, placed = float(options.get("degree", 4)), [], 0
    while placed < ops:
        count = min(ops - placed, generator.randint(1, max(2, int(ops ** 0.5) // 2)))
        reads = [[] for _ in range(count)]
        # Every op is read in the next layer at least, so that only the last one's results stay.
        for producer in layers[-1] if layers else []:
            generator.choice(reads).append(producer)
        for operands in reads if layers else []:
            for _ in range(generator.randint(1, max(1, round(2 * degree) - 3))):
                back = min(len(layers), 1 + int(generator.expovariate(0.5)))
                operands.append(generator.choice(layers[-back]))
        layers.append([graph.add(f"n{placed + i}", generator.randint(1, 1000), operands, generator.randint(1, 1000))
                       for i, operands in enumerate(reads)])
        placed += count
    graph.outputs = layers[-1]
    return graph


def statistics(graph):
    """What the file says of itself; ops run once each, in the order of the list."""
    n, last = len(graph.nodes), list(range(len(graph.nodes)))
    need = [node["size"] for node in graph.nodes]
    for producer, consumer in graph.edges:
        last[producer] = max(last[producer], consumer)
        need[consumer] += graph.size(producer)
    for output in graph.outputs:
        last[output] = n - 1
    change = [0] * (n + 1)
    for node in range(n):
        change[node] += graph.size(node)
        change[last[node] + 1] -= graph.size(node)
    live = peak = 0
    for step in range(n):
        live += change[step]
        peak = max(peak, live)
    return {"n": n, "m": len(graph.edges), "no_remat_peak": peak, "base_cost": sum(x["cost"] for x in graph.nodes),
            "structural_min": max(need + [sum(graph.size(o) for o in graph.outputs)])}


MAKERS = {"transformer": make_transformer, "chain": make_chain, "layered": make_layered}
KNOWN_OPTIONS = {"seed", "width", "sequence", "batch", "heads", "attention", "uniform", "degree"}


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    options = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:] if a.startswith("--"))
    if len(words) != 3 or words[0] not in MAKERS or not words[1].isdigit() or int(words[1]) < 1 or set(options) - KNOWN_OPTIONS:
        sys.exit(__doc__)
    graph = MAKERS[words[0]](int(words[1]), options)
    stats = statistics(graph)
    name = words[2].rsplit("/", 1)[-1].removesuffix(".json")
    with open(words[2], "w") as file:
        json.dump({"name": name, "source": "generated: " + " ".join(words[:2]), "nodes": graph.nodes,
                   "edges": graph.edges, "outputs": graph.outputs, "stats": stats}, file)
    print(f"{name}: {stats['n']} ops, {stats['m']} edges, peak {stats['no_remat_peak']}")


main()
