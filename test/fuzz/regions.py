"""Random statements with a body: checkpoint regions, scopes, calls and loops."""

import numerics as math
from program import Scope, Statement


class Regions:
    """The part of a generator that makes them. Each returns False if nothing fits."""

    def children(self, isolated, names, count, depth):
        """Generates into a scope of its own; the scope."""
        outer, self.scope = self.scope, Scope(self.scope, isolated)
        self.scope.names += names
        before = len(self.scope.names)
        for _ in range(count):
            self.statement(depth)
        scope, self.scope = self.scope, outer
        scope.made = scope.names[before:]
        return scope

    def gen_region(self, depth):
        kind = self.random.choice(["remat.checkpoint"] * 3 + ["remat.scope"])
        attributes = []
        if kind == "remat.checkpoint":
            attributes += [f"policy = #remat.policy<{self.random.choice(['prefer_recompute', 'must_recompute'])}>"] * (
                self.random.random() < 0.2)
            attributes += ["early_stop = false"] * (self.random.random() < 0.3)
            attributes += [f'name = "{self.name("region")}"'] * (self.random.random() < 0.3)
        else:
            lossy = [] if self.differentiating else ['codec = "int8"', 'codec = "bf16"']
            attributes += [self.random.choice(["offload", "offload"] + lossy + ["codec = "])]
            if attributes[0] == "codec = ":
                attributes[0] += self.codec()
            else:
                self.program.lossy |= "codec" in attributes[0]
        scope = self.children(False, [], self.random.randint(1, 5), depth - 1)
        if not scope.made:
            return False
        inner = [scope.made[-1]]
        if len(scope.made) > 2 and self.random.random() < 0.3:
            inner.append(scope.made[0])
        results = [(self.name("r"), shape) for _, shape in inner]
        types = ", ".join(self.program.type_of(shape) for _, shape in inner)
        head = kind + (f" attributes {{{', '.join(attributes)}}}" if attributes else "")

        def close(lines, functions):
            names = ", ".join("%" + name for name, _ in results)
            values = ", ".join("%" + name for name, _ in inner)
            return [f"{names} = {head} {{", *lines, f"  remat.yield {values} : {types}", f"}} : {types}"]

        def execute(env, removed):
            self.program.run_body(scope.body, env, removed)
            for (name, _), (source, _) in zip(results, inner):
                env[name] = env[source]

        self.enclose(results, {name for name, _ in inner}, scope, execute, close)
        self.program.features.add(kind)
        return True

    def gen_call(self, depth):
        """A function of a few values, called once or twice."""
        params = [self.pick() for _ in range(self.random.randint(1, 2))]
        named = [(self.name("p"), shape) for _, shape in params]
        for (name, _), (source, _) in zip(named, params):
            self.env[name] = self.env[source]
        scope = self.children(True, named, self.random.randint(1, 4), depth - 1)
        if not scope.made:
            return False
        value, shape = scope.made[-1]
        function, result, t = self.name("f"), self.name("r"), self.program.type_of

        def close(lines, functions):
            args = ", ".join(f"%{name}: {t(extents)}" for name, extents in named)
            functions.append(f"func.func private @{function}({args}) -> {t(shape)} {{\n" + "\n".join(lines) +
                             f"\n  return %{value} : {t(shape)}\n}}")
            sources = ", ".join("%" + name for name, _ in params)
            types = ", ".join(t(extents) for _, extents in params)
            return [f"%{result} = func.call @{function}({sources}) : ({types}) -> {t(shape)}"]

        def execute(env, removed):
            for (name, _), (source, _) in zip(named, params):
                env[name] = env[source]
            self.program.run_body(scope.body, env, removed)
            env[result] = env[value]

        uses = {value} | {name for name, _ in params}
        self.enclose([(result, shape)], uses, scope, execute, close)
        self.program.features.add("call")
        return True

    def gen_choice(self, depth):
        """One of two branches, by the sign of an element."""
        condition, extents = self.pick()
        value = self.env[condition][0]
        if abs(value) < self.margin:
            return False
        start, shape = self.pick()
        scope = self.children(False, [(start, shape)], self.random.randint(1, 3), depth - 1)
        fitting = [value for value in scope.made if value[1] == shape]
        if not fitting:
            return False
        inner, other = fitting[-1][0], self.pick_or_make(shape)
        result, t, element = self.name("r"), self.program.type_of, self.program.element
        swapped = self.random.random() < 0.5

        def close(lines, functions):
            zeros = ", ".join([f"%{result}c"] * len(extents))
            predicate = "olt" if swapped else "ogt"
            return [f"%{result}c = arith.constant 0 : index", f"%{result}z = arith.constant 0.0 : {element}",
                    f"%{result}e = tensor.extract %{condition}[{zeros}] : {t(extents)}",
                    f"%{result}p = arith.cmpf {predicate}, %{result}e, %{result}z : {element}",
                    f"%{result} = scf.if %{result}p -> ({t(shape)}) {{", *lines, f"  scf.yield %{inner} : {t(shape)}",
                    "} else {", f"  scf.yield %{other} : {t(shape)}", "}"]

        def execute(env, removed):
            self.program.run_body(scope.body, env, removed)
            env[result] = env[inner if (env[condition][0] > 0) != swapped else other]

        self.enclose([(result, shape)], {condition, inner, other}, scope, execute, close)
        self.program.features.add("choice")
        return True

    def gen_loop(self, depth):
        start, shape = self.pick()
        carried, result, t = self.name("it"), self.name("r"), self.program.type_of
        trips, first, by = self.counter(self.random.randint(0 if self.random.random() < 0.1 else 1, 3))
        self.env[carried] = self.env[start]
        scope = self.children(False, [(carried, shape)], self.random.randint(1, 3), depth - 1)
        fitting = [value for value in scope.made if value[1] == shape]
        other = fitting[-1][0] if fitting else carried
        names = [self.name("l") for _ in range(5)]
        low, high, step, total, last = names

        def close(lines, functions):
            return [f"%{low} = arith.constant {first} : index",
                    f"%{high} = arith.constant {self.bound_of(trips, first, by)} : index",
                    f"%{step} = arith.constant {by} : index",
                    f"%{result} = scf.for %{result}i = %{low} to %{high} step %{step} "
                    f"iter_args(%{carried} = %{start}) -> ({t(shape)}) {{", *lines,
                    f"  %{total} = arith.addf %{carried}, %{other} : {t(shape)}",
                    f"  %{last} = math.sin %{total} : {t(shape)}", f"  scf.yield %{last} : {t(shape)}", "}"]

        def execute(env, removed):
            env[carried] = env[start]
            for _ in range(trips):
                self.program.run_body(scope.body, env, removed)
                env[carried] = [math.sin(a + b) for a, b in zip(env[carried], env[other])]
            env[result] = env[carried]

        self.enclose([(result, shape)], {start, other}, scope, execute, close)
        self.program.features.add("loop")
        return True

    def enclose(self, results, uses, scope, execute, close):
        statement = Statement(self.next, results, uses, [], execute, scope.body, close)
        self.next += 1
        execute(self.env, ())
        self.scope.body.append(statement)
        self.scope.names += results
