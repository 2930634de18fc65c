/** sys/audit, sys/audit-hash and sys/config/auditing: audit devices, their hashes, and the headers they log. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, pairs, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { AuditBroker } from '../audit/audit.js'
import type { AuditRecord } from '../audit/audit-record.js'

const DEVICE_FIELDS = {
  name: string('Name of the device.'),
  type: string('Type of the device: file.'),
  description: string('Description of the device.'),
  options: pairs('file_path, mode, format, prefix, log_raw, hmac_accessor, elide_list_responses, skip_test.'),
  local: bool('Does not replicate the device to performance secondaries.'),
}
const HASH_FIELDS = {
  name: string('Name of the device.'),
  input: string('The text to hash.', '', { isSecret: true }),
}
const HEADER_FIELDS = {
  header: string('Name of the request header.'),
  hmac: bool('Logs a hash instead of the values of the header.'),
}

type DeviceCall = Call<typeof DEVICE_FIELDS>
type HeaderCall = Call<typeof HEADER_FIELDS>

export const auditPaths = ({ audit }: { readonly audit: AuditBroker }): PathSpec[] => [
  definePath('audit', {}, 'List the audit devices.', {
    read: () => ({ data: Object.fromEntries(audit.list().map((record) => [record.path, describe(record)])) }),
    mirror: true,
  }),
  definePath('audit/*name', DEVICE_FIELDS, 'Enable or disable an audit device.', {
    update: async ({ values }: DeviceCall) => {
      const { type, description, options, local } = values
      await audit.enable({ name: deviceName(values), type, description, isLocal: local, options: options ?? {} })
      return undefined
    },
    delete: async ({ values }: DeviceCall) => void (await audit.disable(deviceName(values))),
    mirror: true,
  }),
  definePath('audit-hash/*name', HASH_FIELDS, 'Compute the HMAC of a text, as the device logs it.', {
    update: ({ values }: Call<typeof HASH_FIELDS>): Response => {
      if (values.input === '') throw invalid('the "input" parameter is empty')
      const name = deviceName(values)
      const hash = audit.findHash(name, values.input)
      if (hash === undefined) throw invalid(`unknown audit backend ${JSON.stringify(`${name}/`)}`)
      return { data: { hash } }
    },
    mirror: true,
  }),
  definePath('config/auditing/request-headers', {}, 'List the audited request headers.', {
    read: () => ({ data: { headers: Object.fromEntries(audit.headers.all()) } }),
    mirror: true,
  }),
  definePath(
    'config/auditing/request-headers/:header',
    HEADER_FIELDS,
    'Read, change or remove an audited request header.',
    {
      read: ({ values }: HeaderCall): Response => {
        const found = audit.headers.all().get(values.header.toLowerCase())
        if (!found) throw invalid('Could not find header in config')
        return { data: { [values.header]: found } }
      },
      update: async ({ values }: HeaderCall) => void (await audit.headers.set(values.header, { hmac: values.hmac })),
      delete: async ({ values }: HeaderCall) => void (await audit.headers.set(values.header, undefined)),
      mirror: true,
    },
  ),
]

const deviceName = ({ name }: { name: string }): string => name.replace(/\/+$/, '')

const describe = ({ path, type, description, options, isLocal }: AuditRecord): Record<string, unknown> => ({
  description,
  local: isLocal,
  options,
  path,
  type,
})
