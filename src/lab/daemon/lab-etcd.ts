import { createWriteStream } from 'node:fs'
import { constants } from 'node:os'
import type { Clock } from '../../base/clock.js'
import { directoriesOf, findProgram } from '../../base/programs.js'
import type { Random } from '../../base/random.js'
import { EtcdChild } from '../../server/peers/etcd-child.js'
import type { EventDraft } from '../events/event.js'
import type { LabEtcdPlan } from '../model/daemon-record.js'
import { LabError } from '../model/lab-error.js'

/** Directories of etcd on systems where a restricted PATH does not contain them. */
const PROGRAM_DIRECTORIES = ['/usr/bin', '/usr/local/bin', '/usr/sbin']

/** Returns the path of the program etcd. Throws LabError `usage` with the package to install if there is none. */
export const findEtcd = (searchPath: string): string => {
  const program = findProgram('etcd', [...directoriesOf(searchPath), ...PROGRAM_DIRECTORIES])
  if (program !== undefined) return program
  const fix = 'install it (Debian package: etcd-server), or use --in-process'
  throw new LabError('usage', `clusters with several nodes require the program etcd: ${fix}`)
}

const urlOf = (port: number): string => `http://127.0.0.1:${port}`

export const etcdAddress = ({ ports: [client] }: LabEtcdPlan): string => urlOf(client)

interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  readonly emit: (event: EventDraft) => void
}

/** Runs the etcd of a lab, and restarts the program if it exits. The caller must stop the etcd. */
export const startLabEtcd = (plan: LabEtcdPlan, { clock, random, emit }: Surroundings): EtcdChild => {
  const { program, dataDir, logFile, ports } = plan
  const peer = urlOf(ports[1])
  // If the disk is full, log lines are lost, but the lab daemon continues.
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 }).on('error', () => undefined)
  const etcd = new EtcdChild({
    clock,
    random,
    program,
    clientUrl: etcdAddress(plan),
    flags: [
      ...['--name', 'lab', '--data-dir', dataDir, '--log-level', 'warn', '--logger', 'zap'],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `lab=${peer}`],
    ],
    onLine: (line) => log.write(`${line}\n`),
    onRestart: ({ code }) => {
      const [signal] = Object.entries(constants.signals).find(([, number]) => 128 + number === code) ?? []
      const text = `the etcd of the lab exited (${signal ?? code}) and is being restarted`
      emit({ kind: 'note', details: { text } })
    },
  })
  etcd.start()
  return etcd
}
