import { attempt } from '../../../base/attempt.js'
import { messageOf } from '../../../base/printable.js'
import { replaceFile } from '../../../base/replace-file.js'
import { createSeededRandom } from '../../../base/random.js'
import { formatMs } from '../../texts/format.js'
import { LabError } from '../../model/lab-error.js'
import { commandIn, hiddenFaultFile } from '../../model/lab-directory.js'
import type { LiveLab } from '../../live/live-lab.js'
import type { LabKind } from '../../model/server-verbs.js'
import { waitFor } from '../../requests/wait.js'
import {
  HIDDEN_FAULTS,
  type HiddenFault,
  type FaultLocation,
  describeSolution,
  type FaultSolution,
} from './hidden-faults.js'
import { findReplicationLinks, findTrouble, preparePractice, type ReplicationLink } from './traffic.js'
import { readFileSync, rmSync } from 'node:fs'
import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Maximum time until an injected fault has visible effects. */
const SHOWS_MS = 15_000
/** Maximum time until a fixed lab is healthy. */
const SETTLES_MS = 10_000

/** Injects a fault that `seed` selects from those that fit the current links. Rejects if the lab is not healthy. */
export const injectFault = async (lab: LiveLab, seed: string): Promise<void> => {
  const before = readRecord(lab.name)
  if (before && !before.isRevealed)
    throw new LabError(
      'conflict',
      `the lab "${lab.name}" already has a hidden fault; "${commandIn(lab.name, 'drill find --check')}" checks your fix, "--give-up" reveals the fault`,
    )
  const trouble = await preparePractice(lab).then(() => findTrouble(lab), messageOf)
  if (trouble !== undefined)
    throw new LabError('conflict', `cannot inject a fault, because the lab is not healthy: ${trouble}`)
  const { fault, place } = chooseFault(await findReplicationLinks(lab), seed, lab.kind)
  const record: FaultRecord = { seed, plantedAt: lab.clock.now(), name: fault.name, place }
  writeRecord(lab.name, record)
  const findMissing = async () => ((await isPresent(lab, fault, place)) ? undefined : 'it has no effect yet')
  try {
    await fault.inject(lab, place)
    await waitFor(lab.clock, 'the fault to take effect', findMissing, SHOWS_MS)
  } catch (error) {
    deleteRecord(lab.name)
    throw error
  }
}

/** Whether a fault is present, or its presence is unknown. */
const isPresent = (lab: LiveLab, fault: HiddenFault, place: FaultLocation): Promise<boolean> =>
  fault.isPresent(lab, place).catch(() => true)

/**
 * Chooses a fault from the seed, the links and the kind of lab only, so that equal labs get the same fault. Throws
 * LabError `usage` if the lab has no replication.
 */
export const chooseFault = (
  links: readonly ReplicationLink[],
  seed: string,
  labKind: LabKind = 'process',
): { fault: HiddenFault; place: FaultLocation } => {
  const possible = HIDDEN_FAULTS.filter(({ needsProcess }) => labKind === 'process' || !needsProcess)
  const choices = possible.flatMap((fault) => {
    const fitting = links.filter(({ kind }) => fault.kind === undefined || fault.kind === kind)
    return fitting.length > 0 ? [{ fault, fitting }] : []
  })
  if (choices.length === 0)
    throw new LabError('usage', 'this lab has no replication, which hidden faults require; try "understudy up pr-dr"')
  const bytes = createSeededRandom(`drill find ${seed}`).bytes(9)
  const pick = <T>(from: readonly T[], at: number): T => {
    const chosen = from[bytes.readUInt32BE(at) % from.length]
    if (chosen === undefined) throw new Error('the list of choices is empty')
    return chosen
  }
  const { fault, fitting } = pick(choices, 0)
  return { fault, place: { ...pick(fitting, 4), isBackwards: ((bytes[8] ?? 0) & 1) === 1 } }
}

type FixResult =
  | { readonly isMended: false; readonly seen: string }
  | { readonly isMended: true; readonly told: FaultSolution; readonly took: string; readonly seed: string }

/**
 * Checks that the fault is fixed and that clients are served. If so, reveals the fault and deletes its record.
 * Otherwise, returns the symptom.
 */
export const checkFix = async (lab: LiveLab): Promise<FixResult> => {
  const record = requireRecord(lab)
  const fault = requireFault(record)
  const findLeft = async () => ((await isPresent(lab, fault, record.place)) ? 'the fault is still present' : undefined)
  const isLeft = await waitFor(lab.clock, 'the fault to be fixed', findLeft, SETTLES_MS).then(
    () => false,
    () => true,
  )
  const trouble = await findTrouble(lab)
  if (trouble !== undefined) return { isMended: false, seen: trouble }
  if (isLeft) return { isMended: false, seen: 'clients are served, but the fault is still present' }
  deleteRecord(lab.name)
  const took = formatMs(lab.clock.now() - record.plantedAt)
  return { isMended: true, told: describeSolution(fault, record.place, lab), took, seed: record.seed }
}

/** Reveals the fault. The fault itself stays, and `checkFix` still checks it. */
export const revealFault = (lab: LiveLab): FaultSolution & { readonly seed: string } => {
  const record = requireRecord(lab)
  writeRecord(lab.name, { ...record, isRevealed: true })
  return { ...describeSolution(requireFault(record), record.place, lab), seed: record.seed }
}

const requireRecord = (lab: LiveLab): FaultRecord => {
  const record = readRecord(lab.name)
  if (record) return record
  throw new LabError(
    'usage',
    `the lab "${lab.name}" has no hidden fault; "${commandIn(lab.name, 'drill find')}" injects one`,
  )
}

const requireFault = ({ name }: FaultRecord): HiddenFault => {
  const found = HIDDEN_FAULTS.find((fault) => fault.name === name)
  if (!found)
    throw new LabError(
      'conflict',
      'another version of Understudy injected the fault: run "understudy down" to remove the lab',
    )
  return found
}

/** The record of the hidden fault of a lab, so that a later command can check for it. */
interface FaultRecord {
  readonly seed: string
  /** Milliseconds since the epoch. */
  readonly plantedAt: number
  readonly name: string
  readonly place: FaultLocation
  /** Whether the user gave up. Another fault may then replace this one as soon as the lab is healthy. */
  readonly isRevealed?: boolean
}

const readRecord = (lab: string): FaultRecord | undefined => {
  const file = hiddenFaultFile(lab)
  const text = attempt(() => readFileSync(file, 'utf8'))
  if (text === undefined) return undefined
  try {
    return JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString('utf8')) as FaultRecord
  } catch (error) {
    throw new LabError('conflict', `${file} is damaged: remove this file, and run "understudy reset"`, {
      cause: error,
    })
  }
}

/** Writes the record compressed, so that a reader of the directory does not see the answer by accident. */
const writeRecord = (lab: string, record: FaultRecord): void =>
  replaceFile(hiddenFaultFile(lab), deflateRawSync(JSON.stringify(record)).toString('base64'))

const deleteRecord = (lab: string): void => rmSync(hiddenFaultFile(lab), { force: true })
