/**
 * Where a running server can be asked, for programs beside it that cannot know: a health check, a script that let the system
 * choose the port. One address a line; ` certificate` follows one that wants a certificate of whoever asks.
 */
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../base/make-directory.js'
import { readNamedText } from '../base/named-file.js'
import { formatHostPort, parseHostPort } from '../base/network.js'
import type { ListenerConfig } from './config/config.js'

/** Addresses that stand for all of a machine's, and where a program on the same machine asks: at either loopback, if it has both. */
const REACHED_AT: Readonly<Record<string, string>> = { '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '::': 'localhost' }

/** The lines of the file. `bound` has an address for each listener, in their order. */
export const addressLines = (bound: readonly string[], listeners: readonly Pick<ListenerConfig, 'tls'>[]): string[] =>
  bound.map((address, index) => {
    const { host, port } = parseHostPort(address)
    const tls = listeners[index]?.tls
    const url = `${tls ? 'https' : 'http'}://${formatHostPort(REACHED_AT[host] ?? host, port)}`
    return tls?.requireClientCert ? `${url} certificate` : url
  })

/** Writes the file as a whole or not at all: whoever reads it meanwhile sees the old lines or the new ones. */
export const writeAddressFile = (file: string, lines: readonly string[]): void => {
  makeDirectory(path.dirname(file))
  const unfinished = `${file}.${process.pid}`
  writeFileSync(unfinished, textOf(lines))
  chmodSync(unfinished, 0o644)
  renameSync(unfinished, file)
}

/** The addresses that a running server wrote; none where no file is. */
export const readAddressFile = (file: string): string[] => {
  try {
    return readNamedText(file)
      .split('\n')
      .flatMap((line) => line.split(' ')[0] || [])
  } catch {
    return []
  }
}

/** Removes the file unless another server has written it meanwhile, or nobody has. */
export const removeAddressFile = (file: string, lines: readonly string[]): void => {
  try {
    if (readNamedText(file) === textOf(lines)) rmSync(file)
  } catch {
    // The file is gone, or was never ours.
  }
}

const textOf = (lines: readonly string[]): string => `${lines.join('\n')}\n`
