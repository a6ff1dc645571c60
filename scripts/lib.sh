# shellcheck shell=bash
# Shared by the scripts in this folder; sourced, never run. The caller sets `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
prog=${0##*/}

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "$prog" "$*" >&2
  exit 1
}

# The comment block under the first line of a script is its help text.
usage() { sed -n '2,/^[^#]/{ s/^# \{0,1\}//p; }' "$0"; }

# parse_preset DEFAULT ARGUMENT...: arguments of the form `--preset NAME ...`; sets `preset` and `rest`.
parse_preset() {
  preset=$1 rest=()
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --preset) preset=${2:?--preset needs a name}; shift 2 ;;
      --preset=*) preset=${1#*=}; shift ;;
      -h | --help) usage; exit 0 ;;
      *) rest+=("$1"); shift ;;
    esac
  done
}

# A prefix for the commands that run a preset's binaries. The sanitizer runtimes of g++ 12 map their shadow memory at
# fixed addresses and die at start ("unexpected memory mapping") on kernels that randomize more than 28 bits, so
# randomization is turned off there. A container may forbid that; the binaries then run without the prefix.
sanitizer_prefix() {
  prefix=()
  case $1 in asan | tsan) ;; *) return 0 ;; esac
  local bits
  bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)
  if [ "$bits" -gt 28 ] && setarch "$(uname -m)" -R true 2>/dev/null; then
    prefix=(setarch "$(uname -m)" -R)
  fi
}

# Configures build/PRESET if necessary. Ninja itself notices changed CMake files, but neither a changed preset nor a
# checkout that was moved or copied; both need a fresh cache.
configure() {
  local preset=$1 dir=$root/build/$1 stamp=$root/build/$1/.configured
  if [ -f "$dir/build.ninja" ] && [ "$stamp" -nt "$root/CMakePresets.json" ] &&
    [ "$(cat "$stamp")" = "$root" ]; then
    return
  fi
  say "configuring build/$preset"
  rm -f "$stamp"
  (cd "$root" && cmake --fresh --preset "$preset") || die "the configuration of preset '$preset' failed, see above"
  printf '%s\n' "$root" >"$stamp"
}

# Installs what a preset needs.
setup_for() {
  case $1 in
    user) "$root/scripts/setup" ;;
    fuzz | coverage) "$root/scripts/setup" --dev ;;
    *) "$root/scripts/setup" --test ;;
  esac
}

# build PRESET [TARGET...]: installs what is missing, configures and builds.
build() {
  local preset=$1 dir=$root/build/$1
  shift
  setup_for "$preset"
  configure "$preset"
  if [ "$(ninja -C "$dir" -n "$@" 2>/dev/null | tail -n 1)" = "ninja: no work to do." ]; then
    say "build/$preset is up to date"
    return
  fi
  say "building build/$preset"
  sanitizer_prefix "$preset" # test discovery runs the test binaries as part of the build
  "${prefix[@]}" cmake --build "$dir" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" ${1:+--target "$@"} ||
    die "the build of preset '$preset' failed, see above"
}

# write_suite_source SUITE DIR: writes an apt source for the suite into DIR. It is the source that this machine
# already has for the suite (security updates have their own address), or else the source of the machine's own release
# with only the suite replaced. So the address and the key are the machine's, and this repository states neither.
write_suite_source() {
  local codename
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  write_source_like "$1" "$2" "$1" || write_source_like "$1" "$2" "$codename stable oldstable"
}

# write_source_like SUITE DIR MODELS: copies the first source with one of the suites MODELS, with its suites replaced
# by SUITE. It reads both of apt's notations: stanzas (*.sources) first, then lines (*.list).
write_source_like() {
  local suite=$1 dir=$2 models=$3 file
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -f "$file" ] || continue
    awk -v suite="$suite" -v own=" $models " '
      function flush_stanza(  i, n, word, found) {
        n = split(suites, word, /[ \t]+/)
        for (i = 1; i <= n; i++) if (word[i] != "" && index(own, " " word[i] " ")) found = 1
        if (found && binary && enabled) { printf "%sSuites: %s\n", kept, suite; done = 1; exit }
        kept = suites = ""; binary = 0; enabled = 1; field = ""
      }
      BEGIN { enabled = 1 }
      /^#/ { next }
      /^[ \t]*$/ { flush_stanza(); next }
      /^[^ \t]/ { field = tolower($0); sub(/:.*/, "", field) }
      { value = $0; sub(/^[^ \t:]+:/, "", value) }
      field == "suites" { suites = suites " " value; next }
      field == "types" && value ~ /(^|[ \t])deb([ \t]|$)/ { binary = 1 }
      field == "enabled" && tolower(value) ~ /no|false/ { enabled = 0 }
      { kept = kept $0 "\n" }
      END { if (!done) flush_stanza() }' "$file" >"$dir/other.sources"
    [ -s "$dir/other.sources" ] && return 0
  done
  rm -f "$dir/other.sources"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$file" ] || continue
    awk -v suite="$suite" -v own=" $models " '
      { sub(/#.*/, "") }
      !/^[ \t]*deb[ \t]/ { next }
      {
        options = ""
        if (match($0, /\[[^]]*\]/)) { options = substr($0, RSTART, RLENGTH) " "; sub(/\[[^]]*\]/, "") }
        if (!index(own, " " $3 " ")) next
        line = "deb " options $2 " " suite
        for (i = 4; i <= NF; i++) line = line " " $i
        print line
        exit
      }' "$file" >"$dir/other.list"
    [ -s "$dir/other.list" ] && return 0
  done
  return 1
}

# unpack_from_suite SUITE DIR PACKAGE: unpacks PACKAGE of another suite of this machine's own mirror into DIR, checked
# against the archive's signature. All apt state is in a temporary folder, so nothing is installed, no source is added
# to the machine, and root is not needed.
unpack_from_suite() (
  suite=$1 dir=$2 package=$3
  mkdir -p "$(dirname "$dir")"
  tmp=$(mktemp -d "$dir.XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  mkdir -p "$tmp/sources" "$tmp/lists/partial" "$tmp/cache/archives/partial" "$tmp/tree"
  write_suite_source "$suite" "$tmp/sources" || die "no apt source of this machine's own release was found in /etc/apt"
  private_apt() {
    apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$tmp/sources" \
      -o Dir::State::Lists="$tmp/lists" -o Dir::Cache="$tmp/cache" -o Dir::Etc::Preferences=/dev/null \
      -o Dir::Etc::PreferencesParts=/dev/null -o APT::Default-Release= -o APT::Sandbox::User=root \
      -o APT::Update::Error-Mode=any -o Acquire::Languages=none "$@" >>"$tmp/log" 2>&1
  }
  cd "$tmp" || exit
  if ! { private_apt update && private_apt download "$package" && dpkg-deb -x "$package"_*.deb tree; }; then
    cat "$tmp/log" >&2
    die "could not fetch $package of Debian $suite, see above"
  fi
  # In one step, so an interrupted run leaves nothing that looks complete.
  rm -rf "$dir"
  mv tree "$dir"
)
