/** sys/audit, sys/audit-hash and sys/config/auditing: audit devices, their hashes, and the headers they log. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, pairs, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { AuditBroker } from '../audit/audit.js'
import type { AuditRecord } from '../audit/audit-record.js'

interface AuditPathDeps {
  readonly audit: AuditBroker
}

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
  hmac: bool('Logs a hash in place of the values of the header.'),
}

type DeviceCall = Call<typeof DEVICE_FIELDS>
type HeaderCall = Call<typeof HEADER_FIELDS>

export const auditPaths = ({ audit }: AuditPathDeps): PathSpec[] => [
  definePath({
    pattern: 'audit',
    operations: {
      read: () => ({ data: Object.fromEntries(audit.list().map((record) => [record.path, describe(record)])) }),
    },
    summary: 'List the audit devices.',
    mirror: true,
  }),
  definePath({
    pattern: 'audit/*name',
    fields: DEVICE_FIELDS,
    operations: {
      update: async ({ values }: DeviceCall) => {
        const { type, description, options, local } = values
        await audit.enable({ name: deviceName(values), type, description, isLocal: local, options: options ?? {} })
        return undefined
      },
      delete: async ({ values }: DeviceCall) => void (await audit.disable(deviceName(values))),
    },
    summary: 'Enable or disable an audit device.',
    mirror: true,
  }),
  definePath({
    pattern: 'audit-hash/*name',
    fields: HASH_FIELDS,
    operations: {
      update: ({ values }: Call<typeof HASH_FIELDS>): Response => {
        if (values.input === '') throw invalid('the "input" parameter is empty')
        const name = deviceName(values)
        const hash = audit.findHash(name, values.input)
        if (hash === undefined) throw invalid(`unknown audit backend ${JSON.stringify(`${name}/`)}`)
        return { data: { hash } }
      },
    },
    summary: 'Compute the HMAC of a text, as the device logs it.',
    mirror: true,
  }),
  definePath({
    pattern: 'config/auditing/request-headers',
    operations: { read: () => ({ data: { headers: Object.fromEntries(audit.headers.all()) } }) },
    summary: 'List the audited request headers.',
    mirror: true,
  }),
  definePath({
    pattern: 'config/auditing/request-headers/:header',
    fields: HEADER_FIELDS,
    operations: {
      read: ({ values }: HeaderCall): Response => {
        const found = audit.headers.all().get(values.header.toLowerCase())
        if (!found) throw invalid('Could not find header in config')
        return { data: { [values.header]: found } }
      },
      update: async ({ values }: HeaderCall) => void (await audit.headers.set(values.header, { hmac: values.hmac })),
      delete: async ({ values }: HeaderCall) => void (await audit.headers.set(values.header, undefined)),
    },
    summary: 'Read, change or remove an audited request header.',
    mirror: true,
  }),
]

const deviceName = ({ name }: { name: string }): string => name.replace(/\/+$/, '')

const describe = ({ path, type, description, options, isLocal }: AuditRecord): Record<string, unknown> => ({
  description,
  local: isLocal,
  options,
  path,
  type,
})
