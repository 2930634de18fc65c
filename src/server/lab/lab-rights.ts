import { isSameSecret } from '../../crypto/constant-time.js'
import { sha256 } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import type { SideRequest } from '../../logical/incoming.js'

/** Without a token whoever reaches the server may change it, but no page that a browser happens to show. */
export const requireRight = (request: SideRequest, token: string): void => {
  if (token !== '') requireToken(request, token)
  else if (request.headers.origin !== undefined) {
    throw new LogicalError('permission-denied', 'permission denied: pages in a browser need a lab_api_token')
  }
}

const requireToken = ({ headers }: SideRequest, expected: string): void => {
  const given = String(headers['x-understudy-token'] ?? '')
  if (!isSameSecret(sha256(given), sha256(expected))) {
    throw new LogicalError(
      'permission-denied',
      'permission denied: lab_api_token belongs in the header X-Understudy-Token',
    )
  }
}
