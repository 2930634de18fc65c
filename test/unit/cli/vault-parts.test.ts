import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseExactJson } from '../../../src/base/exact-json.js'
import { printJson } from '../../../src/base/json-print.js'
import { isMap } from '../../../src/cli/vault/model.js'
import { flag, flagValues, parseArguments } from '../../../src/cli/vault/flags.js'
import { formatHclText } from '../../../src/cli/vault/policy.js'
import { decodeToken } from '../../../src/cli/vault/operator/generate-root.js'
import { formatPairs, formatTitle } from '../../../src/cli/vault/text.js'
import { dataText, goText } from '../../../src/cli/vault/text.js'
import { readData } from '../../../src/cli/vault/values.js'

const TABLE = {
  orphan: flag.bool('', {}),
  renewable: flag.bool('', { fallback: 'true' }),
  namespace: flag.text('', { aliases: ['ns'], env: ['VAULT_NAMESPACE'] }),
  ttl: flag.duration(''),
  shares: flag.int('', { aliases: ['n'] }),
  versions: flag.list(''),
  policy: flag.texts(''),
  meta: flag.pairs(''),
}

const read = (args: string[], env: Record<string, string> = {}) => {
  const parsed = parseArguments(args, TABLE)
  return { ...flagValues(TABLE, parsed, env), rest: parsed.positional }
}

describe('flags of the vault command line', () => {
  it('vault flags have one dash or two, and a value after = or a space, which booleans do not need', () => {
    const flags = read(['-orphan', '--ttl=90m', '-n', '5', '-renewable=false', '-ns', 'a/b', 'path', '-orphan=false'])
    expect(flags).toMatchObject({ orphan: true, ttl: '1h30m0s', shares: 5, renewable: false, namespace: 'a/b' })
    expect(flags.rest).toEqual(['path', '-orphan=false'])
  })

  it('vault flags override the environment, which overrides the default', () => {
    expect(read([], { VAULT_NAMESPACE: 'env' })).toMatchObject({ namespace: 'env', renewable: true })
    expect(read(['-namespace=own'], { VAULT_NAMESPACE: 'env' }).namespace).toBe('own')
  })

  it('vault flags with several values can be repeated', () => {
    const flags = read(['-versions=1,2', '-versions', '3', '-policy=a,b', '-policy=c', '-meta=k=v=w', '-meta=x='])
    expect(flags.versions).toEqual(['1', '2', '3'])
    expect(flags.policy).toEqual(['a,b', 'c'])
    expect(flags.meta).toEqual({ k: 'v=w', x: '' })
  })

  it('vault flags end at a lone dash, which is an argument, and after --', () => {
    expect(read(['-orphan', '-', '-n=1']).rest).toEqual(['-', '-n=1'])
    expect(read(['--', '-n=1']).rest).toEqual(['-n=1'])
  })

  it.each([
    ['-bogus', 'not defined: -bogus'],
    ['-shares=many', 'invalid value "many" for flag -shares'],
    ['-ttl=soon', 'invalid value "soon" for flag -ttl'],
    ['-orphan=perhaps', 'invalid value "perhaps" for flag -orphan'],
    ['-shares', 'needs an argument: -shares'],
    ['-meta=x', 'key=value'],
  ])('vault flags reject %s', (arg, text) => {
    expect(() => read([arg])).toThrow(text)
  })
})

describe('JSON on its way through', () => {
  it('exact JSON keeps every digit of a number', () => {
    const text = '{"big":12345678901234567890,"exact":1.10,"list":[1,-0,1E400],"text":"12345678901234567890 \\" 1.0"}'
    expect(printJson(parseExactJson(text))).toBe(text)
  })

  it('exact JSON equals JSON.parse and JSON.stringify for values that they can represent', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        const value: unknown = JSON.parse(text)
        expect(JSON.parse(printJson(parseExactJson(text), 2))).toEqual(value)
      }),
      { verbose: true },
    )
  })

  it('exact JSON is indented like JSON.stringify and keeps the digits of numbers', () => {
    const text = '{"a":[],"b":{},"c":[1.10,{"d":"x"}],"e":null}'
    const lines = JSON.stringify(JSON.parse(text), undefined, 2).replace('1.1,', '1.10,')
    expect(printJson(parseExactJson(text), 2)).toBe(lines)
    expect(printJson(JSON.parse(text), 2)).toBe(lines.replace('1.10,', '1.1,'))
  })

  it('exact JSON keeps a string that looks like an internal mark', () => {
    const text = '{"a":"\\u0000number0","b":1.0}'
    expect(printJson(parseExactJson(text))).toBe(text)
  })

  it.each(['{"a":01}', '{"a":}', '', '{"a":1.}'])('exact JSON rejects %s', (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError)
  })
})

describe('data from the command line', () => {
  const noInput = { readStdin: async () => Buffer.alloc(0) }
  const input = (text: string) => ({ readStdin: async () => Buffer.from(text) })

  it('command-line data consists of strings, whatever they look like', async () => {
    const data = await readData(['a=1', 'b=true', 'c=x=y', 'd='], noInput)
    expect({ ...data }).toEqual({ a: '1', b: 'true', c: 'x=y', d: '' })
  })

  it('command-line data holds a list if a key is given twice', async () => {
    expect({ ...(await readData(['p=a', 'p=b', 'p=c'], noInput)) }).toEqual({ p: ['a', 'b', 'c'] })
  })

  it('command-line data comes from standard input as a value or as a whole object', async () => {
    expect({ ...(await readData(['a=-'], input('line\n'))) }).toEqual({ a: 'line\n' })
    const data = await readData(['-', 'b=2'], input('{"a":{"n":12345678901234567890}}'))
    expect(printJson(data)).toBe('{"a":{"n":12345678901234567890},"b":"2"}')
  })

  it('command-line data can begin with a literal at sign', async () => {
    expect({ ...(await readData(['a=\\@home', 'b=\\-'], noInput)) }).toEqual({ a: '@home', b: '\\-' })
  })

  it.each([
    ['word', 'not of the form key=value'],
    ['@/nowhere/at/all.json', 'error reading file'],
    ['a=@/nowhere/at/all', 'error reading file'],
  ])('command-line data rejects %s', async (arg, text) => {
    await expect(readData([arg], noInput)).rejects.toThrow(text)
  })

  it.each(['[1]', 'no json', '""'])('command-line data rejects %s as an object', async (text) => {
    await expect(readData(['-'], input(text))).rejects.toThrow('Failed to parse K=V data')
  })
})

describe('JSON that is nested too deeply', () => {
  it.each(['[', '{"a":'])('command-line data rejects 100,000 levels of %s', async (open) => {
    const input = { readStdin: async () => Buffer.from(`{"a":${open.repeat(100_000)}`) }
    await expect(readData(['-'], input)).rejects.toThrow('is not JSON: nested deeper than 300 levels')
  })

  it('command-line data takes 300 levels', async () => {
    const text = `{"a":${'['.repeat(299)}${']'.repeat(299)}}`
    expect(printJson(await readData(['-'], { readStdin: async () => Buffer.from(text) }))).toBe(text)
  })
})

describe('tables', () => {
  it('tables show values like the reference', () => {
    expect(goText(parseExactJson('{"b":[1,"x",null],"a":{}}'))).toBe('map[a:map[] b:[1 x <nil>]]')
    expect(dataText('token_ttl', 5400)).toBe('1h30m')
    expect(dataText('ttl', 0)).toBe('0s')
    expect(dataText('ttlx', 5400)).toBe('5400')
    expect(isMap(parseExactJson('1.0'))).toBe(false)
  })

  it('tables have four spaces between columns and n/a in empty cells', () => {
    expect(
      formatPairs([
        ['schlüssel', 'a'],
        ['b', ''],
      ]),
    ).toBe('Key          Value\n---          -----\nschlüssel    a\nb            n/a')
  })

  it.each([
    ['Metadata', 24, '======= Metadata ======='],
    ['Data', 17, '====== Data ======'],
    ['Secret Path', 17, '== Secret Path =='],
    ['Secret Path', 3, '== Secret Path =='],
  ])('a table titles %s for a width of %i', (title, width, line) => {
    expect(formatTitle(title, width)).toBe(line)
  })
})

describe('the one-time pad', () => {
  it('the one-time pad decodes the token, with and without padding', () => {
    const token = `hvs.${'Ab1'.repeat(8)}`
    const otp = 'x'.repeat(28)
    const encoded = Buffer.from([...Buffer.from(token)].map((byte) => byte ^ 0x78)).toString('base64')
    expect(decodeToken(encoded, otp)).toBe(token)
    expect(decodeToken(encoded.replace(/=+$/, ''), otp)).toBe(token)
  })

  it('the one-time pad must be as long as the token', () => {
    expect(() => decodeToken('AAAA', 'xx')).toThrow('the token has 3 bytes, but the OTP has 2')
    expect(() => decodeToken('$$', 'xx')).toThrow('not base64')
  })
})

describe('formatting a policy', () => {
  it('policy fmt indents by braces and keeps comments and strings', () => {
    const text = 'path "a/{{x}}" {\ncapabilities=["read",\n"list"] # {\n}\n\n\n\n// end\n'
    const wanted = 'path "a/{{x}}" {\n  capabilities = ["read",\n    "list"] # {\n}\n\n// end\n'
    expect(formatHclText(text, 'p')).toBe(wanted)
    expect(formatHclText(wanted, 'p')).toBe(wanted)
  })

  it('policy fmt rejects invalid HCL', () => {
    expect(() => formatHclText('path "a" {', 'p.hcl')).toThrow(/p\.hcl/)
  })
})
