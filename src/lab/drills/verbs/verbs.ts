import { shellWord } from '../../../base/shell.js'
import { LabError } from '../../model/lab-error.js'
import { conceal } from '../../texts/conceal.js'
import { makeCall } from '../answers.js'
import { formatMs } from '../../texts/format.js'
import { listOf, type Step, type VerbValues } from '../drill.js'
import { describeExpectation } from '../expectations/describe-expectation.js'
import { checkFact } from '../expectations/facts.js'
import { findMismatch } from '../matcher.js'
import { durationOf } from '../parse.js'
import type { Verb } from '../schema/steps.js'
import { DrillFailure, type DrillContext } from '../drill-context.js'
import { heal, setFault } from './faults.js'
import { demoteCluster, disable, join, promoteCluster, revoke, setFilter, updatePrimary } from './roles.js'
import { runCommand } from './shell.js'
import { waitForFact } from './wait.js'

/** Runs a step. Rejects if it cannot run, or if its result is not the expected one. */
export const play = async (context: DrillContext, step: Step): Promise<void> => {
  const run = VERBS[step.verb] as (context: DrillContext, value: unknown) => Promise<void>
  await run(context, step.verb === 'checkpoint' ? step.with : await context.variables.resolve(step.with))
}

const onServers =
  (verb: 'start' | 'stop' | 'restart' | 'crash' | 'pause' | 'resume' | 'wipe' | 'seal' | 'unseal') =>
  async (context: DrillContext, clusters: string | readonly string[]): Promise<void> => {
    for (const name of listOf(clusters)) {
      context.line(`understudy ${verb} ${name}`)
      await context.lab.work(verb, name, context.timeoutMs)
    }
  }

/** Calls the lab endpoints of a server. */
const onLabApi = (context: DrillContext, cluster: string, path: string, body: object): Promise<unknown> =>
  context.ok({ cluster, method: 'POST', path: `/_understudy/v1/${path}`, body, token: 'none' })

const write = async (
  context: DrillContext,
  { cluster, path, fields, times = 1 }: VerbValues['write'],
): Promise<void> => {
  const request = { cluster, method: 'PUT', path, body: fields }
  if (times === 1) {
    await context.ok(request)
    return
  }
  context.line(
    `for n in $(seq ${times}); do vault write ${shellWord(`-address=${context.lab.cluster(cluster).apiAddress}`)} ${shellWord(path)}-$n ...; done`,
  )
  const client = context.lab.withToken(cluster, await context.lab.rootToken(cluster))
  try {
    for (let n = 1; n <= times; n++) {
      context.signal.throwIfAborted()
      await client.write(`${path}-${n}`, fields)
    }
  } finally {
    client.close()
  }
}

const read = async (context: DrillContext, value: VerbValues['read']): Promise<void> => {
  const { is, absent, expect, ...call } = value
  const wanted = { ...(absent ? { status: 404 } : {}), ...(is === undefined ? {} : { data: is }), ...expect }
  await makeCall(context, { ...call, expect: wanted })
}

const checkpoint = async (context: DrillContext, facts: VerbValues['checkpoint']): Promise<void> => {
  const failed: string[] = []
  for (const fact of facts) {
    const { passed, evidence } = await checkFact(context, fact)
    if (!passed) failed.push(`${describeExpectation(fact)}: ${evidence.join('; ')}`)
  }
  if (failed.length > 0) throw new DrillFailure(failed.join('\n'))
}

const VERBS: { readonly [V in Verb]: (context: DrillContext, value: VerbValues[V]) => Promise<void> } = {
  start: onServers('start'),
  stop: onServers('stop'),
  restart: onServers('restart'),
  crash: onServers('crash'),
  pause: onServers('pause'),
  resume: onServers('resume'),
  wipe: onServers('wipe'),
  seal: onServers('seal'),
  unseal: onServers('unseal'),
  fault: setFault,
  heal,
  hold: async (context, { cluster, state, kind }) => {
    await onLabApi(context, cluster, 'states/hold', { state, kind })
  },
  release: async (context, { cluster, ...body }) => {
    await onLabApi(context, cluster, 'states/release', body)
  },
  corrupt: async (context, { cluster, tree = 'replicated', page = 0 }) => {
    await onLabApi(context, cluster, 'faults/corrupt', { tree, page })
  },
  skew: async (context, { cluster, by }) => {
    await onLabApi(context, cluster, 'clock', { skew: by })
  },
  disk: async (context, { cluster, state, delay }) => {
    await onLabApi(context, cluster, 'faults/disk', { state, ...(delay === undefined ? {} : { delay }) })
  },
  'expire-token': async (context, { cluster, id, kind }) => {
    await onLabApi(context, cluster, 'faults/expire-token', { id, kind })
  },
  call: async (context, value) => {
    await makeCall(context, value)
  },
  promote: promoteCluster,
  demote: demoteCluster,
  disable,
  join,
  'update-primary': updatePrimary,
  revoke,
  filter: setFilter,
  write,
  read,
  wait: async (context, value) => {
    if (typeof value !== 'string') return waitForFact(context, value)
    context.line(`sleep ${durationOf(value) / 1000}`)
    await context.lab.clock.sleep(durationOf(value), context.signal)
  },
  checkpoint,
  run: async (context, { cluster, command, status = 0, prints, within = '60s' }) => {
    context.line(`VAULT_ADDR=${context.lab.cluster(cluster).apiAddress} sh -c '${command.replaceAll("'", `'\\''`)}'`)
    const ended = await runCommand(context, cluster, command, durationOf(within))
    context.output(conceal(ended.output))
    const last = ended.output.trim().split('\n').slice(-5).join('\n')
    if (ended.status === null)
      throw new LabError('timeout', `the command did not end within ${formatMs(durationOf(within))}\n${last}`)
    const mismatch = findMismatch(ended.status, status)
    if (mismatch !== undefined) throw new DrillFailure(`the command ended with ${ended.status}, not ${status}\n${last}`)
    if (prints !== undefined && !ended.output.includes(prints))
      throw new DrillFailure(`the command did not print "${prints}"\n${last}`)
  },
}
