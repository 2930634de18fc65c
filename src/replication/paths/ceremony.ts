import { LIMITS } from '../../base/limits.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { NO_ATTEMPT } from '../model/operation-token.js'
import { isDrSecondary, requireDrSecondary, requireLicense } from './guard.js'
import type { PathContext } from '../roles/context.js'

/** The API paths that generate a DR operation token from key shares. The response bodies have no envelope. */

const PREFIX = 'replication/dr/secondary/generate-operation-token'

const START_FIELDS = {
  otp: string('One-time password (OTP) that encodes the token. Default without a PGP key: a generated OTP.'),
  pgp_key: string('PGP public key in base64 that encrypts the token.'),
} as const

const UPDATE_FIELDS = {
  key: string('One key share, in hex or base64.', '', { isSecret: true }),
  nonce: string('Nonce of the attempt.'),
} as const

export const ceremonyPaths = (context: PathContext): PathSpec[] => {
  const { host, services } = context
  const { generation } = services
  const isLicensedDrSecondary = (): boolean => {
    requireLicense(host.license, 'dr')
    return isDrSecondary(context)
  }
  const requireLicensedDrSecondary = (): void => {
    requireLicense(host.license, 'dr')
    requireDrSecondary(context)
  }
  const step = async ({ key, nonce }: { key: string; nonce: string }): Promise<Response> => {
    requireLicensedDrSecondary()
    const body = await generation.update({ key, nonce })
    if (body.complete === true) host.log.info('dr operation token generation finished')
    return { data: body, bare: true }
  }
  return [
    definePath(`${PREFIX}/attempt`, START_FIELDS, 'Start, read or cancel the generation of a DR operation token.', {
      read: () => ({ data: isLicensedDrSecondary() ? generation.status() : NO_ATTEMPT, bare: true }),
      async update({ values }) {
        requireLicensedDrSecondary()
        const body = await generation.start({ otp: values.otp, pgpKey: values.pgp_key })
        host.log.info('dr operation token generation initialized')
        return { data: body, bare: true }
      },
      delete() {
        if (isLicensedDrSecondary()) generation.cancel()
        return undefined
      },
      isOldest: true,
      openBodyBytesMax: LIMITS.keyBodyBytesMax,
    }),
    definePath(`${PREFIX}/update`, UPDATE_FIELDS, 'Submit one key share for a DR operation token.', {
      read: () => step({ key: '', nonce: '' }),
      update: ({ values }) => step(values),
      isOldest: true,
    }),
  ]
}
