import { LabError } from '../../lab-error.js'
import { makeCall } from '../answers.js'
import { formatMs } from '../../report/format.js'
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

/** Does what a step says; rejects when it cannot be done, or does not come out as the step wants it. */
export const play = async (stage: DrillContext, step: Step): Promise<void> => {
  const run = VERBS[step.verb] as (stage: DrillContext, value: unknown) => Promise<void>
  await run(stage, step.verb === 'checkpoint' ? step.with : await stage.variables.resolve(step.with))
}

const onServers =
  (verb: 'start' | 'stop' | 'restart' | 'crash' | 'pause' | 'resume' | 'seal' | 'unseal') =>
  async (stage: DrillContext, clusters: string | readonly string[]): Promise<void> => {
    for (const name of listOf(clusters)) {
      stage.line(`understudy ${verb} ${name}`)
      await stage.lab.work(verb, name, stage.timeoutMs)
    }
  }

/** Endpoints of the server that belong to labs. */
const onLabApi = (stage: DrillContext, cluster: string, path: string, body: object): Promise<unknown> =>
  stage.ok({ cluster, method: 'POST', path: `/_understudy/v1/${path}`, body, token: 'none' })

const write = async (stage: DrillContext, { cluster, path, fields, times = 1 }: VerbValues['write']): Promise<void> => {
  const request = { cluster, method: 'PUT', path, body: fields }
  if (times === 1) {
    await stage.ok(request)
    return
  }
  stage.line(
    `for n in $(seq ${times}); do vault write -address=${stage.lab.cluster(cluster).apiAddress} ${path}-$n ...; done`,
  )
  const client = stage.lab.withToken(cluster, await stage.lab.rootToken(cluster))
  try {
    for (let n = 1; n <= times; n++) {
      stage.signal.throwIfAborted()
      await client.write(`${path}-${n}`, fields)
    }
  } finally {
    client.close()
  }
}

const read = async (stage: DrillContext, value: VerbValues['read']): Promise<void> => {
  const { is, absent, expect, ...call } = value
  const wanted = { ...(absent ? { status: 404 } : {}), ...(is === undefined ? {} : { data: is }), ...expect }
  await makeCall(stage, { ...call, expect: wanted })
}

const checkpoint = async (stage: DrillContext, facts: VerbValues['checkpoint']): Promise<void> => {
  const failed: string[] = []
  for (const fact of facts) {
    const { passed, evidence } = await checkFact(stage, fact)
    if (!passed) failed.push(`${describeExpectation(fact)}: ${evidence.join('; ')}`)
  }
  if (failed.length > 0) throw new DrillFailure(failed.join('\n'))
}

const VERBS: { readonly [V in Verb]: (stage: DrillContext, value: VerbValues[V]) => Promise<void> } = {
  start: onServers('start'),
  stop: onServers('stop'),
  restart: onServers('restart'),
  crash: onServers('crash'),
  pause: onServers('pause'),
  resume: onServers('resume'),
  seal: onServers('seal'),
  unseal: onServers('unseal'),
  fault: setFault,
  heal,
  hold: async (stage, { cluster, state, kind }) => {
    await onLabApi(stage, cluster, 'states/hold', { state, kind })
  },
  release: async (stage, { cluster, ...body }) => {
    await onLabApi(stage, cluster, 'states/release', body)
  },
  corrupt: async (stage, { cluster, tree = 'replicated', page = 0 }) => {
    await onLabApi(stage, cluster, 'faults/corrupt', { tree, page })
  },
  skew: async (stage, { cluster, by }) => {
    await onLabApi(stage, cluster, 'clock', { skew: by })
  },
  disk: async (stage, { cluster, state, delay }) => {
    await onLabApi(stage, cluster, 'faults/disk', { state, ...(delay === undefined ? {} : { delay }) })
  },
  'expire-token': async (stage, { cluster, id, kind }) => {
    await onLabApi(stage, cluster, 'faults/expire-token', { id, kind })
  },
  call: async (stage, value) => {
    await makeCall(stage, value)
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
  wait: async (stage, value) => {
    if (typeof value !== 'string') return waitForFact(stage, value)
    stage.line(`sleep ${durationOf(value) / 1000}`)
    await stage.lab.clock.sleep(durationOf(value), stage.signal)
  },
  checkpoint,
  run: async (stage, { cluster, command, status = 0, prints, within = '60s' }) => {
    stage.line(`VAULT_ADDR=${stage.lab.cluster(cluster).apiAddress} sh -c '${command.replaceAll("'", `'\\''`)}'`)
    const ended = await runCommand(stage, cluster, command, durationOf(within))
    const last = ended.output.trim().split('\n').slice(-5).join('\n')
    if (ended.status === null)
      throw new LabError('timeout', `the command did not end within ${formatMs(durationOf(within))}\n${last}`)
    const mismatch = findMismatch(ended.status, status)
    if (mismatch !== undefined) throw new DrillFailure(`the command ended with ${ended.status}, not ${status}\n${last}`)
    if (prints !== undefined && !ended.output.includes(prints))
      throw new DrillFailure(`the command did not print "${prints}"\n${last}`)
  },
}
