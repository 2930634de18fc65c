import { lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'

const USER = 'vault'

interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
}

/** The account that servers run as; undefined where the system has none. */
export const findAccount = (passwd: string = readFileSync('/etc/passwd', 'utf8')): Account | undefined => {
  for (const line of passwd.split('\n')) {
    const [name, , uid, gid, , home = '/'] = line.split(':')
    if (name === USER) return { name, uid: Number(uid), gid: Number(gid), home }
  }
  return undefined
}

/**
 * Gives directories and what is in them to `account`; a missing one is made. Returns a sentence for each directory that
 * could not be given, such as one that is mounted read-only: whether that matters shows when the server needs it.
 */
export const giveDirectories = (directories: readonly string[], account: Account): string[] =>
  directories.flatMap((directory) => {
    try {
      makeDirectory(directory)
      give(directory, account)
      return []
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return [`${directory} could not be given to user ${account.name}: ${reason}`]
    }
  })

/** Links are given, never followed: what they point to may lie anywhere. */
const give = (file: string, account: Account): void => {
  const stats = lstatSync(file)
  if (stats.uid !== account.uid) lchownSync(file, account.uid, account.gid)
  if (!stats.isDirectory()) return
  for (const name of readdirSync(file)) give(path.join(file, name), account)
}

/** Becomes `account` for good: groups first, the user last, since only root may change the groups. */
export const becomeAccount = (account: Account): void => {
  process.setgroups?.([account.gid])
  process.setgid?.(account.gid)
  process.setuid?.(account.uid)
  process.env.HOME = account.home
  process.env.USER = account.name
}
