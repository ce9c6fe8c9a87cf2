#!/bin/sh
# Fetches the OpsAgent release that the settings name, verifies it with the root document below, installs and starts
# it: docs/bootstrap.md. Any doubt ends it with the reason and nothing installed. It may be run again at any time.
set -euf
umask 077

# opsagent settings
backend='wss://backend.example:8963/agent/'
app='default'
tags=''
version=''
channel='stable'
release_base='https://backend.example:8963/releases'
join_token=''
identity_source=''
ca=''
agent_ca=''
made='2026-01-01T00:00:00Z'
wait='600'
# end of settings
root_document() {
  cat <<'END_OF_ROOT'
{}
END_OF_ROOT
}

readonly log=/var/log/opsagent-bootstrap.log lock=/run/opsagent-bootstrap.lock prefix=/opt/opsagent state=/var/lib/opsagent conf=/etc/opsagent.conf
readonly mark='# Written by the bootstrap script of OpsAgent.'
readonly largest_document=262144 # bytes
work='' staged='' doing='' wrote='' made_dirs='' told='' pause=1 inner=''

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
say() {
  printf 'opsagent bootstrap: %s\n' "$*" || :
  printf '%s %s\n' "$(now)" "$*" >&9 || :
  [ ! -e /dev/console ] || { printf 'opsagent bootstrap: %s\r\n' "$*" >>/dev/console; } 2>/dev/null || :
}
die() {
  [ -z "$inner" ] || { echo "$*" >reason && exit 1; }
  doing=''
  say "FAILED: $*"
  exit 1
}

# A run that failed leaves its log, no more.
clean_up() {
  status=$?
  trap - EXIT
  trap '' HUP INT TERM
  [ -z "$doing" ] || say "FAILED: ended while $doing"
  cd /
  [ -z "$work" ] || rm -rf "$work" "$staged" # the place is the agent's, if there is one
  if [ $status != 0 ] && [ ! -L $prefix/current ]; then
    for path in $wrote; do rm -f "$path" "$path.new"; done
    for path in $made_dirs; do rmdir "$path" 2>/dev/null || :; done
  fi
  exit $status
}
make_dir() { # MODE PATH
  [ ! -d "$2" ] || return 0
  [ -d "${2%/*}/" ] || make_dir 755 "${2%/*}"
  mkdir -m "$1" "$2" || die "cannot make the folder $2"
  made_dirs="$2 $made_dirs"
}
# Standard input becomes the file, whole.
put() { # PATH
  { cat >"$1.new" && mv -f "$1.new" "$1"; } || die "cannot write $1"
}

has() { command -v "$1" >/dev/null 2>&1; }
check_tools() {
  missing=''
  for tool in openssl tar gzip sed awk grep timeout df readlink expr fold; do has $tool || missing="$missing $tool,"; done
  has curl || wget --version 2>&1 | grep -q '^GNU' || missing="$missing curl or wget (of GNU, not of busybox),"
  [ -z "$missing" ] || die "missing on this machine:${missing%,}; install the packages that have them"
  openssl pkeyutl -help 2>&1 | grep -q -e -rawin ||
    die "$(openssl version) cannot verify Ed25519 signatures; install openssl 3.0 or newer"
}

# By the clock that nobody sets.
seconds() { sed 's/\..*//' /proc/uptime; }
left() {
  remaining=$((deadline - $(seconds)))
  echo $((remaining > 0 ? remaining : 1))
}
# Whatever may pass by itself is tried again until the deadline.
again() { # REASON [LAST WORDS]
  [ "$(left)" -gt $pause ] || die "${2:-$1}"
  [ "$1" = "$told" ] || say "$1; trying again for $(left) s"
  told=$1
  sleep $pause
  [ $pause -gt 8 ] || pause=$((pause * 2))
}
size_of() { { wc -c <"$1"; } 2>/dev/null || echo 0; }

# One attempt, which continues FILE. Sets code (the server's answer, 000: none) and why (empty: all of it came).
try() { # URL FILE BYTES
  # However long the answer is, the file ends shortly after BYTES.
  blocks=$(($3 / 512 + 2)) why='' code=''
  if has curl; then
    code=$(ulimit -f $blocks && timeout "$(left)" curl -q -f -sS -o "$2" -C - -w '%{http_code}' --connect-timeout 10 \
      --speed-limit 1024 --speed-time 20 ${ca:+--cacert ca.pem} "$1" 2>why 8>&- 9>&-) ||
      { ended=$? && why="$(tail -n 1 why) (curl ended with $ended)"; }
  else
    (ulimit -f $blocks && timeout "$(left)" wget -S -O "$2" -c --no-config --tries=1 --timeout=20 --max-redirect=0 \
      ${ca:+--ca-certificate=ca.pem} "$1" 2>why 8>&- 9>&-) ||
      { ended=$? && why="$(grep -v '^ ' why | tail -n 1) (wget ended with $ended)"; }
    code=$(sed -n 's/^  HTTP[^ ]* \([0-9]*\).*/\1/p' why | tail -n 1)
  fi
  code=${code:-000}
  [ "$code" -lt 300 ] || why="the server answers $code"
}

# From the release base, BYTES at most; again and again while the network or the server may come up. Status 1: it is
# not there.
fetch() { # PATH FILE BYTES
  url=$release_base/$1 pause=1
  rm -f "$2"
  while :; do
    before=$(size_of "$2")
    try "$url" "$2" "$3"
    if [ "$(size_of "$2")" -gt "$3" ]; then
      rm -f "$2"
      again "$url is larger than the $3 bytes that it may have"
      continue
    fi
    case $code in
      200 | 206)
        [ -n "$why" ] || return 0
        # Only an archive that grows is continued: it is one file for ever.
        if [ "$3" -le $largest_document ] || [ "$(size_of "$2")" -le "$before" ]; then rm -f "$2"; fi
        ;;
      000) [ "$3" -gt $largest_document ] || rm -f "$2" ;;
      # What came is a page that says so.
      403 | 404) rm -f "$2" && return 1 ;;
      408 | 416 | 429 | 5??) rm -f "$2" ;;
      *) die "$url: $why; correct the release base" ;;
    esac
    again "$url: $why" "gave up on $url after $wait s: $why"
  done
}

hash_of() { openssl dgst -sha256 -r "$1" | cut -c 1-64; }

# Enough keys that ROOT gives to ROLE have signed DOCUMENT. If not: status 1, and why.
verify() { # ROLE ROOT DOCUMENT
  role=$(grep '^    {"role": "'"$1"'", "threshold": [1-9]' "$2") || die "the root has no role $1"
  wanted=$(echo "$role" | part threshold) good=0 wrong=''
  for id in $(echo "$role" | sed 's/.*\[//' | tr -cs 0-9a-f '\n' | sort -u); do
    sed -n "s/^ed25519 $id \([A-Za-z0-9+/]*=*\)\$/\1/p" "$3.sig" | sed 1q >text
    [ -s text ] || continue
    openssl base64 -d -A -in text -out signature
    grep '^    {"id": "'"$id"'", ' "$2" | part public >text
    openssl base64 -d -A -in text -out key
    # So that one key under two names counts once.
    [ "$(hash_of key)" = "$id" ] || die "the root has a key whose id is wrong: $id"
    if openssl pkeyutl -verify -pubin -keyform DER -inkey key -rawin -in "$3" -sigfile signature >why 2>&1; then
      good=$((good + 1))
    else
      wrong="; the signature of the key $id is wrong"
    fi
  done
  why="$good of $wanted signatures of the role $1$wrong"
  [ $good -ge "$wanted" ]
}

# Documents are laid out one member a line, one object of a list a line. They are read after they were verified.
part() { sed -n 's/.*"'"$1"'": "\{0,1\}\([^",}]*\).*/\1/p'; }
member() { sed -n '/^  "'"$2"'": /p' "$1" | part "$2"; }
expect() { # DOCUMENT NAME VALUE
  got=$(member "$1" "$2")
  [ "$got" = "$3" ] || die "$1 has the $2 '$got', not '$3'"
}
check_expiry() { # DOCUMENT NAME
  until=$(member "$1" expires)
  expr "$until" : '20[0-9-]*T[0-9:]*Z$' \& "$until" \> "$(now)" >/dev/null ||
    die "$2 expired at $until (the clock says $(now)); publish a new one"
}
check_path() {
  case $1 in '' | /* | *..* | *[!A-Za-z0-9._/+-]*) die "a signed document has the odd path '$1'" ;; esac
}
must_fetch() { fetch "$@" || die "$url is not there (the server answers $code)"; }
# A document with its signatures becomes TYPE.json.
get() { # TYPE PATH
  must_fetch "$2" "$1.json" $largest_document
  must_fetch "$2.sig" "$1.json.sig" $largest_document
}
check_document() { # TYPE NAME
  verify "$1" root.json "$1.json" || die "$2 is not trusted: $why"
  expect "$1.json" type "$1"
  expect "$1.json" product opsagent
  check_expiry "$1.json" "$2"
}

check_clock() {
  until expr "$(now)" \>= "$made" >/dev/null; do
    [ "$(left)" -gt 5 ] || die "the clock says $(now), but this script was made at $made; set the clock"
    say "the clock says $(now), but this script was made at $made; waiting"
    sleep 5
  done
}

follow_roots() {
  number=$(member root.json version)
  while next=$((number + 1)) && fetch $next.root.json next.json $largest_document; do
    must_fetch $next.root.json.sig next.json.sig $largest_document
    verify root root.json next.json || die "root $next is not signed by root $number: $why"
    verify root next.json next.json || die "root $next is not signed by its own keys: $why"
    expect next.json type root
    expect next.json product opsagent
    expect next.json version $next
    mv next.json root.json
    number=$next
  done
  check_expiry root.json "root $number"
}

# release.json is the one to install.
choose_release() {
  get timestamp timestamp.json
  check_document timestamp timestamp.json
  offers=$(grep -F '    {"channel": "'"$channel"'", "version": "'"$version${version:+\"}" timestamp.json) ||
    die "the channel $channel does not offer ${version:-any release}"
  number=$(echo "$offers" | part release | sort -n | tail -n 1)
  offer=$(echo "$offers" | grep '"release": '"$number,")
  version=$(echo "$offer" | part version) path=$(echo "$offer" | part path)
  check_path "$path"
  get release "$path"
  [ "$(hash_of release.json)" = "$(echo "$offer" | part sha256)" ] || die "$path is not the one that timestamp.json names"
  check_document release "$path"
  expect release.json channel "$channel"
  expect release.json version "$version"
  expect release.json release "$number"
}

# A timer that is late, a cache that has one of two files, a rotation that is under way: all that passes. So the
# documents are read again until the deadline, and the last reason counts. A root that was verified stays.
read_documents() {
  [ -n "$(member root.json version)" ] || die "there is no root document in this script; make one with 'opsctl userdata'"
  while :; do
    rm -f reason
    inner=yes
    set +e
    (
      set -e
      follow_roots
      choose_release
    )
    ended=$?
    set -e
    inner=''
    [ $ended != 0 ] || return 0
    reason=$(cat reason 2>/dev/null) || :
    again "${reason:-the documents cannot be read; is the disk of $prefix full?}"
  done
}

# Sets version, number, size, sha256, path.
choose_target() {
  version=$(member release.json version) number=$(member release.json release)
  case $(uname -m) in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
  target=$(grep '^    {"os": "linux", "arch": "'"$arch"'", ' release.json) || die "release $version is not made for $arch"
  size=$(echo "$target" | part size) sha256=$(echo "$target" | part sha256) path=$(echo "$target" | part path)
  check_path "$path"
}

free() { df -Pk $prefix | awk 'NR == 2 { print $4 }'; } # KiB

# Sets staged.
take_archive() {
  archive=$work/archive deadline=$(($(seconds) + wait + size / 65536)) # 64 KiB/s will do
  room=$((size / 256 + 1024)) # KiB for the archive, what is in it, and something to live on
  [ "$(free)" -gt $room ] || die "not enough space: $prefix has $(free) KiB left, the release needs $room"
  delay=1
  while :; do
    if ! fetch "$path" "$archive" "$size"; then
      why="$url is not there (the server answers $code)"
    elif [ "$(size_of "$archive")" != "$size" ]; then
      why="$path has $(size_of "$archive") bytes, not the $size that were signed"
    elif [ "$(hash_of "$archive")" != "$sha256" ]; then
      why="$path does not have the hash that was signed"
    else
      break
    fi
    pause=$delay delay=$((delay * 2))
    again "$why"
  done
  { tar -tvzf "$archive" >list && tar -tzf "$archive" >names; } || die "$path is no archive"
  ! grep -q '^[^d-]' list || die "$path holds more than files and folders"
  ! grep -q -e '^/' -e '\.\.' -e '[^A-Za-z0-9._/+~-]' names || die "$path holds an odd name"
  staged=$prefix/staging/$version
  mkdir -m 755 "$staged"
  why=$(tar -xzpof "$archive" -C "$staged" 2>&1) || die "cannot unpack $path ($(free) KiB are left): $(echo "$why" | sed 1q)"
  rm -f "$archive"
  run 60 "$staged/bin/opsagent" self-test || die "version $version does not work on this machine"
}

# Its lines go where ours go. It gets neither our lock nor our folder.
run() { # SECONDS PROGRAM ARGUMENT...
  ended=0
  (cd / && exec timeout "$@") >output 2>&1 8>&- 9>&- </dev/null || ended=$?
  while IFS= read -r text; do say "  $text"; done <output
  return $ended
}

certificates() {
  for each in $ca; do
    printf '%s\n' '-----BEGIN CERTIFICATE-----' "$each" '-----END CERTIFICATE-----' | fold -w 64
  done
}

# Somebody's own configuration must lead to our backend; one that says nothing is replaced.
is_foreign() { [ -e $conf ] && ! grep -q "^$mark" $conf && grep -q '^[[:blank:]]*[^#[:blank:]]' $conf; }
check_conf() {
  is_foreign || return 0
  for uri in $backend; do
    ! grep '^[[:blank:]]*ws[_-]uri' $conf | grep -qF "$uri" || return 0
  done
  die "$conf is not of this script and does not name the backend $backend; move it away and run this script again"
}
configure() {
  for path in $state/update/root.json $state/join-token $state/ca.pem $conf; do
    [ -e "$path" ] || wrote="$wrote $path"
  done
  make_dir 711 $state
  make_dir 700 $state/update
  # What the agent has followed since is not taken back.
  [ -z "$work" ] || put $state/update/root.json <root.json
  [ -z "$join_token" ] || printf '%s\n' "$join_token" | put $state/join-token
  [ -z "$agent_ca" ] || certificates | put $state/ca.pem
  if is_foreign; then
    say "$conf is there already and stays as it is"
    return 0
  fi
  {
    echo "$mark"
    for uri in $backend; do echo "ws_uri = $uri"; done
    echo 'protocol_min = 2'
    echo "app_id = $app"
    [ -z "$join_token" ] || echo "join_token = $state/join-token"
    printf '%s\n' "$tags" | tr '\t' '\n' | sed -n 's/..*/tag = "&"/p'
    echo "release_base = $release_base"
    echo "channel = $channel"
    [ -z "$agent_ca" ] || echo "ca_file = $state/ca.pem"
    [ -z "$identity_source" ] || echo "identity_source = $identity_source"
  } | put $conf
}

is_installed() {
  [ -x $prefix/current/bin/opsagent ] && [ -x $prefix/launch ] &&
    { [ -e /etc/systemd/system/opsagent.service ] || [ -e /etc/init.d/opsagent ]; }
}
ensure_started() {
  say "already installed: $(readlink $prefix/current)"
  verb=start
  if [ -e $state/identity.pem ]; then
    say 'the settings of this script were not applied: this machine is enrolled already'
  else
    check_conf
    configure
    say 'not enrolled yet: the settings of this script were applied'
    verb=restart
  fi
  if [ -d /run/systemd/system ]; then
    { systemctl --quiet enable opsagent && systemctl $verb opsagent; } 8>&- 9>&- || die "the service does not start: journalctl -u opsagent"
  else
    /etc/init.d/opsagent $verb >/dev/null 2>&1 8>&- 9>&- </dev/null || die "/etc/init.d/opsagent $verb failed"
  fi
}

main() {
  [ "$(id -u)" = 0 ] || { echo "opsagent bootstrap: must be run as root" && exit 1; }
  [ ! -L $log ] || { echo "opsagent bootstrap: $log is a link; remove it" && exit 1; }
  exec 8>>$lock 9>>$log
  trap clean_up EXIT
  trap 'exit 1' HUP INT TERM
  has flock || die "missing on this machine: flock; install the package util-linux"
  flock -w $((wait + 300)) 8 || die "another bootstrap is running on this machine"
  if is_installed; then
    ensure_started
    exit 0
  fi
  [ ! -e /usr/bin/opsagent ] || die "OpsAgent is installed as a package here (/usr/bin/opsagent); remove that first, or use it"
  say "starting: ${version:-newest of $channel} from $release_base"
  check_tools
  check_conf
  deadline=$(($(seconds) + wait))
  doing="preparing $prefix"
  make_dir 755 $prefix
  rm -rf $prefix/staging # of a run that was killed: we have the lock
  make_dir 700 $prefix/staging
  work=$prefix/staging/bootstrap
  mkdir $work
  cd $work
  root_document >root.json
  certificates >ca.pem
  doing='verifying the release'
  check_clock
  read_documents
  choose_target
  say "release $number is version $version; its signatures are good"
  doing='downloading and unpacking'
  take_archive
  doing='configuring'
  configure
  doing='installing'
  run 300 "$staged/bin/opsagent" install --sha256 "$sha256" --release "$number" || die "opsagent install failed; correct that and run this script again"
  doing=''
  say "installed OpsAgent $version"
}
main
