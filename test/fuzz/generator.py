"""Random programs: text for the compiler, and the same computation on lists of numbers.

A program is legal by construction, and smooth where its arguments are: a choice between elements is only made where no
two candidates are close to each other. So its derivatives can be compared with finite differences."""

import random

from derivatives import Derivatives
from interpreter import size_of
from movement import Movement
from operations import Operations
from program import Program, Scope, Statement
from regions import Regions

NARROW = ("bf16", "f16")  # Their results are compared with those in f64 as closely as rounding allows.


class Generator(Operations, Movement, Regions, Derivatives):
    MOST_ARGUMENTS = 9

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.program = Program(seed)
        self.program.element = self.random.choice(["f64", "f32", "f32", *NARROW])
        self.narrow = self.program.element in NARROW
        # Larger values go through a tanh, and candidates of a choice are further from each other than their errors.
        self.limit, self.margin = (4.0, 0.125) if self.narrow else (30.0, 1e-3)
        self.env, self.next, self.policies = {}, 0, set()
        self.scope = Scope()
        self.differentiating = 0  # How many functions around are differentiated by the program.
        self.dims = self.random.sample([1, 2, 3, 4, 5, 6, 8], 3)

    # Names, arguments and statements.

    def name(self, prefix="v"):
        self.next += 1
        return f"{prefix}{self.next}"

    def number(self):
        value = self.random.uniform(-1.5, 1.5)
        parts = 64 if self.narrow else 4096
        return round(value * parts) / parts  # Exact in the element type.

    def argument(self, shape, dtype="f4", below=0):
        """An argument, or where none can be added a constant; floating-point, or indices below a bound."""
        count = size_of(shape)
        if dtype == "i8":
            values = [self.random.randrange(below) for _ in range(count)]
        else:
            values = [self.number() for _ in range(count)]
        if self.scope.is_top() and len(self.program.args) < self.MOST_ARGUMENTS:
            name = self.name("arg")
            self.program.args.append((name, shape, dtype, values))
            self.env[name] = values
            if dtype != "i8":
                scope = self.scope
                while scope.outer is not None:
                    scope = scope.outer
                scope.names.insert(0, (name, shape))
            return name
        name = self.name("c")
        element = "i64" if dtype == "i8" else None
        flat = ", ".join(repr(value) for value in values)
        lines = [f"%{name}f = arith.constant dense<[{flat}]> : {self.program.type_of([count], element)}",
                 self.reshape_text(name, name + "f", [count], shape, element)]
        self.add([(name, shape)], set(), lines, lambda env: [values], hidden=dtype == "i8")
        return name

    def add(self, results, uses, lines, function, hidden=False):
        """A statement of one or more results; `function` gives their values."""

        def execute(env, removed):
            for (name, _), value in zip(results, function(env)):
                env[name] = value

        statement = Statement(self.next, results, set(uses), lines, execute)
        self.next += 1
        execute(self.env, ())
        self.scope.body.append(statement)
        statement.removable = not hidden
        if not hidden:
            self.scope.names += results
        return results[0][0]

    def counter(self, trips):
        """Iterations of a loop, what it counts from, and by how much."""
        return trips, self.random.choice([0, 0, 0, 1, 2, -3]), self.random.choice([1, 1, 1, 2, 5])

    def bound_of(self, trips, first, step):
        """The upper bound of such a loop; the last step may go beyond it."""
        return first + trips * step - (step > 1 and trips > 0)

    def bound(self):
        """Keeps values small: a tanh of the last one if it is not."""
        name, shape = self.scope.names[-1]
        if max((abs(value) for value in self.env[name]), default=0) > self.limit:
            self.map_named(name, shape, "tanh")

    def pick(self, condition=lambda shape: True):
        found = [value for value in self.scope.visible() if condition(value[1])]
        if not found:
            return None
        recent = found[-4:]
        return self.random.choice(recent if self.random.random() < 0.7 else found)

    def pick_or_make(self, shape):
        value = self.pick(lambda other: other == shape)
        return value[0] if value and self.random.random() < 0.8 else self.argument(shape)

    def reshape_text(self, result, source, from_shape, to_shape, element=None):
        """From or to one dimension."""
        types = self.program.type_of(from_shape, element), self.program.type_of(to_shape, element)
        if from_shape == to_shape:
            return f"%{result} = tensor.cast %{source} : {types[0]} to {types[1]}"
        if not to_shape or not from_shape:
            groups = "[]"
        else:
            groups = "[[" + ", ".join(str(i) for i in range(max(len(from_shape), len(to_shape)))) + "]]"
        if len(to_shape) < len(from_shape):
            return f"%{result} = tensor.collapse_shape %{source} {groups} : {types[0]} into {types[1]}"
        dims = ", ".join(map(str, to_shape))
        return f"%{result} = tensor.expand_shape %{source} {groups} output_shape [{dims}] : {types[0]} into {types[1]}"

    def zero(self, name, shape, value="0.0"):
        return f"%{name}z = arith.constant dense<{value}> : {self.program.type_of(shape)}"

    LEAVES = (["unary"] * 4 + ["binary"] * 4 + ["product"] * 4 + ["view"] * 4 + ["reduction"] * 2 + ["scatter"] * 2 +
              ["terms", "softmax", "quotient", "gather", "window", "convolution", "complex", "cumulative", "random",
               "cast", "tag"])
    MOST_BODIED = 0.2  # How often a statement has a body.
    BODIED = ["region"] * 3 + ["loop", "call", "choice", "derivative", "derivative"]

    def statement(self, depth):
        for _ in range(10):
            if depth > 0 and self.random.random() < self.MOST_BODIED:
                done = getattr(self, "gen_" + self.random.choice(self.BODIED))(depth)
            else:
                done = getattr(self, "gen_" + self.random.choice(self.LEAVES))()
            if done:
                self.bound()
                return

    def generate(self):
        for _ in range(self.random.randint(1, 3)):
            self.argument([self.random.choice(self.dims) for _ in range(self.random.randint(1, 3))])
        for _ in range(self.random.randint(4, 14)):
            self.statement(3)
        return self.finish()

    def finish(self):
        """The program with what it returns; None if there is nothing."""
        program = self.program
        program.body = self.scope.body
        made = [value for statement in program.body for value in statement.results if value in self.scope.names]
        if not made:
            return None
        program.results = [made[-1]]
        if len(made) > 1 and self.random.random() < 0.5:
            program.results.insert(0, self.random.choice(made[:-1]))
        return program
