import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { quoteForShell } from '../../../../src/base/shell.js'
import { KINDS } from '../../../../src/lab/model/kinds.js'
import { parseAddresses } from '../../../../src/lab/operations/addresses.js'
import { writeRunbook } from '../../../../src/lab/operations/procedures.js'
import { toMarkdown, toScript } from '../../../../src/lab/operations/runbook-texts.js'
import { OPERATIONS, type OperationName } from '../../../../src/lab/operations/written-runbook.js'

const ADDRESSES = `apiVersion: understudy/v1
clusters:
  - name: eu-1
    api-address: https://vault-eu.example.com:8200/
    cluster-address: https://vault-eu.example.com:8201
    ca-file: /etc/vault/eu.pem
    key-threshold: 2
  - { name: us, api-address: "https://vault-us.example.com:8200", ca-file: /etc/vault/us.pem, key-threshold: 2 }
`
const CLUSTERS = parseAddresses(ADDRESSES, 'ours.yaml')
const EU = '-address=https://vault-eu.example.com:8200 -namespace= -ca-cert=/etc/vault/eu.pem'
const US = '-address=https://vault-us.example.com:8200 -namespace= -ca-cert=/etc/vault/us.pem'

const write = (operation: OperationName, more: Partial<Parameters<typeof writeRunbook>[0]> = {}) =>
  writeRunbook({ operation, kind: undefined, names: ['eu-1', 'us'], clusters: CLUSTERS, source: 'ours.yaml', ...more })

it.each([
  ['clusters: []', 'ours.yaml:1:11: clusters must have at least 2 entries'],
  ['clusters: [{ name: a }, { name: b, api-address: "http://b" }]', 'clusters[0] requires "api-address"'],
  ['clusters: [{ nam: a, api-address: "http://a" }, {}]', 'unknown key "clusters[0].nam"; did you mean "name"?'],
  [ADDRESSES.replace('https://vault-eu', 'vault-eu'), 'an address such as https://vault-a.example.com:8200'],
  [ADDRESSES.replace('name: us', 'name: "u s"'), 'must be a name of letters, digits and hyphens'],
  [
    ADDRESSES.replace('name: us', 'name: EU-1'),
    'ours.yaml:8:13: clusters[1].name is "EU-1", which another cluster has',
  ],
  [
    ADDRESSES.replace('/etc/vault/us.pem', '"us.pem\\n```\\n# Other"'),
    'ours.yaml:8:76: clusters[1].ca-file is "us.pem\\n```\\n# Other", but must be a file name without control characters',
  ],
  [ADDRESSES.replace('/etc/vault/us.pem', '"us\\e[2J.pem"'), 'clusters[1].ca-file is "us\\u001b[2J.pem", but must be'],
  [
    ADDRESSES.replace('vault-us', 'us\\e'),
    'clusters[1].api-address is "https://us\\u001b.example.com:8200", but must be',
  ],
  [ADDRESSES.replaceAll('threshold: 2', 'threshold: 0'), 'key-threshold is 0, but must be from 1 to 255'],
])('the addresses file %j is rejected with the position and the reason', (text, reason) => {
  expect(() => parseAddresses(text, 'ours.yaml')).toThrow(reason)
})

it('an addresses file in JSON is accepted, and the default threshold is that of Vault', () => {
  const clusters = ['a', 'b'].map((name) => ({ name, 'api-address': `http://${name}:8200`, namespace: 'admin' }))
  expect(parseAddresses(JSON.stringify({ clusters }), 'ours.json')[1]).toMatchObject({
    apiAddress: 'http://b:8200',
    threshold: 3,
    written: { namespace: 'admin', tokenVariable: 'TOKEN_B', clusterAddress: '' },
  })
})

it('a runbook of a failover has checks, the token generation, the promotion and its verification', async () => {
  const { steps, values } = await write('failover')
  const generate = `vault operator generate-root ${US} -dr-token`
  expect(steps.map(({ command }) => command)).toEqual([
    `if ! command -v vault > /dev/null; then echo 'there is no command vault'; elif [ ! -r /etc/vault/eu.pem ]; then echo 'cannot read /etc/vault/eu.pem'; elif [ ! -r /etc/vault/us.pem ]; then echo 'cannot read /etc/vault/us.pem'; else echo ready; fi`,
    expect.stringContaining(`vault status ${EU} 2>&1 > /dev/null)"`),
    `vault read ${US} -field=mode sys/replication/dr/status`,
    `vault read ${US} sys/replication/dr/status`,
    `OTP="$(${generate} -generate-otp)"`,
    `progress="$(${generate} -init -otp="$OTP")" && NONCE="$(printf '%s\\n' "$progress" | awk '$1 == "Nonce" { print $NF }')"`,
    ...[1, 2].map(
      () =>
        `progress="$(printf %s "$KEY_SHARE" | ${generate} -nonce="$NONCE" -)" && ENCODED_TOKEN="$(printf '%s\\n' "$progress" | awk '$1 == "Encoded" { print $NF }')"`,
    ),
    `DR_OPERATION_TOKEN="$(${generate} -decode="$ENCODED_TOKEN" -otp="$OTP")"`,
    `vault write ${US} sys/replication/dr/secondary/promote dr_operation_token="$DR_OPERATION_TOKEN"`,
    `vault read ${US} -field=mode sys/replication/dr/status`,
  ])
  expect(steps.at(-1)).toMatchObject({ number: 11, answer: 'primary', isRepeated: true })
  expect(steps[6]).toMatchObject({
    title: 'Submit key share 1 of 2 on us',
    needs: [
      { name: 'KEY_SHARE', from: 'the next key holder' },
      { name: 'NONCE', from: 'step 6' },
    ],
    makes: ['ENCODED_TOKEN'],
    backCommand: `${generate} -cancel`,
  })
  expect(values.map(({ name }) => name)).toEqual(['KEY_SHARE', 'TOKEN_US'])
  expect(values[1]?.about).toMatch(/^only to go back, when the cluster is a primary/)
})

it('a runbook checks that a secondary uses the cluster address of its primary, and has the same data', async () => {
  const { steps } = await write('rejoin', { names: ['us', 'eu-1'] })
  expect(steps.slice(-3).map(({ command, answer }) => [command, answer])).toEqual([
    [`vault read ${US} -field=state sys/replication/dr/status`, 'stream-wals'],
    [`vault read ${US} -field=primary_cluster_addr sys/replication/dr/status`, 'https://vault-eu.example.com:8201'],
    [
      expect.stringMatching(/^root="\$\(vault read .* -field=merkle_root .* && \[ "\$root" = .* && echo equal$/),
      'equal',
    ],
  ])
  const demotion = steps.find(({ title }) => title === 'Demote us')
  expect(demotion?.onlyIf).toEqual({
    command: `vault read ${US} -field=mode sys/replication/dr/status`,
    answer: 'primary',
  })
})

it('a runbook of performance replication needs a token of each cluster and no DR operation token', async () => {
  const { steps, values } = await write('activate')
  expect(values.map(({ name }) => name)).toEqual(['TOKEN_EU_1', 'TOKEN_US'])
  expect(steps.map(({ command }) => command)).toContain(
    `VAULT_TOKEN="$TOKEN_US" vault write ${US} sys/replication/performance/secondary/enable token="$ACTIVATION_TOKEN" ca_cert=@/etc/vault/eu.pem`,
  )
  for (const operation of OPERATIONS) {
    const { steps: all } = await write(operation, { kind: 'performance' })
    expect(all.filter(({ command }) => command.includes('generate-root'))).toEqual([])
  }
})

it('a runbook of a switchover of the performance primary demotes, promotes, and makes the former primary follow', async () => {
  const { steps, after } = await write('switchover', { kind: 'performance' })
  const path = 'sys/replication/performance'
  expect(steps.map(({ command }) => command).filter((command) => command.includes('vault write'))).toEqual([
    `VAULT_TOKEN="$TOKEN_EU_1" vault write ${EU} -f ${path}/primary/demote`,
    `VAULT_TOKEN="$TOKEN_US" vault write ${US} -f ${path}/secondary/promote`,
    `VAULT_TOKEN="$TOKEN_US" vault write ${US} ${path}/primary/revoke-secondary id=perf-eu-1`,
    `ACTIVATION_TOKEN="$(VAULT_TOKEN="$TOKEN_US" vault write ${US} -field=wrapping_token ${path}/primary/secondary-token id=perf-eu-1)"`,
    `VAULT_TOKEN="$TOKEN_EU_1" vault write ${EU} ${path}/secondary/update-primary token="$ACTIVATION_TOKEN" ca_cert=@/etc/vault/us.pem`,
  ])
  const demotion = steps.find(({ title }) => title === 'Demote eu-1')
  expect(demotion).toMatchObject({
    back: 'Promote eu-1 again.',
    backCommand: `VAULT_TOKEN="$TOKEN_EU_1" vault write ${EU} -f ${path}/secondary/promote`,
  })
  expect(after[0]).toBe('Clients of eu-1 can stay: eu-1 forwards their writes to us.')
})

it.each([
  [0, '', 'up'],
  [2, '', 'down'],
  [1, 'dial tcp 10.0.0.1:8200: connect: connection refused', 'down'],
  [1, 'context deadline exceeded', 'down'],
  [1, 'lookup vault-eu: no such host', 'unknown: lookup vault-eu: no such host'],
  [1, 'lookup vault-eu on 10.0.0.2:53: i/o timeout', 'unknown: lookup vault-eu on 10.0.0.2:53: i/o timeout'],
  [1, 'tls: failed to verify certificate', 'unknown: tls: failed to verify certificate'],
  [127, 'connection refused', 'unknown: connection refused'],
])('the check of a lost primary with the exit status %i and the error %j prints %j', async (status, error, answer) => {
  const { steps } = await write('failover')
  const check = steps.find(({ title }) => title === 'Check that eu-1 is down')
  const vault = `vault() { echo ${quoteForShell(error)} >&2; return ${status}; }`
  const run = spawnSync('sh', ['-c', `${vault}\n${check?.command}`], { encoding: 'utf8' })
  expect(run.stdout).toBe(`${answer}\n`)
})

it('a script stops and cancels its token generation if a key share is rejected', async () => {
  const script = toScript(await write('failover'))
  expect(script.match(/Submit key share 1 of 2/g)).toHaveLength(1)
  expect(script).toMatch(/\ncancel='?vault operator generate-root .* -cancel'?\n/)
  expect(script).toContain(`|| stop 'step 7 failed.'`)
  expect(script).toMatch(/\|\| stop 'step 6 failed\. Cancel the generation\..* -cancel'/)
})

it('a runbook enables the primary of an activation only if its replication is disabled', async () => {
  for (const kind of KINDS) {
    const { steps } = await write('activate', { kind })
    const read = `vault read ${EU} -field=mode sys/replication/${kind}/status`
    expect(steps.find(({ command }) => command.endsWith('/primary/enable'))).toMatchObject({
      command: `VAULT_TOKEN="$TOKEN_EU_1" vault write ${EU} -f sys/replication/${kind}/primary/enable`,
      onlyIf: { command: read, answer: 'disabled' },
    })
  }
})

it.each(OPERATIONS.flatMap((name) => KINDS.map((kind) => [name, kind] as const)))(
  'the Markdown page and the script of a runbook of %s (%s) have every command of its steps',
  async (name, kind) => {
    const runbook = await write(name, { kind })
    const [page, script] = [toMarkdown(runbook), toScript(runbook)]
    expect(runbook.steps.length).toBeGreaterThan(5)
    for (const { number, title, command, backCommand } of runbook.steps) {
      expect(page).toContain(`### ${number}. ${title}\n\n\`\`\`sh\n${command}\n\`\`\`\n`)
      expect(page).toContain(backCommand ?? '')
      expect(script.replaceAll(`'"'"'`, "'")).toContain(command)
    }
  },
)

it('backticks and vertical lines of a value do not end the code and the cells of the Markdown page', async () => {
  const clusters = parseAddresses(ADDRESSES.replace('/etc/vault/us.pem', '"u|s````.pem"'), 'ours.yaml')
  const runbook = await write('failover', { clusters })
  const page = toMarkdown(runbook)
  expect(page).toContain('| ````` u\\|s````.pem ````` |')
  const commands = runbook.steps.map(({ command }) => command).filter((command) => command.includes('u|s````.pem'))
  expect(commands.length).toBeGreaterThan(0)
  for (const command of commands) expect(page).toContain(`\n\`\`\`\`\`sh\n${command}\n\`\`\`\`\`\n`)
})

it('a runbook is rejected for an unknown cluster and a repeated cluster', async () => {
  await expect(write('failover', { names: ['eu-1', 'asia'] })).rejects.toThrow(
    'ours.yaml has no cluster "asia"; it has eu-1, us',
  )
  await expect(write('failover', { names: ['us', 'us'] })).rejects.toThrow('specify two different clusters')
})
