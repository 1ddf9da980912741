#!/usr/bin/env bash
# Checks that are not tests: how the sources look, and what tools say of them.
# --help lists them. Each installs what it needs on Debian 12.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'EOF'
usage: tools/check.sh [OPTION...] GATE...

Gates, with their time on two quiet cores and what they need to be built:

  format      C++ is formatted by clang-format 22, its first lines have 80
              columns, lines of Python and of pages at most 120, no line ends
              in a space                                    3 s, nothing
  includes    no folder includes one that stands on it      1 s, nothing
  warnings    every file by itself builds in the preset `files`, where warnings
              are errors, and lib/Planning and lib/Runtime with the system's g++
                                            1 min, and 20 min for the build
  roundtrip   IR that tests read, and IR that remat-opt prints in them, survives
              printing, parsing and bytecode           2 min, preset `dev`
  tidy        clang-tidy 22 on the C++ files that changed; --all takes 10 min
                          5 s for each file, generated headers of `files`
  sanitizers  the unit tests, and lit without long runs of models, in the preset
              `asan`                        6 min, and 7 min for the build
  all         all of these

Options:

  --fix           with format: repairs instead of complaining
  --base=COMMIT   with tidy: files that differ from this commit; default: where
                  the branch left origin/main, or else the last commit
  --all           with tidy: all files
EOF
}

fix=
base=
everything=
gates=()
known=(format includes warnings roundtrip tidy sanitizers)
for argument in "$@"; do
  case $argument in
    -h | --help) usage && exit ;;
    --fix) fix=1 ;;
    --base=*) base=${argument#--base=} ;;
    --all) everything=1 ;;
    all) gates+=("${known[@]}") ;;
    format | includes | warnings | roundtrip | tidy | sanitizers)
      gates+=("$argument") ;;
    *)
      echo "check.sh: unknown argument '$argument'; the gates are" \
        "${known[*]} all, the options --fix --base=COMMIT --all --help" >&2
      exit 2
      ;;
  esac
done
if [ ${#gates[@]} = 0 ]; then
  usage >&2
  exit 2
fi

cores=$(nproc)
lit=/usr/lib/llvm-22/bin/lit

# sources FOLDER... -- PATTERN...: files of the working tree whose names match,
# also where there is no git.
sources() {
  local folders=() names=(-false)
  while [ "$1" != -- ]; do
    folders+=("$1")
    shift
  done
  shift
  for pattern in "$@"; do
    names+=(-o -name "$pattern")
  done
  find "${folders[@]}" -name 'build*' -prune -o -name .git -prune -o \
    -type f \( "${names[@]}" \) -print | sort
}
code=(include lib test tools)

format() {
  tools/install.sh clang-format-22 python3
  local failed=0 action=(--dry-run -Werror) banners=()
  if [ -n "$fix" ]; then
    action=(-i)
    banners=(--fix)
  fi
  # The first lines come first: clang-format breaks one that is too long.
  sources "${code[@]}" -- '*.h' '*.cpp' |
    xargs python3 tools/checks/banners.py "${banners[@]}" || failed=1
  sources cmake "${code[@]}" -- '*.h' '*.cpp' '*.c' |
    xargs -P "$cores" -n 40 clang-format-22 "${action[@]}" || failed=1
  # Models and other inputs are as their exporters wrote them.
  local texts
  texts=$(sources . -- '*' | grep -v Inputs/ | xargs grep -lIE '[[:blank:]]+$') ||
    true
  if [ -n "$texts" ] && [ -n "$fix" ]; then
    xargs sed -i -E 's/[[:blank:]]+$//' <<<"$texts"
  elif [ -n "$texts" ]; then
    xargs grep -nHE '[[:blank:]]+$' <<<"$texts" | sed 's/$/<- ends in a space/'
    failed=1
  fi
  # Generated pages, tables, pictures, and what tools print are as wide as they
  # are. So are programs of which a file has one a line.
  local wide
  wide=$(sources . -- '*.py' '*.md' |
    grep -vE 'Inputs/|_lines\.py$|docs/dialect\.md|docs/passes/' |
    LC_ALL=C.UTF-8 xargs grep -nHE '^.{121,}$' |
    grep -vE '\.md:[0-9]+:(\||!|<|    )') || true
  if [ -n "$wide" ]; then
    sed 's/$/<- has more than 120 columns/' <<<"$wide"
    failed=1
  fi
  if [ $failed = 1 ]; then
    echo "tools/check.sh --fix format repairs most of this" >&2
  fi
  return $failed
}

includes() {
  tools/install.sh python3
  python3 tools/checks/layers.py
}

warnings() {
  tools/setup.sh --preset=files
  # The planner is plain C++ on LLVM's support library and the run time is a
  # package without LLVM, so both have to suit the system's compiler too.
  local flags=(-std=c++17 -O1 -Wall -Wextra -Werror -Wno-unused-parameter
    -fsyntax-only -Iinclude)
  sources lib/Runtime -- '*.cpp' |
    xargs -P "$cores" -n 1 g++ "${flags[@]}" -Ilib/Runtime
  # LLVM's errors are returned by std::move, which g++ calls redundant.
  flags+=(-Wno-redundant-move -fno-exceptions -isystem /usr/lib/llvm-22/include)
  sources lib/Planning -- '*.cpp' | xargs -P "$cores" -n 1 g++ "${flags[@]}"
  # Headers by themselves: each includes what it needs.
  sources include/remat/Planning include/remat/Runtime -- '*.h' |
    xargs -P "$cores" -I{} g++ "${flags[@]}" -x c++ -include {} /dev/null
}

roundtrip() {
  tools/setup.sh
  local tests
  tests=$(grep -rlw remat-opt test --include='*.mlir' --include='*.test' |
    sed 's#^test/##' | sort | paste -sd'|')
  # The wrapper has no opinion on devices that take no output.
  REMAT_ROUNDTRIP=1 "$lit" -s build/test --filter="$tests" \
    --filter-out=Tools/standard-output
  sources test -- '*.mlir' | grep Inputs/ | xargs -P "$cores" -n 1 \
    build/bin/remat-opt --verify-roundtrip -o /dev/null
}

# The sources to look at for the changed files: headers are looked at from the
# first source that includes them.
changed_sources() {
  local commit=$base file
  if [ -z "$commit" ]; then
    commit=$(git merge-base HEAD origin/main 2>/dev/null ||
      git rev-parse HEAD~1)
    [ "$commit" != "$(git rev-parse HEAD)" ] || commit=$(git rev-parse HEAD~1)
  fi
  {
    git diff --name-only --diff-filter=d "$commit" -- '*.cpp' '*.h'
    git ls-files -o --exclude-standard -- '*.cpp' '*.h'
  } | while read -r file; do
    case $file in
      *.h)
        file=${file#include/}
        case $file in remat/*) ;; *) file=${file##*/} ;; esac
        git grep -l --untracked "#include \"\([^\"]*/\)\?$file\"" -- '*.cpp' |
          head -1
        ;;
      *) echo "$file" ;;
    esac
  done | sort -u
}

tidy() {
  tools/install.sh clang-tidy-22
  # Sources are read as they are compiled, with the precompiled header and the
  # headers that TableGen makes. The launcher of compilers is not part of
  # compile_commands.json.
  tools/setup.sh --preset=files remat_pch
  ninja -C build-files -t targets all |
    sed -n 's/^\(Remat[A-Za-z]*IncGen\): phony$/\1/p' | xargs ninja -C build-files
  local files
  if [ -n "$everything" ]; then
    files=$(sources "${code[@]}" -- '*.cpp')
  else
    files=$(changed_sources)
  fi
  # Only what the build compiles: other projects in test/ are none of it.
  files=$(python3 -c '
import json, os, sys
known = {os.path.relpath(entry["file"]) for entry in json.load(open("build-files/compile_commands.json"))}
print(*[file for file in sys.stdin.read().split() if file in known], sep="\n")' <<<"$files")
  if [ -z "$files" ]; then
    echo "no C++ file has changed"
    return
  fi
  xargs -P "$cores" -n 1 clang-tidy-22 -p build-files --quiet \
    --warnings-as-errors='*' <<<"$files" 2> >(grep -v 'warnings generated' >&2)
}

sanitizers() {
  tools/setup.sh --preset=asan CudaTests RematCodegenTests RematPlanningTests \
    RuntimeTests RematExamplePlugin remat-compile remat-opt remat-pack remat-plan \
    remat-reference remat-run remat-run-step remat-test-opt
  # What users poison does not count, all else does; test/lit.cfg.py says why.
  export ASAN_OPTIONS=allow_user_poisoning=0:detect_stack_use_after_return=1
  export LSAN_OPTIONS=suppressions=$PWD/test/leaks.supp:print_suppressions=0
  export UBSAN_OPTIONS=print_stacktrace=1
  local failed=0 shard tests=build-asan/bin
  "$tests/RuntimeTests" --gtest_brief=1 || failed=1
  "$tests/CudaTests" --gtest_brief=1 || failed=1
  "$tests/RematCodegenTests" --gtest_brief=1 || failed=1
  seq 0 $((cores - 1)) | GTEST_TOTAL_SHARDS=$cores xargs -P "$cores" -I{} \
    env GTEST_SHARD_INDEX={} "$tests/RematPlanningTests" --gtest_brief=1 || failed=1
  # Tests that limit the time or the memory of a process do so for one without
  # sanitizers.
  "$lit" -s build-asan/test \
    --filter='(AutoDiff|Cost|Dialect|Import|Planning|Target|Transforms)/' \
    --filter-out='clock|many-readers|recompute-depth' || failed=1
  if [ $failed = 1 ]; then
    echo "run by hand with ASAN_OPTIONS=$ASAN_OPTIONS LSAN_OPTIONS=$LSAN_OPTIONS" \
      "UBSAN_OPTIONS=$UBSAN_OPTIONS" >&2
  fi
  return $failed
}

failed=()
for gate in "${gates[@]}"; do
  echo "== $gate"
  # A gate fails where its first command fails: `set -e` does not reach into
  # what stands in a condition, so each is a process of its own.
  (set -e; "$gate") & wait $! || failed+=("$gate")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
