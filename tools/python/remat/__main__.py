"""python -m remat export script.py:make_model -o DIR

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import importlib.util
import os
import sys

from .errors import Error
from .progress import MODES, ProgressLine, set_progress


def load_function(reference):
    """The function that `FILE.py:NAME` says."""
    path, _, name = reference.rpartition(":")
    if not path or not name:
        raise Error("'%s' is no FILE.py:FUNCTION" % reference)
    if not os.path.exists(path):
        raise Error("%s: no such file" % path)
    spec = importlib.util.spec_from_file_location("remat_exported_script", path)
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(script)
    if not hasattr(script, name):
        known = sorted(n for n, v in vars(script).items() if callable(v) and not n.startswith("_"))
        raise Error("%s has no function '%s'; there are %s" % (path, name, ", ".join(known)))
    return getattr(script, name)


def export_made(made, framework, loss):
    """Exports what a function of the user made: a model with arguments and, for PyTorch, keywords."""
    if not isinstance(made, tuple) or not 2 <= len(made) <= 3:
        raise Error("the function must return (model, arguments) or (model, arguments, keywords), got %s"
                    % type(made).__name__)
    model, args = made[0], made[1]
    kwargs = made[2] if len(made) == 3 else {}
    if isinstance(args, dict):
        args, kwargs = (), dict(args, **kwargs)
    if not isinstance(args, (list, tuple)):
        args = (args,)
    if framework == "auto":
        framework = "torch" if "torch" in sys.modules and (
            type(model).__module__.startswith("torch") or isinstance(model, sys.modules["torch"].nn.Module)
            or any(type(a).__module__.startswith("torch") for a in list(args) + list(kwargs.values()))) else "jax"
    if framework == "torch":
        from . import torch as frontend
        return frontend.export(model, args, kwargs, loss=loss)
    if kwargs or loss:
        raise Error("functions of JAX take positional arguments and give the loss")
    from . import jax as frontend
    return frontend.export(model, *args)


def fail(error):
    print("remat: error: %s" % error, file=sys.stderr)
    return 1


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m remat", description="Exports models of PyTorch and JAX.")
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="write IR, weights and a manifest of a model with its gradients")
    export.add_argument("script", metavar="FILE.py:FUNCTION",
                        help="a function without arguments that returns (model, arguments[, keywords])")
    export.add_argument("-o", "--output", default=".", metavar="DIR", help="where to write; default: here")
    export.add_argument("--name", default="model", help="what to call the files; default: model")
    export.add_argument("--loss", help="the output that is the loss")
    export.add_argument("--framework", choices=["auto", "torch", "jax"], default="auto")
    export.add_argument("--progress", choices=MODES,
                        help="say once a second that it goes on; default: on a terminal")
    given = parser.parse_args(arguments)
    set_progress(given.progress)
    try:
        made = load_function(given.script)()
        with ProgressLine(lambda: ("exporting", None)):
            exported = export_made(made, given.framework, given.loss)
    except Error as error:
        return fail(error)
    try:
        for path in exported.save(given.output, given.name):
            print(path)
        sys.stdout.flush()
    except OSError as error:
        if error.filename is None:  # What was printed before would be tried again at the end.
            sys.stdout = open(os.devnull, "w")
            return fail("standard output: %s" % error.strerror)
        return fail("'%s': %s" % (error.filename, error.strerror))
    return 0


if __name__ == "__main__":
    sys.exit(main())
