"""The command lines of tools that run models with manifests: BIN MODEL_DIR [MODEL...] [--OPTION=VALUE...]."""
import glob, os, sys


def read_arguments(documentation, known):
    """The path of remat-run, the folder, its models (all with a manifest if none is named), and the options."""
    if "--help" in sys.argv:
        print(documentation)
        sys.exit()
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    options = dict((a[2:].split("=", 1) + [""])[:2] for a in sys.argv[1:] if a.startswith("--"))
    unknown = sorted(set(options) - set(known))
    if unknown:
        sys.exit(f"unknown option --{unknown[0]}, known are {', '.join('--' + name for name in known)}")
    if len(paths) < 2:
        sys.exit(documentation)
    directory, models = paths[1], paths[2:]
    if not models:
        models = sorted(os.path.splitext(os.path.basename(f))[0] for f in glob.glob(os.path.join(directory, "*.json")))
    return os.path.join(paths[0], "remat-run"), directory, models, options
