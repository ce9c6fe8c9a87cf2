# Sourced by scripts that give containers a cgroup of their own; tests/bootstrap asks it too.
#
# Groups are named NAME-PID, PID being a process that lives as long as its group is used. They are made below the group of the process
# that asks, so two process-id namespaces with groups of their own cannot take each other's for abandoned.
# shellcheck shell=bash

# The folders in which systemd keeps its tree, one a line: this process's groups in cgroup v2 and in v1's hierarchy "systemd". Each once,
# however often, and whatever parts of, a hierarchy is mounted; mounts that another one hides do not count.
cgroup_parents() {
  local device root place rest type options own kind found=
  while read -r _ _ device root place rest; do
    rest=" $rest"
    read -r type _ options <<<"${rest#* - }"
    case $type,$options in
      cgroup2,*) kind=unified own=$(sed -n 's/^0:://p' /proc/self/cgroup) ;;
      cgroup,*name=systemd*) kind=systemd own=$(sed -n 's/^[0-9]*:name=systemd://p' /proc/self/cgroup) ;;
      *) continue ;;
    esac
    if [[ $found == *" $kind "* ]]; then continue; fi
    # Only a part of the hierarchy, and we are in it or not.
    own=${own%/}/ root=${root%/}/
    if [[ $own != "$root"* ]]; then continue; fi
    place=$(printf %b "$place")
    if [ "$(mountpoint --fs-devno "$place" 2>/dev/null)" != "$device" ]; then continue; fi
    own=${own#"$root"}
    place=$place/${own%/}
    if [ ! -e "${place%/}/cgroup.procs" ]; then continue; fi
    found+=" $kind "
    echo "${place%/}"
  done </proc/self/mountinfo
}

# make_cgroups NAME: a group NAME-$$ in each hierarchy that allows it; prints their folders. Removes those whose process has ended.
make_cgroups() {
  local parent stale
  for parent in $(cgroup_parents); do
    for stale in "$parent/$1"-*; do
      if [ -d "$stale" ] && [ ! -d "/proc/${stale##*-}" ]; then remove_cgroup "$stale"; fi
    done
    if mkdir "$parent/$1-$$" 2>/dev/null; then echo "$parent/$1-$$"; fi
  done
}

# Processes that were killed a moment ago may still be on their way out.
remove_cgroup() {
  for _ in {1..40}; do
    find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
    if [ ! -d "$1" ]; then return 0; fi
    sleep 0.05
  done
}
