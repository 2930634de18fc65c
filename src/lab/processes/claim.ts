import { linkSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '../../base/attempt.js'
import { LabError } from '../model/lab-error.js'
import { CLAIM_PREFIX, labDirectory, makeDirectories } from '../model/lab-directory.js'
import { isAlive, type ProcessIdentity, type ProcessTable } from '../model/process-table.js'
import type { LabHost } from './lab-host.js'

/**
 * The action of the holder of a claim, for error messages. During `operated`, other commands may stop and start
 * servers, but not run another operation.
 */
type Doing = 'started' | 'stopped' | 'changed' | 'operated'

const OPERATION_PREFIX = 'operation-'

const prefixOf = (doing: Doing): string => (doing === 'operated' ? OPERATION_PREFIX : CLAIM_PREFIX)

interface Holder extends ProcessIdentity {
  readonly doing: Doing
}

interface Claim {
  readonly number: number
  readonly holder: Holder | undefined
}

const TRIES = 10

const DISK_FULL_CODES: readonly string[] = ['ENOSPC', 'EDQUOT']

/**
 * Locks a lab while one command changes it. A concurrent command fails with a conflict that names the process. A claim
 * is a numbered file that is linked into place, so it always exists completely or not at all. Claims of processes that
 * no longer exist are ignored. Disposal removes it.
 */
export const claimLab = (name: string, doing: Doing, { me, table }: Pick<LabHost, 'me' | 'table'>): Disposable => {
  for (let tries = 0; tries < TRIES; tries++) {
    const number = tryClaim(name, { ...me, doing }, table)
    if (number !== undefined) return { [Symbol.dispose]: () => release(name, prefixOf(doing), number) }
  }
  throw new LabError('conflict', `other commands are changing the lab "${name}"; try again`)
}

/** Returns the process that is changing a lab. */
export const findHolder = (name: string, table: ProcessTable): Holder | undefined =>
  holderOf(readClaims(name, CLAIM_PREFIX), table)

const holderOf = (claims: readonly Claim[], table: ProcessTable): Holder | undefined =>
  claims.map(({ holder }) => holder).find((holder) => holder && isAlive(table, holder))

/** Returns undefined if another process was faster. */
const tryClaim = (name: string, holder: Holder, table: ProcessTable): number | undefined => {
  const prefix = prefixOf(holder.doing)
  refuseWhenHeld(name, readClaims(name, prefix), table)
  const directory = labDirectory(name)
  makeDirectories(directory)
  const number = Math.max(0, ...readClaims(name, prefix).map((claim) => claim.number)) + 1
  const draft = path.join(directory, `draft-${holder.pid}`)
  const file = fileOf(name, prefix, number)
  try {
    writeFileSync(draft, JSON.stringify(holder), { mode: 0o600 })
    linkSync(draft, file)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (['EEXIST', 'ENOENT'].includes(code)) return undefined
    // On a full disk, no other process can claim the lab either. Removing a lab frees space, and an operation needs
    // none.
    if (DISK_FULL_CODES.includes(code) && (holder.doing === 'stopped' || holder.doing === 'operated')) return number - 1
    rmSync(draft, { force: true })
    removeEmpty(directory)
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
  // Two processes may have read different lists of claims, if a third process released its claim in between. Of their
  // two claims, the one with the lower number applies.
  const below = readClaims(name, prefix).filter((claim) => claim.number < number)
  try {
    refuseWhenHeld(name, below, table)
  } catch (error) {
    rmSync(file, { force: true })
    throw error
  }
  return number
}

const refuseWhenHeld = (name: string, claims: readonly Claim[], table: ProcessTable): void => {
  const holder = holderOf(claims, table)
  if (holder) throw new LabError('conflict', `the lab "${name}" is being ${holder.doing} by process ${holder.pid}`)
}

/** Removes the claim and older claims of ended processes, and the directory if nothing else is left in it. */
const release = (name: string, prefix: string, number: number): void => {
  for (const claim of readClaims(name, prefix))
    if (claim.number <= number) rmSync(fileOf(name, prefix, claim.number), { force: true })
  removeEmpty(labDirectory(name))
}

/** Keeps a directory that contains a lab or another claim. */
const removeEmpty = (directory: string): void => attempt(() => rmdirSync(directory))

const fileOf = (name: string, prefix: string, number: number): string =>
  path.join(labDirectory(name), `${prefix}${number}`)

const readClaims = (name: string, prefix: string): Claim[] => {
  const entries = attempt(() => readdirSync(labDirectory(name))) ?? []
  const pattern = new RegExp(`^${prefix}(\\d+)$`)
  return entries.flatMap((entry) => {
    const [, digits] = pattern.exec(entry) ?? []
    const number = Number(digits)
    return digits === undefined ? [] : [{ number, holder: readHolder(fileOf(name, prefix, number)) }]
  })
}

const readHolder = (file: string): Holder | undefined => attempt(() => JSON.parse(readFileSync(file, 'utf8')) as Holder)
