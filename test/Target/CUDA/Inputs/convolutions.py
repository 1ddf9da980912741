"""Compares convolutions and their gradients on the simulator of a GPU with those on the CPU.

usage: convolutions.py REMAT_RUN DIR
"""
import math, os, random, struct, subprocess, sys

# Types, shapes of input and filter, strides, dilations, padding, groups, layouts of input, filter and output.
CASES = [
    ("f32", (2, 4, 7), (6, 4, 3), (1,), (1,), (1, 1), 1, (0, 1, 2), (0, 1, 2), (0, 1, 2)),
    ("f32", (2, 4, 7, 6), (6, 2, 3, 3), (2, 1), (1, 2), (1, 1, 2, 0), 2, (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3)),
    ("f32", (2, 7, 6, 4), (3, 2, 4, 6), (2, 3), (1, 1), (0, 1, 1, 1), 1, (0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)),
    ("f32", (1, 4, 3, 4, 5), (4, 1, 2, 1, 3), (1, 2, 1), (1, 1, 1), (0, 0, 0, 0, 1, 1), 4, (0, 1, 2, 3, 4),
     (0, 1, 2, 3, 4), (0, 1, 2, 3, 4)),
    ("f16", (2, 4, 5, 5), (3, 4, 3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 1, (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3)),
]


def get_output_shape(case):
    _, input_shape, filter_shape, strides, dilations, padding, _, in_layout, filter_layout, out_layout = case
    logical = [input_shape[in_layout[0]], filter_shape[filter_layout[0]]]
    for dim, (stride, dilation) in enumerate(zip(strides, dilations)):
        reach = dilation * (filter_shape[filter_layout[2 + dim]] - 1) + 1
        room = input_shape[in_layout[2 + dim]] + padding[2 * dim] + padding[2 * dim + 1] - reach
        logical.append(room // stride + 1)
    shape = [0] * len(logical)
    for number, dim in enumerate(out_layout):
        shape[dim] = logical[number]
    return shape


def write_module(case, path):
    dtype, input_shape, filter_shape, strides, dilations, padding, groups, *layouts = case
    tensor = lambda shape: "tensor<%sx%s>" % ("x".join(map(str, shape)), dtype)
    array = lambda values: "array<i64: %s>" % ", ".join(map(str, values))
    output = tensor(get_output_shape(case))
    with open(path, "w") as file:
        file.write("""func.func @main(%%x: %s, %%w: %s) -> %s {
  %%y = remat.conv forward(%%x, %%w) {strides = %s, dilations = %s, padding = %s, groups = %d : i64,
      input_layout = %s, filter_layout = %s, output_layout = %s} : (%s, %s) -> %s
  return %%y : %s
}
""" % (tensor(input_shape), tensor(filter_shape), output, array(strides), array(dilations), array(padding), groups,
       *map(array, layouts), tensor(input_shape), tensor(filter_shape), output, output))


def write_array(path, dtype, shape, generator):
    code, count = {"f32": "f", "f16": "e"}[dtype], math.prod(shape)
    header = "{'descr': '<f%d', 'fortran_order': False, 'shape': (%s,)}" % (
        struct.calcsize(code), ", ".join(map(str, shape)))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1"))
        file.write(struct.pack("<%d%s" % (count, code), *(generator.uniform(-1, 1) for _ in range(count))))


def read_array(path, dtype):
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    code = {"f32": "f", "f16": "e"}[dtype]
    return struct.unpack_from("<%d%s" % ((len(data) - start) // struct.calcsize(code), code), data, start)


def run(program, directory, name, dtype, options):
    outputs = os.path.join(directory, name)
    os.makedirs(outputs)
    subprocess.run([program, os.path.join(directory, "conv.mlir"), "--inputs=" + directory, "--outputs=" + outputs,
                    "--emit=forward,vjp", "--threads=1", *options], check=True, stdout=subprocess.DEVNULL)
    return {file: read_array(os.path.join(outputs, file), dtype) for file in sorted(os.listdir(outputs))}


def main(program, root):
    generator = random.Random(1)
    for number, case in enumerate(CASES):
        directory = os.path.join(root, str(number))
        os.makedirs(directory)
        write_module(case, os.path.join(directory, "conv.mlir"))
        dtype = case[0]
        for name, shape in ("arg0", case[1]), ("arg1", case[2]), ("cotangent0", get_output_shape(case)):
            write_array(os.path.join(directory, name + ".npy"), dtype, shape, generator)
        expected = run(program, directory, "cpu", dtype, [])
        found = run(program, directory, "gpu", dtype, ["--target=cuda", "--device=sim"])
        assert sorted(expected) == sorted(found) == ["result0.npy", "vjp0.npy", "vjp1.npy"], sorted(found)
        for name, values in expected.items():
            error = max(abs(a - b) for a, b in zip(values, found[name])) / max(map(abs, values))
            assert len(values) == len(found[name]) and error < (1e-6 if dtype == "f32" else 1e-3), (number, name, error)


main(*sys.argv[1:])
