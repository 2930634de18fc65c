import { expect, it } from 'vitest'
import { lineOf } from '../../../../src/lab/operations/lines.js'

it('shell lines name variables in place of secrets', () => {
  const at = 'http://127.0.0.1:8200'
  const line = (method: string, path: string, body?: unknown) => lineOf({ method, path, ...(body ? { body } : {}) }, at)
  expect(line('PUT', 'sys/replication/dr/secondary/promote', { dr_operation_token: 'hvs.secret', force: true })).toBe(
    `vault write -address=${at} sys/replication/dr/secondary/promote dr_operation_token="$DR_OPERATION_TOKEN" force=true`,
  )
  expect(line('PUT', 'kv/a', { inner: { token: 'hvs.secret', word: "it's" } })).toBe(
    `echo '{"inner":{"token":"$ACTIVATION_TOKEN","word":"it'"'"'s"}}' | vault write -address=${at} kv/a -`,
  )
  expect(line('PUT', 'sys/seal')).toBe(`vault write -address=${at} -f sys/seal`)
  expect(line('LIST', 'kv')).toBe(`vault list -address=${at} kv`)
  expect(line('POST', '/_understudy/v1/states/hold', { state: 'apply' })).toBe(
    `curl -X POST -d '{"state":"apply"}' ${at}/_understudy/v1/states/hold`,
  )
  expect(line('PUT', 'kv/a; reboot', { 'x; reboot': '$(reboot)' })).toBe(
    `vault write -address=${at} 'kv/a; reboot' 'x; reboot'='$(reboot)'`,
  )
  expect(line('GET', '/v1/a?b&reboot')).toBe(`curl '${at}/v1/a?b&reboot'`)
})
