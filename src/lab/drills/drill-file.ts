import type { LabSettings } from '../model/settings.js'
import type { Runner } from './drill.js'

/** The content of a drill file that passed schema validation. */
export interface DrillFile {
  readonly name?: string
  readonly purpose?: string
  readonly symptom?: string
  readonly fix?: string
  readonly topology: string
  readonly runners?: readonly Runner[]
  readonly settings?: LabSettings
  readonly shares?: number
  readonly threshold?: number
  readonly load?: LoadFile | null
  readonly setup?: readonly Entry[]
  readonly steps: readonly Entry[]
  readonly expect?: readonly Entry[]
}

export interface LoadFile {
  readonly writers?: number
  readonly logins?: number
  readonly readers?: number
  readonly tokens?: number
  readonly at?: readonly string[]
  readonly every?: string
  readonly patience?: string
  readonly 'read-back-on'?: string
}

/** A step or an expectation. */
export type Entry = Readonly<Record<string, unknown>>
