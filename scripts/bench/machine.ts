import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

const MB = 1024 * 1024

/** Returns the resident memory of a process in MB. */
export const residentMb = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024) / MB
}

/** Returns the processor time of a process, in ticks of the system. */
export const processorTicks = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** Returns the bytes that a process has written to disk. */
export const bytesWritten = (pid: number): number => {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  return Number(/^wchar: (\d+)/m.exec(io)?.[1] ?? 0)
}

/** Returns the bytes that a process has sent to a block device. */
export const blockBytes = (pid: number): number => {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  return Number(/^write_bytes: (\d+)/m.exec(io)?.[1] ?? 0)
}

/** Returns the number of reads and writes of a process on all kinds of files. */
export const readsAndWrites = (pid: number): number => {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  return Number(/^syscr: (\d+)/m.exec(io)?.[1] ?? 0) + Number(/^syscw: (\d+)/m.exec(io)?.[1] ?? 0)
}

/** Returns the bytes of all files below a directory. */
export const directoryBytes = (directory: string): number => {
  let bytes = 0
  for (const entry of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const found = statSync(path.join(directory, entry), { throwIfNoEntry: false })
    if (found?.isFile()) bytes += found.size
  }
  return bytes
}

/** Returns true if this machine can count the system calls of a process. */
export const canTrace = (): boolean => spawnSync('strace', ['-V'], { stdio: 'ignore' }).status === 0

/** Counts the calls of fdatasync and fsync of a process while `work` runs. */
export const countSyncs = async (pid: number, work: () => Promise<void>): Promise<number> => {
  const args = ['-f', '-qq', '-e', 'trace=fdatasync,fsync', '-e', 'signal=none', '-p', String(pid)]
  const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let syncs = 0
  let rest = ''
  tracer.stderr.setEncoding('latin1')
  tracer.stderr.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    syncs += lines.filter((line) => /\bf(?:data)?sync\(/.test(line)).length
  })
  await attached(pid)
  try {
    await work()
  } finally {
    const exited = new Promise((resolve) => tracer.once('close', resolve))
    tracer.kill('SIGINT')
    await exited
  }
  return syncs
}

const attached = async (pid: number): Promise<void> => {
  const deadline = Date.now() + 5000
  while (!/^TracerPid:\s+[1-9]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) {
    if (Date.now() > deadline) throw new Error('strace could not attach')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Returns the processor time of all threads of a process, in milliseconds. */
export const cpuMs = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Returns the bytes sent from a local TCP port over its open connections, or undefined if `ss` fails. */
export const bytesSentFrom = (port: number): number | undefined => {
  const { status, stdout } = spawnSync('ss', ['-tinH', `sport = :${port}`], { encoding: 'utf8' })
  if (status !== 0) return undefined
  return [...stdout.matchAll(/bytes_sent:(\d+)/g)].reduce((sum, [, bytes]) => sum + Number(bytes), 0)
}
