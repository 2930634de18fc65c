/**
 * Expands go-sockaddr templates in addresses, such as `http://{{ GetPrivateIP }}:8200`. A pipeline starts with a source
 * of addresses, filters and sorts them, and must end with a text. Functions that are uncommon in configuration files,
 * such as `range` and `math`, are not supported.
 */
import { isIPv6 } from 'node:net'
import { contains, isAddressInAny, parseCidrOrAddress } from './cidr.js'
import type { NetworkAddress } from './network-addresses.js'

type List = readonly NetworkAddress[]
type Argument = string | number

/**
 * Replaces each `{{ ... }}` with an address. Throws an `Error` if a function is not supported, or if no address
 * matches.
 */
export const expandTemplate = (text: string, addresses: List): string => {
  const expanded = text.replace(/\s*\{\{-\s|\{\{/g, '{{').replace(/\s-\}\}\s*|\}\}/g, '}}')
  const out = expanded.replace(/\{\{((?:[^"`{}]|"(?:[^"\\]|\\.)*"|`[^`]*`)*)\}\}/g, (_all, action: string) => {
    const value = evaluate(action, addresses)
    if (value === '') throw new Error(`{{ ${action.trim()} }} matches no address of this machine`)
    return value
  })
  if (out.includes('{{') || out.includes('}}')) throw new Error(`"${text}" is not a valid template`)
  return out
}

export const isTemplate = (text: string): boolean => /\{\{|\}\}/.test(text)

const evaluate = (action: string, addresses: List): string => {
  let value: List | string = addresses
  for (const [index, [name, ...args]] of parsePipeline(action).entries()) {
    const source = SOURCES[name]
    const step = STEPS[name]
    if (index === 0 && source && args.length === source.takes) value = source.get(addresses, String(args[0]))
    else if (index > 0 && step && args.length === step.takes && typeof value !== 'string') {
      value = step.apply(value, args[0] ?? '', String(args[1] ?? ''))
    } else throw new Error(`${[name, ...args].join(' ')} is not supported: use one of ${SUPPORTED}`)
  }
  if (typeof value !== 'string') throw new Error(`{{ ${action.trim()} }} must end with attr or join`)
  return value
}

/**
 * Splits an action into steps, and each step into words. A quoted word is a text. Any other word is a name or a number.
 */
const parsePipeline = (action: string): readonly (readonly [string, ...Argument[]])[] => {
  const steps: [string, ...Argument[]][] = [['']]
  for (const token of action.match(/"(?:[^"\\]|\\.)*"|`[^`]*`|\||[^\s|"`]+/g) ?? []) {
    const step = steps.at(-1) ?? ['']
    if (token === '|') steps.push([''])
    else if (step[0] === '') step[0] = token
    else if (token.startsWith('"')) step.push(token.slice(1, -1).replace(/\\(.)/g, '$1'))
    else if (token.startsWith('`')) step.push(token.slice(1, -1))
    else step.push(/^-?\d+$/.test(token) ? Number(token) : token)
  }
  return steps
}

/** The networks that RFCs define. RFC 6890 covers all special-purpose addresses, including private addresses. */
const RFCS: Readonly<Record<string, readonly string[]>> = {
  '1918': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  '4193': ['fc00::/7'],
  '6598': ['100.64.0.0/10'],
  '6890': [
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
    ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
    ...['240.0.0.0/4', '::/128', '::1/128', '64:ff9b::/96', '100::/64', '2001::/23', '2001:db8::/32', '2002::/16'],
    ...['fc00::/7', 'fe80::/10'],
  ],
}
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10']
const LOOPBACK = ['127.0.0.0/8', '::1/128']
const NOT_FORWARDED = [
  ...LOOPBACK,
  ...LINK_LOCAL,
  ...['0.0.0.0/8', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3', '::/128', '2001:db8::/32'],
  'ff00::/8',
]

const FLAGS: Readonly<Record<string, (one: NetworkAddress) => boolean>> = {
  up: () => true,
  forwardable: ({ address }) => !isAddressInAny(NOT_FORWARDED, address),
  loopback: ({ address }) => isAddressInAny(LOOPBACK, address),
  'link-local unicast': ({ address }) => isAddressInAny(LINK_LOCAL, address),
}

const TYPES: Readonly<Record<string, (one: NetworkAddress) => boolean>> = {
  ip: () => true,
  ipv4: ({ address }) => !isIPv6(address),
  ipv6: ({ address }) => isIPv6(address),
}

type Criterion = (wanted: string) => (one: NetworkAddress) => boolean

const CRITERIA: Readonly<Record<string, Criterion>> = {
  address: (wanted) => (one) => new RegExp(wanted).test(`${one.address}/${one.prefixLength}`),
  name: (wanted) => (one) => new RegExp(wanted).test(one.name),
  network: anyOf((text) => {
    const block = parseCidrOrAddress(text)
    return block && (({ address }) => contains(block, address))
  }),
  rfc: anyOf((text) => {
    const networks = RFCS[text]
    return networks && (({ address }) => isAddressInAny(networks, address))
  }),
  size: anyOf((text) => (/^\d+$/.test(text) ? ({ prefixLength }) => prefixLength === Number(text) : undefined)),
  flags: anyOf((text) => FLAGS[text.toLowerCase()]),
  type: anyOf((text) => TYPES[text.toLowerCase()]),
}
const OTHER_NAMES: Readonly<Record<string, string>> = { flag: 'flags', rfcs: 'rfc' }

/** Returns a criterion that accepts several values, separated by `|`. */
function anyOf(parse: (text: string) => ((one: NetworkAddress) => boolean) | undefined): Criterion {
  return (wanted) => {
    const tests = wanted.split('|').map((text) => {
      const test = parse(text)
      if (!test) throw new Error(`"${text}" is not a valid value of a filter`)
      return test
    })
    return (one) => tests.some((test) => test(one))
  }
}

const criterion = (name: Argument, wanted: string): ((one: NetworkAddress) => boolean) => {
  const lower = String(name).toLowerCase()
  return lookUp(CRITERIA, OTHER_NAMES[lower] ?? lower, 'criterion')(wanted)
}

/** The sort keys. Addresses are sorted by ascending key. */
const ORDERS: Readonly<Record<string, (one: NetworkAddress) => number | bigint | string>> = {
  address: ({ address }) =>
    BigInt(`0x${Buffer.from(parseCidrOrAddress(address)?.address.toByteArray() ?? [0]).toString('hex')}`),
  default: ({ isDefault }) => (isDefault ? 0 : 1),
  name: ({ name }) => name,
  private: ({ address }) => (isAddressInAny(RFCS['6890'] ?? [], address) ? 0 : 1),
  size: ({ prefixLength }) => prefixLength,
  type: ({ address }) => (isIPv6(address) ? 1 : 0),
}

const sortBy = (list: List, clauses: string): List => {
  const orders = clauses.split(',').map((clause) => {
    const [, sign, name] = /^([+-]?)(.*)$/.exec(clause.trim().toLowerCase()) ?? []
    return { sign: sign === '-' ? -1 : 1, keyOf: lookUp(ORDERS, name ?? '', 'order') }
  })
  return [...list].sort((a, b) => {
    for (const { sign, keyOf } of orders) {
      const [before, after] = [keyOf(a), keyOf(b)]
      if (before !== after) return before < after ? -sign : sign
    }
    return 0
  })
}

const ATTRIBUTES: Readonly<Record<string, (one: NetworkAddress) => string>> = {
  address: ({ address }) => address,
  name: ({ name }) => name,
  string: ({ address, prefixLength }) => `${address}/${prefixLength}`,
  mask_bits: ({ prefixLength }) => String(prefixLength),
  type: ({ address }) => (isIPv6(address) ? 'IPv6' : 'IPv4'),
}

const lookUp = <T>(table: Readonly<Record<string, T>>, name: string, what: string): T => {
  const found = Object.hasOwn(table, name) ? table[name] : undefined
  if (found === undefined) throw new Error(`"${name}" is not a supported ${what}: ${Object.keys(table).join(', ')}`)
  return found
}

const attribute = (name: Argument) => lookUp(ATTRIBUTES, String(name).toLowerCase(), 'attribute')
const spell = (list: List): string => list.map(({ address }) => address).join(' ')
const first = (list: List): string => list[0]?.address ?? ''

const special = (list: List, isPrivate: boolean): List =>
  sortBy(list.filter(criterion('flags', 'forwardable')), 'default,type,size').filter(
    (one) => criterion('rfc', '6890')(one) === isPrivate,
  )
const named = (list: List, name: string): List =>
  sortBy(list.filter(criterion('name', name)).filter(criterion('flags', 'forwardable')), 'type,size')

interface Source {
  readonly takes: number
  readonly get: (all: List, argument: string) => List | string
}

const SOURCES: Readonly<Record<string, Source>> = {
  GetAllInterfaces: { takes: 0, get: (all) => all },
  GetDefaultInterfaces: { takes: 0, get: (all) => all.filter(({ isDefault }) => isDefault) },
  GetPrivateInterfaces: { takes: 0, get: (all) => special(all, true) },
  GetPublicInterfaces: { takes: 0, get: (all) => special(all, false) },
  GetPrivateIP: { takes: 0, get: (all) => first(special(all, true)) },
  GetPrivateIPs: { takes: 0, get: (all) => spell(special(all, true)) },
  GetPublicIP: { takes: 0, get: (all) => first(special(all, false)) },
  GetPublicIPs: { takes: 0, get: (all) => spell(special(all, false)) },
  GetInterfaceIP: { takes: 1, get: (all, name) => first(named(all, name)) },
  GetInterfaceIPs: { takes: 1, get: (all, name) => spell(named(all, name)) },
}

interface Step {
  readonly takes: number
  readonly apply: (list: List, argument: Argument, second: string) => List | string
}

const STEPS: Readonly<Record<string, Step>> = {
  include: { takes: 2, apply: (list, name, wanted) => list.filter(criterion(name, wanted)) },
  exclude: {
    takes: 2,
    apply: (list, name, wanted) => {
      const isExcluded = criterion(name, wanted)
      return list.filter((one) => !isExcluded(one))
    },
  },
  sort: { takes: 1, apply: (list, clauses) => sortBy(list, String(clauses)) },
  limit: { takes: 1, apply: (list, count) => list.slice(0, countOf(count)) },
  attr: { takes: 1, apply: ([one], name) => (one ? attribute(name)(one) : '') },
  join: { takes: 2, apply: (list, name, between) => list.map(attribute(name)).join(between) },
}

const countOf = (count: Argument): number => {
  if (typeof count !== 'number' || count < 0) throw new Error(`limit takes a count, not "${count}"`)
  return count
}

const SUPPORTED = [...Object.keys(SOURCES), ...Object.keys(STEPS)].join(', ')
