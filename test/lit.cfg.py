# Configuration of the lit suite; the paths come from lit.site.cfg.py.

import os
import platform
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "remat"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt", "unit", "lib", "outside-project"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.remat_obj_root, "test")

config.substitutions.append(("%models", os.path.join(config.test_source_root, "Inputs", "models")))
config.substitutions.append(("%src_root", config.remat_src_root))
config.substitutions.append(("%build_root", config.remat_obj_root))
config.substitutions.append(("%cc", config.c_compiler))
config.substitutions.append(("%cxx", config.cxx_compiler))
# Links C programs with the runtime, and with nothing of LLVM.
config.substitutions.append(("%link", config.c_compiler + " " + config.link_flags))
config.substitutions.append(("%runtime_libs", config.runtime_libs))
config.substitutions.append(("%python", sys.executable))

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
# Threads that wait for work must not take the cores from other tests.
llvm_config.with_environment("OMP_WAIT_POLICY", "passive")
tools = ["remat-opt", "remat-run", "remat-compile", "remat-plan", "remat-reference", "remat-test-opt", "remat-grad-cases"]
llvm_config.add_tool_substitutions(tools, [config.remat_tools_dir])
llvm_config.add_tool_substitutions(["FileCheck", "not", "split-file", "mlir-opt"], [config.llvm_tools_dir])

# With REMAT_ROUNDTRIP=1 every remat-opt test also checks that IR survives
# printing, parsing and bytecode.
if os.environ.get("REMAT_ROUNDTRIP"):
    remat_opt = os.path.join(config.remat_tools_dir, "remat-opt")
    config.substitutions.insert(0, (r"\bremat-opt\b", remat_opt + " --verify-roundtrip"))

config.available_features.add(platform.machine())
if os.path.exists("/proc/cpuinfo") and " avx2 " in open("/proc/cpuinfo").read():
    config.available_features.add("avx2")
if config.remat_has_highs:
    config.available_features.add("highs")
