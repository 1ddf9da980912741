"""Random statements that differentiate a function themselves: derivatives of derivatives, and regions around both."""

from interpreter import size_of
from numerics import pull, push

# Elements of the arguments of a function of which a product with its transposed Jacobian is taken: the interpreter
# takes one derivative for each.
MOST_ELEMENTS = 24


class Derivatives:
    """The part of a generator that makes them."""

    def gen_derivative(self, depth):
        """`remat.vjp` or `remat.jvp` of a function of one or two values, which has one result."""
        params = [self.pick() for _ in range(self.random.randint(1, 2))]
        reverse = self.random.random() < 0.7
        if reverse and sum(size_of(shape) for _, shape in params) > MOST_ELEMENTS or self.differentiating > 1:
            return False
        named = [(self.name("p"), shape) for _, shape in params]
        for (name, _), (source, _) in zip(named, params):
            self.env[name] = self.env[source]
        self.differentiating += 1
        scope = self.children(True, named, self.random.randint(1, 4), depth - 1)
        self.differentiating -= 1
        if not scope.made:
            return False
        value, shape = scope.made[-1]
        function, t = self.name("f"), self.program.type_of
        shapes = [extents for _, extents in params]
        seeds = [self.pick_or_make(extents) for extents in ([shape] if reverse else shapes)]
        result = (self.name("r"), shape)
        products = [(self.name("d"), extents) for extents in (shapes if reverse else [shape])]

        def close(lines, functions):
            args = ", ".join(f"%{name}: {t(extents)}" for name, extents in named)
            functions.append(f"func.func private @{function}({args}) -> {t(shape)} {{\n" + "\n".join(lines) +
                             f"\n  return %{value} : {t(shape)}\n}}")
            names = lambda values: ", ".join("%" + value for value in values)
            types = ", ".join(t(extents) for extents in shapes + ([shape] if reverse else shapes))
            results = [result] + products
            kind, what = ("vjp", "cotangents") if reverse else ("jvp", "tangents")
            return [f"{names(name for name, _ in results)} = remat.{kind} @{function}"
                    f"({names(source for source, _ in params)}) {what}({names(seeds)}) : "
                    f"({types}) -> ({', '.join(t(extents) for _, extents in results)})"]

        def execute(env, removed):

            def call(values):
                for (name, _), numbers in zip(named, values):
                    env[name] = numbers
                self.program.run_body(scope.body, env, removed)
                return env[value]

            values, given = [env[source] for source, _ in params], [env[seed] for seed in seeds]
            if reverse:
                env[result[0]], gradients = pull(call, values, given[0])
            else:
                env[result[0]], tangent = push(call, values, given)
                gradients = [tangent]
            for (name, _), gradient in zip(products, gradients):
                env[name] = gradient

        uses = {value} | {name for name, _ in params} | set(seeds)
        self.enclose([result] + products, uses, scope, execute, close)
        self.program.features.add("derivative")
        return True
