import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { LabError } from '../../lab-error.js'
import { labDirectory } from '../../lifecycle/lab-directory.js'
import type { Place } from './mystery.js'

/** The record of the fault that is hidden in a lab, so that it can be judged by another command later. */
export interface KeptFind {
  readonly seed: string
  /** Milliseconds since the epoch. */
  readonly plantedAt: number
  readonly name: string
  readonly place: Place
}

/**
 * In the lab's directory, compressed: whoever looks around there while searching does not come upon the answer. It is no
 * secret, and whoever wants to read it can.
 */
const fileOf = (lab: string): string => path.join(labDirectory(lab), 'find')

export const saveFind = (lab: string, kept: KeptFind): void => {
  const draft = `${fileOf(lab)}.${process.pid}`
  writeFileSync(draft, deflateRawSync(JSON.stringify(kept)).toString('base64'), { mode: 0o600 })
  renameSync(draft, fileOf(lab))
}

export const readFind = (lab: string): KeptFind | undefined => {
  let text: string
  try {
    text = readFileSync(fileOf(lab), 'utf8')
  } catch {
    return undefined
  }
  try {
    return JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString('utf8')) as KeptFind
  } catch (error) {
    throw new LabError('conflict', `${fileOf(lab)} is damaged; remove it to hide another fault`, { cause: error })
  }
}

export const forgetFind = (lab: string): void => rmSync(fileOf(lab), { force: true })
