"""Tensors as lists of numbers, and what the operations of a random program do to them.

This is written from the definitions of the operations, in double precision, and shares nothing with the compiler."""

import itertools

import numerics as math


def size_of(shape):
    return math.prod(shape)


def points(shape):
    return itertools.product(*(range(extent) for extent in shape))


def at(shape, point):
    index = 0
    for extent, coordinate in zip(shape, point):
        index = index * extent + coordinate
    return index


def build(shape, function):
    """The tensor whose element at each point is function(*point)."""
    return [function(*point) for point in points(shape)]


def contract(shape, loops, out_dims, factors):
    """Sums products over the loops that are not in `out_dims`; a factor is (values, shape, dims)."""
    result = [0.0] * size_of(shape)
    for point in points(loops):
        product = 1.0
        for values, extents, dims in factors:
            product *= values[at(extents, [point[d] for d in dims])]
        result[at(shape, [point[d] for d in out_dims])] += product
    return result


def softmax(values, columns):
    result = []
    for row in range(0, len(values), columns):
        part = values[row:row + columns]
        top = max(part)
        exps = [math.exp(value - top) for value in part]
        total = sum(exps)
        result += [value / total for value in exps]
    return result


def convolve(x, x_shape, w, w_shape, y_shape, strides, dilations, padding, groups):
    """Shapes are (batch, feature, spatial...) and (feature, feature of the group, spatial...)."""
    inputs, outputs = w_shape[1], w_shape[0] // groups

    def element(n, f, *o):
        total, group = 0.0, f // outputs
        for i in range(inputs):
            for k in points(w_shape[2:]):
                place = [o[d] * strides[d] + k[d] * dilations[d] - padding[2 * d] for d in range(len(k))]
                if all(0 <= p < extent for p, extent in zip(place, x_shape[2:])):
                    total += x[at(x_shape, [n, group * inputs + i, *place])] * w[at(w_shape, [f, i, *k])]
        return total

    return build(y_shape, element)


def philox(key, offset, count):
    """Words of Philox4x32-10 [Salmon et al. 2011]."""
    mask, words = 0xffffffff, []
    for block in range((count + 3) // 4):
        counter = (offset + block) & (1 << 64) - 1
        c, k = [counter & mask, counter >> 32, 0, 0], [key & mask, key >> 32 & mask]
        for _ in range(10):
            a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
            c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
            k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
        words += c
    return words[:count]


def uniform(key, offset, count, digits):
    return [(word >> (32 - digits)) / 2.0**digits for word in philox(key, offset, count)]
