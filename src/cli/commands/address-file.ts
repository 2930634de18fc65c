/**
 * The file with the addresses of a running server. Local programs read it, for example a health check, or a script that
 * starts the server on a free port. Each line has one address, followed by ` certificate` if the listener requires a
 * client certificate.
 */
import path from 'node:path'
import { rmSync } from 'node:fs'
import { attempt } from '../../base/attempt.js'
import { makeDirectory } from '../../base/make-directory.js'
import { readNamedText } from '../../base/named-file.js'
import { formatHostPort, parseHostPort } from '../../base/network.js'
import { replaceFile } from '../../base/replace-file.js'
import type { ListenerConfig } from '../../server/config/config.js'

/**
 * The loopback host through which a local program reaches a server that listens on a wildcard address. `localhost`
 * means the IPv4 and the IPv6 loopback address.
 */
const LOOPBACK_HOSTS: Readonly<Record<string, string>> = { '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '::': 'localhost' }

/** Returns the lines of the file. `bound` contains the address of each listener, in order. */
export const addressLines = (bound: readonly string[], listeners: readonly Pick<ListenerConfig, 'tls'>[]): string[] =>
  bound.map((address, index) => {
    const { host, port } = parseHostPort(address)
    const tls = listeners[index]?.tls
    const url = `${tls ? 'https' : 'http'}://${formatHostPort(LOOPBACK_HOSTS[host] ?? host, port)}`
    return tls?.requireClientCert ? `${url} certificate` : url
  })

/** Writes the file atomically: a concurrent reader sees either the old lines or the new ones. */
export const writeAddressFile = (file: string, lines: readonly string[]): void => {
  makeDirectory(path.dirname(file))
  replaceFile(file, textOf(lines), 0o644)
}

/** Returns the addresses that a running server has written; an empty list if the file does not exist. */
export const readAddressFile = (file: string): string[] =>
  attempt(() =>
    readNamedText(file)
      .split('\n')
      .flatMap((line) => urlOf(line) || []),
  ) ?? []

/** Removes the file if its lines are `lines`. Otherwise, another server has written it in the meantime. */
export const removeAddressFile = (file: string, lines: readonly string[]): void =>
  attempt(() => {
    if (readNamedText(file) === textOf(lines)) rmSync(file)
  })

/** Returns the address in a line. */
export const urlOf = (line: string): string => line.split(' ')[0] ?? ''

const textOf = (lines: readonly string[]): string => `${lines.join('\n')}\n`
