import { quoteForShell, shellWord } from '../../base/shell.js'
import type { ClusterAccess } from '../model/cluster.js'
import type { Kind } from '../model/kinds.js'
import { REPLICATION } from '../requests/replication.js'
import { flagsOf } from './lines.js'
import { describeCheck, type ProcedureStep } from './procedure-steps.js'

/** Steps of written runbooks that check the machine of the operator and the servers before the first change. */

/** The texts with which clients report a refused connection or a timeout. */
const NO_RESPONSE = [
  'connection refused',
  'connection timed out',
  'deadline exceeded',
  'i/o timeout',
  'Client.Timeout',
  'no response within',
]
/** The texts of errors of a name server or an HTTP proxy. Their connections can also be refused or time out. */
const OTHER_SERVER = ['lookup ', 'proxyconnect ']

/** Returns a pattern of the shell for the exit status 1 with one of these texts. */
const failedWith = (texts: readonly string[]): string => texts.map((text) => `1:*'${text}'*`).join(' | ')

/**
 * Returns a step that checks whether a server is up. The command prints `down` only if the server is sealed, refuses
 * connections or does not respond in time. Any other error, such as a wrong CA file, does not show that it is down.
 */
export const checkUp = (at: ClusterAccess, title: string, answer: 'up' | 'down'): ProcedureStep => {
  const status = `said="$(VAULT_CLIENT_TIMEOUT=5s vault status ${flagsOf(at)} 2>&1 > /dev/null)" && code=0 || code=$?`
  const unknown = 'echo "unknown: $said" ;;'
  const down = `2:* | ${failedWith(NO_RESPONSE)}) echo down ;;`
  const cases = `0:*) echo up ;; ${failedWith(OTHER_SERVER)}) ${unknown} ${down} *) ${unknown}`
  const step = describeCheck(at.name, title, { command: `${status}; case "$code:$said" in ${cases} esac`, answer })
  return { ...step, expect: `${step.expect} If it begins with \`unknown\`, correct the error and repeat the step.` }
}

/** Returns a step that checks the machine of the operator. `vault` can be any program or shell function. */
export const checkMachine = (name: string, clusters: readonly ClusterAccess[]): ProcedureStep => {
  const files = [...new Set(clusters.flatMap(({ caFile }) => caFile ?? []))]
  const tests = [
    "if ! command -v vault > /dev/null; then echo 'there is no command vault'; ",
    ...files.map((file) => `elif [ ! -r ${shellWord(file)} ]; then echo ${quoteForShell(`cannot read ${file}`)}; `),
  ]
  const command = `${tests.join('')}else echo ready; fi`
  return describeCheck(name, 'Check that this machine has vault and the CA files', { command, answer: 'ready' })
}

/** Returns a step that records how far a secondary is, before its primary is replaced. */
export const notePosition = (at: ClusterAccess, kind: Kind): ProcedureStep => ({
  title: `Write down the position of ${at.name}`,
  cluster: at.name,
  command: `vault read ${flagsOf(at)} ${REPLICATION}/${kind}/status`,
  expect: 'The output has `last_remote_wal` and the last heartbeat. Writes that the primary accepted later are lost.',
})
