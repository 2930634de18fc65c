#!/bin/sh
# A disaster-recovery pair by hand, from the first start over a failover to the failback. The containers $LAB-a and $LAB-b
# run already. What was seen on the way is printed as name=value, one to a line; everything else goes to standard error.
set -eu

a() { docker exec -i "$LAB-a" vault "$@"; }
b() { docker exec -i "$LAB-b" vault "$@"; }

step() { echo "== $*" >&2; }
saw() { echo "$1=$2"; }

# The exit status of a command, printed.
code() { "$@" >/dev/null 2>&1 && echo 0 || echo $?; }

# The text of one name in JSON, or the first text of its list.
json() { tr -d ' \n' | sed -n "s/.*\"$1\":\[\{0,1\}\"\([^\"]*\)\".*/\1/p"; }

# Repeats a command until it prints what is wanted, a minute at most.
await() {
  wanted=$1
  shift
  tries=0
  until [ "$("$@" 2>/dev/null)" = "$wanted" ]; do
    tries=$((tries + 1))
    if [ $tries -gt 120 ]; then
      echo "gave up: '$*' does not print '$wanted' but:" >&2
      "$@" >&2
      exit 1
    fi
    sleep 0.5
  done
}

DR=sys/replication/dr
state() { "$1" read -field=state $DR/status; }
root() { "$1" read -field=merkle_root $DR/status; }
roots() { if [ "$(root a)" = "$(root b)" ]; then echo equal; else echo different; fi; }

step "start both clusters"
await 2 code a status
await 2 code b status
saw status_new "$(code a status)"
saw init_status_new "$(code a operator init -status)"
keys_a=$(a operator init -key-shares=1 -key-threshold=1 -format=json)
keys_b=$(b operator init -key-shares=1 -key-threshold=1 -format=json)
unseal_key=$(echo "$keys_a" | json unseal_keys_b64)
root_token=$(echo "$keys_a" | json root_token)
saw init_status_done "$(code a operator init -status)"
saw status_sealed "$(code a status)"
a operator unseal "$unseal_key" >&2
b operator unseal "$(echo "$keys_b" | json unseal_keys_b64)" >&2
saw status_open "$(code a status)"
a login "$root_token" >&2
b login -no-print "$(echo "$keys_b" | json root_token)" >&2

step "write data to A"
a secrets enable -path=secret -version=2 kv >&2
a kv put -mount=secret app written="before the failover" >&2
a auth enable userpass >&2
a write auth/userpass/users/sam password=sam policies=default >&2
a operator raft list-peers >&2
a license get >&2
a operator raft snapshot save /tmp/before.snap >&2
saw snapshot "$(code docker exec "$LAB-a" test -s /tmp/before.snap)"

step "create a DR pair with a token that only B can open"
a write -f $DR/primary/enable >&2
await running state a
public_key=$(b write -f -field secondary_public_key $DR/secondary/generate-public-key)
token=$(a write -field=token $DR/primary/secondary-token id=b-first secondary_public_key="$public_key")
b write $DR/secondary/enable token="$token" primary_api_addr=http://a:8200 >&2
await stream-wals state b
await equal roots
saw status_dr_secondary "$(code b status)"
saw mode_joined_by_key "$(b read -field=mode $DR/status)"

step "remove the DR pair"
otp=$(b operator generate-root -dr-token -generate-otp)
nonce=$(b operator generate-root -dr-token -init -otp="$otp" -format=json | json nonce)
encoded=$(b operator generate-root -dr-token -nonce="$nonce" -format=json "$unseal_key" | json encoded_token)
operation_token=$(b operator generate-root -dr-token -decode="$encoded" -otp="$otp")
b write $DR/secondary/disable dr_operation_token="$operation_token" >&2
await disabled b read -field=mode $DR/status
a write $DR/primary/revoke-secondary id=b-first >&2

step "create the DR pair with a wrapped token"
await 0 code b login "$root_token"
token=$(a write -field wrapping_token $DR/primary/secondary-token id=b)
b write $DR/secondary/enable token="$token" >&2
await stream-wals state b
await equal roots

step "restart B: it opens with the key of A"
docker restart "$LAB-b" >&2
await 2 code b status
saw status_dr_sealed "$(code b status)"
b operator unseal "$unseal_key" >&2
await stream-wals state b
saw read_on_dr "$(code b kv get -mount=secret app)"

step "create an operation token before A fails"
a policy write dr-secondary-promotion - >&2 <<POLICY
path "sys/replication/dr/secondary/promote" {
  capabilities = [ "update" ]
}

# To make another cluster the primary of this one
path "sys/replication/dr/secondary/update-primary" {
  capabilities = [ "update" ]
}

# Only with integrated storage
path "sys/storage/raft/autopilot/state" {
  capabilities = [ "update", "read" ]
}
POLICY
a write auth/token/roles/failover-handler \
  allowed_policies=dr-secondary-promotion orphan=true renewable=false token_type=batch >&2
batch_token=$(a token create -role=failover-handler -ttl=8h -field=token)
a token lookup "$batch_token" >&2
await equal roots

step "lose A, promote B"
docker kill "$LAB-a" >&2
saw status_unreachable "$(code b status -address=http://a:8200)"
saw promote_wrong_token "$(code b write -f $DR/secondary/promote dr_operation_token="$root_token")"
b write -f $DR/secondary/promote dr_operation_token="$batch_token" >&2
await running state b
saw status_promoted "$(code b status)"
b login -no-print "$root_token" >&2
saw read_after_failover "$(b kv get -mount=secret -field=written app)"
saw login_after_failover "$(code b login -no-store -method=userpass username=sam password=sam)"
b kv put -mount=secret meanwhile written="while A was away" >&2

step "bring A back as the secondary of B"
docker start "$LAB-a" >&2
await 2 code a status
a operator unseal "$unseal_key" >&2
await primary a read -field=mode $DR/status
a write -f $DR/primary/demote >&2
await secondary a read -field=mode $DR/status
saw status_demoted "$(code a status)"
token=$(b write -field=wrapping_token $DR/primary/secondary-token id=a)
a write $DR/secondary/update-primary dr_operation_token="$batch_token" token="$token" >&2
await stream-wals state a
await equal roots

step "fail back"
b write -f $DR/primary/demote >&2
await secondary b read -field=mode $DR/status
started=$(a operator generate-root -dr-token -init)
otp=$(echo "$started" | awk '$1 == "OTP" && $2 != "Length" { print $2 }')
finished=$(a operator generate-root -dr-token "$unseal_key")
encoded=$(echo "$finished" | awk '$1 == "Encoded" { print $3 }')
operation_token=$(a operator generate-root -dr-token -decode "$encoded" -otp "$otp")
a write $DR/secondary/promote dr_operation_token="$operation_token" >&2
await running state a
saw read_after_failback "$(a kv get -mount=secret -field=written app)"
saw read_meanwhile "$(a kv get -mount=secret -field=written meanwhile)"
a kv put -mount=secret home written="after the failback" >&2
token=$(a write -field=wrapping_token $DR/primary/secondary-token id=b-again)
b write $DR/secondary/update-primary dr_operation_token="$batch_token" token="$token" >&2
await stream-wals state b
await equal roots

saw primary "$(a read -format=json $DR/status | tr -d ' \n')"
saw secondary "$(b read -format=json $DR/status | tr -d ' \n')"
a operator seal >&2
saw status_sealed_again "$(code a status)"
