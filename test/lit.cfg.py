# Configuration of the lit suite; the paths come from lit.site.cfg.py.

import ctypes
import os
import shutil
import platform
import re
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config


def wrap_tools(root, wrap):
    """Puts a folder of scripts in `root` in place of the tools; `wrap` gives the command of each."""
    wrapped = os.path.join(root, "bin")
    os.makedirs(wrapped, exist_ok=True)
    for tool in os.listdir(config.remat_tools_dir):
        path = os.path.join(wrapped, tool)
        with open(path, "w") as file:
            file.write('#!/bin/sh\nexec %s "$@"\n' % wrap(tool, '"%s"' % os.path.join(config.remat_tools_dir, tool)))
        os.chmod(path, 0o755)
    config.remat_tools_dir = wrapped


host_features = set()
if os.path.exists("/proc/cpuinfo"):
    flags = re.search(r"^flags.*:(.*)$", open("/proc/cpuinfo").read(), re.MULTILINE)
    host_features = set(flags[1].split()) if flags else set()

config.name = "remat"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt", "unit", "lib", "outside-project"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.remat_obj_root, "test")

# With REMAT_TEST_MCPU=haswell or x86-64, all code is compiled for that CPU, and
# the run time and oneDNN use no instructions beyond those that are named here.
# So this machine tests what others run.
masks = {"haswell": ("AVX2", {"avx2", "bmi2", "f16c", "fma", "movbe"}), "x86-64": ("SSE41", set())}
tested_cpu = os.environ.get("REMAT_TEST_MCPU")
if tested_cpu:
    if tested_cpu not in masks:
        lit_config.fatal("REMAT_TEST_MCPU is '%s', expected one of %s" % (tested_cpu, ", ".join(masks)))
    isa, needed = masks[tested_cpu]
    config.environment["ONEDNN_MAX_CPU_ISA"] = isa
    config.unsupported = not needed <= host_features
    config.test_exec_root = os.path.join(config.test_exec_root, tested_cpu)
    config.available_features.add("other-cpu")  # Tools that are not among these compile for this machine's.
    compilers = ("remat-run", "remat-compile")
    for_cpu = '"%s" %s ' % (os.path.join(config.test_source_root, "tested-cpu.sh"), tested_cpu)
    wrap_tools(config.test_exec_root, lambda tool, path: (for_cpu if tool in compilers else "") + path)

config.substitutions.append(("%tested_cpu", tested_cpu or "native"))

# With REMAT_ROUNDTRIP=1 every remat-opt test also checks that the IR that it
# reads, and the IR that it prints, survives printing, parsing and bytecode.
if os.environ.get("REMAT_ROUNDTRIP"):
    config.test_exec_root = os.path.join(config.test_exec_root, "roundtrip")
    script = '"%s"' % os.path.join(config.test_source_root, "roundtrip.sh")
    wrap_tools(config.test_exec_root, lambda tool, path: (script + " " if tool == "remat-opt" else "") + path)

config.substitutions.append(("%tools", config.remat_tools_dir))
config.substitutions.append(("%models", os.path.join(config.test_source_root, "Inputs", "models")))
config.substitutions.append(("%src_root", config.remat_src_root))
config.substitutions.append(("%build_root", config.remat_obj_root))
config.substitutions.append(("%cmake", config.cmake))
config.substitutions.append(("%onednn_include", config.onednn_include))
config.substitutions.append(("%cc", config.c_compiler))
config.substitutions.append(("%mlir_include", config.mlir_include_dir))
config.substitutions.append(("%mlir_lib", config.mlir_lib_dir))
config.substitutions.append(("%cxx", config.cxx_compiler))
# Links C programs with libRemat.so; before %link, which it begins with.
link_remat = [config.link_flags, "-L" + config.remat_lib_dir, "-lRemat", "-Wl,-rpath," + config.remat_lib_dir]
config.substitutions.append(("%link_remat", " ".join(link_remat)))
# Links C programs with the runtime, and with nothing of LLVM.
config.substitutions.append(("%link", config.c_compiler + " " + config.link_flags))
config.substitutions.append(("%runtime_libs", config.runtime_libs))
# remat as a plugin of other tools.
config.substitutions.append(("%plugin", os.path.join(config.remat_lib_dir, "RematPlugin.so")))
# The interpreter that has NumPy, PyTorch or JAX, for tests of tools/python: that
# of lit, or REMAT_TEST_PYTHON. Tests of what it lacks are not supported.
python = os.environ.get("REMAT_TEST_PYTHON", sys.executable)
config.substitutions.append(("%remat_python", "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s REMAT_LIBRARY=%s %s" % (
    os.path.join(config.remat_src_root, "tools", "python"), os.path.join(config.remat_lib_dir, "libRemat.so"), python)))
for module in ("numpy", "torch", "jax"):
    if subprocess.run([python, "-c",
                       "import importlib.util, sys; sys.exit(not importlib.util.find_spec('%s'))" % module],
                      capture_output=True).returncode == 0:
        config.available_features.add("python-" + module)
config.substitutions.append(("%python", sys.executable))

# A browser without a window, for reports.
if any(map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))):
    config.available_features.add("chromium")

# libLLVM and libMLIR are not instrumented: what their allocators poison in our
# object files they hand out in their own, without taking the poison back.
if "-fsanitize=" in config.link_flags:
    config.environment.setdefault("ASAN_OPTIONS", "allow_user_poisoning=0:detect_stack_use_after_return=1")
    config.environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
# Threads that wait for work must not take the cores from other tests.
llvm_config.with_environment("OMP_WAIT_POLICY", "passive")
tools = ["remat-opt", "remat-run", "remat-compile", "remat-pack", "remat-plan", "remat-lsp-server", "remat-reference",
         "remat-test-opt", "remat-grad-cases"]
llvm_config.add_tool_substitutions(tools, [config.remat_tools_dir])
llvm_config.add_tool_substitutions(["FileCheck", "not", "split-file", "count", "mlir-opt"], [config.llvm_tools_dir])

config.available_features.add(platform.machine())
if "avx2" in host_features:
    config.available_features.add("avx2")
# The assembler of the CUDA toolkit, if there is one.
ptxas = shutil.which("ptxas", path=os.pathsep.join(
    [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"), os.environ.get("PATH", "")]))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
# The driver of a GPU, whether or not there is a GPU.
# A cuDNN that can make plans; some versions only can where there is a driver.
for feature, libraries in (("cuda-driver", ["libcuda.so.1"]),
                           ("cudnn", ["libcudnn.so.9", "libcudnn_engines_runtime_compiled.so.9"])):
    try:
        for library in libraries:
            ctypes.CDLL(library)
        config.available_features.add(feature)
    except OSError:
        pass
if config.remat_has_highs:
    config.available_features.add("highs")

# Who installs what tests need does not want these to be left out in silence:
# REMAT_TEST_NEEDS has the features that there must be.
missing = set(os.environ.get("REMAT_TEST_NEEDS", "").split()) - config.available_features
if missing:
    lit_config.fatal("REMAT_TEST_NEEDS: there is no %s, expected for tests that would be left out" %
                     ", ".join(sorted(missing)))
