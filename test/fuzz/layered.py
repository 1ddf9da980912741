"""Random programs with layers, sizes that nothing divides, and a loss: what options of a step are about."""

import numerics as math
from generator import Generator
from interpreter import size_of

# Powers of two and what is beside them; few programs have dimensions of no element.
EXTENTS = [1, 1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17]
EMPTY_SHARE = 0.04
LOSS_SHARE = 0.6
LAYERS_SHARE = 0.35


class Layered(Generator):
    MOST_ARGUMENTS = 16

    def __init__(self, seed):
        super().__init__(seed)
        self.dims = self.random.sample(EXTENTS, 3)
        if self.random.random() < EMPTY_SHARE:
            self.dims[0] = 0
        self.loss = self.random.random() < LOSS_SHARE

    def gen_layers(self):
        """Four or more calls of a function on a value, each with weights of its own."""
        start = self.pick(lambda shape: 0 < size_of(shape) <= 64)
        if not start:
            return False
        value, shape = start
        count, is_shared = self.random.randint(4, 6), self.random.random() < 0.3
        weight_shape = [shape[-1], shape[-1]] if len(shape) == 2 and self.random.random() < 0.7 else shape
        layer = self.layer_function(shape, weight_shape)
        weight = self.argument(weight_shape)
        for _ in range(count):
            value = self.call_layer(layer, value, weight, shape, weight_shape)
            if not is_shared:
                weight = self.argument(weight_shape)
        self.program.features.add("layers")
        return True

    def layer_function(self, shape, weight_shape):
        """The name of a function tanh(x * w) + x, where the product may be one of matrices."""
        function, t = self.name("layer"), self.program.type_of
        rank, is_matmul = len(shape), weight_shape != shape
        if is_matmul:
            product = [f"  %p = linalg.matmul ins(%x, %w : {t(shape)}, {t(weight_shape)}) outs(%z : {t(shape)}) "
                       f"-> {t(shape)}"]
        else:
            product = [f"  %p = arith.mulf %x, %w : {t(shape)}"]
        self.program.functions.append("\n".join(
            [f"func.func private @{function}(%x: {t(shape)}, %w: {t(weight_shape)}) -> {t(shape)} {{",
             f"  %z = arith.constant dense<0.0> : {t(shape)}", *product, f"  %t = math.tanh %p : {t(shape)}",
             f"  %s = arith.addf %t, %x : {t(shape)}", f"  return %s : {t(shape)}", "}\n"]))
        return function, is_matmul

    def call_layer(self, layer, value, weight, shape, weight_shape):
        (function, is_matmul), result, t = layer, self.name(), self.program.type_of

        def function_of(env):
            x, w = env[value], env[weight]
            if is_matmul:
                rows, inner = shape
                product = [sum(x[i * inner + k] * w[k * inner + j] for k in range(inner))
                           for i in range(rows) for j in range(inner)]
            else:
                product = [a * b for a, b in zip(x, w)]
            return [[math.tanh(a) + b for a, b in zip(product, x)]]

        line = f"%{result} = func.call @{function}(%{value}, %{weight}) : ({t(shape)}, {t(weight_shape)}) -> {t(shape)}"
        return self.add([(result, shape)], {value, weight}, [line], function_of)

    def add_loss(self):
        """A sum of squares of the last value, as the last one of the program."""
        source, shape = self.scope.names[-1]
        name, count, t = self.name("loss"), size_of(shape), self.program.type_of
        flat = f"{name}f"
        lines = [self.reshape_text(flat, source, shape, [count]) if shape != [count] else
                 f"%{flat} = tensor.cast %{source} : {t(shape)} to {t(shape)}", self.zero(name, []),
                 f"%{name} = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], "
                 f'iterator_types = ["reduction"]}} ins(%{flat} : {t([count])}) outs(%{name}z : {t([])}) {{',
                 f"^bb0(%{name}a: {self.program.element}, %{name}b: {self.program.element}):",
                 f"  %{name}c = arith.mulf %{name}a, %{name}a : {self.program.element}",
                 f"  %{name}d = arith.addf %{name}c, %{name}b : {self.program.element}",
                 f"  linalg.yield %{name}d : {self.program.element}", f"}} -> {t([])}"]
        self.add([(name, [])], {source}, lines, lambda env: [[sum((x * x for x in env[source]), 0.0)]])

    def generate(self):
        for _ in range(self.random.randint(1, 3)):
            self.argument([self.random.choice(self.dims) for _ in range(self.random.randint(1, 3))])
        has_layers = self.random.random() < LAYERS_SHARE
        for _ in range(self.random.randint(1, 5 if has_layers else 10)):
            self.statement(2)
        if has_layers:
            self.gen_layers()
        for _ in range(self.random.randint(0, 2)):
            self.statement(2)
        if self.loss:
            self.add_loss()
        self.program.has_loss = self.loss
        return self.finish()
