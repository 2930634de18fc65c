import { describe, expect, it } from 'vitest'
import { expandTemplate } from '../../../src/base/address-template.js'
import type { NetworkAddress } from '../../../src/base/network-addresses.js'

const one = (name: string, cidr: string, isDefault = false): NetworkAddress => {
  const [address = '', bits] = cidr.split('/')
  return { name, address, prefixLength: Number(bits), isDefault }
}
const MACHINE = [
  one('lo', '127.0.0.1/8'),
  one('lo', '::1/128'),
  one('docker0', '172.17.0.1/16'),
  one('eth0', '8.8.4.4/24'),
  one('eth1', '10.0.0.12/24', true),
  one('eth1', 'fd00::12/64', true),
  one('eth1', 'fe80::1/64', true),
]

describe('a template in an address', () => {
  it.each([
    ['127.0.0.1:8200', '127.0.0.1:8200'],
    ['http://{{ GetPrivateIP }}:8200', 'http://10.0.0.12:8200'],
    ['{{GetPublicIP}}', '8.8.4.4'],
    ['{{ GetPrivateIPs }}', '10.0.0.12 fd00::12 172.17.0.1'],
    ['{{ GetPublicIPs }}', '8.8.4.4'],
    ['http://{{ GetInterfaceIP "eth0" }}:8200', 'http://8.8.4.4:8200'],
    ['{{ GetInterfaceIP `eth1` }}:{{ GetInterfaceIP "docker0" }}', '10.0.0.12:172.17.0.1'],
    ['{{ GetInterfaceIPs "eth" }}', '8.8.4.4 10.0.0.12 fd00::12'],
    ['{{ GetDefaultInterfaces | exclude "type" "IPv6" | attr "address" }}', '10.0.0.12'],
    ['[{{ GetDefaultInterfaces | include "type" "IPv6" | limit 1 | attr "address" }}]:1', '[fd00::12]:1'],
    ['{{ GetAllInterfaces | include "name" "^(eth|docker)" | sort "-name" | limit 1 | attr "address" }}', '10.0.0.12'],
    ['{{ GetPrivateInterfaces | include "network" "10.0.0.0/24|10.1.0.0/24" | attr "address" }}', '10.0.0.12'],
    ['{{ GetAllInterfaces | include "flags" "loopback" | exclude "type" "ipv6" | join "address" "," }}', '127.0.0.1'],
    ['{{ GetAllInterfaces | include "rfc" "1918" | sort "+address" | join "name" " " }}', 'eth1 docker0'],
    ['{{ GetAllInterfaces | include "rfc" "1918" | sort "-address" | attr "string" }}', '172.17.0.1/16'],
    ['{{ GetPublicInterfaces | include "size" "24" | attr "name" }}', 'eth0'],
    ['{{ GetAllInterfaces | include "address" "^10[.]" | attr "mask_bits" }}', '24'],
    ['{{ GetAllInterfaces | sort "default,type,size" | attr "address" }}', '10.0.0.12'],
    ['a {{- GetPrivateIP -}} b', 'a10.0.0.12b'],
  ])('the address template %s expands to %s', (text, expanded) => {
    expect(expandTemplate(text, MACHINE)).toBe(expanded)
  })

  it.each([
    ['{{ GetInterfaceIP "ens5" }}', '{{ GetInterfaceIP "ens5" }} matches no address of this machine'],
    ['{{ GetAllInterfaces | math "address" "+1" | attr "address" }}', 'math address +1 is not supported: use one of'],
    ['{{ range GetAllInterfaces }}{{ end }}', 'range GetAllInterfaces is not supported: use one of GetAllInt'],
    ['{{ GetHostname }}', 'GetHostname is not supported'],
    ['{{ GetInterfaceIP }}', 'GetInterfaceIP is not supported'],
    ['{{ constructor }}', 'constructor is not supported'],
    ['{{ GetAllInterfaces }}', 'must end with attr or join'],
    ['{{ GetPrivateIP | attr "address" }}', 'attr address is not supported'],
    ['{{ GetAllInterfaces | attr "uint32" }}', '"uint32" is not a supported attribute: address, name'],
    ['{{ GetAllInterfaces | sort "weight" | attr "name" }}', '"weight" is not a supported order: address, default'],
    ['{{ GetAllInterfaces | include "toString" "x" | attr "name" }}', '"tostring" is not a supported criterion'],
    ['{{ GetAllInterfaces | include "rfc" "1" | attr "name" }}', '"1" is not a valid value of a filter'],
    ['{{ GetAllInterfaces | limit "1" | attr "name" }}', 'limit takes a count, not "1"'],
    ['{{ GetPrivateIP', 'is not a valid template'],
    ['GetPrivateIP }}', 'is not a valid template'],
  ])('the address template %s is rejected: %s', (text, reason) => {
    expect(() => expandTemplate(text, MACHINE)).toThrow(reason)
  })
})
