#!/usr/bin/env bash
# Installs what attend needs and is not there yet; says what it installs; does nothing, quickly, when nothing is missing.
#
#   tools/setup.sh build          what `make build` needs
#   tools/setup.sh run            that, and what getting the default model needs
#   tools/setup.sh test           that, and what `make test` needs
#   tools/setup.sh full           that, and what `make test-full` needs: a compiler and libraries for ARM, and an emulator
#   tools/setup.sh python         what `pip install .` needs
#   tools/setup.sh deb            what `make build` and `make deb` need
#   tools/setup.sh cuda           a compiler for NVIDIA GPUs, unpacked under build/nvcc, unless an nvcc is on the path
#   tools/setup.sh rivals         what `make build` and `make rivals` need, but for the rivals themselves
#
# A missing compiler or library ends the script with one sentence. A missing *optional* tool (clang for the address sanitizer and the
# fuzzer, the Python test packages, a browser and what drives it, NVIDIA's compiler, MPI, everything for ARM) is written to build/gaps.txt instead: the C++
# tests still run, and `make test` names the gap.
set -uo pipefail
cd "$(dirname "$0")/.."

what=${1:-build}
gaps=build/gaps.txt
log=build/setup.log
mkdir -p build
rm -f "$gaps" "$log"

build_packages=(g++ cmake ninja-build pkg-config libhwy-dev libcli11-dev nlohmann-json3-dev libutf8proc-dev
  libpcre2-dev libcurl4-openssl-dev libpango1.0-dev fonts-dejavu-core)
test_packages=(libgtest-dev librapidcheck-dev libsimdjson-dev)
format_packages=(clang-format-16)
clang_packages=(clang-16 libclang-rt-16-dev llvm-16 lld-16)
python_packages=(python3 python3-venv python3-dev)
browser_packages=(nodejs npm chromium)
mpi_packages=(libopenmpi-dev openmpi-bin)
arm_packages=(g++-aarch64-linux-gnu qemu-user)
arm_libraries=(libhwy-dev libhwy1 libgtest-dev librapidcheck-dev libsimdjson-dev libsimdjson14 libutf8proc-dev libutf8proc2
  libpcre2-dev libpcre2-8-0)  # of architecture arm64, unpacked and not installed

fail() {
  echo "setup: $1" >&2
  exit 1
}

# A program counts wherever it comes from; a library counts when its package is installed.
present() {
  case $1 in
    g++ | cmake | pkg-config) command -v "$1" >/dev/null ;;
    python3) "$(python)" -c '' 2>/dev/null ;;
    ninja-build) command -v ninja >/dev/null ;;
    clang-format-16) command -v clang-format-16 >/dev/null ;;
    nodejs) [ "$(node -p 'process.versions.node.split(".")[0] >= 18' 2>/dev/null)" = true ] ;;
    npm) command -v npm >/dev/null ;;
    chromium) [ -x /usr/bin/chromium ] ;;
    clang-16) command -v clang++-16 >/dev/null ;;
    lld-16) command -v ld.lld-16 >/dev/null ;;
    g++-aarch64-linux-gnu) command -v aarch64-linux-gnu-g++ >/dev/null ;;
    qemu-user) command -v qemu-aarch64 >/dev/null ;;
    libboost1.81-dev) grep -qsE '#define BOOST_VERSION 1(08[1-9]|09|1)' /usr/include/boost/version.hpp ;;  # or newer
    python3-venv) "$(python)" -c 'import venv, ensurepip' 2>/dev/null ;;
    python3-dev) [ -f "$("$(python)" -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h" ] ;;
    *) dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed ;;
  esac
}

# A python3 that runs: a version manager's stand-in may be first on the path and have no version to run.
python() {
  python3 -c '' 2>/dev/null && echo python3 || echo /usr/bin/python3
}

missing_of() {
  local package
  for package in "$@"; do present "$package" || echo "$package"; done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    return 127
  fi
}

# Installs packages; sets `reason` and returns 1 when it cannot.
apt_install() {
  reason="this is not a Debian or Ubuntu system (no apt-get)"
  command -v apt-get >/dev/null || return 1
  reason="it takes root or sudo"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || return 1
  if [ -z "${updated:-}" ]; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update >>"$log" 2>&1
    updated=yes
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1 && return 0
  reason="apt-get could not install $* (details in $log)"
  return 1
}

require() {
  local missing
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} = 0 ] && return 0
  echo "setup: installing ${missing[*]}"
  apt_install "${missing[@]}" || fail "cannot go on without ${missing[*]}: $reason"
}

# want NAME PACKAGES...: as require, but a failure is a gap in what can be tested, not the end.
want() {
  local name=$1 missing
  shift
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} = 0 ] && return 0
  echo "setup: installing ${missing[*]}"
  apt_install "${missing[@]}" && return 0
  echo "$name: $reason" >>"$gaps"
  return 1
}

python_environment() {
  local stamp=.venv/attend-requirements.txt
  cmp -s tests/requirements.txt "$stamp" && return 0
  echo "setup: installing $(grep -v '^#' tests/requirements.txt | tr '\n' ' ')into .venv"
  if ! "$(python)" -m venv .venv >>"$log" 2>&1; then
    echo "python tests: $(python) could not make the environment .venv (details in $log)" >>"$gaps"
  elif ! .venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt >>"$log" 2>&1; then
    echo "python tests: the packages of tests/requirements.txt could not be installed from PyPI (details in $log)" >>"$gaps"
  else
    cp tests/requirements.txt "$stamp"
  fi
}

# What checks the page: web/package-lock.json names every version and its hash.
browser_environment() {
  local stamp=web/node_modules/attend-package-lock.json
  cmp -s web/package-lock.json "$stamp" && return 0
  echo "setup: installing $(node -p 'Object.keys(require("./web/package.json").devDependencies).join(" ")') into web/node_modules"
  if npm ci --prefix web --no-audit --no-fund >>"$log" 2>&1; then
    cp web/package-lock.json "$stamp"
  else
    echo "browser tests: npm could not install the packages of web/package-lock.json (details in $log)" >>"$gaps"
  fi
}

# apt for another architecture, with lists of its own: the system's apt and dpkg never hear of arm64.
arm_apt() {
  apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$1" -o "Dir::State::Lists=$1/lists" \
    -o "Dir::State::status=$1/status" -o "Dir::Cache=$1/cache" -o APT::Sandbox::User= "${@:2}"
}

# The arm64 libraries that programs link, unpacked under build/aarch64-sysroot, where cmake/aarch64.cmake looks.
arm_sysroot() {
  local root=$PWD/build/aarch64-sysroot apt=$PWD/build/aarch64-apt
  [ "$(cat "$root/contents" 2>/dev/null)" = "${arm_libraries[*]}" ] && return 0
  echo "setup: unpacking ${arm_libraries[*]} for arm64 into build/aarch64-sysroot"
  rm -rf "$root" "$apt"
  mkdir -p "$root" "$apt/lists/partial" "$apt/cache/archives/partial"
  touch "$apt/status"
  arm_apt "$apt" update >>"$log" 2>&1
  if ! (cd "$apt" && arm_apt "$apt" download "${arm_libraries[@]}") >>"$log" 2>&1; then
    echo "neon tests: apt-get could not download ${arm_libraries[*]} for arm64 (details in $log)" >>"$gaps"
    return
  fi
  local package
  for package in "$apt"/*.deb; do
    dpkg-deb -x "$package" "$root" || fail "$package could not be unpacked"
  done
  rm -rf "$apt"
  echo "${arm_libraries[*]}" >"$root/contents"
}

# Debian 12 has Boost 1.81 beside its usual one; other systems have a newer one. Without any there is no `attend explore` and no `attend serve`.
boost() {
  present libboost1.81-dev && return 0
  echo "setup: installing Boost"
  apt_install libboost1.81-dev || apt_install libboost-dev || echo "the servers: $reason" >>"$gaps"
}

# NVIDIA's packages on PyPI, each by its version: one tree with bin/nvcc. They are not ours to pass on.
cuda_packages=(nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96
  nvidia-cuda-cccl==13.0.85)
cuda_compiler() {  # returns 1 when it cannot be had
  { [ -n "${NVCC:-}" ] || command -v nvcc >/dev/null; } && return 0
  [ "$(cat build/nvcc/contents 2>/dev/null)" = "${cuda_packages[*]}" ] && return 0
  echo "setup: unpacking ${cuda_packages[*]} into build/nvcc"
  require "${python_packages[@]}"
  rm -rf build/nvcc
  "$(python)" -m venv build/nvcc/venv >>"$log" 2>&1 &&
    build/nvcc/venv/bin/pip install --quiet --disable-pip-version-check --no-deps --target build/nvcc "${cuda_packages[@]}" >>"$log" 2>&1 ||
    return 1
  chmod -R +x build/nvcc/nvidia/cu13/bin build/nvcc/nvidia/cu13/nvvm/bin
  echo "${cuda_packages[*]}" >build/nvcc/contents
}

no_cuda_compiler="NVIDIA's packages could not be installed from PyPI (details in $log)"
if [ "$what" = cuda ]; then
  require g++
  cuda_compiler || fail "cannot go on without NVIDIA's compiler: $no_cuda_compiler"
  exit 0
fi
require "${build_packages[@]}"
boost
version=$(cmake --version | sed -n 's/^cmake version //p')
[ "$(printf '%s\n3.25\n' "$version" | sort -V | head -n 1)" = 3.25 ] ||
  fail "CMake $version is too old: attend needs 3.25, as in Debian 12 and Ubuntu 24.04"
[ "$what" = build ] && exit 0
[ "$what" = deb ] && require dpkg-dev && exit 0
{ [ "$what" = run ] || [ "$what" = rivals ] || [ "$what" = python ]; } && require "${python_packages[@]}" && exit 0

require "${test_packages[@]}"
want "format check" "${format_packages[@]}"
want "asan and fuzz targets" "${clang_packages[@]}"
want "tests over MPI" "${mpi_packages[@]}"
want "python tests" "${python_packages[@]}" && python_environment
want "Debian package" dpkg-dev
want "browser tests" "${browser_packages[@]}" && browser_environment
cuda_compiler || echo "GPU kernels: $no_cuda_compiler" >>"$gaps"
[ "$what" = full ] && [ "$(uname -m)" != aarch64 ] || exit 0

want "neon tests" "${arm_packages[@]}" && arm_sysroot
exit 0
