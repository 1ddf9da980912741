"""A program: text for the compiler, and the same computation on lists of numbers."""

from interpreter import size_of


class Statement:
    """Text, what it defines and reads, and its meaning; regions have children and what these yield."""

    def __init__(self, number, results, uses, lines, run, children=None, close=None):
        self.number, self.results, self.uses, self.lines, self.run = number, results, uses, lines, run
        self.children, self.close = children, close
        self.removable = True  # Whether constants can take its place.


class Program:
    def __init__(self, seed):
        self.seed, self.element = seed, "f32"
        self.args = []  # (name, shape, dtype, values)
        self.body, self.results = [], []
        self.functions = []  # Of codecs.
        self.features = set()
        self.lossy = False  # Whether saved values are rounded, so that derivatives are inexact.
        self.fresh = False  # Whether recomputed random numbers are others.
        self.rounding = None  # What the interpreter does to the elements of each statement.

    def type_of(self, shape, element=None):
        return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element or self.element}>"

    def statements(self, body=None):
        for statement in self.body if body is None else body:
            yield statement
            if statement.children is not None:
                yield from self.statements(statement.children)

    def render(self, removed=(), donations=None):
        """The text. `donations` are the results that have buffers of arguments, by the numbers of these."""
        donated = {number: f" {{remat.donated = {result} : i64}}" for number, result in (donations or {}).items()}
        functions = []
        lines = self.render_body(self.body, {name for name, _ in self.results}, removed, functions)
        args = ", ".join(f"%{name}: {self.type_of(shape, 'i64' if dtype == 'i8' else None)}{donated.get(number, '')}"
                         for number, (name, shape, dtype, _) in enumerate(self.args))
        types = ", ".join(self.type_of(shape) for _, shape in self.results)
        lines.append(f"return {', '.join('%' + name for name, _ in self.results)} : {types}")
        main = f"func.func @main({args}) -> ({types}) {{\n  " + "\n  ".join(lines) + "\n}\n"
        return "\n".join(self.functions + functions + [main])

    def render_body(self, body, live, removed, functions):
        """The lines of what is needed for the names in `live`, to which it adds what they read."""
        chunks = []
        for statement in reversed(body):
            if not any(name in live for name, _ in statement.results):
                continue
            if statement.number in removed:
                chunks.append([f"%{name} = arith.constant dense<0.5> : {self.type_of(shape)}"
                               for name, shape in statement.results])
                continue
            live |= statement.uses
            if statement.children is None:
                chunks.append(statement.lines)
                continue
            inner = {name for name in statement.uses}
            nested = self.render_body(statement.children, inner, removed, functions)
            live |= inner
            chunks.append(statement.close(["  " + line for line in nested], functions))
        return [line for chunk in reversed(chunks) for line in chunk]

    def evaluate(self, values=None, removed=(), rounding=None):
        """The values of the results for arguments in place of its own; what a statement makes is rounded by
        `rounding`."""
        self.rounding = rounding
        env = {arg[0]: value for arg, value in zip(self.args, values or [arg[3] for arg in self.args])}
        self.run_body(self.body, env, removed)
        return [env[name] for name, _ in self.results]

    def run_body(self, body, env, removed):
        for statement in body:
            if statement.number in removed:
                for name, shape in statement.results:
                    env[name] = [0.5] * size_of(shape)
            else:
                statement.run(env, removed)
                if self.rounding:
                    env.update((name, [self.rounding(value) for value in env[name]]) for name, _ in statement.results)


class Scope:
    """Names that a statement may read: those of the scopes around, unless it is a function."""

    def __init__(self, outer=None, isolated=False):
        self.outer, self.isolated, self.names, self.body = outer, isolated, [], []

    def visible(self):
        around = self.outer.visible() if self.outer and not self.isolated else []
        return around + self.names

    def is_top(self):
        return self.outer is None or (not self.isolated and self.outer.is_top())
