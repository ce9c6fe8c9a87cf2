# Sourced by scripts/release and scripts/package: the programs of a release, built and stripped, the same bytes wherever
# the source lies. The caller has changed into the source folder.
# shellcheck shell=bash disable=SC2034  # the variables are for the scripts that source this

# A folder of its own: build/release goes on with the project's version, and a release never ships what was built for tests.
readonly build=build/package
readonly programs=(opsagent opsagent-fetch opsagent-launch opsctl opsbackend)
architecture=$(dpkg --print-architecture)
readonly architecture
export LC_ALL=C TZ=UTC

say() { echo "${0##*/}: $*"; }
fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}
# The script's own opening comment.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# As semantic versioning has it, without build metadata.
check_version() {
  [[ $1 =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$ ]] ||
    fail "'$1' is not a version such as 1.4.0 or 1.4.0-rc.1"
}

# Sets and exports what a build takes from the commit, unless the environment says it: SOURCE_DATE_EPOCH, OPSAGENT_COMMIT.
read_commit() {
  if [ -z "${OPSAGENT_COMMIT:-}" ]; then
    OPSAGENT_COMMIT=$(git rev-parse HEAD) || fail "not a git checkout: set OPSAGENT_COMMIT and SOURCE_DATE_EPOCH"
    if [ -n "$(git status --porcelain)" ]; then
      echo "${0##*/}: there are changes that are not committed: the manifest will say so" >&2
      OPSAGENT_COMMIT+=-changed
    fi
  fi
  if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) || fail "set SOURCE_DATE_EPOCH"; fi
  export OPSAGENT_COMMIT SOURCE_DATE_EPOCH
}

# build_programs VERSION: leaves them, stripped, in $build/stripped/.
build_programs() {
  local program jobs
  # Paths below the source count as relative for ccache, so another checkout finds what this one compiled.
  export CCACHE_BASEDIR=$PWD
  say "building $1 in $build"
  cmake --preset release -B "$build" --log-level=WARNING -DOPSAGENT_VERSION="$1" >/dev/null
  jobs=$(nproc)
  # Quiet unless it fails.
  if ! ninja -C "$build" -j "$jobs" "${programs[@]}" >"$build/release.log"; then
    tail -n 40 "$build/release.log" >&2
    fail "the build failed"
  fi
  rm -rf "$build/stripped"
  mkdir -p "$build/stripped"
  for program in "${programs[@]}"; do
    strip --strip-all -o "$build/stripped/$program" "$build/bin/$program"
    if grep --quiet --fixed-strings --text "$PWD" "$build/stripped/$program"; then
      fail "$program has the path of this folder in it; the same source elsewhere would give other bytes"
    fi
  done
}
