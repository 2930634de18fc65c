import { LabError } from '../lab-error.js'

/** `A=http://host:8200 B=...`: where each cluster is. */
export const parseAddresses = (given: readonly string[]): Map<string, string> => {
  const addresses = new Map<string, string>()
  for (const text of given) {
    const [, name = '', address = ''] = /^([A-Z])=(https?:\/\/[^/].*)$/.exec(text) ?? []
    if (name === '' || !URL.canParse(address))
      throw new LabError('usage', `"${text}" is not of the form A=http://host:8200`)
    if (addresses.has(name)) throw new LabError('usage', `cluster ${name} is given twice`)
    addresses.set(name, address.replace(/\/+$/, ''))
  }
  return addresses
}
