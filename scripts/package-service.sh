# Sourced by scripts/package and by the test that upgrades the agent's package by a recipe: what a package with a service has
# besides its program. The caller has changed into the source folder.
# shellcheck shell=bash

readonly templates=bootstrap/debian

# add_service PACKAGE ROOT: its unit, and the scripts that enable, start, stop and forget it.
add_service() {
  local package=$1 root=$2 script
  install -D -m 644 "bootstrap/$package.service" "$root/lib/systemd/system/$package.service"
  for script in postinst prerm postrm; do
    sed "s/@PACKAGE@/$package/g" "$templates/$script" >"$root/DEBIAN/$script"
    chmod 755 "$root/DEBIAN/$script"
  done
}

# add_agent_service ROOT: the agent of a package is updated by apt, so it runs without the launcher; and only when it is told
# what to do.
add_agent_service() {
  local root=$1 unit=$1/lib/systemd/system/opsagent.service
  add_service opsagent "$root"
  sed --in-place --regexp-extended \
    -e 's|^ExecStart=.*|# Nothing to do without a backend or a recipe: not started then, which is no failure.\nExecCondition=/bin/grep -Eqs "^[[:space:]]*(--)?(ws[-_]uri\|recipe)[[:space:]]*=" /etc/opsagent.conf\nExecStart=/usr/bin/opsagent run|' \
    -e 's|^NotifyAccess=.*|NotifyAccess=main|' "$unit"
  if grep --quiet /opt/opsagent "$unit"; then
    echo "the package's unit speaks of /opt/opsagent" >&2
    return 1
  fi
  install -D -m 600 "$templates/opsagent.conf" "$root/etc/opsagent.conf"
  echo /etc/opsagent.conf >"$root/DEBIAN/conffiles"
}
