"""lit: every .mlir and .test file under test/ is a test; its RUN lines are the commands.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The tools are called by their names (sinterc, sinter-run, sinter-opt, sinter-inspect,
FileCheck, not, split-file). Substitutions beside lit's own %s, %S, %t:
  %models    test/models            %examples  docs/examples
  %include   runtime/include        %scripts   tools/scripts
  %cc %cxx   the build's compilers  %build     the build folder
  %python    the interpreter that runs lit
Features for REQUIRES: avx2, avx512, avx512-bf16, fashion-mnist, asan, ptxas, nvdisasm, nvidia-driver, cudnn,
chromium.
"""

import ctypes
import os
import shutil
import sys
import subprocess

import lit.formats

# config and lit_config are lit's; the site configuration sets the sinter_* fields.
source = config.sinter_source_dir
config.name = "Sinter"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "models", "house", "conformance"]
config.test_source_root = os.path.join(source, "test")
config.test_exec_root = os.path.join(config.sinter_build_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.sinter_build_dir, "bin"),
        config.llvm_tools_dir,
        os.environ.get("PATH", ""),
    ]
)
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "HOME", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# tools/dev test --long: more schedules of threads and more random graphs.
isLong = os.environ.get("SINTER_LONG_TESTS") == "1"
# Longer names first: %scripts must not be taken for %s.
config.substitutions[:0] = [
    ("%seeds", "5" if isLong else "2"),
    ("%graphs", "300" if isLong else "100"),
    ("%models", os.path.join(source, "test", "models")),
    ("%examples", os.path.join(source, "docs", "examples")),
    ("%include", os.path.join(source, "runtime", "include")),
    ("%scripts", os.path.join(source, "tools", "scripts")),
    ("%build", config.sinter_build_dir),
    ("%python", sys.executable),
    ("%cxx", config.host_cxx),
    ("%cc", config.host_cc),
]


def cpuFlags():
    """The processor's features as /proc/cpuinfo spells them."""
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("flags"):
                return set(line.split(":")[1].split())
    return set()


flags = cpuFlags()
if {"avx2", "fma"} <= flags:
    config.available_features.add("avx2")
if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= flags:
    config.available_features.add("avx512")
if "avx512_bf16" in flags:
    config.available_features.add("avx512-bf16")
# What sinterc can compile for.
devices = subprocess.run([os.path.join(config.sinter_build_dir, "bin", "sinterc"),
                          "--list-devices"], capture_output=True, text=True)
for line in devices.stdout.splitlines():
    config.available_features.add("target-" + line.split()[0])
if os.path.isdir("/usr/share/datasets/fashion-mnist"):
    config.available_features.add("fashion-mnist")
if config.sinter_asan:
    config.available_features.add("asan")
if shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas"):
    config.available_features.add("ptxas")
hosts = os.path.join(config.test_source_root, "e2e/replicas/hosts.py")
if subprocess.run([sys.executable, hosts, "--check"], capture_output=True).returncode == 0:
    config.available_features.add("network-namespaces")
if shutil.which("mpirun") and subprocess.run(
        ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "true"],
        capture_output=True).returncode == 0:
    config.available_features.add("mpirun")
if os.environ.get("SINTER_NVDISASM") or shutil.which("nvdisasm"):
    config.available_features.add("nvdisasm")
    config.environment["SINTER_NVDISASM"] = os.environ.get("SINTER_NVDISASM", "")
if any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
    config.available_features.add("chromium")
try:
    ctypes.CDLL("libcuda.so.1")
    config.available_features.add("nvidia-driver")
except OSError:
    pass
# Exits with 77 where there is no cuDNN.
programs = os.path.join(config.sinter_build_dir, "test/backends/cuda/sinter-real-programs")
if os.path.exists(programs) and subprocess.run([programs], capture_output=True).returncode == 0:
    config.available_features.add("cudnn")
