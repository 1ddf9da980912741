"""Random statements without a body that move elements: views, gathers and scatters."""

from interpreter import at, build, points, size_of
from operations import affine


class Movement:
    """The part of a generator that makes them. Each returns False if nothing fits."""

    def gen_view(self):
        value = self.pick(lambda shape: len(shape) > 0)
        if not value:
            return False
        source, shape = value
        kind = self.random.choice(["slice", "pad", "transpose", "reshape", "broadcast", "insert", "concat"])
        return getattr(self, "view_" + kind)(source, shape)

    def view_slice(self, source, shape):
        name, t = self.name(), self.program.type_of
        offsets = [self.random.randrange(extent) for extent in shape]
        strides = [self.random.choice([1, 1, 2]) for _ in shape]
        sizes = [self.random.randint(1, (extent - offset + stride - 1) // stride)
                 for extent, offset, stride in zip(shape, offsets, strides)]
        lines = [f"%{name} = tensor.extract_slice %{source}{offsets} {sizes} {strides} : {t(shape)} to {t(sizes)}"]
        self.add([(name, sizes)], {source}, lines, lambda env: [build(sizes, lambda *p: env[source][at(
            shape, [offset + i * stride for offset, i, stride in zip(offsets, p, strides)])])])
        return True

    def view_pad(self, source, shape):
        name, t = self.name(), self.program.type_of
        low = [self.random.randint(0, 2) for _ in shape]
        high = [self.random.randint(0, 2) for _ in shape]
        out = [a + extent + b for a, extent, b in zip(low, shape, high)]
        if size_of(out) > 300:
            return False
        args = ", ".join(f"%{name}i{i}: index" for i in range(len(shape)))
        lines = [f"%{name}c = arith.constant 0.25 : {self.program.element}",
                 f"%{name} = tensor.pad %{source} low{low} high{high} {{", f"^bb0({args}):",
                 f"  tensor.yield %{name}c : {self.program.element}", f"}} : {t(shape)} to {t(out)}"]

        def element(values, p):
            place = [i - a for i, a in zip(p, low)]
            return values[at(shape, place)] if all(0 <= i < e for i, e in zip(place, shape)) else 0.25

        self.add([(name, out)], {source}, lines, lambda env: [build(out, lambda *p: element(env[source], p))])
        return True

    def view_transpose(self, source, shape):
        name, t, order = self.name(), self.program.type_of, list(range(len(shape)))
        self.random.shuffle(order)
        out = [shape[d] for d in order]
        lines = [self.zero(name, out), f"%{name} = linalg.transpose ins(%{source} : {t(shape)}) "
                 f"outs(%{name}z : {t(out)}) permutation = {order}"]

        def element(values, p):
            place = [0] * len(shape)
            for i, d in zip(p, order):
                place[d] = i
            return values[at(shape, place)]

        self.add([(name, out)], {source}, lines, lambda env: [build(out, lambda *p: element(env[source], p))])
        return True

    def view_reshape(self, source, shape):
        """To one dimension, and on to a factorization of it."""
        name, count = self.name(), size_of(shape)
        factor = self.random.choice([f for f in range(1, count + 1) if count % f == 0])
        out = self.random.choice([[count], [factor, count // factor], [1, count]])
        lines, flat = [], source
        if len(shape) != 1:
            flat = name + "f" if len(out) != 1 else name
            lines.append(self.reshape_text(flat, source, shape, [count]))
        if len(out) != 1 or flat == source:
            lines.append(self.reshape_text(name, flat, [count], out))
        self.add([(name, out)], {source}, lines, lambda env: [env[source]])
        return True

    def view_broadcast(self, source, shape):
        extent, place = self.random.choice(self.dims), self.random.randint(0, len(shape))
        out, name, t = shape[:place] + [extent] + shape[place:], self.name(), self.program.type_of
        if len(out) > 3 or size_of(out) > 300:
            return False
        lines = [self.zero(name, out), f"%{name} = linalg.broadcast ins(%{source} : {t(shape)}) "
                 f"outs(%{name}z : {t(out)}) dimensions = [{place}]"]
        self.add([(name, out)], {source}, lines, lambda env: [build(
            out, lambda *p: env[source][at(shape, p[:place] + p[place + 1:])])])
        return True

    def view_insert(self, source, shape):
        """Overwrites a slice of another value."""
        target = self.pick(lambda other: len(other) == len(shape) and all(a >= b for a, b in zip(other, shape)))
        if not target:
            return False
        into, out = target
        name, t = self.name(), self.program.type_of
        offsets = [self.random.randint(0, a - b) for a, b in zip(out, shape)]
        ones = [1] * len(shape)
        lines = [f"%{name} = tensor.insert_slice %{source} into %{into}{offsets} {shape} {ones} : "
                 f"{t(shape)} into {t(out)}"]

        def element(env, p):
            place = [i - offset for i, offset in zip(p, offsets)]
            inside = all(0 <= i < e for i, e in zip(place, shape))
            return env[source][at(shape, place)] if inside else env[into][at(out, p)]

        self.add([(name, out)], {source, into}, lines, lambda env: [build(out, lambda *p: element(env, p))])
        return True

    def view_concat(self, source, shape):
        d = self.random.randrange(len(shape))
        other = self.pick(lambda o: len(o) == len(shape) and o[:d] == shape[:d] and o[d + 1:] == shape[d + 1:])
        second, extents = other
        out = list(shape)
        out[d] += extents[d]
        if size_of(out) > 300:
            return False
        name, t = self.name(), self.program.type_of
        lines = [f"%{name} = tensor.concat dim({d}) %{source}, %{second} : ({t(shape)}, {t(extents)}) -> {t(out)}"]

        def element(env, p):
            if p[d] < shape[d]:
                return env[source][at(shape, p)]
            return env[second][at(extents, [i - shape[d] * (j == d) for j, i in enumerate(p)])]

        self.add([(name, out)], {source, second}, lines, lambda env: [build(out, lambda *p: element(env, p))])
        return True

    def gen_gather(self):
        """Rows that indices select."""
        value = self.pick(lambda shape: 1 <= len(shape) <= 2)
        if not value:
            return False
        source, shape = value
        count, name, t = self.random.choice(self.dims), self.name(), self.program.type_of
        ids = self.argument([count], "i8", shape[0])
        out = [count] + shape[1:]
        loops = len(out)
        maps = f"{affine(loops, [0])}, {affine(loops, list(range(loops)))}"
        column = [f"  %{name}j = linalg.index 1 : index"] if loops > 1 else []
        place = f"%{name}k, %{name}j" if loops > 1 else f"%{name}k"
        kinds = ", ".join(['"parallel"'] * loops)
        lines = [self.zero(name, out),
                 f"%{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
                 f"ins(%{ids} : {t([count], 'i64')}) outs(%{name}z : {t(out)}) {{",
                 f"^bb0(%{name}i: i64, %{name}o: {self.program.element}):",
                 f"  %{name}k = arith.index_cast %{name}i : i64 to index", *column,
                 f"  %{name}e = tensor.extract %{source}[{place}] : {t(shape)}",
                 f"  linalg.yield %{name}e : {self.program.element}", f"}} -> {t(out)}"]
        self.add([(name, out)], {source, ids}, lines, lambda env: [build(
            out, lambda i, *rest: env[source][at(shape, [env[ids][i], *rest])])])
        return True

    def gen_scatter(self):
        """Adds rows to the rows that indices select, or overwrites these in a loop."""
        value = self.pick(lambda shape: len(shape) == 2)
        if not value:
            return False
        source, shape = value
        rows, name, t = self.random.choice(self.dims), self.name(), self.program.type_of
        ids = self.argument([shape[0]], "i8", rows)
        out = [rows, shape[1]]
        into = self.pick_or_make(out)
        adds = self.random.random() < 0.6
        taken = range(shape[0])
        if adds and self.random.random() < 0.5:
            lines = self.scatter_text(name, ids, source, shape, into, out)
        else:
            first, step = self.random.randrange(shape[0]), self.random.choice([1, 1, 2, 3])
            taken = range(first if self.random.random() < 0.5 else 0, self.random.randint(0, shape[0]), step)
            lines = self.scatter_loop(name, ids, source, shape, into, out, taken, adds)

        def evaluate(env):
            result = list(env[into])
            for row in taken:
                for column in range(shape[1]):
                    place = at(out, [env[ids][row], column])
                    result[place] = env[source][at(shape, [row, column])] + (result[place] if adds else 0.0)
            return [result]

        self.add([(name, out)], {source, ids, into}, lines, evaluate)
        return True

    def scatter_text(self, name, ids, source, shape, into, out):
        t, e = self.program.type_of, self.program.element
        maps = f"{affine(2, [0])}, {affine(2, [0, 1])}"
        sizes = f"array<i64: {shape[0]}, {shape[1]}>"
        return [f"%{name} = remat.scatter {{indexing_maps = [{maps}], sizes = {sizes}}} "
                f"ins(%{ids}, %{source} : {t([shape[0]], 'i64')}, {t(shape)}) outs(%{into} : {t(out)}) {{",
                f"^bb0(%{name}p: index, %{name}q: index, %{name}i: i64, %{name}v: {e}):",
                f"  %{name}r = arith.index_cast %{name}i : i64 to index",
                f"  remat.yield %{name}r, %{name}q, %{name}v : index, index, {e}", f"}} -> {t(out)}"]

    def scatter_loop(self, name, ids, source, shape, into, out, taken, adds):
        t, e, row = self.program.type_of, self.program.element, [1, shape[1]]
        place = f"[%{name}k, 0] {row} [1, 1]"
        lines = [f"%{name}a = arith.constant {taken.start} : index", f"%{name}b = arith.constant {taken.stop} : index",
                 f"%{name}c = arith.constant {taken.step} : index",
                 f"%{name} = scf.for %{name}i = %{name}a to %{name}b step %{name}c "
                 f"iter_args(%{name}t = %{into}) -> ({t(out)}) {{",
                 f"  %{name}x = tensor.extract %{ids}[%{name}i] : {t([shape[0]], 'i64')}",
                 f"  %{name}k = arith.index_cast %{name}x : i64 to index",
                 f"  %{name}s = tensor.extract_slice %{source}[%{name}i, 0] {row} [1, 1] : {t(shape)} to {t(row)}"]
        new = name + "s"
        if adds:
            new, maps, kinds = name + "n", ", ".join([affine(2, [0, 1])] * 2), '"parallel", "parallel"'
            lines += [f"  %{name}o = tensor.extract_slice %{name}t{place} : {t(out)} to {t(row)}",
                      f"  %{new} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
                      f"ins(%{name}s : {t(row)}) outs(%{name}o : {t(row)}) {{",
                      f"  ^bb0(%{name}u: {e}, %{name}v: {e}):",
                      f"    %{name}w = arith.addf %{name}v, %{name}u : {e}", f"    linalg.yield %{name}w : {e}",
                      f"  }} -> {t(row)}"]
        return lines + [f"  %{name}y = tensor.insert_slice %{new} into %{name}t{place} : {t(row)} into {t(out)}",
                        f"  scf.yield %{name}y : {t(out)}", "}"]
