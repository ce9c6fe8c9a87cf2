# Sourced by ./boot and ./exec: a scratch machine that cannot leave anything behind.
#
# The script runs itself again in a mount and a process-id namespace of its own. Everything it mounts (an overlay over the
# shared root, with a tmpfs for what the tests write) exists only there, and every process it starts dies with
# the namespace's first one. So however a run ends, SIGKILL included, the kernel cleans up; only an empty cgroup
# may stay, which the next run removes.
# shellcheck shell=bash disable=SC2034  # the variables are for the scripts that source this

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
readonly here source_dir
# shellcheck source-path=SCRIPTDIR source=cgroups.sh
. "$here/cgroups.sh"

program=${0##*/}
readonly program

say() { echo "container $program: $*" >&2; }

readonly status_timeout=124  # as timeout(1)
readonly status_testbed=125  # the command did not run at all, or never said how it ended

usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit "$status_testbed"
}

# Sets: limit, build, root_options, command.
parse_arguments() {
  limit=300
  root_options=()
  build=${OPSAGENT_BUILD:-$source_dir/build/release}
  while [ $# -gt 0 ]; do
    case $1 in
      --timeout) limit=$2 && shift 2 ;;
      --build) build=$(realpath "$2") && shift 2 ;;
      --suite | --packages) root_options+=("$1" "$2") && shift 2 ;;
      --) shift && break ;;
      -*) usage ;;
      *) break ;;
    esac
  done
  command=("$@")
  if [ ${#command[@]} -eq 0 ]; then usage; fi
  if [ "$(id -u)" != 0 ]; then
    say "must be run as root"
    exit "$status_testbed"
  fi
}

# Runs this script again, with --inside and the given arguments, in namespaces of its own; ends with its exit status.
isolate() {
  local root cgroup cgroups inner=
  root=$("$here/root" "${root_options[@]}") || exit "$status_testbed"
  exec 7>>"$root.lock"
  flock --shared 7
  touch "$root.lock"

  # Each container needs a cgroup to itself: two of them in one would both take its root for their own.
  cgroups=$(make_cgroups opsagent-test)
  trap 'trap "" INT TERM HUP
        exec 2>/dev/null  # the shell would announce the kill
        if [ -n "$inner" ]; then kill -KILL "$inner"; wait "$inner" || true; fi
        for cgroup in $cgroups; do remove_cgroup "$cgroup"; done' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  (
    for cgroup in $cgroups; do echo 0 >"$cgroup/cgroup.procs"; done
    exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child=KILL --mount-proc \
      "$0" --inside "$root" "$limit" "$build" "${command[@]}"
  ) 7>&- &
  inner=$!
  local status=0
  wait "$inner" || status=$?
  inner=
  exit "$status"
}

# Inside the namespaces: makes the machine's file system. Sets: limit, build, command, work, machine.
enter() {
  local root=$1
  limit=$2 build=$3
  shift 3
  command=("$@")
  work=/run/opsagent-test
  machine=$work/machine

  # Also hides the host's /run: nothing of nspawn's own bookkeeping outlives us.
  mount -t tmpfs -o mode=755,size=4g opsagent-test /run
  mkdir -p "$work"/{upper,overlay,machine,share}
  mount -t overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/overlay" opsagent-test "$machine"

  # Programs that change the machine look for this file and refuse to run where it is missing.
  echo "A scratch machine of OpsAgent's tests: whatever happens here is forgotten." >"$machine/etc/opsagent-scratch"

  nspawn=(
    timeout --kill-after=5 "$limit"
    systemd-nspawn --quiet --directory="$machine" --machine="opsagent-test-$(cut -c 1-8 /proc/sys/kernel/random/uuid)"
    --register=no --keep-unit --private-network
    --bind-ro="$source_dir:/opsagent/source"
  )
  if [ -d "$build" ]; then nspawn+=(--bind-ro="$build:/opsagent/build"); fi
}
