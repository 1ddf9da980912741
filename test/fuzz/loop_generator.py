"""Random programs of loops: text for the compiler. A value is a name with dimensions and an element type."""

import random

from program import Program, Statement

FLOATS = {"f32": "f4", "f64": "f8"}
COUNTERS = ("i32", "i64")
POLICIES = [f"{degree}_{what}" for degree in ("must", "prefer") for what in ("save", "recompute", "cpu_offload")]


class LoopProgram(Program):
    """A program whose values have several element types: the shape of a value is a pair of dimensions and type. Loops
    that run as often as an argument says run as often in a program where `fixed` is true, which says it itself."""

    fixed = False

    def type_of(self, shape, element=None):
        dims, own = shape
        return f"tensor<{''.join(f'{extent}x' for extent in dims)}{own}>"


class LoopGenerator:
    """Makes one program. Values stay small: what may grow goes through a tanh."""

    MOST_UNROLLED = 700  # Statements that a program may unroll to.

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.program = LoopProgram(seed)
        self.next = 0
        self.dims = self.random.sample([1, 2, 3, 4, 5, 7], 3)
        if self.random.random() < 0.03:
            self.dims[0] = 0
        self.scopes = [[]]
        self.bodies = [self.program.body]
        self.isolated = False  # Whether this is in a function.
        self.in_region = False
        self.loops = []  # The counters of the loops around, with their trips and how they count.
        self.counted = 0  # How many of them run as often as an argument says, which have no regions.
        self.left = self.MOST_UNROLLED
        self.program.element = self.random.choice(["f32", "f32", "f32", "f64"])

    # Names, values and statements.

    def name(self, prefix="v"):
        self.next += 1
        return f"{prefix}{self.next}"

    def chance(self, probability):
        return self.random.random() < probability

    def type_of(self, shape):
        return self.program.type_of(shape)

    def draw_dims(self, low=0, high=3):
        return tuple(self.random.choice(self.dims) for _ in range(self.random.randint(low, high)))

    def draw_row(self):
        """Dimensions of what an iteration reads or writes: MLIR has no slices of nothing at a known place."""
        return tuple(extent or 2 for extent in self.draw_dims(0, 2))

    def argument(self, dims, element=None):
        """A new argument, which all scopes see."""
        name, element = self.name("arg"), element or self.program.element
        count = 1
        for extent in dims:
            count *= extent
        values = [self.random.randrange(-9, 9) if element in COUNTERS else
                  round(self.random.uniform(-1.5, 1.5) * 1024) / 1024 for _ in range(count)]
        value = (name, (tuple(dims), element))
        self.program.args.append((*value, {**FLOATS, "i32": "i4", "i64": "i8"}[element], values))
        self.scopes[0].append(value)
        return value

    def add(self, shape, uses, lines, prefix="v", hidden=False):
        """A statement of one result, which `lines` say with RESULT and @T for its name and type; if it is hidden, no
        other statement reads it."""
        name = self.name(prefix)
        text = [line.replace("RESULT", name).replace("@T", self.type_of(shape)) for line in lines]
        statement = Statement(self.next, [(name, shape)], {value[0] for value in uses}, text, None)
        statement.removable = shape[1] not in COUNTERS and prefix not in ("c", "e")
        self.bodies[-1].append(statement)
        if not hidden:
            self.scopes[-1].append((name, shape))
        trips = 1
        for loop in self.loops:
            trips *= max(loop[1], 1)
        self.left -= trips
        return name, shape

    def may_have_argument(self):
        return not self.isolated and len(self.program.args) < 9

    def visible(self, condition=lambda shape: True):
        return [value for scope in self.scopes for value in scope if condition(value[1])]

    def pick(self, condition=lambda shape: shape[1] not in COUNTERS):
        found = self.visible(condition)
        if not found:
            return None
        return self.random.choice(found[-4:] if self.chance(0.6) else found)

    def pick_or_make(self, shape):
        value = self.pick(lambda other: other == shape)
        if value and self.chance(0.8):
            return value
        if shape[1] == self.program.element and self.may_have_argument():
            return self.argument(*shape)
        return value or self.constant(shape)

    def constant(self, shape):
        number = str(self.random.randrange(-3, 4)) if shape[1] in COUNTERS else repr(self.random.choice(
            [0.0, 0.5, -0.75, 1.25]))
        return self.add(shape, [], [f"%RESULT = arith.constant dense<{number}> : @T"], "c")

    def bound(self, value):
        return self.add(value[1], [value], [f"%RESULT = math.tanh %{value[0]} : @T"])

    # Statements.

    def gen_unary(self):
        value = self.pick()
        op = self.random.choice(["math.tanh", "math.sin", "math.cos", "math.exp", "arith.negf", "math.absf"])
        made = self.add(value[1], [value], [f"%RESULT = {op} %{value[0]} : @T"])
        return self.bound(made) if op == "math.exp" else made

    def gen_binary(self):
        left = self.pick()
        right = self.pick_or_make(left[1])
        op = self.random.choice(["addf", "addf", "mulf", "mulf", "subf", "maximumf"])
        return self.bound(self.add(left[1], [left, right], [f"%RESULT = arith.{op} %{left[0]}, %{right[0]} : @T"]))

    def gen_product(self):
        left = self.pick(lambda shape: len(shape[0]) in (1, 2) and shape[1] in FLOATS)
        if not left:
            return None
        (dims, element), extent = left[1], self.random.choice(self.dims)
        if len(dims) == 2 and self.chance(0.7):
            right, result, op = self.pick_or_make(((dims[1], extent), element)), (dims[0], extent), "matmul"
        elif len(dims) == 2:
            right, result, op = self.pick_or_make(((dims[1],), element)), (dims[0],), "matvec"
        else:
            right, result, op = self.pick_or_make(((dims[0], extent), element)), (extent,), "vecmat"
        types = f"{self.type_of(left[1])}, {self.type_of(right[1])}"
        return self.bound(self.add((result, element), [left, right], [
            "%RESULTz = arith.constant dense<0.0> : @T",
            f"%RESULT = linalg.{op} ins(%{left[0]}, %{right[0]} : {types}) outs(%RESULTz : @T) -> @T"]))

    def gen_reduction(self):
        value = self.pick(lambda shape: shape[0] and shape[1] in FLOATS)
        if not value:
            return None
        dims, element = value[1]
        gone = sorted(self.random.sample(range(len(dims)), self.random.randint(1, len(dims))))
        result = (tuple(extent for dim, extent in enumerate(dims) if dim not in gone), element)
        return self.bound(self.add(result, [value], [
            "%RESULTz = arith.constant dense<0.0> : @T",
            f"%RESULT = linalg.reduce ins(%{value[0]} : {self.type_of(value[1])}) outs(%RESULTz : @T) "
            f"dimensions = [{', '.join(map(str, gone))}]",
            f"  (%in: {element}, %out: {element}) {{",
            f"    %RESULTs = arith.addf %out, %in : {element}",
            f"    linalg.yield %RESULTs : {element}",
            "  }"]))

    def gen_view(self):
        value = self.pick(lambda shape: shape[1] not in COUNTERS and len(shape[0]) < 4)
        if not value:
            return None
        (dims, element), source = value[1], f"%{value[0]} : {self.type_of(value[1])}"
        if len(dims) > 1 and self.chance(0.5):
            order = self.random.sample(range(len(dims)), len(dims))
            return self.add((tuple(dims[dim] for dim in order), element), [value], [
                "%RESULTe = tensor.empty() : @T",
                f"%RESULT = linalg.transpose ins({source}) outs(%RESULTe : @T) permutation = {order}"])
        if dims and min(dims) > 0 and self.chance(0.5):
            sizes = [self.random.randint(1, extent) for extent in dims]
            offsets = [self.random.randint(0, extent - size) for extent, size in zip(dims, sizes)]
            return self.add((tuple(sizes), element), [value], [
                f"%RESULT = tensor.extract_slice %{value[0]}{offsets} {sizes} {[1] * len(dims)} : "
                f"{self.type_of(value[1])} to @T"])
        if len(dims) < 3:
            at = self.random.randint(0, len(dims))
            return self.add((dims[:at] + (self.random.choice(self.dims),) + dims[at:], element), [value], [
                "%RESULTe = tensor.empty() : @T",
                f"%RESULT = linalg.broadcast ins({source}) outs(%RESULTe : @T) dimensions = [{at}]"])
        return None

    def gen_generic(self):
        """A product of an element and its place."""
        value = self.pick(lambda shape: shape[0] and shape[1] in FLOATS)
        if not value:
            return None
        dims, element = value[1]
        indices = ", ".join(f"d{dim}" for dim in range(len(dims)))
        same, kinds = f"affine_map<({indices}) -> ({indices})>", ", ".join(['"parallel"'] * len(dims))
        return self.bound(self.add(value[1], [value], [
            "%RESULTe = tensor.empty() : @T",
            f"%RESULT = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{kinds}]}} "
            f"ins(%{value[0]} : @T) outs(%RESULTe : @T) {{",
            f"  ^bb0(%in: {element}, %out: {element}):",
            f"    %RESULTi = linalg.index {self.random.randrange(len(dims))} : index",
            "    %RESULTj = arith.index_cast %RESULTi : index to i64",
            f"    %RESULTk = arith.sitofp %RESULTj : i64 to {element}",
            f"    %RESULTm = arith.mulf %RESULTk, %in : {element}",
            f"    linalg.yield %RESULTm : {element}",
            "  } -> @T"]))

    def gen_cast(self):
        value = self.pick()
        (dims, element), width = value[1], {"bf16": 16, "f32": 32, "f64": 64}
        other = self.random.choice([name for name in width if name != element])
        op = "extf" if width[other] > width[element] else "truncf"
        return self.add((dims, other), [value], [f"%RESULT = arith.{op} %{value[0]} : {self.type_of(value[1])} to @T"])

    def gen_number(self):
        """A counter as a number."""
        value = self.pick(lambda shape: shape[1] in COUNTERS)
        if not value:
            return None
        made = self.add((value[1][0], self.program.element), [value], [
            f"%RESULT = arith.sitofp %{value[0]} : {self.type_of(value[1])} to @T"])
        return self.add(made[1], [made], [f"%RESULT = math.sin %{made[0]} : @T"])

    def gen_induction(self):
        """The induction variable as a number."""
        if not self.loops:
            return None
        counter, element = self.random.choice(self.loops)[0], self.program.element
        made = self.add((self.draw_dims(0, 1), element), [], [
            f"%RESULTi = arith.index_cast %{counter} : index to i64",
            f"%RESULTf = arith.sitofp %RESULTi : i64 to {element}",
            "%RESULT = tensor.splat %RESULTf : @T"])
        return self.add(made[1], [made], [f"%RESULT = math.sin %{made[0]} : @T"])

    def gen_choice(self):
        """One of two values, by the parity of a loop."""
        left = self.pick()
        right = self.pick_or_make(left[1])
        if not self.loops:
            return None
        counter = self.loops[-1][0]
        return self.add(left[1], [left, right], [
            f"%RESULTt = arith.constant {self.random.randint(0, 4)} : index",
            f"%RESULTb = arith.cmpi slt, %{counter}, %RESULTt : index",
            "%RESULT = scf.if %RESULTb -> (@T) {",
            f"  scf.yield %{left[0]} : @T",
            "} else {",
            f"  %RESULTn = arith.negf %{right[0]} : @T",
            "  scf.yield %RESULTn : @T",
            "}"])

    def place(self, loop, backward):
        """The lines of the number of an iteration, or of what it is from the end, as RESULTp."""
        counter, trips, low, step = loop
        lines = [f"%RESULTl = arith.constant {low} : index", f"%RESULTw = arith.constant {step} : index",
                 f"%RESULTd = arith.subi %{counter}, %RESULTl : index",
                 f"%RESULT{'q' if backward else 'p'} = arith.divsi %RESULTd, %RESULTw : index"]
        if backward:
            lines += [f"%RESULTm = arith.constant {trips - 1} : index",
                      "%RESULTp = arith.subi %RESULTm, %RESULTq : index"]
        return lines

    def gen_slice(self):
        """What a tensor from outside has for an iteration."""
        if not self.loops or not self.loops[-1][1]:
            return None
        loop = self.loops[-1]
        # What is made in the body cannot be sliced from outside.
        found = [value for scope in self.scopes[:-1] for value in scope
                 if len(value[1][0]) > 0 and value[1][0][0] == loop[1] and 0 not in value[1][0] and
                 value[1][1] in FLOATS]
        if found and self.chance(0.8):
            value = self.random.choice(found)
        elif self.may_have_argument() and len(self.loops) == 1:
            value = self.argument((loop[1],) + self.draw_row())
        else:
            return None
        (trips, *rest), element = value[1]
        offsets = ", ".join(["%RESULTp"] + ["0"] * len(rest))
        sizes, kept = [1] + rest, self.chance(0.1)
        return self.add((((1,) if kept else ()) + tuple(rest), element), [value], self.place(loop, self.chance(0.3)) + [
            f"%RESULT = tensor.extract_slice %{value[0]}[{offsets}] {sizes} {[1] * len(sizes)} : "
            f"{self.type_of(value[1])} to @T"])

    def gen_draw(self):
        """Random numbers: the offset is a counter, or made of the induction variable."""
        shape = (self.draw_dims(0, 2), self.program.element)
        counter = self.pick(lambda shape: shape == ((), "i64"))
        lines = [f"%RESULTk = arith.constant dense<{self.random.randrange(1000)}> : tensor<i64>"]
        if self.loops and self.chance(0.5):
            lines += [f"%RESULTi = arith.index_cast %{self.random.choice(self.loops)[0]} : index to i64",
                      "%RESULTo = tensor.from_elements %RESULTi : tensor<i64>"]
            uses = []
        elif counter:
            lines, uses = lines + [f"%RESULTo = tensor.cast %{counter[0]} : tensor<i64> to tensor<i64>"], [counter]
        else:
            return None
        return self.add(shape, uses, lines + [
            "%RESULT = remat.random %RESULTk, %RESULTo : (tensor<i64>, tensor<i64>) -> @T"])

    def gen_policy(self):
        """A value of which something is asked. What a region around says of it is the region's."""
        value = self.pick()
        if self.in_region:
            return None
        policy = self.random.choice(POLICIES)
        if len(self.loops) > 1:
            self.program.features.add("policies in inner loops")
        name = f', name = "{self.name("n")}"' if self.chance(0.3) else ""
        made = self.add(value[1], [value], [f"%RESULT = math.sin %{value[0]} : @T"], hidden=True)
        return self.add(made[1], [made], [
            f"%RESULT = remat.tag %{made[0]} {{policy = #remat.policy<{policy}>{name}}} : @T"])

    LEAVES = (["unary"] * 4 + ["binary"] * 5 + ["product"] * 3 + ["reduction"] * 2 + ["view"] * 2 + ["generic", "cast",
              "number", "induction", "choice"] + ["draw"] * 4 + ["policy"] * 3 + ["slice"] * 4)

    def statement(self, depth):
        for _ in range(10):
            if depth > 0 and self.chance(0.12) and self.left > 20:
                getattr(self, "gen_" + self.random.choice(["loop"] * 6 + ["call", "region"]))(depth)
                return
            if getattr(self, "gen_" + self.random.choice(self.LEAVES))():
                return

    # Statements with a body.

    def enclose(self, results, uses, body, close):
        statement = Statement(self.next, results, uses, [], None, body, close)
        statement.removable = all(shape[1] not in COUNTERS for _, shape in results)
        self.next += 1
        self.bodies[-1].append(statement)
        self.scopes[-1] += results

    def gen_call(self, depth):
        """A function with a loop, called twice."""
        params = [self.pick() for _ in range(self.random.randint(1, 2))]
        named = [(self.name("p"), shape) for _, shape in params]
        outer = self.scopes, self.bodies, self.loops, self.isolated
        self.scopes, self.bodies, self.loops, self.isolated = [list(named)], [[]], [], True
        left, around = self.left, 2
        for loop in outer[2]:
            around *= max(loop[1], 1)
        self.left //= around
        self.gen_loop(depth - 1)
        function, value = self.name("f"), self.pick()
        uses, (body,) = {value[0]}, self.bodies
        self.left = left - (left // around - self.left) * around
        self.scopes, self.bodies, self.loops, self.isolated = outer
        same = [value[1] == shape for _, shape in named]
        results = [(self.name("r"), value[1]), (self.name("r"), value[1])]

        def close(lines, functions):
            args = ", ".join(f"%{name}: {self.type_of(shape)}" for name, shape in named)
            functions.append(f"func.func private @{function}({args}) -> {self.type_of(value[1])} {{\n" +
                             "\n".join(lines) + f"\n  return %{value[0]} : {self.type_of(value[1])}\n}}")
            calls, sources = [], [name for name, _ in params]
            for result, shape in results:
                types = ", ".join(self.type_of(shape) for _, shape in named)
                calls.append(f"%{result} = func.call @{function}({', '.join('%' + name for name in sources)}) : "
                             f"({types}) -> {self.type_of(shape)}")
                # The second call reads the result of the first where it can.
                sources = [result if is_same else name for is_same, name in zip(same, sources)]
            return calls

        self.enclose(results, uses | {name for name, _ in params}, body, close)

    def gen_region(self, depth):
        """A checkpoint region, with a loop in it or in a loop."""
        if self.counted:
            return
        self.scopes.append([])
        self.bodies.append([])
        outer, self.in_region = self.in_region, True
        if self.chance(0.7):
            self.gen_loop(depth - 1)
        self.gen_unary()
        if self.chance(0.5):
            self.gen_binary()
        self.in_region = outer
        body, value, result = self.bodies.pop(), self.scopes.pop()[-1], self.name("r")

        def close(lines, functions):
            shape = self.type_of(value[1])
            return [f"%{result} = remat.checkpoint {{", *lines, f"  remat.yield %{value[0]} : {shape}", f"}} : {shape}"]

        self.enclose([(result, value[1])], {value[0]}, body, close)

    def draw_trips(self):
        around = 1
        for loop in self.loops:
            around *= max(loop[1], 1)
        most = max(self.left // (8 * around), 0)
        trips = self.random.choice([0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 16, 25, 40, 100, 300])
        return min(trips, most)

    def gen_loop(self, depth):
        trips = self.draw_trips()
        low, step = self.random.choice([0, 0, 0, 1, 2, 5]), self.random.choice([1, 1, 1, 2, 3])
        high = low + trips * step - (self.random.randrange(step) if trips else 0)
        counter, number = self.name("i"), self.name("loop")
        count = self.draw_count(trips)
        carried = self.draw_carried(trips, count is not None)
        # What a tensor.empty has is not read before it is written.
        self.scopes.append([(name, shape) for name, shape, init, _ in carried if init in self.visible()])
        self.bodies.append([])
        self.loops.append((counter, trips, low, step))
        self.counted += count is not None
        for _ in range(self.random.randint(1, 6)):
            self.statement(depth - 1)
        yielded = self.draw_yielded(carried)
        self.loops.pop()
        self.counted -= count is not None
        body = self.bodies.pop()
        self.scopes.pop()
        results = [(f"{number}_{index}", shape) for index, (_, shape, _, _) in enumerate(carried)]
        types = ", ".join(self.type_of(shape) for _, shape in results)
        # How a loop that ends by a condition counts: until it has its bound, or while it is less than what is up to a
        # step less. What the counter is then may be read.
        under = self.random.choice([None, self.random.randrange(step)])
        floats = [name for name, shape in results if shape[1] in FLOATS]
        counted = floats[0] if count and count[2] and floats and self.chance(0.5) else None

        def close(lines, functions):
            inits = ", ".join(f"%{name} = %{init[0]}" for name, _, init, _ in carried)
            names = ", ".join("%" + value[0] for value in yielded)
            bounds, end, most = [("l", low), ("h", high), ("s", step)], [], ""
            if count and self.program.fixed:
                bounds[1] = "h", low + count[1] * step
            elif count:
                bounds.pop(1)
                end = [f"%{number}n = tensor.extract %{count[0]}[] : tensor<i64>",
                       f"%{number}t = arith.index_cast %{number}n : i64 to index",
                       f"%{number}d = arith.muli %{number}t, %{number}s : index",
                       f"%{number}h = arith.addi %{number}l, %{number}d : index"]
                most = f" {{remat.max_trip_count = {trips} : i64}}"
            constants = [f"%{number}{letter} = arith.constant {value} : index" for letter, value in bounds]
            by_condition = count and count[2] and not self.program.fixed
            first = 1 if by_condition else 0
            renamed = [f"%{name}{'w' if name == counted else ''} = tensor.cast %{number}#{first + index} : "
                       f"{self.type_of(shape)} to {self.type_of(shape)}" for index, (name, shape) in enumerate(results)]
            if counted:
                last = f"%{number}#0" if by_condition else f"%{number}h"
                renamed += self.add_end(last, counted, dict(results)[counted])
            if by_condition:
                return self.close_while(number, counter, constants + end, carried, names, lines, results, renamed, most,
                                        under)
            return [*constants, *end,
                    f"%{number}:{len(results)} = scf.for %{counter} = %{number}l to %{number}h step %{number}s "
                    f"iter_args({inits}) -> ({types}) {{", *lines, f"  scf.yield {names} : {types}",
                    "}" + most, *renamed]

        uses = {init[0] for _, _, init, _ in carried} | {value[0] for value in yielded} | {*(count or ())[:1]}
        self.enclose(results, uses, body, close)

    def add_end(self, end, name, shape):
        """The lines that add what a counter is at the end of its loop to a result."""
        type, element = self.type_of(shape), shape[1]
        return [f"%{name}i = arith.index_cast {end} : index to i64",
                f"%{name}f = arith.sitofp %{name}i : i64 to {element}",
                f"%{name}s = tensor.splat %{name}f : {type}" if shape[0] else
                f"%{name}s = tensor.from_elements %{name}f : {type}",
                f"%{name} = arith.addf %{name}w, %{name}s : {type}"]

    def close_while(self, number, counter, constants, carried, names, lines, results, renamed, most, under):
        """The lines of a loop that ends by a condition, which only this loop sees as a count."""
        types = ", ".join(["index"] + [self.type_of(shape) for _, shape in results])
        inits = ", ".join([f"%{counter}b = %{number}l"] + [f"%{name}b = %{init[0]}" for name, _, init, _ in carried])
        before = ", ".join([f"%{counter}b"] + [f"%{name}b" for name, _, _, _ in carried])
        arguments = ", ".join([f"%{counter}: index"] + [
            f"%{name}: {self.type_of(shape)}" for name, shape, _, _ in carried])
        condition = f"ne, %{counter}b, %{number}h"
        if under is not None:
            constants = [*constants, f"%{number}v = arith.constant {under} : index",
                         f"%{number}u = arith.subi %{number}h, %{number}v : index"]
            condition = f"slt, %{counter}b, %{number}u"
        return [*constants, f"%{number}:{len(results) + 1} = scf.while ({inits}) : ({types}) -> ({types}) {{",
                f"  %{number}c = arith.cmpi {condition} : index",
                f"  scf.condition(%{number}c) {before} : {types}", "} do {", f"^bb0({arguments}):", *lines,
                f"  %{number}q = arith.addi %{counter}, %{number}s : index",
                f"  scf.yield {', '.join(['%' + number + 'q', names])} : {types}", "} attributes" + most, *renamed]

    def draw_count(self, trips):
        """The argument that says how often a loop runs, up to `trips` times, how often, and whether it ends by a
        condition; or nothing."""
        if not trips or self.isolated or not self.chance(0.4):
            return None
        name, shape = self.argument((), "i64")
        count = self.random.choice([0, trips, self.random.randint(0, trips), self.random.randint(0, trips)])
        self.program.args[-1] = (name, shape, "i8", [count])
        return name, count, self.chance(0.4)

    def draw_carried(self, trips, is_counted):
        """What a loop carries: names in the body, shapes, what it is at first, and how it goes on."""
        carried = []
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.choice(["state"] * 4 + ["sum", "sum", "counter", "stack", "stack", "swap", "same"])
            if kind == "counter":
                element = self.random.choice(COUNTERS)
                init = self.pick(lambda shape: shape[1] == element) or self.constant(((), element))
            elif kind == "stack" and trips:
                element = self.random.choice([self.program.element] * 3 + ["bf16"])
                shape = ((trips,) + self.draw_row(), element)
                # What no iteration writes is what it was.
                empty = "arith.constant dense<0.0>" if is_counted else "tensor.empty()"
                init = self.pick_or_make(shape) if self.chance(0.3) else self.add(
                    shape, [], [f"%RESULT = {empty} : @T"], "e", hidden=True)
            else:
                init = self.pick(lambda shape: shape[1] not in COUNTERS and len(shape[0]) < 4)
            if kind == "swap":
                other = self.pick_or_make(init[1])
                carried.append((self.name("a"), init[1], init, "swap"))
                carried.append((self.name("a"), init[1], other, "swapped"))
                continue
            carried.append((self.name("a"), init[1], init, kind if trips or kind != "stack" else "same"))
        return carried

    def draw_yielded(self, carried):
        yielded = []
        for number, (name, shape, _, kind) in enumerate(carried):
            value = (name, shape)
            if kind == "swap":
                value = carried[number + 1][:2]
            elif kind == "swapped":
                value = carried[number - 1][:2]
                if self.chance(0.5):
                    value = self.add(shape, [value], [f"%RESULT = math.sin %{value[0]} : @T"])
            elif kind == "counter":
                value = self.add(shape, [value], [
                    f"%RESULTs = arith.constant dense<{self.random.randint(1, 3)}> : @T",
                    f"%RESULT = arith.addi %{name}, %RESULTs : @T"])
            elif kind == "stack":
                value = self.stack(value)
            elif kind == "sum":
                term = self.find_inside(shape)
                value = self.add(shape, [value, term], [f"%RESULT = arith.addf %{name}, %{term[0]} : @T"])
            elif kind == "state":
                value = self.find_inside(shape)
            yielded.append(value)
        return yielded

    def find_inside(self, shape):
        """A value of a body with this shape."""
        found = [value for value in self.scopes[-1] if value[1] == shape]
        if self.chance(0.1):
            found = self.visible(lambda other: other == shape)
        if found[-1:] and self.chance(0.6):
            return found[-1]
        value = self.random.choice(found)
        return self.bound(self.add(shape, [value, found[-1]], [
            f"%RESULT = arith.addf %{value[0]}, %{found[-1][0]} : @T"]))

    def stack(self, value):
        """Writes what has the right shape into the place of the iteration."""
        (trips, *rest), element = value[1]
        row = self.pick(lambda other: other == (tuple(rest), element)) or self.constant((tuple(rest), element))
        sizes = [1] + rest
        offsets = ", ".join(["%RESULTp"] + ["0"] * len(rest))
        return self.add(value[1], [value, row], self.place(self.loops[-1], self.chance(0.3)) + [
            f"%RESULT = tensor.insert_slice %{row[0]} into %{value[0]}[{offsets}] {sizes} {[1] * len(sizes)} : "
            f"{self.type_of(row[1])} into @T"], hidden=value not in self.visible())

    def generate(self):
        for _ in range(self.random.randint(1, 3)):
            self.argument(self.draw_dims(0, 3))
        if self.chance(0.2):
            self.argument((), "i64")
        for _ in range(self.random.randint(0, 2)):
            self.statement(0)
        for _ in range(self.random.randint(1, 2)):
            getattr(self, "gen_" + self.random.choice(["loop"] * 8 + ["call", "region"]))(2)
            for _ in range(self.random.randint(0, 2)):
                self.statement(1)
        return self.finish()

    def finish(self):
        """Returns results of loops and what was made last. Programs return f32, f64 and integers."""
        found = [value for value in self.scopes[0] if not value[0].startswith(("arg", "c", "e"))]
        chosen = self.random.sample(found, min(len(found), self.random.randint(1, 4)))
        if not any(shape[1] in FLOATS for _, shape in chosen):
            value = self.pick(lambda shape: shape[1] in FLOATS)
            chosen.append(self.add(value[1], [value], [f"%RESULT = math.sin %{value[0]} : @T"]))
        results = []
        for value in chosen:
            if value[1][1] == "bf16":
                value = self.add((value[1][0], "f32"), [value], [
                    f"%RESULT = arith.extf %{value[0]} : {self.type_of(value[1])} to @T"])
            results.append(value)
        if self.chance(0.1):
            results.append(results[0])
        self.program.results = results
        self.program.unrolled = self.MOST_UNROLLED - self.left
        return self.program
