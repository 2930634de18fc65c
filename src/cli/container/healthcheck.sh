#!/bin/sh
# The image's health check: succeeds if the server of this container responds with any status, sealed or not. The check runs
# for the lifetime of the container, so it uses only the shell and curl. The server writes its addresses to a file.
file=${UNDERSTUDY_ADDRESS_FILE:-/tmp/understudy-addresses}

# The start of a check costs more than the check itself. A new container is checked every second until its server has
# responded, so that waiting clients can start soon. After that, or after 30 seconds, it is checked every ten seconds.
young_seconds=30
pause_seconds=9
has_answered() { [ "$file.answered" -nt "$file" ]; }

# Age of the first process: field 22 of its status is its start time in hundredths of a second since the machine started.
is_young() {
  read -r uptime _ </proc/uptime && read -r stat </proc/1/stat || return 0
  set -- ${stat##*) }
  [ $((${uptime%.*} - ${20} / 100)) -lt "$young_seconds" ]
}

# $1: an address, $2: "certificate" if the listener requires a client certificate.
try() {
  curl --disable --silent --insecure --noproxy '*' --max-time 8 --output /dev/null "${1%/}/v1/sys/health"
  # Such a listener aborts a handshake without a certificate, which also shows that it is up.
  case "$2:$?" in
    *:0 | certificate:35 | certificate:56) ;;
    *) return 1 ;;
  esac
  has_answered || (: >"$file.answered") 2>/dev/null
  exit 0
}

if has_answered || ! is_young; then sleep "$pause_seconds"; fi
if [ -r "$file" ]; then
  while read -r address certificate; do try "$address" "$certificate"; done <"$file"
else
  for address in ${VAULT_ADDR:-http://127.0.0.1:8200 https://127.0.0.1:8200}; do try "$address"; done
fi
exit 1
