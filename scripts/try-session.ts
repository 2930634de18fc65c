import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT } from './support/run.js'

/**
 * Plays the session of a new user: installs the packed package in an empty home directory, and runs the first commands.
 * Prints each command with its output. Exits with 1 at the first command with an unexpected status.
 */
interface Line {
  readonly text: string
  /** The expected exit status (default: 0). */
  readonly status?: number
}

const LINES: readonly Line[] = [
  { text: 'understudy --version' },
  { text: 'understudy' },
  { text: 'understudy topology list' },
  { text: 'understudy up pr-dr --ports random' },
  { text: 'understudy status' },
  { text: 'understudy exec A -- understudy vault secrets enable -path=kv kv' },
  { text: 'understudy exec A -- understudy vault write kv/greeting word=hello' },
  { text: 'understudy wait --for converged' },
  { text: 'understudy exec C -- understudy vault read -field=word kv/greeting' },
  { text: 'understudy snapshot save before' },
  { text: 'understudy fault partition A C --for 5m' },
  { text: 'understudy status', status: 2 },
  { text: 'understudy heal --all' },
  { text: 'understudy wait --for healthy' },
  { text: 'timeout 4 understudy status --watch', status: 124 },
  { text: 'understudy exec A -- understudy vault write kv/greeting word=changed' },
  { text: 'understudy reset' },
  { text: 'understudy exec A -- understudy vault read kv/greeting', status: 2 },
  { text: 'understudy snapshot load before' },
  { text: 'understudy exec A -- understudy vault read -field=word kv/greeting' },
  { text: 'understudy drill run dr-failover --slo rto=60s --report report' },
  { text: 'ls report' },
  { text: 'understudy down' },
  { text: 'understudy ls' },
]

const home = mkdtempSync(path.join(tmpdir(), 'understudy-session-'))
const project = path.join(home, 'project')
mkdirSync(project)
const env = { PATH: `${path.join(project, 'node_modules', '.bin')}:${process.env.PATH}`, HOME: home, LANG: 'C.UTF-8' }

/** Prints a command and its output. Returns true if the exit status is the expected one. */
const type = ({ text, status: expected = 0 }: Line): boolean => {
  console.log(`$ ${text}`)
  const startMs = performance.now()
  const { status, stdout, stderr } = spawnSync('bash', ['-c', text], { cwd: project, env, encoding: 'utf8' })
  process.stdout.write(`${stderr}${stdout}`)
  console.log(`# ended with ${status} after ${((performance.now() - startMs) / 1000).toFixed(1)} s\n`)
  if (status !== expected) console.log(`FAILED: expected status ${expected}`)
  return status === expected
}

try {
  const pack = ['pack', '--ignore-scripts', '--silent', `--pack-destination=${home}`]
  if (spawnSync('npm', pack, { cwd: ROOT, stdio: 'inherit' }).status !== 0) throw new Error('npm pack failed')
  const installed = type({ text: `npm init -y >/dev/null && npm install --no-audit --no-fund ${home}/*.tgz` })
  process.exitCode = installed && LINES.every(type) ? 0 : 1
} finally {
  spawnSync('bash', ['-c', 'understudy down --all'], { cwd: project, env })
  rmSync(home, { recursive: true, force: true })
}
