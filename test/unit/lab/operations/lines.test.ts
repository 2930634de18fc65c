import { expect, it } from 'vitest'
import { lineOf, stepLineOf } from '../../../../src/lab/operations/lines.js'

const AT = 'http://127.0.0.1:8200'

it('shell lines name variables in place of secrets', () => {
  const line = (method: string, path: string, body?: unknown) =>
    lineOf({ method, path, ...(body ? { body } : {}) }, { apiAddress: AT })
  expect(line('PUT', 'sys/replication/dr/secondary/promote', { dr_operation_token: 'hvs.secret', force: true })).toBe(
    `vault write -address=${AT} sys/replication/dr/secondary/promote dr_operation_token="$DR_OPERATION_TOKEN" force=true`,
  )
  expect(line('PUT', 'kv/a', { inner: { token: 'hvs.secret', word: "it's" } })).toBe(
    `echo '{"inner":{"token":"$ACTIVATION_TOKEN","word":"it'"'"'s"}}' | vault write -address=${AT} kv/a -`,
  )
  expect(line('PUT', 'sys/seal')).toBe(`vault write -address=${AT} -f sys/seal`)
  expect(line('LIST', 'kv')).toBe(`vault list -address=${AT} kv`)
  expect(line('POST', '/_understudy/v1/states/hold', { state: 'apply' })).toBe(
    `curl -X POST -d '{"state":"apply"}' ${AT}/_understudy/v1/states/hold`,
  )
  expect(line('PUT', 'kv/a; reboot', { 'x; reboot': '$(reboot)' })).toBe(
    `vault write -address=${AT} 'kv/a; reboot' 'x; reboot'='$(reboot)'`,
  )
  expect(line('GET', '/v1/a?b&reboot')).toBe(`curl '${AT}/v1/a?b&reboot'`)
})

it('shell lines have the CA file of a cluster, and in a runbook its namespace and its token', () => {
  const request = { method: 'PUT', path: 'sys/replication/dr/primary/demote', isAuthenticated: true }
  const at = { apiAddress: AT, caFile: '/etc/our ca.pem' }
  expect(lineOf(request, at)).toBe(`vault write -address=${AT} '-ca-cert=/etc/our ca.pem' -f ${request.path}`)
  expect(lineOf({ method: 'GET', path: '/v1/sys/health' }, at)).toBe(
    `curl --cacert '/etc/our ca.pem' ${AT}/v1/sys/health`,
  )
  const written = { namespace: '', tokenVariable: 'TOKEN_A', clusterAddress: '' }
  expect(lineOf(request, { apiAddress: AT, written })).toBe(
    `VAULT_TOKEN="$TOKEN_A" vault write -address=${AT} -namespace= -f ${request.path}`,
  )
})

it('shell lines set a variable from each response that contains a secret', () => {
  const issue = { method: 'PUT', path: 'sys/replication/dr/primary/secondary-token', body: { id: 'dr-b' } }
  expect(lineOf(issue, { apiAddress: AT })).toBe(
    `ACTIVATION_TOKEN="$(vault write -address=${AT} -field=wrapping_token ${issue.path} id=dr-b)"`,
  )
  const path = 'sys/replication/dr/secondary/generate-operation-token'
  const generate = `vault operator generate-root -address=${AT} -dr-token`
  const line = (method: string, end: string, body?: unknown) =>
    stepLineOf({ method, path: `${path}/${end}`, body }, { apiAddress: AT })
  expect(line('PUT', 'attempt')).toBe(
    `progress="$(${generate} -init -otp="$OTP")" && NONCE="$(printf '%s\\n' "$progress" | awk '$1 == "Nonce" { print $NF }')"`,
  )
  expect(line('PUT', 'update', { key: 'a1b2', nonce: 'n' })).toBe(
    `progress="$(printf %s "$KEY_SHARE" | ${generate} -nonce="$NONCE" -)" && ENCODED_TOKEN="$(printf '%s\\n' "$progress" | awk '$1 == "Encoded" { print $NF }')"`,
  )
  expect(line('DELETE', 'attempt')).toBe(`${generate} -cancel`)
})
