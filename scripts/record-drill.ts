import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { drawRecording, type PrintedLine } from './support/recording.js'
import { ROOT } from './support/run.js'

/** Plays the drill of the README with the compiled program, and draws its output as `docs/drill.svg`. */
const COMMAND = ['drill', 'run', 'dr-failover', '--slo', 'rto=60s,rpo=0', '--report', 'out/']

/** Returns false for the lines about the start of the lab, which depend on the speed of the machine. */
const isShown = (text: string): boolean => !/^waiting for|^cluster |^drill |^started |^stored /.test(text)

const record = async (cwd: string): Promise<{ status: number | null; lines: PrintedLine[] }> => {
  const env = { ...process.env, XDG_STATE_HOME: cwd }
  const main = path.join(ROOT, 'dist', 'main.js')
  const child = spawn(process.execPath, [main, ...COMMAND], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: PrintedLine[] = []
  let beganMs: number | undefined
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (text) => {
      if (!isShown(text)) return
      beganMs ??= performance.now()
      lines.push({ text, atMs: performance.now() - beganMs })
    })
  }
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { status, lines }
}

const cwd = mkdtempSync(path.join(tmpdir(), 'understudy-recording-'))
try {
  const { status, lines } = await record(cwd)
  if (status !== 0)
    throw new Error(`the drill failed with status ${status}:\n${lines.map(({ text }) => text).join('\n')}`)
  const typed = { text: `$ understudy ${COMMAND.join(' ')}`, atMs: 0 }
  const title =
    'A drill in a terminal: the primary crashes, its DR secondary is promoted, and the drill measures client impact'
  writeFileSync(path.join(ROOT, 'docs', 'drill.svg'), drawRecording(title, [typed, ...lines]))
} finally {
  rmSync(cwd, { recursive: true, force: true })
}
