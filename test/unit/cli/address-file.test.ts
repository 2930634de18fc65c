import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ListenerTls } from '../../../src/server/config/config.js'
import {
  addressLines,
  readAddressFile,
  removeAddressFile,
  writeAddressFile,
} from '../../../src/cli/commands/address-file.js'

let directory: string
let file: string
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-addresses-'))
  file = path.join(directory, 'deep', 'addresses')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const tls = (requireClientCert: boolean): ListenerTls => ({
  certFile: '',
  keyFile: '',
  clientCaFile: '',
  requireClientCert,
})

describe('the addresses that a server writes', () => {
  it('the address file lists addresses that its own machine can reach, and marks client certificates', () => {
    const bound = ['0.0.0.0:8200', '[::]:8300', '10.0.0.1:1', '127.0.0.1:2']
    const listeners = [{ tls: undefined }, { tls: tls(false) }, { tls: tls(true) }, { tls: undefined }]
    expect(addressLines(bound, listeners)).toEqual([
      'http://127.0.0.1:8200',
      'https://localhost:8300',
      'https://10.0.0.1:1 certificate',
      'http://127.0.0.1:2',
    ])
  })

  it('the address file is written as a whole, without leftovers', () => {
    writeAddressFile(file, ['http://a:1', 'https://b:2 certificate'])
    expect(readFileSync(file, 'utf8')).toBe('http://a:1\nhttps://b:2 certificate\n')
    expect(readdirSync(path.dirname(file))).toEqual(['addresses'])
    expect(readAddressFile(file)).toEqual(['http://a:1', 'https://b:2'])
  })

  it('the address file is removed with the server, unless another server has written its own', () => {
    writeAddressFile(file, ['http://a:1'])
    writeAddressFile(file, ['http://b:1'])
    removeAddressFile(file, ['http://a:1'])
    expect(readAddressFile(file)).toEqual(['http://b:1'])
    removeAddressFile(file, ['http://b:1'])
    expect(readAddressFile(file)).toEqual([])
    removeAddressFile(file, ['http://b:1'])
  })
})
