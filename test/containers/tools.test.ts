import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { IMAGE } from './image.js'

/** Tools in the image for scripts and health checks of labs. */

const inImage = (script: string, entrypoint = 'sh') => {
  const args = ['run', '--rm', '--entrypoint', entrypoint, IMAGE, ...(entrypoint === 'sh' ? ['-c', script] : [script])]
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8' })
  return { status, stdout: stdout.trim(), stderr: stderr.trim() }
}

describe('tools of the image', () => {
  it('the image contains the tools that lab scripts call', () => {
    const script = [
      'set -e',
      "bash -c '[[ abc == a* ]] && (( 2 > 1 ))'",
      'test "$(echo a:b | awk -F: \'{ print $2 }\')" = b',
      'test "$(echo a:b | cut -d: -f1)" = a',
      'test "$(seq 3 | xargs echo)" = "1 2 3"',
      'test "$(echo abc | rev)" = cba',
      'getent hosts localhost >/tmp/x',
      'ip -o -4 addr show lo | grep -q 127.0.0.1',
      'openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=a -keyout /tmp/k -out /tmp/c 2>/tmp/x',
      'openssl x509 -in /tmp/c -noout -subject | grep -q "CN *= *a"',
      'nslookup -version 2>&1 | grep -qi nslookup',
      'test "$(echo x | tee /tmp/x)" = x',
      'test "$(echo \'{"a":{"b":1}}\' | jq .a.b)" = 1',
      'test "$(vault version | sed -n "s/^Vault v//p" | grep -c ent)" = 1',
      'for tool in base64 basename date dirname env find head mktemp sleep sort tail timeout tr uniq wc; do command -v $tool >/tmp/x; done',
      'vault server -dev -dev-listen-address=127.0.0.1:8200 >/tmp/log 2>&1 & server=$!',
      'for i in $(seq 100); do nc -z 127.0.0.1 8200 && break; sleep 0.2; done',
      'curl -s http://127.0.0.1:8200/v1/sys/health | jq -e .initialized',
      'wget -q -O - http://127.0.0.1:8200/v1/sys/health | jq -e .initialized',
      "printf 'GET /v1/sys/health HTTP/1.0\\r\\n\\r\\n' | nc -w 5 127.0.0.1 8200 | head -n 1 | grep -q 200",
      'kill $server; wait $server',
      'echo all',
    ].join('\n')
    expect(inImage(script)).toEqual({ status: 0, stdout: 'true\ntrue\nall', stderr: '' })
  })

  it.each(['vault', '/bin/vault', '/usr/local/bin/vault'])('the image runs the program as %s', (name) => {
    expect(inImage('version', name)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Vault v\d/) })
  })

  it('the image contains its entrypoint as docker-entrypoint.sh', () => {
    const run = inImage('version', '/usr/local/bin/docker-entrypoint.sh')
    expect(run).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Vault v\d/) })
  })
})
