import { type Clusters, listOf, type Step, type WaitValue } from './drill.js'
import { describeWanted } from './matcher.js'

export const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const describeWait = ({ for: what, cluster, kind = 'dr', is, primary, health, entries }: WaitValue): string => {
  if (what === 'status') return `wait until the ${kind} status of ${cluster} has ${describeWanted(is)}`
  if (what === 'health') return `wait until sys/health of ${cluster} answers ${health}`
  if (what === 'lag') return `wait until ${cluster} is ${describeWanted(entries)} entries behind ${primary}`
  return `wait for ${cluster ? `${cluster} to be ` : ''}${what}`
}

const and = (clusters: Clusters): string => listOf(clusters).join(', ')

/** Describes a step in English. */
export const describeStep = (step: Step): string => {
  switch (step.verb) {
    case 'start':
    case 'stop':
    case 'restart':
    case 'crash':
    case 'pause':
    case 'resume':
    case 'wipe':
    case 'seal':
    case 'unseal':
      return `${step.verb} ${and(step.with)}`
    case 'fault': {
      const { name, between, 'one-way': oneWay, for: duration } = step.with
      return `${name} ${between.join(oneWay ? ' -> ' : ' <-> ')}${duration ? ` for ${duration}` : ''}`
    }
    case 'heal':
      return step.with === 'all' ? 'heal all links' : `heal ${step.with.between.join(' <-> ')}`
    case 'hold':
      return `hold ${step.with.cluster} in ${step.with.state} (${step.with.kind})`
    case 'release':
      return `release ${step.with.cluster}`
    case 'corrupt':
      return `damage the merkle tree of ${step.with.cluster}`
    case 'skew':
      return `shift the clock of ${step.with.cluster} by ${step.with.by}`
    case 'disk':
      return `the disk of ${step.with.cluster} is ${step.with.state}`
    case 'expire-token':
      return `let the activation token ${step.with.id} of ${step.with.cluster} expire`
    case 'call':
      return `${step.with.method ?? 'GET'} ${step.with.path} on ${step.with.cluster}`
    case 'promote':
      return `promote ${step.with.cluster} to ${step.with.kind} primary${step.with.force ? ' by force' : ''}`
    case 'demote':
      return `demote ${step.with.cluster} (${step.with.kind})`
    case 'disable':
      return `disable ${step.with.kind} replication on ${step.with.cluster}`
    case 'join':
      return `${step.with.secondary} joins ${step.with.primary} as ${step.with.kind} secondary`
    case 'update-primary':
      return `${step.with.cluster} follows ${step.with.primary ?? (step.with.addresses?.join(', ') || 'whom its token names')} (${step.with.kind})`
    case 'revoke':
      return `${step.with.primary} revokes ${step.with.secondary} (${step.with.kind})`
    case 'filter':
      return step.with.remove
        ? `${step.with.primary} removes the filter of ${step.with.secondary}`
        : `${step.with.primary} filters ${step.with.secondary}: ${step.with.mode} ${step.with.paths?.join(', ')}`
    case 'write':
      return `write ${step.with.path} on ${step.with.cluster}${step.with.times ? ` ${step.with.times} times` : ''}`
    case 'read':
      return `read ${step.with.path} on ${step.with.cluster}`
    case 'wait':
      if (typeof step.with === 'string') return `clients go on for ${step.with}`
      return describeWait(step.with)
    case 'checkpoint':
      return step.with.map(({ about }) => about).join(', ')
    case 'run':
      return step.with.command
  }
}
