import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { findCompose, findEngine } from './docker.js'
import { ROOT, run } from './run.js'

/** A tier of tests, by the name of its vitest project. */
export interface Tier {
  readonly name: string
  /** Below `test`, where it is not called as the tier. */
  readonly folder?: string
  /** Why it cannot run here; undefined when it can. */
  readonly findObstacle: () => string | undefined
  /** Its files run one after the other and wait for much, so that another such tier can run beside it. */
  readonly isOneByOne?: boolean
  /** It uses ports that are fixed, 8200 and more, as another one does that cannot run beside it. */
  readonly hasFixedPorts?: boolean
  /** What has to be done before; its exit status. */
  readonly prepare?: () => Promise<number>
}

/** Where distributions install it. */
export const CHROMIUM: readonly string[] = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Where distributions install it; tests of a log in etcd are named as not run where it is not. */
export const ETCD: readonly string[] = ['/usr/bin/etcd', '/usr/local/bin/etcd']

const never = () => undefined
const always = (name: string): Tier => ({ name, findObstacle: never })
const oneByOne = (tier: Tier): Tier => ({ ...tier, isOneByOne: true })

/** What is quick and what others rest on first, then what takes longest. */
export const TIERS: readonly Tier[] = [
  ...['tidy', 'unit', 'conformance', 'golden'].map(always),
  ...[
    { ...always('api'), hasFixedPorts: true },
    always('scenarios'),
    { ...always('scenarios-in-process'), folder: 'scenarios' },
    {
      name: 'containers',
      hasFixedPorts: true,
      findObstacle: () => {
        if (!findEngine()) return 'no Docker engine answers'
        return findCompose() ? undefined : 'no docker-compose was found'
      },
      prepare: () => run('npx', ['tsx', 'scripts/image.ts']),
    },
    {
      name: 'etcd',
      findObstacle: () => (ETCD.some((file) => existsSync(file)) ? undefined : 'no etcd was found'),
    },
    always('simulation'),
    {
      name: 'browser',
      findObstacle: () => (CHROMIUM.some((file) => existsSync(file)) ? undefined : 'no Chromium was found'),
    },
    always('topology'),
  ].map(oneByOne),
]

/** Whether a tier has any test file. */
export const hasTests = ({ name, folder = name }: Tier): boolean => {
  const place = path.join(ROOT, 'test', folder)
  if (!existsSync(place)) return existsSync(`${place}.test.ts`)
  return readdirSync(place, { recursive: true, encoding: 'utf8' }).some((file) => file.endsWith('.test.ts'))
}
