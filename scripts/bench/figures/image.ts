import { execFileSync } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../src/base/clock.js'
import { nodeAloneMs } from '../child.js'
import { NODE_ALONE } from '../goals.js'
import type { Bench } from './context.js'

const IMAGE = process.env.UNDERSTUDY_IMAGE ?? 'understudy'
const POLL_MS = 20
const MB = 1_000_000

interface Inspected {
  readonly Size: number
  readonly RootFS: { readonly Layers: readonly string[] }
}

const docker = (...args: string[]): string =>
  execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

/** Figure 21: the image, if Docker has it. */
export const measureImage = async (bench: Bench): Promise<undefined> => {
  const image = inspect(IMAGE)
  if (!image) {
    bench.say(`image: Docker has no image ${IMAGE}. Build it with: npm run image`)
    return undefined
  }
  bench.add('21a', (image.Size - baseSizeOf(image)) / MB)
  for (let round = 0; round < bench.rounds; round++) {
    bench.note(NODE_ALONE, await nodeAloneMs(), 'ms')
    const startMs = performance.now()
    const id = docker('run', '--detach', '--rm', '--cap-add', 'IPC_LOCK', IMAGE)
    try {
      while (docker('inspect', '--format', '{{.State.Health.Status}}', id) !== 'healthy')
        await systemClock.sleep(POLL_MS)
      bench.add('21b', (performance.now() - startMs) / 1000)
    } finally {
      docker('kill', id)
    }
  }
  return undefined
}

const inspect = (image: string): Inspected | undefined => {
  try {
    const [inspected] = JSON.parse(docker('image', 'inspect', image)) as Inspected[]
    return inspected
  } catch {
    return undefined
  }
}

/** Returns the size of the largest other image whose layers begin the image, or 0 if Docker has none. */
const baseSizeOf = ({ RootFS }: Inspected): number => {
  const ids = docker('image', 'ls', '--quiet', '--no-trunc').split('\n')
  const layers = RootFS.Layers
  const sizes = ids.map((id) => {
    const other = inspect(id)
    const isBase =
      other &&
      other.RootFS.Layers.length < layers.length &&
      other.RootFS.Layers.every((layer, at) => layer === layers[at])
    return isBase ? other.Size : 0
  })
  return Math.max(0, ...sizes)
}
