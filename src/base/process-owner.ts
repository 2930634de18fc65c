import { attempt } from './attempt.js'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'

/**
 * Returns the ID of the process that listens on a port, for the message that explains why a server cannot start. Works
 * only on Linux. Returns undefined if the process is unknown, for example if it belongs to another user.
 */
export const findPortOwner = (port: number): number | undefined => {
  const inodes = new Set([...listening('/proc/net/tcp', port), ...listening('/proc/net/tcp6', port)])
  if (inodes.size === 0) return undefined
  return processes().find((pid) => socketsOf(pid).some((inode) => inodes.has(inode)))
}

/** Returns the ID of the process that holds a lock on a file, like `findPortOwner`. */
export const findLockOwner = (file: string): number | undefined =>
  attempt(() => {
    const { ino } = statSync(file)
    const line = linesOf('/proc/locks').find((text) => text.includes(`:${ino} `))
    const pid = Number(line?.trim().split(/\s+/)[4])
    return pid > 0 ? pid : undefined
  })

/** Returns the text ` (process 123)`, or an empty string if the process is unknown. */
export const describeOwner = (pid: number | undefined): string => (pid === undefined ? '' : ` (process ${pid})`)

const LISTENING = '0A'

const listening = (table: string, port: number): string[] => {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  return linesOf(table).flatMap((line) => {
    const fields = line.trim().split(/\s+/)
    return fields[1]?.endsWith(`:${wanted}`) && fields[3] === LISTENING && fields[9] ? [fields[9]] : []
  })
}

const processes = (): number[] =>
  attempt(() =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number),
  ) ?? []

const socketsOf = (pid: number): string[] =>
  attempt(() => readdirSync(`/proc/${pid}/fd`).flatMap((name) => socketAt(`/proc/${pid}/fd/${name}`) ?? [])) ?? []

/** Returns the inode of a socket. Returns undefined if the descriptor is not a socket, or no longer exists. */
const socketAt = (link: string): string | undefined => attempt(() => /^socket:\[(\d+)\]$/.exec(readlinkSync(link))?.[1])

const linesOf = (file: string): string[] => attempt(() => readFileSync(file, 'utf8').split('\n')) ?? []
