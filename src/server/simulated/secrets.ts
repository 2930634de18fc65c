import { InlinePasswords } from '../../auth/userpass/inline-passwords.js'
import type { Random } from '../../base/random.js'
import { simulatedCertificateKeys, simulatedJwtKeys, simulatedPrivateKeys } from '../../crypto/simulated-keys.js'
import type { SimulationOverrides } from '../parts/parts.js'

/** Keys and passwords without threads. */
export const simulatedSecrets = (random: Random): Omit<SimulationOverrides, 'transport' | 'fetchWrapped'> => ({
  certificateKeys: simulatedCertificateKeys(random),
  jwtKeys: simulatedJwtKeys(random),
  passwords: new InlinePasswords(),
  makePrivateKey: simulatedPrivateKeys(random),
})
