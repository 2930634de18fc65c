/** operator unseal, seal, members, key-status, rotate and step-down: the state of one server. */
import { type Command, defineCommand, type Session } from '../command.js'
import { localError } from '../model/cli-error.js'
import { isMap, type JsonMap } from '../model/json-map.js'
import { flag } from '../flags.js'
import { formatColumns, formatTable, type Row } from '../render/columns.js'
import { goText } from '../render/go-text.js'
import { textOf } from '../model/secret.js'
import { printSealStatus } from '../status.js'

const ROOT = { isInRoot: true } as const

export const sealCommands: readonly Command[] = [
  defineCommand({
    name: 'operator unseal',
    takes: '[KEY]',
    count: [0, 1],
    summary: 'Give the server one key share; asks for it when it is not given',
    flags: {
      reset: flag.bool('Forget the shares that were given so far.'),
      migrate: flag.bool('Change the seal; refused unless a change of the seal is pending'),
    },
    run: async (session) => {
      const { api, flags, args } = session
      const body = flags.reset
        ? { reset: true }
        : { key: await readShare(session, args[0]), reset: false, migrate: flags.migrate }
      const reply = await api.request('Error unsealing', 'PUT', 'sys/unseal', { body, ...ROOT })
      return printSealStatus(session, reply.body)
    },
  }),
  defineCommand({
    name: 'operator seal',
    summary: 'Seal the server',
    run: async ({ api, out }) => {
      await api.request('Error sealing', 'PUT', 'sys/seal', ROOT)
      return out.success('Vault is sealed.')
    },
  }),
  defineCommand({
    name: 'operator step-down',
    summary: 'Make the server give up being active',
    run: async ({ api, out }) => {
      await api.request('Error stepping down', 'PUT', 'sys/step-down', ROOT)
      return out.success(`Stepped down: ${api.settings.address}`)
    },
  }),
  defineCommand({
    name: 'operator members',
    summary: 'List the nodes of the cluster',
    run: async ({ api, out }) => {
      const { secret } = await api.request('Error listing members', 'GET', 'sys/ha-status', ROOT)
      const nodes = Array.isArray(secret?.data?.nodes) ? secret.data.nodes.filter(isMap) : []
      return out.value(secret?.data ?? {}, () => formatTable(MEMBER_COLUMNS, nodes.map(memberRow)))
    },
  }),
  defineCommand({
    name: 'operator key-status',
    summary: 'Tell about the encryption key in use',
    run: (session) => printKeyStatus(session),
  }),
  defineCommand({
    name: 'operator rotate',
    summary: 'Begin a new encryption key',
    run: async (session) => {
      await session.api.request('Error rotating key', 'PUT', 'sys/rotate', ROOT)
      session.out.success('Rotated key\n')
      return printKeyStatus(session)
    },
  }),
]

/** Reads a key share from the command line, from standard input (`-`), or from a prompt. */
export const readShare = async (
  { io, isInteractive }: Session,
  given: string | undefined,
  prompt = 'Unseal Key (will be hidden): ',
): Promise<string> => {
  if (given === undefined && !isInteractive) throw localError('A key is required, and standard input is not a terminal')
  const text = given === '-' ? (await io.readStdin()).toString('utf8') : (given ?? (await io.ask(prompt)))
  if (text.trim() === '') throw localError('A key must be supplied')
  return text.trim()
}

const MEMBER_COLUMNS = ['Host Name', 'API Address', 'Cluster Address', 'Active Node', 'Version', 'Last Echo']

const memberRow = (node: JsonMap): Row => [
  textOf(node.hostname),
  textOf(node.api_address),
  textOf(node.cluster_address),
  goText(node.active_node),
  textOf(node.version),
  textOf(node.last_echo),
]

const printKeyStatus = async ({ api, out }: Session): Promise<number> => {
  const { secret } = await api.request('Error reading key status', 'GET', 'sys/key-status', ROOT)
  const { term, install_time: installTime, encryptions } = secret?.data ?? {}
  return out.record({ term, install_time: installTime, encryptions }, () =>
    formatColumns([
      ['Key Term', goText(term)],
      ['Install Time', goText(installTime)],
      ['Encryption Count', goText(encryptions)],
    ]),
  )
}
