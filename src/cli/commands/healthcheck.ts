import { attempt } from '../../base/attempt.js'
import { messageOf } from '../../base/printable.js'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { ApiClient } from '../../client/api-client.js'
import { LabError } from '../../lab/model/lab-error.js'
import { addressLines, readAddressFile, urlOf } from './address-file.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { decideLaunch, readLaunchFacts } from '../container/launch.js'
import type { Output } from '../terminal/output.js'
import { TypedCommand } from '../terminal/command.js'

const TIMEOUT_MS = 3000
const DEFAULT_ADDRESSES = ['http://127.0.0.1:8200', 'https://127.0.0.1:8200']

/**
 * `understudy healthcheck`: succeeds if the server of this container responds to sys/health with any status, sealed or
 * not. A new server therefore counts as healthy before it is initialized.
 */
export const healthcheckCommand = (output: Output): Command =>
  new TypedCommand('healthcheck')
    .description('check that the server of this container responds')
    .flag('--addr <url>', 'address of the server (default: the server of this container)')
    .examples('healthcheck', 'healthcheck --addr http://127.0.0.1:8200')
    .run(async (flags) => {
      const addresses = flags.addr ? [flags.addr] : addressesOfThisContainer(process.env)
      const results = await Promise.all(addresses.map(askHealth))
      const found = results.find(({ status }) => status !== undefined)
      if (!found) throw new LabError('remote', results.map(({ text }) => text).join('; '))
      output.data(found.text)
    })

const askHealth = async (address: string): Promise<{ status: number | undefined; text: string }> => {
  const client = new ApiClient({ address, skipVerify: true, timeoutMs: TIMEOUT_MS })
  try {
    const { status, json } = await client.send('GET', 'sys/health')
    // A TLS port responds to plain HTTP with an error text. Only sys/health responds with JSON.
    const text = json ? `${address} responds with ${status}` : `${address} does not serve the Vault HTTP API`
    return { status: json ? status : undefined, text }
  } catch (error) {
    return { status: undefined, text: messageOf(error) }
  } finally {
    client.close()
  }
}

const addressesOfThisContainer = (env: NodeJS.ProcessEnv): readonly string[] => {
  const fromFile = readAddressFile(env.UNDERSTUDY_ADDRESS_FILE ?? '')
  if (fromFile.length > 0) return fromFile
  const listening = addressesOf(commandLineOfFirstProcess(), env)
  if (listening.length > 0) return listening
  return env.VAULT_ADDR ? [env.VAULT_ADDR] : DEFAULT_ADDRESSES
}

/** Returns the local addresses of the server with this command line; an empty list for another program. */
export const addressesOf = (commandLine: readonly string[], env: NodeJS.ProcessEnv): string[] => {
  const [script = '', ...args] = commandLine.slice(1)
  const name = path.basename(script)
  const isOwnName = ['vault', 'understudy'].includes(name)
  if (!isOwnName && !name.includes('entrypoint')) return []
  const launch = decideLaunch(isOwnName ? [name, ...args] : args, readLaunchFacts(env))
  if (launch.kind !== 'own' || launch.args[0] !== 'server') return []
  const { config } = loadServerConfig(launch.args.slice(1), env)
  const { listeners = [] } = config ?? {}
  return addressLines(
    listeners.map(({ address }) => address),
    listeners,
  ).map(urlOf)
}

/** Returns the command line of the container; an empty list if it is not readable. */
const commandLineOfFirstProcess = (): string[] =>
  attempt(() => readFileSync('/proc/1/cmdline', 'utf8').split('\0').slice(0, -1)) ?? []
