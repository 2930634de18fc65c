import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { attempt } from '../../base/attempt.js'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { nearest } from '../../base/nearest.js'
import { messageOf } from '../../base/printable.js'
import {
  type AnyLab,
  type AttachedLab,
  type DaemonLab,
  hasDaemon,
  isAttached,
  type LabRecord,
  serversOfLab,
} from './cluster.js'
import { LabError } from './lab-error.js'
import { LAB_NAME, labsDirectory, listLabs, nameFlag } from './state-directory.js'

/**
 * Returns the directory of a lab, readable by its owner only. It contains `lab.json`, a claim while a command changes
 * the lab, and one directory per cluster with configuration, log and data. Throws LabError `usage` for an invalid name.
 */
export const labDirectory = (name: string): string => {
  if (!LAB_NAME.test(name)) {
    throw new LabError(
      'usage',
      `"${name}" is not a valid lab name: use letters, digits, "_", "." and "-", starting with a letter or digit`,
    )
  }
  return path.join(labsDirectory(), name)
}

/**
 * Creates a directory and its parents, one at a time. `mkdirSync` with `recursive` never returns on file systems such
 * as `/proc`, where a new directory does not become visible. `fix`: the next step, for the message of the LabError
 * `usage`.
 */
export const makeDirectories = (directory: string, fix = 'set XDG_STATE_HOME to a writable directory'): void => {
  const there = statSync(directory, { throwIfNoEntry: false })
  if (there && !there.isDirectory()) throw new LabError('usage', `${directory} is not a directory; ${fix}`)
  if (there) return
  makeDirectories(path.dirname(directory), fix)
  try {
    mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw new LabError('usage', `cannot create ${directory}: ${messageOf(error)}; ${fix}`, { cause: error })
  }
}

/** Returns the file with the record of the hidden fault that "drill find" injected into a lab. */
export const hiddenFaultFile = (name: string): string => path.join(labDirectory(name), 'find')

const recordFile = (name: string): string => path.join(labDirectory(name), 'lab.json')

export const hasRecord = (name: string): boolean => existsSync(recordFile(name))

/** Writes the record of a lab. A concurrent reader gets the old record or the new one. */
export const saveLab = (lab: AnyLab): void => {
  replaceFile(recordFile(lab.name), `${JSON.stringify(lab, undefined, 2)}\n`)
}

/**
 * Returns the record of a lab. Undefined if the lab does not exist. Throws LabError `conflict` if the record is
 * damaged.
 */
export const findLab = (name: string): AnyLab | undefined => {
  const file = recordFile(name)
  if (!hasRecord(name)) return undefined
  const lab = parse(readFileSync(file, 'utf8'))
  if (!lab) throw new LabError('conflict', `${file} is damaged; remove the lab with "understudy down ${name}"`)
  return lab
}

/** Returns the record of a lab. Undefined if the lab does not exist, or if the record is damaged. */
export const findIntactLab = (name: string): AnyLab | undefined => attempt(() => findLab(name))

const ELSEWHERE = 'its servers are external, so manage them on their own machines'

/** Returns a lab of processes. Throws LabError `usage` for an attached lab, and `conflict` after a failed start. */
export const requireLab = (name: string): LabRecord => refuseFailed(requireOwnLab(name))

/** Like `requireLab`, but also returns a lab whose start failed, of which only the logs are left. */
export const requireOwnLab = (name: string, why = ELSEWHERE): LabRecord => {
  const lab = requireRecord(name)
  if (isAttached(lab)) throw new LabError('usage', `the lab "${name}" is attached: ${why}`)
  return lab
}

/** Returns a lab with a lab daemon. Throws the error of `noDaemon` for any other lab. */
export const requireDaemonLab = (name: string): DaemonLab => requireDaemon(requireAnyLab(name))

/** Like `requireDaemonLab`, but also returns a lab whose start failed, because the files of its events remain. */
export const requireRecordedEvents = (name: string): DaemonLab => requireDaemon(requireRecord(name))

const requireDaemon = (lab: AnyLab): DaemonLab => {
  if (hasDaemon(lab)) return lab
  throw noDaemon(lab.name)
}

/** Returns the error for faults and events of a lab whose links do not go through a lab daemon. */
export const noDaemon = (name: string): LabError =>
  new LabError(
    'usage',
    `the lab "${name}" is attached: it has no lab daemon, which faults and events require${describeOthers(name)}`,
  )

export const requireAnyLab = (name: string): AnyLab => refuseFailed(requireRecord(name))

const refuseFailed = <T extends AnyLab>(lab: T): T => {
  if (lab.state !== 'failed') return lab
  const [logs, up, down] = [commandIn(lab.name, 'logs'), commandIn(lab.name, 'up'), `understudy down ${lab.name}`]
  throw new LabError(
    'conflict',
    `the lab "${lab.name}" failed to start and is not running: "${logs}" shows the logs of its servers, "${up}" with a topology starts it again, "${down}" removes it`,
  )
}

const requireRecord = (name: string): AnyLab => {
  const lab = findLab(name)
  if (lab) return lab
  const text = describeMissing(name)
  throw new LabError('usage', text.includes(';') ? text : `${text}; start one with "understudy up pr-dr"`)
}

/** Returns the message that the lab does not exist, with the nearest known name or all known names. */
export const describeMissing = (name: string): string => {
  const meant = nearest(name, otherLabs(name))
  return `there is no lab "${name}"${meant ? `; did you mean "--name ${meant}"?` : describeOthers(name)}`
}

/** Returns how to select another lab, as the end of a message. Empty if there is no other lab. */
export const describeOthers = (name: string): string => {
  const others = otherLabs(name)
  return others.length > 0 ? `; to select another lab, use --name: ${others.join(', ')}` : ''
}

/** Returns the other labs. Excludes `name`, because a claim creates the directory of a lab that does not exist. */
const otherLabs = (name: string): readonly string[] => listLabs().filter((lab) => lab !== name)

const parse = (text: string): AnyLab | undefined =>
  attempt(() => {
    const value = JSON.parse(text) as (Partial<Omit<LabRecord, 'state'>> & { state?: AnyLab['state'] }) | null
    if (typeof value?.name !== 'string' || !Array.isArray(value.clusters)) return undefined
    if (!value.clusters.every((cluster) => typeof cluster?.name === 'string')) return undefined
    if (value.state === 'attached') return value as unknown as AttachedLab
    return typeof value.state === 'string' && value.owner ? (value as LabRecord) : undefined
  })

/** Returns an Understudy command line for this lab. */
export const commandIn = (lab: string, words: string): string => `understudy ${words}${nameFlag(lab)}`

/** Finds the configuration files of servers and lab daemon, even if the record of the lab is damaged or missing. */
export const findConfigFiles = (name: string): string[] => {
  const directory = labDirectory(name)
  if (!existsSync(directory)) return []
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => /^(?:[A-Z]\d*\/server|keeper)-[0-9a-f]+\.json$/.test(file))
    .map((file) => path.join(directory, file))
}

/** Removes the files of a failed start, except its logs. */
export const removeData = (lab: LabRecord): void => {
  for (const { dataDir } of [...serversOfLab(lab), ...(lab.etcd ? [lab.etcd] : [])])
    rmSync(dataDir, { recursive: true, force: true })
  if (lab.dataRoot !== labDirectory(lab.name)) rmSync(lab.dataRoot, { recursive: true, force: true })
}

/** Removes all files of a lab except the claim of the calling process. */
export const removeLab = (name: string): void => {
  const directory = labDirectory(name)
  for (const entry of existsSync(directory) ? readdirSync(directory) : []) {
    if (!entry.startsWith(CLAIM_PREFIX)) rmSync(path.join(directory, entry), { recursive: true, force: true })
  }
}

/** Prefix of the claims in the directory of a lab. A claim is the lock of a command that changes the lab. */
export const CLAIM_PREFIX = 'claim-'
