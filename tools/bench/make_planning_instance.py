#!/usr/bin/env python3
"""Makes planning instances: training graphs of a chosen size, the same for the same arguments.

usage: make_planning_instance.py transformer|mlp|cnn|unet|chain|layered OPS OUT.json [--seed=1] [--width=768]
                                 [--sequence=1024] [--batch=8] [--heads=12] [--attention=plain|flash] [--update]
                                 [--weights=beside|last|first] [--uniform] [--degree=4]

transformer   a joint graph of about OPS ops (the largest number of layers that stays within, at least one): forward and
              backward at the granularity of kernels, 2-byte elements, costs in nanoseconds from a roofline; gradients
              of weights are outputs of size 0, as they live in the caller's buffers
mlp           the same for linear layers of 4 widths that take turns, and activations
cnn           the same for residual blocks of convolutions, with fewer and wider images every quarter of them
unet          the same for convolutions down to small images and up again, each level with a skip connection
              Of these four:
              --weights    where gradients of weights are: right beside those of the layer's operands; all at the end,
                           as some schedulers leave them; or at the end, those of the first layers first
              --update     they are in the arena, in 4 bytes an element, until an op of their own updates the weight
chain         f_1 ... f_k, b_k ... b_1 with b_i reading b_(i+1), f_i and f_(i-1); sizes and costs random, or all 1
              with --uniform; OPS is made odd by adding one
layered       a random layered graph without phases: OPS ops in layers, edges mostly to the next ones, DEGREE per op on
              average; random sizes and costs

The file follows the schema of docs/planning.md, with "stats" {n, m, no_remat_peak, base_cost, structural_min}. Budgets
count the arena.
"""
import functools, json, random, sys

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


class Network:
    """One forward op makes one list of backward ops; the tape is played back to front."""

    def __init__(self, options):
        self.width, sequence, self.batch, heads = (int(options.get(key, default)) for key, default in (
            ("width", 768), ("sequence", 1024), ("batch", 8), ("heads", 12)))
        self.tokens, self.update = self.batch * sequence, "update" in options
        self.flash = options.get("attention") == "flash"
        self.scores = self.batch * heads * sequence * sequence
        self.graph, self.tape, self.gradients, self.weight_ops = Graph(), [], {}, []

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

    def build_transformer(self, layers):
        x = self.graph.kernel("embed", self.tokens * self.width, [])
        self.tape.append((x, "embed", [(None, [], self.tokens * self.width, 0)]))
        for number in range(layers):
            x = self.layer(x, number)
        return self.differentiate(self.norm("norm", x))

    def build_mlp(self, layers):
        widths = [self.width, 4 * self.width, 2 * self.width, 3 * self.width]
        x = self.graph.kernel("input", self.tokens * widths[0], [])
        for i in range(layers):
            columns, rows = widths[i % 4], widths[(i + 1) % 4]
            h = self.linear(f"linear{i}", x, columns, rows)
            x = self.pointwise(f"activation{i}", [h], self.tokens * rows, ["self"])
        return self.differentiate(x)

    def convolution(self, name, x, pixels, inputs, outputs):
        flops = 2 * 9 * pixels * inputs * outputs
        reads = [(o, [], self.graph.size(o) // BYTES, flops) for o in x]
        return self.forward(name, pixels * outputs, x, flops, reads + [(None, x, 9 * inputs * outputs, flops)])

    def build_cnn(self, blocks):
        pixels, channels = self.batch * 224 * 224, 64
        x = self.convolution("stem", [self.graph.kernel("image", pixels * 3, [])], pixels, 3, channels)
        for i in range(blocks):
            name, inputs = f"block{i}", channels
            if i and i % max(1, -(-blocks // 4)) == 0:
                pixels, channels = pixels // 4, 2 * channels
            h, short = x, x
            for part in ("a", "b"):
                h = self.convolution(f"{name}.{part}", [h], pixels, inputs if part == "a" else channels, channels)
                h = self.pointwise(f"{name}.relu.{part}", [h], pixels * channels, ["self"])
            if inputs != channels:
                short = self.convolution(name + ".short", [x], pixels, inputs, channels)
            x = self.pointwise(name + ".add", [h, short], pixels * channels, [])
        return self.differentiate(x)

    def build_unet(self, layers):
        """Four levels down and up, with `layers` convolutions at each of them."""
        pixels, channels, skips = self.batch * 256 * 256, 32, []
        x, inputs = self.graph.kernel("image", pixels * 3, []), 3

        def level(name, operands, inputs):
            for i in range(layers):
                h = self.convolution(f"{name}.{i}", operands, pixels, inputs, channels)
                operands, inputs = [self.pointwise(f"{name}.relu{i}", [h], pixels * channels, ["self"])], channels
            return operands[0]
        for depth in range(4):
            skips.append(level(f"down{depth}", [x], inputs))
            pixels, inputs, channels = pixels // 4, channels, 2 * channels
            x = self.pointwise(f"pool{depth}", [skips[-1]], pixels * inputs, [skips[-1]])
        x = level("bottom", [x], inputs)
        for depth in reversed(range(4)):
            pixels, inputs, channels = pixels * 4, 2 * channels, channels // 2
            x = self.pointwise(f"enlarge{depth}", [x], pixels * channels, [])
            x = level(f"up{depth}", [x, skips.pop()], inputs)
        return self.differentiate(x)

    def differentiate(self, x):
        loss = self.forward("loss", 1, [x], 0, [])
        self.graph.outputs.append(loss)
        last = self.tape[-2][0]
        self.gradients[last] = self.graph.kernel("loss.grad", self.tokens * self.width, [last], 0, True)
        for node, name, backward in reversed(self.tape):
            for operand, reads, elements, flops in backward:
                if operand is None:
                    self.differentiate_weight(name, [self.gradients[node]] + reads, elements, flops)
                elif self.is_computed(operand):
                    gradient = self.graph.kernel(name + ".dx", self.graph.size(operand) // BYTES,
                                                 [self.gradients[node]] + reads, flops, True)
                    self.contribute(operand, gradient)
        return self.graph

    def is_computed(self, operand):
        """Whether there is anything to differentiate before it."""
        return any(node == operand for node, _, _ in self.tape) if operand < 2 else True

    def differentiate_weight(self, name, reads, elements, flops):
        elements *= 2 if self.update else 1
        gradient = self.graph.kernel(name + ".dw", elements, reads, flops, True, not self.update, self.update)
        self.weight_ops.append([gradient])
        if self.update:
            self.weight_ops[-1].append(
                self.graph.kernel(name + ".update", elements, [gradient], 0, True, True, False))


def moved_last(graph, moved):
    """The graph with these ops at its end."""
    last = set(moved)
    order = [n for n in range(len(graph.nodes)) if n not in last] + moved
    place = {node: i for i, node in enumerate(order)}
    graph.nodes = [{**graph.nodes[node], "id": i} for i, node in enumerate(order)]
    graph.edges = sorted(([place[a], place[b]] for a, b in graph.edges), key=lambda edge: edge[1])
    graph.outputs = sorted(place[node] for node in graph.outputs)
    return graph


def make_network(kind, ops, options):
    def build(layers):
        network = Network(options)
        graph, pairs = getattr(network, "build_" + kind)(layers), network.weight_ops
        if options.get("weights", "beside") == "beside":
            return graph
        return moved_last(graph, sum(reversed(pairs) if options["weights"] == "first" else pairs, []))
    one, two = len(build(4).nodes), len(build(8).nodes)
    return build(max(1, 4 + int((ops - one) // ((two - one) / 4))))


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


MAKERS = {"chain": make_chain, "layered": make_layered}
for _kind in ("transformer", "mlp", "cnn", "unet"):
    MAKERS[_kind] = functools.partial(make_network, _kind)
KNOWN_OPTIONS = {"seed", "width", "sequence", "batch", "heads", "attention", "update", "weights", "uniform", "degree"}


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    options = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:] if a.startswith("--"))
    if len(words) != 3 or words[0] not in MAKERS or not words[1].isdigit() or int(words[1]) < 1 or \
            set(options) - KNOWN_OPTIONS:
        sys.exit(__doc__)
    graph = MAKERS[words[0]](int(words[1]), options)
    stats = statistics(graph)
    name = words[2].rsplit("/", 1)[-1].removesuffix(".json")
    with open(words[2], "w") as file:
        json.dump({"name": name, "source": "generated: " + " ".join(words[:2]), "budget_counts": "arena",
                   "nodes": graph.nodes, "edges": graph.edges, "outputs": graph.outputs, "stats": stats}, file)
    print(f"{name}: {stats['n']} ops, {stats['m']} edges, peak {stats['no_remat_peak']}")


main()
